import { useMemo } from "preact/hooks";
import { amount, duration, integer, percent, price, priceAt, short, sign, time, usd, usdFull, UNKNOWN } from "./format.js";
import { NO_DECIMALS, NO_RECEIPT, UNKNOWN_THEN, UNREALIZABLE, whyUnknown } from "./reasons.js";
import { Flag, Pair, RangeBar, symbol } from "./marks.js";
import { ownerHref, poolHref } from "./route.js";
import { Banners, Failure, isRefused, type Flags } from "./states.js";
import { AsRequest, RequestButton, type Shown } from "./request.js";
import { rangeOf, useAnswer } from "./answer.js";
import { days, Exact, ExactCell, Figure, Figures, Ranges, values } from "./figures.js";
import { copyExact } from "./table.js";
import { Chart } from "./chart.js";
import { Liquidity } from "./liquidity.js";
import { Explain } from "./explain.js";
import { chainOf } from "./node.js";
import type { PositionCharts, PositionDetail, Transaction } from "../../client/ts/src/index.js";

export function PositionPage({ chain, id, query }: { chain: number; id: string; query: URLSearchParams }) {
  const range = rangeOf(query);
  const detail = useAnswer((api, signal) => api.position(chain, id, { signal }), [chain, id], chain);
  const charts = useAnswer((api, signal) => api.positionCharts(chain, id, range, { signal }), [chain, id, range]);
  const path = `/v1/positions/${chain}/swapdex-v4/${id}`;
  const shown: Shown = { path, query: {}, method: "position", args: [chain, id] };
  const p = detail.answer;

  if (!p || isRefused(detail.error)) {
    return detail.error
      ? <div class="column"><h1 class="sr">Position</h1><Failure error={detail.error} retry={detail.retry} /></div>
      : <div class="column loading" aria-busy="true"><h1 class="sr">Position</h1><Blank /></div>;
  }
  return (
    <article class="column">
      <Banners flags={p as Flags} error={detail.error} />
      <header class="head">
        <h1><Pair row={p} /></h1>
        <p class="sub">
          Position <b>{p.positionId}</b> of <a class="hex" href={ownerHref(p.owner)} data-tip={p.owner}>{short(p.owner)}</a> in <a class="hex" href={poolHref(p)} data-tip={p.poolId}>pool {short(p.poolId)}</a>
        </p>
        <RequestButton />
      </header>
      <AsRequest shown={shown} />
      <Summary p={p} />
      <RangeLine p={p} />
      <Amounts p={p} />
      <div class="section-head"><h2>Over time</h2><Ranges value={range} /></div>
      {charts.answer ? <Charts p={p} c={charts.answer} dimmed={!charts.current} /> : charts.error ? <Failure error={charts.error} retry={charts.retry} /> : <div class="plots blank" aria-busy="true" />}
      <h2>Transactions</h2>
      <Transactions p={p} />
      <Explain chain={chain} id={id} />
    </article>
  );
}

function Blank() {
  return <>{[240, 420, 640, 640, 640].map((width, i) => <i key={i} style={{ width: `${width}px` }} />)}</>;
}

function Summary({ p }: { p: PositionDetail }) {
  const m = p.metrics;
  const why = m.unrealizableLeg ? "unrealizable" : p.pricing.reason;
  const deposited = p.amounts.deposits.valueUsd;
  const unknown = (v: number | null, base?: number | null) => (v === null ? whyUnknown(why, base) : undefined);
  const fees = m.pendingFeesUsd === null || p.amounts.collectedFees.valueUsd === null ? null : m.pendingFeesUsd + p.amounts.collectedFees.valueUsd;
  return (
    <Figures>
      <Figure name="Value" about="Principal at current prices, without fees." text={usdFull(m.underlyingValueUsd)} exact={m.underlyingValueUsd}
        tip={m.unrealizableLeg ? UNREALIZABLE : unknown(m.underlyingValueUsd)}
        under={m.unrealizableLeg ? <><Flag name="unrealizable" tip={UNREALIZABLE} /> a leg counts 0</> : p.isActive ? "open" : "closed"} />
      <Figure name="PnL against holding" about="Value + fees + withdrawn − deposited − gas, all at the same prices." text={usdFull(m.pnlUsd)} exact={m.pnlUsd}
        tip={unknown(m.pnlUsd)} className={sign(m.pnlUsd)} under={<><Exact text={percent(m.roi)} of={m.roi} why={whyUnknown(why, deposited)} /> of deposits</>} />
      <Figure name="Fees" about="Earned so far: collected and uncollected." text={usdFull(fees)} exact={fees} tip={unknown(fees)} under={<><Exact text={usd(m.pendingFeesUsd)} of={m.pendingFeesUsd} why={whyUnknown(p.pricing.reason)} /> uncollected</>} />
      <Figure name="Fee APR" text={percent(m.feeApr)} exact={m.feeApr} tip={unknown(m.feeApr, deposited)}
        under={<>APR <Exact text={percent(m.apr)} of={m.apr} why={whyUnknown(why, deposited)} className={sign(m.apr)} /></>} />
      <Figure name="Time in range" about="The share of the time it was open in which its range contained the pool's price." exact={p.timeInRange}
        text={percent(p.timeInRange === null ? null : p.timeInRange * 100)} tip={p.timeInRange === null ? "Not counted for this position." : undefined}
        under={<>of <span data-tip={`${m.ageSeconds} s`}>{duration(m.ageSeconds)}</span>, {m.inRange ? "in" : "out of"} range now</>} />
    </Figures>
  );
}

