// Calls of every route, by types that openapi-typescript makes of the document. They must compile with `strict`,
// and no answer may have `unknown` in it.
import createClient from "openapi-fetch";
import type { operations, paths } from "./generated/api.js";
import { typed, type Untyped } from "./nounknown.js";

const api = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers: { "KC-APIKey": "tm_srv_" } });
const protocol = "swapdex-v4";

/** Every answer of every operation, whatever its status. */
type Answers = {
  [Name in keyof operations]: operations[Name]["responses"] extends infer R
    ? { [Status in keyof R & number]: R[Status] extends { content: { "application/json": infer Body } } ? Body : null }
    : never;
};
const untyped: [Untyped<Answers>] extends [never] ? null : Untyped<Answers> = null;
export const nothingIsUntyped: null = untyped;

// That `unknown` is found, however deep:
// @ts-expect-error
typed({ rows: [{}] } as { rows: { usd?: unknown }[] });
// @ts-expect-error
typed([] as { usd: any }[]);

/** A position that gained, with what it is made of. */
export async function ofOwner(owner: string): Promise<string[]> {
  const { data, error, response } = await api.GET("/v1/positions", {
    params: { query: { owner, sort: "pnl", status: "all", range: "in", minPoolTvl: 0, includeRisky: true, page: 1, limit: 100 } },
  });
  if (!data) throw new Error(`${response.status}: ${error.error}`);
  typed(data);

  const lines: string[] = [];
  for (const row of data.positions) {
    const pnl: number | null = row.metrics.pnlUsd;
    const symbol: string | null = row.token0.symbol;
    const raw: bigint = BigInt(row.amounts.current.amount0Raw);
    if (pnl === null || row.metrics.priceUnavailable || row.metrics.unrealizableLeg) {
      lines.push(`${row.positionId}: ${row.pricing.reason ?? "unknown"}`);
      continue;
    }
    lines.push(`#${row.rank} ${symbol ?? row.token0.address}: ${pnl.toFixed(2)} USD, ${raw}, ${row.isActive && row.metrics.inRange}`);
  }
  const { total, hasMore, totalCapped }: { total: number; hasMore: boolean; totalCapped?: boolean } = data.pagination;
  lines.push(`${total}${totalCapped ? "+" : ""} ${hasMore} ${data.stale ? data.dataAsOf : ""} ${data.missingChains?.join() ?? ""}`);
  return lines;
}

/** One position: its history, its charts and its arithmetic. */
export async function position(chainId: number, positionId: string): Promise<number> {
  const path = { chainId, protocol, positionId } as const;
  const detail = await api.GET("/v1/positions/{chainId}/{protocol}/{positionId}", { params: { path } });
  const charts = await api.GET("/v1/positions/{chainId}/{protocol}/{positionId}/charts", { params: { path, query: { range: "90d" } } });
  const explained = await api.GET("/v1/positions/{chainId}/{protocol}/{positionId}/explain", { params: { path } });
  if (!detail.data || !charts.data || !explained.data) throw new Error(detail.error?.error ?? charts.error?.error ?? explained.error?.error);
  typed(detail.data);
  typed(charts.data);
  typed(explained.data);

  let sum = 0;
  for (const t of detail.data.transactions) {
    const kind: "mint" | "burn" | "collect" | "transfer" = t.type;
    if (kind !== "transfer" && t.valueUsd !== null) sum += t.valueUsd;
  }
  for (const point of charts.data.positionSeries?.pnlUsd ?? []) sum += point.value ?? 0;
  for (const divergence of charts.data.poolOverview.divergence) sum += divergence.value ?? 0;
  for (const price of explained.data.prices) for (const market of price.markets) sum += market.used ? (market.priceUsd ?? 0) : 0;
  for (const step of explained.data.steps) for (const term of step.terms) sum += term.value ?? Number(term.raw ?? 0);
  return sum;
}

/** The deepest pools of a token, and the liquidity around the price of the first. */
export async function deepest(search: string): Promise<[string, number | null][]> {
  const { data, error } = await api.GET("/v1/pools", { params: { query: { search, sort: "tvl", minTvlUsd: 1000 } } });
  if (!data) throw new Error(error.error);
  typed(data);

  const [first] = data.pools;
  if (!first) return [];
  const path = { chainId: first.chainId, protocol, poolId: first.poolId } as const;
  const pool = await api.GET("/v1/pools/{chainId}/{protocol}/{poolId}", { params: { path } });
  const charts = await api.GET("/v1/pools/{chainId}/{protocol}/{poolId}/charts", { params: { path, query: { range: "all" } } });
  if (!pool.data || !charts.data) return [];
  typed(pool.data);
  typed(charts.data);

  const holders: number | null = pool.data.holdersCount;
  const candle = charts.data.poolPrice.at(-1);
  const bins = charts.data.liquidityDistribution.bins.map((bin): [string, number | null] => [bin.liquidity, bin.price]);
  const now = charts.data.poolOverviewCurrent?.tvlUsd ?? charts.data.poolSeries.tvlUsd.at(-1)?.value ?? null;
  return [...bins, [String(holders), candle?.close ?? null], [pool.data.metrics.txCount.toString(), now]];
}

