import { useMemo } from "preact/hooks";
import { count, date, integer, percent, price, short, usd, usdFull } from "./format.js";
import { CAPPED, STILL_COUNTING, whyUnknown } from "./reasons.js";
import { Pair, symbol } from "./marks.js";
import { Banners, Failure, isRefused, type Flags } from "./states.js";
import { AsRequest, RequestButton, type Shown } from "./request.js";
import { rangeOf, useAnswer } from "./answer.js";
import { days, Exact, Figure, Figures, Ranges, values } from "./figures.js";
import { Chart } from "./chart.js";
import { Liquidity } from "./liquidity.js";
import { ListPage } from "./list.js";
import type { PoolCharts, PoolDetail } from "../../client/ts/src/index.js";

export function PoolPage({ chain, id, query }: { chain: number; id: string; query: URLSearchParams }) {
  const range = rangeOf(query);
  const detail = useAnswer((api, signal) => api.pool(chain, id, { signal }), [chain, id], chain);
  const charts = useAnswer((api, signal) => api.poolCharts(chain, id, range, { signal }), [chain, id, range]);
  const shown: Shown = { path: `/v1/pools/${chain}/swapdex-v4/${id}`, query: {}, method: "pool", args: [chain, id] };
  const fixed = useMemo(() => ({ poolId: id, chainId: String(chain), includeRisky: "true", minPoolTvl: "0" }), [id, chain]);
  const p = detail.answer;

  if (!p || isRefused(detail.error)) {
    return detail.error
      ? <div class="column"><h1 class="sr">Pool</h1><Failure error={detail.error} retry={detail.retry} /></div>
      : <div class="column loading" aria-busy="true"><h1 class="sr">Pool</h1><i style={{ width: "240px" }} /><i style={{ width: "640px" }} /></div>;
  }
  return (
    <>
      <article class="column">
        <Banners flags={p as Flags} error={detail.error} />
        <header class="head">
          <h1><Pair row={p} /></h1>
          <p class="sub">
            Pool <code class="hex" data-tip={p.poolId}>{short(p.poolId)}</code>, since {date(p.createdAtTimestamp)}
            {p.isDynamicFee && <>, fee set by its hook</>}
            {/[1-9a-f]/.test(p.hooks.slice(2)) && <>, hook <code class="hex" data-tip={p.hooks}>{short(p.hooks)}</code></>}
          </p>
          <RequestButton />
        </header>
        <AsRequest shown={shown} />
        <Summary p={p} />
        <div class="section-head"><h2>Over time</h2><Ranges value={range} /></div>
        {charts.answer ? <Charts p={p} c={charts.answer} dimmed={!charts.current} /> : charts.error ? <Failure error={charts.error} retry={charts.retry} /> : <div class="plots blank" aria-busy="true" />}
      </article>
      <h2 class="wide">Positions</h2>
      <ListPage kind="positions" query={query} fixed={fixed} embedded />
    </>
  );
}

function Summary({ p }: { p: PoolDetail }) {
  const m = p.metrics;
  const unknown = (v: number | null) => (v === null ? whyUnknown(p.pricing.reason) : undefined);
  const capped = m.feeApr !== null && Math.abs(m.feeApr) >= 100_000;
  return (
    <Figures>
      <Figure name="Price" text={price(m.currentPrice)} exact={m.currentPrice} tip={m.currentPrice === null ? whyUnknown("bad_decimals") : undefined}
        under={`${symbol(p.token1)} per ${symbol(p.token0)}`} />
      <Figure name="TVL" text={usdFull(m.tvlUsd)} exact={m.tvlUsd} tip={unknown(m.tvlUsd)} under={`tick ${p.currentTick}`} />
      <Figure name="Volume 24 h" text={usdFull(m.volumeUsd24h)} exact={m.volumeUsd24h} tip={unknown(m.volumeUsd24h)} under={<><Exact text={usd(m.volumeUsd7d)} of={m.volumeUsd7d} why={whyUnknown(p.pricing.reason)} /> in 7 d</>} />
      <Figure name="Fees 24 h" text={usdFull(m.feesUsd24h)} exact={m.feesUsd24h} tip={unknown(m.feesUsd24h)} under={<><Exact text={usd(m.feesUsd7d)} of={m.feesUsd7d} why={whyUnknown(p.pricing.reason)} /> in 7 d</>} />
      <Figure name="Fee APR" text={percent(m.feeApr)} exact={m.feeApr} tip={capped ? CAPPED : m.feeApr === null ? whyUnknown(p.pricing.reason, m.tvlUsd) : undefined} under={<><Exact text={count(m.txCount)} of={m.txCount} why="" /> events</>} />
      <Figure name="Open positions" text={integer(p.positionsCount)} tip={p.positionsCount === null ? STILL_COUNTING : undefined}
        under={<><Exact text={integer(p.holdersCount)} of={p.holdersCount} why={STILL_COUNTING} /> owners</>} />
    </Figures>
  );
}

function Charts({ p, c, dimmed }: { p: PoolDetail; c: PoolCharts; dimmed: boolean }) {
  const d = useMemo(() => ({
    x: c.poolPrice.map((o) => o.timestamp),
    price: { open: c.poolPrice.map((o) => o.open), high: c.poolPrice.map((o) => o.high), low: c.poolPrice.map((o) => o.low) },
    close: [{ label: "C", values: c.poolPrice.map((o) => o.close) }],
    days: days(c.poolSeries.tvlUsd),
    tvl: [{ label: "", values: values(c.poolSeries.tvlUsd) }],
    volume: [{ label: "", values: values(c.poolSeries.volumeUsd), form: "bars" as const }],
    fees: [{ label: "", values: values(c.poolSeries.feesUsd), form: "bars" as const }],
    apr: [{ label: "", values: values(c.poolSeries.feeApr) }],
  }), [c]);
  return (
    <div class={dimmed ? "plots dimmed" : "plots"}>
      <Chart title={`Price, ${symbol(p.token1)} per ${symbol(p.token0)}`} about="Each day from low to high, with open and close."
        x={d.x} lines={d.close} ohlc={d.price} format={price} height={220} />
      <Liquidity of={c.liquidityDistribution} now={p.metrics.currentPrice} token0={p.token0} token1={p.token1} height={180} />
      <Chart title="TVL" x={d.days} lines={d.tvl} format={usd} />
      <Chart title="Volume a day" x={d.days} lines={d.volume} format={usd} />
      <Chart title="Fees a day" x={d.days} lines={d.fees} format={usd} />
      <Chart title="Fee APR" x={d.days} lines={d.apr} format={percent} />
    </div>
  );
}
