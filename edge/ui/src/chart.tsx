// Charts of series by day: hairlines, few ticks, one crosshair over all charts
// of a page, and the value read out in place of a legend.
import uPlot from "uplot";
import { useEffect, useRef, useState } from "preact/hooks";
import { UNKNOWN, date } from "./format.js";

export interface Line {
  label: string;
  values: (number | null)[];
  /** Bars and areas are for volume and liquidity only. */
  form?: "line" | "bars" | "area";
  /** The second line of a chart is lighter and dashed. */
  second?: boolean;
}

interface Props {
  title: string;
  about?: string;
  x: number[];
  lines: Line[];
  format: (value: number | null) => string;
  height?: number;
  /** Open, high and low of each day; the first line is its close. */
  ohlc?: { open: (number | null)[]; high: (number | null)[]; low: (number | null)[] };
  /** A price range, drawn over the prices. */
  band?: { lower: number; upper: number; format?: (value: number) => string };
  /** How the horizontal axis and the readout tell x; days by default. */
  axis?: { format: (x: number) => string; mark: number; view: [number, number]; tell: (index: number) => string };
}

const AXIS_ROOM = 62;
const EDGE_ROOM = 24; // a label nearer to the edge would be cut

const FONT = '11px Inter, system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

/** A colour of the theme. */
const ink = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [theme, redraw] = useState(0);

  useEffect(() => {
    const again = () => setTimeout(() => redraw((n) => n + 1));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("tidemark-theme", again);
    scheme.addEventListener("change", again);
    return () => {
      removeEventListener("tidemark-theme", again);
      scheme.removeEventListener("change", again);
    };
  }, []);

  useEffect(() => {
    const element = box.current!;
    const plot = new uPlot(options(props, element.clientWidth, setAt), [props.x, ...props.lines.map((l) => l.values)] as uPlot.AlignedData, element);
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: plot.height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [props.x, props.lines[0]!.values, theme]);

  const i = at ?? props.x.length - 1;
  return (
    <figure class="chart">
      <figcaption>
        <span class="title" data-tip={props.about} tabIndex={props.about ? 0 : undefined}>{props.title}</span>
        <span class="readout-line" aria-live="off">
          {props.ohlc && ["O", "H", "L"].map((letter, k) => (
            <span key={letter}>{letter} <b>{props.format([props.ohlc!.open, props.ohlc!.high, props.ohlc!.low][k]![i] ?? null)}</b></span>
          ))}
          {props.lines.map((l) => (
            <span key={l.label} class={l.second ? "second" : ""}>{l.label} <b>{props.format(l.values[i] ?? null)}</b></span>
          ))}
          <span class="when">{props.axis ? props.axis.tell(i) : props.x[i] === undefined ? UNKNOWN : date(props.x[i]!)}</span>
        </span>
      </figcaption>
      <div class="plot" ref={box} role="img" aria-label={describe(props)} style={{ height: `${props.height ?? 150}px` }} />
    </figure>
  );
}

/** What the chart says, for those who do not see it. */
function describe(p: Props): string {
  const known = p.lines[0]!.values.filter((v): v is number => v !== null);
  if (known.length === 0) return `${p.title}: unknown throughout`;
  return `${p.title}: from ${p.format(known[0]!)} to ${p.format(known.at(-1)!)}, at least ${p.format(Math.min(...known))}, at most ${p.format(Math.max(...known))}`;
}