/** Rows by their ids. */
export async function byIds(positions: string[], pools: string[]): Promise<string[]> {
  const [some, others] = await Promise.all([
    api.GET("/v1/positions/batch", { params: { query: { ids: positions.join() } } }),
    api.GET("/v1/pools/batch", { params: { query: { ids: pools.join() } } }),
  ]);
  if (!some.data || !others.data) throw new Error(some.error?.error ?? others.error?.error);
  typed(some.data);
  typed(others.data);

  const owners = some.data.positions.map((row) => `${row.owner} ${row.metrics.pnlUsd?.toFixed(2) ?? "unknown"}`);
  return [...owners, ...others.data.pools.map((row) => row.poolId), ...some.data.missing];
}

/** The liquidity in range above each tick of a pool. */
export async function ladder(chainId: number, poolId: string): Promise<[number | null, bigint][]> {
  const { data, error } = await api.GET("/v1/pools/{chainId}/{protocol}/{poolId}/ticks", {
    params: { path: { chainId, protocol, poolId }, query: { page: 1, limit: 1000 } },
  });
  if (!data) throw new Error(error.error);
  typed(data);

  let liquidity = 0n;
  return data.ticks.map((tick): [number | null, bigint] => [tick.price, (liquidity += BigInt(tick.liquidityNet))]);
}

/** What a position would have earned, and whether that is what the contract counted. */
export async function backtest(chainId: number, poolId: string, ticks: [number, number]): Promise<[number, boolean] | null> {
  const [tickLower, tickUpper] = ticks;
  const { data, error } = await api.GET("/v1/pools/{chainId}/{protocol}/{poolId}/estimate", {
    params: { path: { chainId, protocol, poolId }, query: { tickLower, tickUpper, valueUsd: 1000, range: "90d" } },
  });
  if (!data) throw new Error(error.error);
  typed(data);

  if (data.feesUsd === null || data.divergenceLossUsd === null) return null;
  return [data.feesUsd + data.divergenceLossUsd, data.basis === "ticks" && !data.approximated.includes("feesUsd")];
}

/** What an owner has, and of how many positions it is not all known. */
export async function wealth(address: string): Promise<[number | null, number]> {
  const { data, error } = await api.GET("/v1/owners/{address}", { params: { path: { address } } });
  if (!data) throw new Error(error.error);
  typed(data);

  const largest = data.chains.map((c) => c.underlyingValueUsd ?? 0).reduce((a, b) => Math.max(a, b), 0);
  return [data.total.pnlUsd === null ? null : data.total.pnlUsd + largest, data.total.unknown];
}

/** The price of the first token that a search finds, and the checks that failed. */
export async function priced(search: string): Promise<[number | null, string[]]> {
  const found = await api.GET("/v1/tokens", { params: { query: { search, chainId: 1, page: 1, limit: 1 } } });
  if (!found.data) throw new Error(found.error.error);
  typed(found.data);

  const [first] = found.data.tokens;
  if (!first) return [null, []];
  const { chainId, address } = first;
  const token = await api.GET("/v1/tokens/{chainId}/{address}", { params: { path: { chainId, address } } });
  if (!token.data) throw new Error(token.error.error);
  typed(token.data);

  const checks = [...token.data.checks, ...token.data.markets.flatMap((market) => market.checks)];
  return [token.data.priceUsd, checks.filter((check) => !check.passed).map((check) => `${check.name}: ${check.value ?? "unknown"}`)];
}

/** What needs no key, and the account. */
export async function about(): Promise<string[]> {
  const [chains, protocols, plans, units, stats, health, usage] = await Promise.all([
    api.GET("/v1/chains"), api.GET("/v1/protocols"), api.GET("/v1/plans"), api.GET("/v1/pricing/units"),
    api.GET("/v1/stats"), api.GET("/health"), api.GET("/v1/usage"),
  ]);
  for (const { data } of [chains, protocols, plans, units, stats, health, usage]) if (data) typed(data);

  return [
    ...(chains.data ?? []).map((c) => `${c.chainId} ${c.nativeToken.symbol} ${c.protocols.join()}`),
    ...(protocols.data ?? []).map((p) => `${p.key} ${p.chains.join()}`),
    ...(plans.data?.plans ?? []).map((p) => `${p.id} ${p.priceUsdMonthly}`),
    ...(units.data?.units ?? []).map((u) => `${u.method} ${u.path} ${u.units}`),
    ...(stats.data?.chains ?? []).map((c) => `${c.chainId} ${c.positions}`),
    ...(health.data?.chains ?? []).map((c) => `${c.chainId} ${c.status} ${c.reason ?? ""} ${c.progress?.atBlock ?? ""} ${c.verified?.different ?? ""}`),
    ...(usage.data?.routes ?? []).map((r) => `${r.path} ${r.units} of ${usage.data?.unitsLimit ?? "no limit"}`),
  ];
}
