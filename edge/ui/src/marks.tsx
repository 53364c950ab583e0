// The small signs that stand in rows.
import { chainOf } from "./node.js";
import { fee, price, priceAt, short } from "./format.js";
import { RISKY } from "./reasons.js";
import type { Pool, PoolDetail, Position, PositionDetail, Token } from "../../client/ts/src/index.js";

export function ChainMark({ id }: { id: number }) {
  const chain = chainOf(id);
  return <span class="chain" data-tip={chain?.name ?? `Chain ${id}`}>{chain?.shortName ?? id}</span>;
}

/** A token's symbol is text from the chain: it may be missing, long, or written to deceive. */
export const nameOf = (t: Token) => t.symbol || short(t.address);

const LONGEST_SYMBOL = 16; // characters, in a line of text

/** A token's symbol in a line of text: cut, and isolated, so that its direction turns nothing else round. */
export function symbol(t: Token): string {
  const all = [...nameOf(t)];
  return `\u2068${all.length > LONGEST_SYMBOL ? `${all.slice(0, LONGEST_SYMBOL).join("")}…` : all.join("")}\u2069`;
}

const SEEN_WHOLE = 8; // characters that no table cuts

function Name({ of: t }: { of: Token }) {
  const name = nameOf(t);
  return <bdi data-tip={name.length > SEEN_WHOLE ? name : undefined}>{name}</bdi>;
}

export function Pair({ row, href }: { row: Position | PositionDetail | Pool | PoolDetail; href?: string }) {
  const name = (
    <>
      <Name of={row.token0} />
      <span class="slash">/</span>
      <Name of={row.token1} />
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
const MAX_TICK = 887_272;
const NEAR_TICKS = 40; // within so many ticks, 0.4 %, the scale is even; beyond it is logarithmic

/** Where a tick stands, with the current price in the middle. */
function placeOf(tick: number, current: number): number {
  const far = Math.asinh((tick - current) / NEAR_TICKS) / Math.asinh(MAX_TICK / NEAR_TICKS);
  return WIDTH / 2 + Math.max(-1, Math.min(1, far)) * (WIDTH / 2 - 1);
}

/**
 * A position's range as a thin bar about the current price, which is the line
 * in the middle: in range the bar is filled and crosses it, out of range it is
 * hollow and stands beside it. The scale is the same for all rows.
 */
export function RangeBar({ row }: { row: Position | PositionDetail }) {
  const { tickLower: lower, tickUpper: upper, currentTick: tick } = row;
  const inside = lower <= tick && tick < upper;
  const left = placeOf(lower, tick), right = placeOf(upper, tick), middle = HEIGHT / 2;
  const state = !row.isActive ? "Closed" : inside ? "In range" : `Out of range, the price is ${tick < lower ? "below" : "above"} it`;
  const at = (t: number) => price(priceAt(t, row.token0.decimals, row.token1.decimals));
  return (
    <svg class={`range ${row.isActive ? (inside ? "in" : "out") : "closed"}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
      aria-label={state} data-tip={`${state}\n${at(lower)} to ${at(upper)}, now ${at(tick)}\nticks ${lower} to ${upper}, now ${tick}`}>
      <line class="track" x1="0" x2={WIDTH} y1={middle} y2={middle} />
      <rect class="bar" x={left} y={middle - 2.5} width={Math.max(2, right - left)} height="5" />
      <line class="price" x1={WIDTH / 2} x2={WIDTH / 2} y1="1" y2={HEIGHT - 1} />
    </svg>
  );
}
