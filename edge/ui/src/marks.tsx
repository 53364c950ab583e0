// The small signs that stand in rows.
import { chainOf } from "./node.js";
import { fee, short } from "./format.js";
import { RISKY } from "./reasons.js";
import type { Pool, PoolDetail, Position, Token } from "../../client/ts/src/index.js";

export function ChainMark({ id }: { id: number }) {
  const chain = chainOf(id);
  return <span class="chain" data-tip={chain?.name ?? `Chain ${id}`}>{chain?.shortName ?? id}</span>;
}

/** A token's symbol is text from the chain: it may be missing, or written to deceive. */
export const symbol = (t: Token) => t.symbol || short(t.address);

export function Pair({ row, href }: { row: Position | Pool | PoolDetail; href?: string }) {
  const name = (
    <>
      <bdi>{symbol(row.token0)}</bdi>
      <span class="slash">/</span>
      <bdi>{symbol(row.token1)}</bdi>
    </>
  );
  const risky = row.token0.risky || row.token1.risky;
  return (
    <span class="pair">
      <ChainMark id={row.chainId} />
      {href ? <a class="open" href={href}>{name}</a> : <b>{name}</b>}
      <span class="fee" data-tip={row.fee === null ? "Dynamic fee, and no swap has paid one yet." : `${row.fee} pips`}>{fee(row.fee)}</span>
      {risky && <Flag name="risky" tip={RISKY} />}
    </span>
  );
}

/** An honesty flag: amber, with a form of its own. */
export function Flag({ name, tip }: { name: "risky" | "unrealizable" | "capped"; tip: string }) {
  const sign = { risky: "?", unrealizable: "≠", capped: "±" }[name];
  return <span class="flag" tabIndex={0} data-tip={tip} role="img" aria-label={name}>{sign}</span>;
}

const WIDTH = 120;
const HEIGHT = 14;

/**
 * A position's range as a thin bar with the current price in it. In range the
 * bar is filled and the price a line across it; out of range the bar is hollow
 * and the price a pointer beside it.
 */
export function RangeBar({ row }: { row: Position }) {
  const { tickLower: lower, tickUpper: upper, currentTick: tick } = row;
  const inside = lower <= tick && tick < upper;
  const width = upper - lower;
  const room = Math.max(width * 0.3, inside ? 0 : Math.min(width * 2, Math.max(lower - tick, tick - upper) + width * 0.2));
  const from = inside || tick < lower ? lower - room : lower - width * 0.3;
  const to = inside || tick >= upper ? upper + room : upper + width * 0.3;
  const x = (t: number) => Math.max(2, Math.min(WIDTH - 2, ((t - from) / (to - from)) * WIDTH));
  const left = x(lower), right = x(upper), at = x(tick), middle = HEIGHT / 2;

  const state = !row.isActive ? "closed" : inside ? "in range" : tick < lower ? "out of range, price below" : "out of range, price above";
  const pointer = tick < lower ? `M${at} ${middle} l5 -3.5 v7 z` : `M${at} ${middle} l-5 -3.5 v7 z`;
  return (
    <svg class={`range ${row.isActive ? (inside ? "in" : "out") : "closed"}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img"
      aria-label={state} data-tip={`${state[0]!.toUpperCase()}${state.slice(1)}\nticks ${lower} to ${upper}, now ${tick}`}>
      <line class="track" x1="0" x2={WIDTH} y1={middle} y2={middle} />
      <rect class="bar" x={left} y={middle - 2.5} width={Math.max(2, right - left)} height="5" />
      {inside ? <line class="price" x1={at} x2={at} y1="0.5" y2={HEIGHT - 0.5} /> : <path class="pointer" d={pointer} />}
    </svg>
  );
}