function options(p: Props, width: number, setAt: (index: number | null) => void): uPlot.Options {
  const line = ink("line"), quiet = ink("text-3"), text = ink("text");
  const grid = { stroke: line, width: 1 };
  const axis = { font: FONT, stroke: quiet, grid, ticks: { show: false } };
  return {
    width, height: p.height ?? 150,
    // Without a vertical axis its room stays free, so that all charts are as wide.
    padding: [8, p.axis ? AXIS_ROOM : 0, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 5, fill: text, stroke: text },
      drag: { x: false, y: false },
      ...(!p.axis && { sync: { key: "days" } }),
    },
    hooks: {
      setCursor: [(u) => setAt(u.cursor.idx ?? null)],
      drawClear: [(u) => p.band && drawBand(u, p.band)],
      draw: [(u) => { if (p.ohlc) drawOhlc(u, p, text); if (p.axis) drawMark(u, p.axis.mark); }],
    },
    scales: {
      x: { time: !p.axis, range: (_, min, max) => p.axis?.view ?? [min - DAY / 2, max + DAY / 2] },
      y: { range: (_, min, max) => roomFor(p, min, max) },
    },
    axes: [
      { ...axis, size: 26, space: 90, grid: { show: false }, filter: awayFromEdges, ...(p.axis ? { values: (_, ticks) => ticks.map((t) => (t === null ? null : round(p.axis!.format(t)))) } : { values: (_, days) => days.map((d) => (d === null ? null : dayLabel(d))) }) },
      { ...axis, size: AXIS_ROOM, space: 34, side: 1, show: !(p.axis), values: (_, values) => values.map((v) => round(p.format(v))) },
    ],
    series: [
      {},
      ...p.lines.map((l): uPlot.Series => ({
        spanGaps: false,
        width: p.ohlc ? 0 : 1.5,
        stroke: l.second ? quiet : text,
        points: { show: (u) => u.data[0]!.length === 1 },
        ...(l.second && { dash: [4, 3], width: 1 }),
        ...(l.form === "bars" && { paths: uPlot.paths.bars!({ size: [0.7, 24] }), fill: ink("bar"), width: 0, stroke: ink("bar") }),
        ...(l.form === "area" && { paths: uPlot.paths.stepped!({ align: 1 }), fill: ink("bar"), width: 1, stroke: quiet }),
      })),
    ],
  };
}

/** An axis needs no cents. */
const round = (text: string) => text.replace(/\.0+(?=\D*$)/, "");

const DAY = 86400;

const awayFromEdges: uPlot.Axis.Filter = (u, splits) => splits.map((s) => {
  const x = u.valToPos(s, "x");
  return x < EDGE_ROOM || x > u.bbox.width / devicePixelRatio - EDGE_ROOM ? null : s;
}) as number[];

const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const dayLabel = (unix: number) => short.format(unix * 1000);

/** The vertical scale: bars and areas stand on 0; a range near the prices is seen whole. */
function roomFor(p: Props, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  let low = Math.min(min, ...(p.ohlc?.low ?? []).filter((v): v is number => v !== null));
  let high = Math.max(max, ...(p.ohlc?.high ?? []).filter((v): v is number => v !== null));
  if (p.band && p.band.lower > low * 0.5) low = Math.min(low, p.band.lower);
  if (p.band && p.band.upper < high * 2) high = Math.max(high, p.band.upper);
  const grounded = p.lines.some((l) => l.form);
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [grounded ? Math.min(0, low) : low - room, high + room];
}

/** The range of a position, behind its pool's prices. */
function drawBand(u: uPlot, band: NonNullable<Props["band"]>) {
  const { ctx, bbox } = u;
  const clamp = (y: number) => Math.max(bbox.top, Math.min(bbox.top + bbox.height, y));
  const top = u.valToPos(band.upper, "y", true), bottom = u.valToPos(band.lower, "y", true);
  ctx.save();
  ctx.fillStyle = ink("band");
  ctx.fillRect(bbox.left, clamp(top), bbox.width, clamp(bottom) - clamp(top));
  ctx.strokeStyle = ink("text-3");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 2 * devicePixelRatio]);
  for (const y of [top, bottom]) {
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

/** Each day as a line from low to high with the open to its left and the close to its right. */
function drawOhlc(u: uPlot, p: Props, colour: string) {
  const { ctx } = u;
  const step = p.x.length > 1 ? u.valToPos(p.x[1]!, "x", true) - u.valToPos(p.x[0]!, "x", true) : 10;
  const arm = Math.max(1, Math.min(6 * devicePixelRatio, step * 0.35));
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = Math.max(1, devicePixelRatio);
  ctx.beginPath();
  for (const [i, day] of p.x.entries()) {
    const [open, high, low, close] = [p.ohlc!.open[i], p.ohlc!.high[i], p.ohlc!.low[i], p.lines[0]!.values[i]];
    if (open == null || high == null || low == null || close == null) continue;
    const x = Math.round(u.valToPos(day, "x", true)) + 0.5;
    const y = (value: number) => u.valToPos(value, "y", true);
    ctx.moveTo(x, y(low));
    ctx.lineTo(x, y(high));
    ctx.moveTo(x - arm, y(open));
    ctx.lineTo(x, y(open));
    ctx.moveTo(x, y(close));
    ctx.lineTo(x + arm, y(close));
  }
  ctx.stroke();
  ctx.restore();
}

/** The current price over a horizontal axis of prices. */
function drawMark(u: uPlot, at: number) {
  const { ctx, bbox } = u;
  const x = Math.round(u.valToPos(at, "x", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = ink("text");
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
