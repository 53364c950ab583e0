// The row of plain controls above a ranking. Each that is not at its default
// can be seen and taken off.
import { useStore } from "./store.js";
import { chains } from "./node.js";
import { go, withQuery } from "./route.js";
import { fee as percentOf, short } from "./format.js";

export interface Question {
  kind: "positions" | "pools";
  sort: string;
  limit: number;
  page: number;
  /** "pin" before the first answer of a pinned walk, and then its generations; "": the newest. */
  generation: string;
  /** What the API is asked: the filters that are not at their default. */
  parameters: Record<string, string>;
}

export const SORTS = {
  positions: { underlying_value: "Value", pnl: "PnL", roi: "ROI", fee_apr: "Fee APR", apr: "APR", age: "Youngest", nft_id_desc: "Newest id", nft_id_asc: "Oldest id" },
  pools: { tvl: "TVL", volume: "Volume 24 h", fees: "Fees 24 h", fee_apr: "Fee APR", age: "Oldest" },
} as const;

const DEFAULT_SORT = { positions: "underlying_value", pools: "tvl" };
export const LIMITS = [20, 50, 100];
const DEFAULT_LIMIT = 50;

const FILTERS = {
  positions: ["chainId", "status", "range", "minValueUsd", "minPoolTvl", "includeRisky", "owner", "poolId", "positionId", "tokens", "fee", "hooks"],
  pools: ["chainId", "minTvlUsd", "includeRisky", "search", "tokens", "fee", "hooks"],
};

/** What says no more than the API does without it. */
const DEFAULTS: Record<string, string> = { status: "active", range: "all", includeRisky: "false" };

/** What the API takes for true. */
const isTrue = (given: string) => /^(true|1)$/i.test(given);

/** The question that an address asks. What it does not know it leaves out. */
export function questionOf(kind: "positions" | "pools", query: URLSearchParams): Question {
  const sort = query.get("sort") ?? "";
  const limit = Number(query.get("limit"));
  const parameters: Record<string, string> = {};
  for (const name of FILTERS[kind]) {
    const value = query.get(name);
    if (!value || value === DEFAULTS[name]) continue;
    parameters[name] = name === "includeRisky" && isTrue(value) ? "true" : value;
  }
  return {
    kind, parameters,
    sort: Object.hasOwn(SORTS[kind], sort) ? sort : DEFAULT_SORT[kind],
    limit: LIMITS.includes(limit) ? limit : DEFAULT_LIMIT,
    page: Math.min(Math.max(1, Math.floor(Number(query.get("page"))) || 1), Number.MAX_SAFE_INTEGER),
    generation: query.get("generation") ?? "",
  };
}

/** Everything that the API is sent. */
export function sent(q: Question): Record<string, string | number> {
  return { ...q.parameters, sort: q.sort, limit: q.limit, ...(q.page > 1 && { page: q.page }), ...(q.generation && { generation: q.generation }) };
}

/** The address in which nothing is hidden. */
export function widest(q: Question): string {
  const cleared = Object.fromEntries(FILTERS[q.kind].map((name) => [name, null]));
  return withQuery(q.kind === "positions"
    ? { ...cleared, status: "all", minValueUsd: "0", minPoolTvl: "0", includeRisky: "true", sort: "underlying_value" }
    : { ...cleared, minTvlUsd: "0", includeRisky: "true" });
}

function set(name: string, value: string | null) {
  const href = withQuery({ [name]: value });
  if (href !== location.pathname + location.search) go(href, { stay: true }); // an embedded list stands far below
}

function Choice({ label, name, value, options }: { label: string; name: string; value: string; options: [string, string][] }) {
  const base = options[0]![0];
  return (
    <label class={value === base ? "control" : "control active"}>
      <span>{label}</span>
      <select value={value} onChange={(e) => set(name, e.currentTarget.value === base ? null : e.currentTarget.value)}>
        {options.map(([id, text]) => <option key={id} value={id}>{text}</option>)}
      </select>
      {value !== base && <Remove label={label} onClick={() => set(name, null)} />}
    </label>
  );
}

