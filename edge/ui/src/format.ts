// One format a column; the exact value is kept beside it for hovering and copying.

export const UNKNOWN = "—";
const MINUS = "−";

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const signed = (value: number, text: string) => (value < 0 ? MINUS : "") + text;

const LARGEST_SUFFIXED = 9.995e14; // what would need four digits before its T

/** Three significant digits and a suffix: 66.4K, 1.43M, 931, 0.53. */
export function compact(value: number): string {
  const abs = Math.abs(value);
  if (abs === 0) return "0";
  if (abs >= LARGEST_SUFFIXED) return abs.toExponential(2).replace("e+", "e");
  for (const [size, suffix] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]] as const) {
    if (abs >= size * 0.9995) return significant(abs / size) + suffix;
  }
  return abs < 0.01 ? "<0.01" : significant(abs);
}

/** Three digits, without rounding integers away. */
function significant(abs: number): string {
  return abs.toFixed(abs >= 99.95 ? 0 : abs >= 9.995 ? 1 : 2);
}

/** A number of things: exact below a thousand. */
export function count(n: number): string {
  return n < 1000 ? integer(n) : compact(n);
}

export function usd(value: number | null): string {
  if (value === null) return UNKNOWN;
  const text = compact(value);
  return signed(value, text.startsWith("<") ? "<$0.01" : `$${text}`);
}

/** To the cent up to ten millions, for the few figures at the head of a page. */
export function usdFull(value: number | null): string {
  if (value === null) return UNKNOWN;
  const abs = Math.abs(value);
  if (abs > 0 && abs < 0.005) return usd(value);
  if (abs < 1e7) return signed(value, `$${cents.format(abs)}`);
  if (abs < 1e9) return signed(value, `$${(abs / 1e6).toFixed(2)}M`);
  if (abs < 1e12) return signed(value, `$${(abs / 1e9).toFixed(2)}B`);
  return usd(value);
}

export function percent(value: number | null): string {
  if (value === null) return UNKNOWN;
  const abs = Math.abs(value);
  const text = `${abs >= 1000 ? grouped.format(abs) : abs.toFixed(2)} %`;
  return abs < 0.005 ? text : signed(value, text);
}

/** A fee in pips: 3000 is 0.30 %. */
export function fee(pips: number | null): string {
  if (pips === null) return UNKNOWN;
  const text = (pips / 10_000).toFixed(4).replace(/0{1,2}$/, "");
  return `${text} %`;
}

export function integer(value: number | null): string {
  return value === null ? UNKNOWN : signed(value, grouped.format(Math.abs(value)));
}

/** Six significant digits. */
export function price(value: number | null): string {
  if (value === null) return UNKNOWN;
  const abs = Math.abs(value);
  if (abs === 0) return "0";
  if (abs >= 1e15 || abs < 1e-6) return abs.toExponential(3).replace("e-", "e−").replace("e+", "e");
  if (abs >= 1000) return (abs >= 1e5 ? grouped : cents).format(value);
  return signed(value, trim(abs.toPrecision(6)));
}

/** A decimal string of any length, shortened for people to about seven digits. */
export function amount(exact: string | null): string {
  if (exact === null) return UNKNOWN;
  const value = Number(exact);
  if (value === 0) return "0";
  if (value >= 1e6) return compact(value);
  if (value >= 1000) return cents.format(value);
  return value < 1e-6 ? value.toExponential(2).replace("e-", "e−") : trim(value.toPrecision(6));
}

const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** The two largest units: 3d 4h, 4h 12m, 54m, 12s. */
export function duration(seconds: number): string {
  const units: [number, string][] = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  let rest = Math.max(0, Math.floor(seconds));
  const first = units.findIndex(([size]) => rest >= size);
  if (first < 0) return "0s";
  const parts: string[] = [];
  for (const [size, name] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
  }
  return parts.join(" ");
}

/** How old data is: "2 s ago". */
export function ago(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s ago` : `${duration(whole)} ago`;
}

export function short(hex: string): string {
  return hex.length > 13 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });

export const date = (unix: number) => day.format(unix * 1000);
export const time = (unix: number) => `${day.format(unix * 1000)}, ${clock.format(unix * 1000)} UTC`;

/** The class that colours a signed number; what rounds to 0 has no sign. */
export const sign = (value: number | null) => (value === null || Math.abs(value) < 0.005 ? "" : value < 0 ? "neg" : "pos");

/** The most decimals with which a token can have a price. */
const MAX_DECIMALS = 36;

/** token1 per token0 at a tick, in human units; null where the decimals of a token are, or are too many. */
export function priceAt(tick: number, decimals0: number | null, decimals1: number | null): number | null {
  if (decimals0 === null || decimals1 === null || Math.max(decimals0, decimals1) > MAX_DECIMALS) return null;
  return Math.exp(tick * Math.log(1.0001)) * 10 ** (decimals0 - decimals1);
}