function RangeLine({ p }: { p: PositionDetail }) {
  const at = (tick: number) => price(priceAt(tick, p.token0.decimals, p.token1.decimals));
  const per = `${symbol(p.token1)} per ${symbol(p.token0)}`;
  return (
    <p class="range-line">
      <Exact text={at(p.tickLower)} of={p.priceLower} why={whyUnknown("bad_decimals")} />
      <RangeBar row={p} />
      <Exact text={at(p.tickUpper)} of={p.priceUpper} why={whyUnknown("bad_decimals")} />
      <span class="now">now <b><Exact text={price(p.poolStats.currentPrice)} of={p.poolStats.currentPrice} why={whyUnknown("bad_decimals")} /></b> {per}</span>
    </p>
  );
}

const AMOUNTS = [["current", "Holds"], ["uncollectedFees", "Uncollected fees"], ["collectedFees", "Collected fees"], ["deposits", "Deposited"], ["withdrawals", "Withdrawn"]] as const;

function Amounts({ p }: { p: PositionDetail }) {
  const g = p.amounts.gas;
  const native = chainOf(p.chainId)?.nativeToken.symbol ?? "";
  return (
    <table class="plain-table" onCopy={copyExact}>
      <thead><tr><th scope="col">Amounts</th><th scope="col" class="number">{symbol(p.token0)}</th><th scope="col" class="number">{symbol(p.token1)}</th><th scope="col" class="number">USD now</th></tr></thead>
      <tbody>
        {AMOUNTS.map(([name, title]) => {
          const a = p.amounts[name];
          return (
            <tr key={name}>
              <th scope="row">{title}</th>
              <ExactCell text={amount(a.amount0)} of={a.amount0} why={NO_DECIMALS} />
              <ExactCell text={amount(a.amount1)} of={a.amount1} why={NO_DECIMALS} />
              <ExactCell text={usdFull(a.valueUsd)} of={a.valueUsd} why={whyUnknown(p.pricing.reason)} />
            </tr>
          );
        })}
        <tr>
          <th scope="row">Gas</th>
          <td class="number" colSpan={2} data-exact={g.native ?? ""}><Exact text={`${amount(g.native)} ${native}`} of={g.native} why={NO_RECEIPT} /></td>
          <ExactCell text={usdFull(g.valueUsd)} of={g.valueUsd} why={g.native === null ? NO_RECEIPT : whyUnknown(p.pricing.reason)} />
        </tr>
      </tbody>
    </table>
  );
}

