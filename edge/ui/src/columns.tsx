// The columns of the rankings.
import { count, duration, fee, integer, percent, price, short, sign, usd } from "./format.js";
import { CAPPED, STILL_COUNTING, UNREALIZABLE, whyUnknown } from "./reasons.js";
import { chainOf, now } from "./node.js";
import { Flag, nameOf, Pair, RangeBar } from "./marks.js";
import { ownerHref, poolHref, positionHref } from "./route.js";
import type { Column, Value } from "./table.js";
import type { Pool, Position } from "../../client/ts/src/index.js";

const CAP = 100_000;

const descending = (name: string) => [{ name, direction: "descending" as const }];

function money(value: number | null, reason: string | null, signed = false): Value {
  return {
    text: usd(value),
    exact: value === null ? undefined : `$${value}`.replace("$-", "-$"),
    tip: value === null ? whyUnknown(reason) : undefined,
    className: value === null ? "unknown" : signed ? sign(value) : "",
  };
}

function rate(value: number | null, reason: string | null, base: number | null, signed = true): Value {
  const capped = value !== null && Math.abs(value) >= CAP;
  return {
    text: percent(value),
    exact: value === null ? undefined : `${value} %`,
    tip: value === null ? whyUnknown(reason, base) : capped ? CAPPED : undefined,
    className: value === null ? "unknown" : capped ? "capped" : signed ? sign(value) : "",
  };
}

const pairOf = (p: Position | Pool) =>
  `${chainOf(p.chainId)?.name ?? `Chain ${p.chainId}`} ${nameOf(p.token0)}/${nameOf(p.token1)} ${fee(p.fee)}`;

const rangeOf = (p: Position) =>
  p.priceLower === null ? `ticks ${p.tickLower} to ${p.tickUpper}` : `${p.priceLower} to ${p.priceUpper}`;

const whyOf = (p: Position) => (p.metrics.unrealizableLeg ? "unrealizable" : p.pricing.reason);

export const positionColumns: Column<Position>[] = [
  { id: "rank", head: "#", number: true, from: "tablet", value: (p) => ({ text: integer(p.rank), exact: String(p.rank) }) },
  { id: "pair", head: "Pair", exact: pairOf, render: (p) => <Pair row={p} href={positionHref(p)} /> },
  {
    id: "id", head: "Position", number: true, from: "desk", about: "The NFT's id. A second click turns the order round.",
    sorts: [{ name: "nft_id_desc", direction: "descending" }, { name: "nft_id_asc", direction: "ascending" }],
    value: (p) => ({ text: p.positionId, exact: p.positionId }),
  },
  { id: "range", head: "Range", about: "The price range, and the pool's price in it.", exact: rangeOf, render: (p) => <RangeBar row={p} /> },
  {
    id: "value", head: "Value", number: true, sorts: descending("underlying_value"),
    about: "What the position holds at current prices, without fees.",
    value: (p) => ({
      ...money(p.metrics.underlyingValueUsd, p.pricing.reason),
      ...(p.metrics.unrealizableLeg && { tip: UNREALIZABLE, className: "unrealizable" }),
    }),
  },
  {
    id: "pnl", head: "PnL", number: true, sorts: descending("pnl"),
    about: "Against holding the deposits, all at current prices: value + fees + withdrawn − deposited − gas.",
    value: (p) => money(p.metrics.pnlUsd, whyOf(p), true),
  },
  {
    id: "roi", head: "ROI", number: true, from: "wide", sorts: descending("roi"), about: "PnL as a share of what was deposited.",
    value: (p) => rate(p.metrics.roi, whyOf(p), p.amounts.deposits.valueUsd),
  },
  {
    id: "fees", head: "Fees due", number: true, from: "wide", about: "Uncollected fees, exact to the smallest unit of each token.",
    value: (p) => money(p.metrics.pendingFeesUsd, p.pricing.reason),
  },
  {
    id: "feeApr", head: "Fee APR", number: true, from: "tablet", sorts: descending("fee_apr"), about: "Fees earned on the deposits, a year.",
    value: (p) => rate(p.metrics.feeApr, whyOf(p), p.amounts.deposits.valueUsd, false),
  },
  {
    id: "apr", head: "APR", number: true, from: "tablet", sorts: descending("apr"), about: "ROI a year.",
    value: (p) => rate(p.metrics.apr, whyOf(p), p.amounts.deposits.valueUsd),
  },
  {
    id: "age", head: "Age", number: true, from: "desk", sorts: [{ name: "age", direction: "ascending" }],
    about: "Since the first mint, until now or the close.",
    value: (p) => ({ text: duration(p.metrics.ageSeconds), exact: `${p.metrics.ageSeconds} s` }),
  },
  {
    id: "owner", head: "Owner", from: "wide", exact: (p) => p.owner,
    render: (p) => <a class="hex" href={ownerHref(p.owner)} data-tip={p.owner}>{short(p.owner)}</a>,
  },
];