function Floor({ label, name, value, base }: { label: string; name: string; value: string | undefined; base: string }) {
  return (
    <label class={value === undefined ? "control" : "control active"}>
      <span>{label}</span>
      <span class="prefix">$</span>
      <input key={value ?? base} type="text" inputMode="decimal" size={6} defaultValue={value ?? base}
        onChange={(e) => {
          const given = e.currentTarget.value.replace(/[,$\s]/g, "");
          set(name, given === "" || given === base ? null : given);
        }} />
      {value !== undefined && <Remove label={label} onClick={() => set(name, null)} />}
    </label>
  );
}

function Remove({ label, onClick }: { label: string; onClick: () => void }) {
  return <button type="button" class="remove" aria-label={`Remove ${label}`} onClick={(e) => { e.preventDefault(); onClick(); }}>×</button>;
}

function Chip({ label, name, value, text = short(value) }: { label: string; name: string; value: string; text?: string }) {
  return (
    <span class="control active" data-tip={value}>
      <span>{label}</span> <code>{text}</code>
      <Remove label={label} onClick={() => set(name, null)} />
    </span>
  );
}

/** `fixed` are the filters that the page itself sets: they have no control. */
export function Filters({ question: q, fixed = {} }: { question: Question; fixed?: Record<string, string> | undefined }) {
  const all = useStore(chains).filter((c) => c.protocols.length > 0);
  const p = q.parameters;
  const sorts = Object.entries(SORTS[q.kind]);
  const base = DEFAULT_SORT[q.kind];
  return (
    <div class="filters" role="group" aria-label="Filters">
      {!fixed.chainId && !fixed.owner && <Choice label="Chain" name="chainId" value={p.chainId ?? ""} options={[["", "All"], ...all.map((c): [string, string] => [String(c.chainId), c.name])]} />}
      <Choice label="Sort" name="sort" value={q.sort} options={[...sorts.filter(([id]) => id === base), ...sorts.filter(([id]) => id !== base)]} />
      {q.kind === "positions" ? (
        <>
          {!fixed.status && <Choice label="Status" name="status" value={p.status ?? "active"} options={[["active", "Open"], ["inactive", "Closed"], ["all", "All"]]} />}
          <Choice label="Range" name="range" value={p.range ?? "all"} options={[["all", "All"], ["in", "In range"], ["out", "Out of range"]]} />
          <Floor label="Value from" name="minValueUsd" value={p.minValueUsd} base="0" />
          {!fixed.minPoolTvl && <Floor label="Pool TVL from" name="minPoolTvl" value={p.minPoolTvl} base="1000" />}
        </>
      ) : (
        <Floor label="TVL from" name="minTvlUsd" value={p.minTvlUsd} base="0" />
      )}
      {!fixed.includeRisky && <label class={p.includeRisky ? "control check active" : "control check"} data-tip="Tokens that no market corroborates.">
        <input type="checkbox" checked={p.includeRisky === "true"} onChange={(e) => set("includeRisky", e.currentTarget.checked ? "true" : null)} />
        <span>Risky</span>
      </label>}
      {p.owner && !fixed.owner && <Chip label="Owner" name="owner" value={p.owner} />}
      {p.poolId && !fixed.poolId && <Chip label="Pool" name="poolId" value={p.poolId} />}
      {p.positionId && <Chip label="Position" name="positionId" value={p.positionId} />}
      {p.tokens && <Chip label="Tokens" name="tokens" value={p.tokens} text={p.tokens.split(",").map(short).join(", ")} />}
      {p.fee && <Chip label="Fee" name="fee" value={`${p.fee} pips`} text={/^\d+$/.test(p.fee) ? percentOf(Number(p.fee)) : p.fee} />}
      {p.hooks && <Chip label="Hooks" name="hooks" value={p.hooks} />}
    </div>
  );
}
