// A pool's liquidity by tick, with the current price and a position's range.
import { useMemo } from "preact/hooks";
import { Chart } from "./chart.js";
import { compact, price, priceAt } from "./format.js";
import type { Distribution, Token } from "../../client/ts/src/index.js";

const WIDEST_VIEW_TICKS = 30_000; // a factor of 20 in price, on either side
const VIEW_SHARE = 0.92;          // of the pool's value that the view shows

/** The ticks between which most of the pool's value lies. */
function viewOf(d: Distribution): [number, number] {
  const now = Math.exp(d.currentTick * Math.log(1.0001));
  const width = (b: { tickLower: number; tickUpper: number }) => b.tickUpper - b.tickLower;
  const bins = d.bins.map((b) => ({ ...b, value: Number(b.liquidity) * Math.min(width(b), WIDEST_VIEW_TICKS), far: distance(b, d.currentTick) }));
  const total = bins.reduce((sum, b) => sum + b.value, 0);
  let seen = 0, reach = d.tickSpacing * 20;
  for (const b of bins.toSorted((a, c) => a.far - c.far)) {
    if (seen > total * VIEW_SHARE) break;
    seen += b.value;
    reach = Math.max(reach, b.far);
  }
  for (const end of [d.tickLower, d.tickUpper]) {
    if (end !== undefined && Math.abs(end - d.currentTick) < WIDEST_VIEW_TICKS) reach = Math.max(reach, Math.abs(end - d.currentTick) * 1.15);
  }
  reach = Math.min(reach * 1.05, WIDEST_VIEW_TICKS);
  return now > 0 ? [d.currentTick - reach, d.currentTick + reach] : [-1, 1];
}

const distance = (b: { tickLower: number; tickUpper: number }, tick: number) =>
  Math.max(b.tickLower - tick, tick - b.tickUpper, 0);

const axisPrice = (value: number | null) => price(value === null ? null : Number(value.toPrecision(4)));

/** `now` is the price that the page shows, which lies between two ticks. */
export function Liquidity({ of: d, now, token0, token1, height }: { of: Distribution; now: number | null; token0: Token; token1: Token; height?: number }) {
  const { x, y, view } = useMemo(() => {
    const x: number[] = [], y: (number | null)[] = [];
    for (const bin of d.bins) {
      // A gap between bins has no liquidity.
      if (x.length > 0 && x.at(-1) !== bin.tickLower) y[x.length - 1] = 0;
      else if (x.length > 0) x.pop(), y.pop();
      x.push(bin.tickLower, bin.tickUpper);
      y.push(Number(bin.liquidity), 0);
    }
    return { x, y, view: viewOf(d) };
  }, [d]);
  if (d.bins.length === 0) return null;

  const at = (tick: number) => priceAt(tick, token0.decimals, token1.decimals);
  const lines = useMemo(() => [{ label: "", values: y, form: "area" as const }], [y]);
  return (
    <Chart title="Liquidity by price" about="At each price, from all initialised ticks. The upright line is the current price."
      x={x} lines={lines} format={(v) => (v ? compact(v) : "")} height={height ?? 150}
      axis={{
        format: (tick) => axisPrice(at(tick)), mark: d.currentTick, view,
        tell: (i) => (i >= x.length - 1 ? `now ${price(now ?? at(d.currentTick))}` : `${price(at(x[i]!))} to ${price(at(x[i + 1]!))}`),
      }} />
  );
}