function Charts({ p, c, dimmed }: { p: PositionDetail; c: PositionCharts; dimmed: boolean }) {
  const s = c.positionSeries;
  const lower = priceAt(p.tickLower, p.token0.decimals, p.token1.decimals);
  const upper = priceAt(p.tickUpper, p.token0.decimals, p.token1.decimals);
  // Series are new arrays only with a new answer: charts are drawn anew then.
  const d = useMemo(() => ({
    x: c.poolPrice.map((o) => o.timestamp),
    price: { open: c.poolPrice.map((o) => o.open), high: c.poolPrice.map((o) => o.high), low: c.poolPrice.map((o) => o.low) },
    close: [{ label: "C", values: c.poolPrice.map((o) => o.close) }],
    own: s && {
      x: days(s.assetValueUsd),
      value: [{ label: "", values: values(s.assetValueUsd) }],
      pnl: [{ label: "PnL", values: values(s.pnlUsd) }, { label: "Divergence", values: values(s.divergenceLossUsd), second: true }],
      apr: [{ label: "Fee APR", values: values(s.feeApr) }, { label: "APR", values: values(s.apr), second: true }],
    },
  }), [c]);
  return (
    <div class={dimmed ? "plots dimmed" : "plots"}>
      <Chart title={`Price, ${symbol(p.token1)} per ${symbol(p.token0)}`} about="Each day from low to high, with open and close. The band is the position's range."
        x={d.x} lines={d.close} ohlc={d.price} format={price} height={220} band={lower === null || upper === null ? undefined : { lower, upper }} />
      {d.own ? (
        <>
          <Chart title="Value" x={d.own.x} lines={d.own.value} format={usd} />
          <Chart title="PnL against holding" about="Dashed: divergence, which is PnL without fees and gas." x={d.own.x} lines={d.own.pnl} format={usd} />
          <Chart title="Fee APR" about="Dashed: APR, everything counted." x={d.own.x} lines={d.own.apr} format={percent} />
        </>
      ) : <p class="quiet">The position's own series cannot be reconstructed.</p>}
      <Liquidity of={c.liquidityDistribution} now={p.poolStats.currentPrice} token0={p.token0} token1={p.token1} />
    </div>
  );
}

const FIRST_TRANSACTIONS = 100; // more are one click away: a page of thousands is slow to lay out

function Transactions({ p }: { p: PositionDetail }) {
  const explorer = chainOf(p.chainId)?.explorerUrl;
  const [rest, all] = [p.transactions.length - FIRST_TRANSACTIONS, p.transactions];
  return (
    <>
      {p.transactionsDegraded && <p class="banner"><b>Still loading.</b> {p.transactionsPartial ? "These are the newest." : "They come within seconds."} Such an answer is free.</p>}
      {p.transactionsTruncated && <p class="banner"><b>Truncated.</b> The history is too long; the newest are missing.</p>}
      <TransactionTable rows={all.slice(0, FIRST_TRANSACTIONS)} p={p} explorer={explorer} />
      {rest > 0 && <details class="more"><summary>{integer(rest)} older</summary><TransactionTable rows={all.slice(FIRST_TRANSACTIONS)} p={p} explorer={explorer} /></details>}
    </>
  );
}

function TransactionTable({ rows, p, explorer }: { rows: Transaction[]; p: PositionDetail; explorer: string | undefined }) {
  return (
    <table class="plain-table transactions" onCopy={copyExact}>
      <thead>
        <tr>
          <th scope="col">Time, UTC</th><th scope="col">What</th>
          <th scope="col" class="number from-tablet">{symbol(p.token0)}</th><th scope="col" class="number from-tablet">{symbol(p.token1)}</th>
          <th scope="col" class="number">USD then</th><th scope="col" class="number from-tablet">Gas</th><th scope="col">Transaction</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((t) => (
          <tr key={`${t.txHash}${t.logIndex}`}>
            <td data-exact={new Date(t.timestamp * 1000).toISOString()}><time dateTime={new Date(t.timestamp * 1000).toISOString()} data-tip={`${time(t.timestamp)}\nblock ${integer(t.blockNumber)}`}>{time(t.timestamp).replace(/:\d\d UTC/, "")}</time></td>
            <td>{t.type}</td>
            <td class="number from-tablet" data-exact={paid(t.amount0, t.fees0)}><Paid principal={t.amount0} fees={t.fees0} /></td>
            <td class="number from-tablet" data-exact={paid(t.amount1, t.fees1)}><Paid principal={t.amount1} fees={t.fees1} /></td>
            <ExactCell text={usd(t.valueUsd)} of={t.valueUsd} why={UNKNOWN_THEN} />
            <ExactCell text={usd(t.gasUsd)} of={t.gasUsd} why={t.gasNative === null ? NO_RECEIPT : UNKNOWN_THEN} className="from-tablet" />
            <td data-exact={t.txHash}>{explorer ? <a class="hex" href={`${explorer}/tx/${t.txHash}`} rel="noreferrer" target="_blank" data-tip={t.txHash}>{short(t.txHash)}</a> : <code>{short(t.txHash)}</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const paid = (principal: string | null, fees: string | null) => (fees === "0" ? principal ?? "" : `${principal ?? ""} + ${fees ?? ""} fees`);

/** An amount, and the fees that the same change paid out. */
function Paid({ principal, fees }: { principal: string | null; fees: string | null }) {
  if (principal === null || fees === null) return <span data-tip={NO_DECIMALS}>{UNKNOWN}</span>;
  return (
    <span data-tip={`principal ${principal}\nfees ${fees}`}>
      {principal !== "0" || fees === "0" ? amount(principal) : ""}
      {fees !== "0" && <span class="fees">{principal !== "0" ? " + " : ""}{amount(fees)} fees</span>}
    </span>
  );
}