const counted = (n: number | null): Value => ({
  text: integer(n), exact: n === null ? undefined : String(n), tip: n === null ? STILL_COUNTING : undefined,
  className: n === null ? "unknown" : "",
});

export const poolColumns: Column<Pool>[] = [
  { id: "rank", head: "#", number: true, from: "tablet", value: (p) => ({ text: integer(p.rank ?? null), exact: String(p.rank) }) },
  {
    id: "pair", head: "Pool", exact: pairOf,
    render: (p) => (
      <>
        <Pair row={p} href={poolHref(p)} />
        {p.isDynamicFee && <span class="note" data-tip="The fee is set by a hook; shown is what the last swap paid.">dynamic</span>}
      </>
    ),
  },
  {
    id: "price", head: "Price", number: true, from: "tablet", about: "The second token for one of the first.",
    value: (p) => ({
      text: price(p.metrics.currentPrice), exact: p.metrics.currentPrice === null ? undefined : String(p.metrics.currentPrice),
      ...(p.metrics.currentPrice === null && { tip: whyUnknown("bad_decimals"), className: "unknown" }),
    }),
  },
  {
    id: "tvl", head: "TVL", number: true, sorts: descending("tvl"), about: "What the liquidity at the current price amounts to, fees left out.",
    value: (p) => money(p.metrics.tvlUsd, p.pricing.reason),
  },
  {
    id: "volume", head: "Volume 24 h", number: true, sorts: descending("volume"), about: "One-sided, the last 24 hours.",
    value: (p) => money(p.metrics.volumeUsd24h, p.pricing.reason),
  },
  {
    id: "volume7", head: "Volume 7 d", number: true, from: "desk", value: (p) => money(p.metrics.volumeUsd7d, p.pricing.reason),
  },
  {
    id: "poolfees", head: "Fees 24 h", number: true, from: "tablet", sorts: descending("fees"),
    about: "To liquidity providers, the protocol's part left out.",
    value: (p) => money(p.metrics.feesUsd24h, p.pricing.reason),
  },
  {
    id: "poolApr", head: "Fee APR", number: true, from: "tablet", sorts: descending("fee_apr"), about: "Fees of 24 hours on the TVL, a year.",
    value: (p) => rate(p.metrics.feeApr, p.pricing.reason, p.metrics.tvlUsd, false),
  },
  { id: "positions", head: "Open", number: true, from: "desk", about: "Open positions.", value: (p) => counted(p.positionsCount) },
  { id: "holders", head: "Owners", number: true, from: "desk", about: "Distinct owners of open positions.", value: (p) => counted(p.holdersCount) },
  { id: "tx", head: "Events", number: true, from: "wide", about: "Swaps and liquidity changes since creation.", value: (p) => ({ text: count(p.metrics.txCount), exact: String(p.metrics.txCount) }) },
  {
    id: "created", head: "Created", number: true, from: "wide", sorts: [{ name: "age", direction: "ascending" }],
    value: (p) => ({ text: `${duration(now() / 1000 - p.createdAtTimestamp).split(" ")[0]} ago`, exact: new Date(p.createdAtTimestamp * 1000).toISOString() }),
  },
];

/** Whether a row has a dash in place of a number. Its reason may be about a number that no column has. */
const hasUnknown = (row: Position | Pool) => ("isActive" in row
  ? positionColumns.some((c) => c.value?.(row).className === "unknown")
  : poolColumns.some((c) => c.value?.(row).className === "unknown"));

/** What flags the rows on the page carry, each with what it means. */
export function Footnotes({ rows }: { rows: (Position | Pool)[] }) {
  const unrealizable = rows.filter((r) => ("isActive" in r ? r.metrics.unrealizableLeg : "unrealizable" in r.pricing)).length;
  const risky = rows.filter((r) => r.token0.risky || r.token1.risky).length;
  const unknown = rows.filter(hasUnknown).length;
  if (unrealizable + risky + unknown === 0) return null;
  return (
    <ul class="footnotes">
      {unrealizable > 0 && <li><Flag name="unrealizable" tip={UNREALIZABLE} /> {unrealizable} unrealizable: a leg that could not be sold counts 0.</li>}
      {unknown > 0 && <li><span class="dash">—</span> {unknown} with an unknown number. The reason is on each dash.</li>}
      {risky > 0 && <li><Flag name="risky" tip="No corroborated market." /> {risky} with a token that no market corroborates.</li>}
    </ul>
  );
}
