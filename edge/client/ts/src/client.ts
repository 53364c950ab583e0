import { CutExport, QuotaSpent, RateLimited, ServerError, TidemarkError, Unavailable, Unreachable, errorOf } from "./errors.js";
import type {
  Chain, Explanation, Health, Owner, Plans, Pool, PoolBatch, PoolCharts, PoolDetail, PoolEstimate, PoolList, PoolTicks,
  PoolsQuery,
  Position,
  PositionBatch, PositionCharts, PositionDetail, PositionList, PositionsQuery, Protocol, Stats, TokenDetail, TokenList,
  TokensQuery, Units, Usage,
} from "./schema.js";
import { eventsOf, type StreamEvent, type StreamQuery } from "./stream.js";

export interface Options {
  /** Where the node is, as in http://127.0.0.1:8080. In a page: "" for the page's own host. */
  url: string;
  /** The API key. The free routes need none. */
  key?: string | undefined;
  /** How often a call is tried in all. */
  attempts?: number;
  /** The longest Retry-After in seconds that a call waits for before it fails instead. */
  maxWait?: number;
  /** Called with the headers of every answer. */
  onAnswer?: (meta: Meta) => void;
  fetch?: typeof fetch;
}

/** What the headers of an answer say. */
export interface Meta {
  status: number;
  /** X-Generation: chainId:generation, comma-separated. */
  generation: string | null;
  unitsCharged: number | null;
  quotaRemaining: number | null;
  quotaReset: string | null;
  /** The node's clock when it answered, in milliseconds. */
  date: number | null;
}

export type ChartRange = "30d" | "60d" | "90d" | "180d" | "all";

/** Which page of a list. */
export interface Paging {
  page?: number;
  limit?: number;
}

/** A position of which is asked what it would have earned. */
export interface EstimateQuery {
  /** Multiples of the pool's tickSpacing. */
  tickLower: number;
  tickUpper: number;
  /** What was deposited, in USD of the time when the range begins. */
  valueUsd: number;
  range?: ChartRange;
}

/** A body that was read, and the generations that it was computed from. */
interface Answer<T> {
  body: T;
  generation: string;
}

/** What the body of an error may have. */
interface Failure {
  error?: string;
  retryAfterSec?: number;
  chains?: unknown;
}

/** The last line of an export. */
interface ExportEnd {
  end: boolean;
  more?: boolean;
  error?: string;
}

interface Call {
  signal?: AbortSignal | undefined;
}

const PROTOCOL = "swapdex-v4";
const FIRST_BACKOFF_MS = 1000;
const LARGEST_PAGE = 100;
const LIVED_MS = 15_000; // how long a stream without events lasts at least if it works: until a comment

/** A client of one node. Calls retry what a retry can cure, as the API asks for it. */
export class Tidemark {
  readonly #options: Required<Pick<Options, "attempts" | "maxWait">> & Options;

  constructor(options: Options) {
    this.#options = { attempts: 4, maxWait: 60, ...options, url: options.url.replace(/\/$/, "") };
  }

  /** One page of the ranking of positions. */
  positions(query: PositionsQuery = {}, call?: Call): Promise<PositionList> {
    return this.get("/v1/positions", query, call);
  }

  /** One position with its transactions. */
  position(chainId: number, positionId: string, call?: Call): Promise<PositionDetail> {
    return this.get(place("positions", chainId, positionId), {}, call);
  }

  /** Up to 100 positions by their ids, such as 1-77: chain id and position id. */
  positionBatch(ids: string[], call?: Call): Promise<PositionBatch> {
    return this.get("/v1/positions/batch", { ids: ids.join() }, call);
  }

  positionCharts(chainId: number, positionId: string, range: ChartRange = "30d", call?: Call): Promise<PositionCharts> {
    return this.get(`${place("positions", chainId, positionId)}/charts`, { range }, call);
  }

  /** The hourly series of a position over 30 days. */
  positionChartsByHour(chainId: number, positionId: string, call?: Call): Promise<PositionCharts> {
    return this.get(`${place("positions", chainId, positionId)}/charts`, { interval: "1h" }, call);
  }

  /** The arithmetic of a position's row. */
  explain(chainId: number, positionId: string, call?: Call): Promise<Explanation> {
    return this.get(`${place("positions", chainId, positionId)}/explain`, {}, call);
  }

  /** One page of the ranking of pools. */
  pools(query: PoolsQuery = {}, call?: Call): Promise<PoolList> {
    return this.get("/v1/pools", query, call);
  }

  pool(chainId: number, poolId: string, call?: Call): Promise<PoolDetail> {
    return this.get(place("pools", chainId, poolId), {}, call);
  }

  /** Up to 100 pools by their ids, such as 1-0x…: chain id and pool id. */
  poolBatch(ids: string[], call?: Call): Promise<PoolBatch> {
    return this.get("/v1/pools/batch", { ids: ids.join() }, call);
  }

  poolCharts(chainId: number, poolId: string, range: ChartRange = "30d", call?: Call): Promise<PoolCharts> {
    return this.get(`${place("pools", chainId, poolId)}/charts`, { range }, call);
  }

  /** The hourly series of a pool over 30 days. */
  poolChartsByHour(chainId: number, poolId: string, call?: Call): Promise<PoolCharts> {
    return this.get(`${place("pools", chainId, poolId)}/charts`, { interval: "1h" }, call);
  }

  /** What a position of a range and value would have earned. */
  poolEstimate(chainId: number, poolId: string, query: EstimateQuery, call?: Call): Promise<PoolEstimate> {
    return this.get(`${place("pools", chainId, poolId)}/estimate`, query, call);
  }

  /** What the positions of an owner come to. */
  owner(address: string, call?: Call): Promise<Owner> {
    return this.get(`/v1/owners/${encodeURIComponent(address)}`, {}, call);
  }

  /** One page of the tokens, those with the highest TVL first. */
  tokens(query: TokensQuery = {}, call?: Call): Promise<TokenList> {
    return this.get("/v1/tokens", query, call);
  }

  /** One token, and how its price was found. */
  token(chainId: number, address: string, call?: Call): Promise<TokenDetail> {
    return this.get(`/v1/tokens/${chainId}/${encodeURIComponent(address)}`, {}, call);
  }

  /** The initialised ticks of a pool, ascending. */
  poolTicks(chainId: number, poolId: string, query: Paging = {}, call?: Call): Promise<PoolTicks> {
    return this.get(`${place("pools", chainId, poolId)}/ticks`, query, call);
  }

  /**
   * Every position of a ranking in its order, read page by page until there are no more. All pages are from the
   * generations of the first one, so that no row is missing or comes twice.
   */
  async *allPositions(query: PositionsQuery = {}, call?: Call): AsyncGenerator<Position, void, void> {
    for await (const page of this.#pages<PositionList>("/v1/positions", query, call)) yield* page.positions;
  }

  /** Every pool of a ranking in its order; see allPositions. */
  async *allPools(query: PoolsQuery = {}, call?: Call): AsyncGenerator<Pool, void, void> {
    for await (const page of this.#pages<PoolList>("/v1/pools", query, call)) yield* page.pools;
  }

  /**
   * Every position of a ranking in its order, read by exports: one call has 100,000 rows. It begins after the row
   * of that rank. The page and limit of the query are not read.
   */
  exportPositions(query: PositionsQuery = {}, after = 0, call?: Call): AsyncGenerator<Position, void, void> {
    return this.#export("/v1/positions/export", query, after, call);
  }

  /** Every pool of a ranking in its order; see exportPositions. */
  exportPools(query: PoolsQuery = {}, after = 0, call?: Call): AsyncGenerator<Pool, void, void> {
    return this.#export("/v1/pools/export", query, after, call);
  }

  async *#pages<T extends PositionList | PoolList>(
    path: string, query: PositionsQuery | PoolsQuery, call?: Call,
  ): AsyncGenerator<T, void, void> {
    let generation = query.generation ?? "pin";
    for (let page = query.page ?? 1; ; page++) {
      const answer = await this.#ask(path, { limit: LARGEST_PAGE, ...query, page, generation }, call, readJSON);
      const body = answer.body as unknown as T;
      generation = answer.generation;
      yield body;
      if (!body.pagination.hasMore) return;
    }
  }

  async *#export<T>(
    path: string, query: PositionsQuery | PoolsQuery, after: number, call?: Call,
  ): AsyncGenerator<T, void, void> {
    const begin = after;
    let { generation } = query;
    for (let more = true; more; ) {
      const asked = { ...query, page: undefined, limit: undefined, generation, after };
      const answer = await this.#ask(path, asked, call, async ({ body }) => body).catch((cause) => {
        if (after === begin || call?.signal?.aborted) throw cause;
        throw new CutExport(cause.message, after, generation ?? "", { cause });
      });
      generation = answer.generation;

      let end: ExportEnd = { end: false };
      try {
        for await (const line of linesOf(answer.body)) {
          const row = JSON.parse(line);
          if (typeof row.end === "boolean") {
            end = row;
            break;
          }
          after++;
          yield row;
        }
      } catch (cause) {
        if (call?.signal?.aborted) throw cause;
        end = { end: false, error: `the connection broke: ${cause}` };
      }
      if (!end.end) throw new CutExport(end.error ?? "the connection broke", after, generation);
      more = end.more === true;
    }
  }

  /**
   * Events of positions or pools as they happen. When the connection breaks or the node stops, it goes on behind the
   * last event. The last event is `end`, when the key or the account cannot go on.
   */
  async *stream(query: StreamQuery, call: Call = {}): AsyncGenerator<StreamEvent, void, void> {
    let last = query.lastEventId;
    for (let attempt = 1; ; attempt++) {
      let failure: unknown;
      let opened = Infinity, heard = false;
      try {
        const body = await this.#openStream(query, last, call);
        opened = Date.now();
        for await (const event of eventsOf(body, () => { heard = true; })) {
          if (event.event === "end" && event.data.reason === "stop") break;
          if (event.id) last = event.id;
          attempt = 1; // it works
          yield event;
          if (event.event === "end") return;
        }
        failure = new Unreachable("the stream broke", 0, null, null);
      } catch (error) {
        if (call.signal?.aborted) throw error;
        failure = error instanceof TidemarkError ? error : new Unreachable("the stream broke", 0, null, null, { cause: error });
      }

      if (heard && Date.now() - opened >= LIVED_MS) attempt = 1; // it worked, if without an event
      const wait = this.#waitBefore(failure, attempt);
      if (wait === null) throw failure;
      await sleep(wait, call.signal);
    }
  }

  /** What the key's account has used this month. Free. */
  usage(call?: Call): Promise<Usage> {
    return this.get("/v1/usage", {}, call);
  }

  chains(call?: Call): Promise<Chain[]> {
    return this.get("/v1/chains", {}, call);
  }

  protocols(call?: Call): Promise<Protocol[]> {
    return this.get("/v1/protocols", {}, call);
  }

  plans(call?: Call): Promise<Plans> {
    return this.get("/v1/plans", {}, call);
  }

  units(call?: Call): Promise<Units> {
    return this.get("/v1/pricing/units", {}, call);
  }

  stats(call?: Call): Promise<Stats> {
    return this.get("/v1/stats", {}, call);
  }

  /** How each chain stands. A node that can serve nothing answers too, with `error`. */
  health(call?: Call): Promise<Health> {
    return this.get("/health", {}, call);
  }

  /** GET any path; parameters that are undefined are left out. */
  async get<T>(path: string, query: object = {}, call?: Call): Promise<T> {
    return (await this.#ask(path, query, call, readJSON)).body as T;
  }

  async #ask<T>(
    path: string, query: object, call: Call = {}, read: (answer: Response) => Promise<T>,
  ): Promise<Answer<T>> {
    const target = this.#options.url + path + encode(query);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(target, call, read);
      } catch (error) {
        const wait = this.#waitBefore(error, attempt);
        if (wait === null) throw error;
        await sleep(wait, call.signal);
      }
    }
  }

  async #openStream(query: StreamQuery, last: string | undefined, call: Call): Promise<ReadableStream<Uint8Array>> {
    const { owner, positions, pools } = query;
    const target = this.#options.url + "/v1/stream" + encode({ owner, positions: positions?.join(), pools: pools?.join() });
    const headers = this.#headers("text/event-stream");
    if (last) headers["Last-Event-ID"] = last;

    const answer = await (this.#options.fetch ?? fetch)(target, this.#init(headers, call));
    this.#options.onAnswer?.(metaOf(answer));
    if (answer.ok && answer.body) return answer.body;
    throw errorOf(answer, (await readObject(answer)) as Failure);
  }

  /** A redirect is an error: fetch would send the key along to any host. */
  #init(headers: Record<string, string>, call: Call): RequestInit {
    return { headers, signal: call.signal ?? null, redirect: "error" };
  }

  #headers(accept: string): Record<string, string> {
    const headers: Record<string, string> = { Accept: accept };
    if (this.#options.key) headers["KC-APIKey"] = this.#options.key;
    return headers;
  }

  async #once<T>(target: string, call: Call, read: (answer: Response) => Promise<T>): Promise<Answer<T>> {
    const headers = this.#headers("application/json");
    let answer: Response, body: T | Failure;
    try {
      answer = await (this.#options.fetch ?? fetch)(target, this.#init(headers, call));
      body = answer.ok ? await read(answer) : await readObject(answer);
    } catch (cause) {
      if (call.signal?.aborted || cause instanceof TidemarkError) throw cause;
      throw new Unreachable(`no answer from ${target}`, 0, null, null, { cause });
    }
    this.#options.onAnswer?.(metaOf(answer));

    // /health says how each chain stands in a 503 as well.
    const generation = answer.headers.get("X-Generation") ?? "";
    if (answer.ok || (body as Failure).chains !== undefined) return { body: body as T, generation };
    throw errorOf(answer, body as Failure);
  }

  /** Milliseconds to wait before another try; null when the failure stands. */
  #waitBefore(error: unknown, attempt: number): number | null {
    const { attempts, maxWait } = this.#options;
    const curable = error instanceof RateLimited || error instanceof QuotaSpent ||
      error instanceof Unavailable || error instanceof ServerError || error instanceof Unreachable;
    if (!curable || attempt >= attempts) return null;

    const asked = (error as TidemarkError).retryAfter;
    if (asked !== null) return asked > maxWait ? null : asked * 1000;
    return FIRST_BACKOFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
  }
}

function place(kind: string, chainId: number, id: string): string {
  return `/v1/${kind}/${chainId}/${PROTOCOL}/${encodeURIComponent(id)}`;
}

function encode(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

async function readJSON(answer: Response): Promise<unknown> {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TidemarkError("the answer is not JSON", answer.status, answer.headers.get("X-Request-Id"), null, { cause });
  }
}

async function readObject(answer: Response): Promise<Failure> {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return {}; // not from the node: a proxy's page, told by its status alone
  }
}

/** The lines of a body, without their ends. */
async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string, void, void> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const lines = (rest + decoder.decode(part.value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    await reader?.cancel().catch(() => undefined); // the loop may have been left
  }
}

function metaOf(answer: Response): Meta {
  const header = (name: string) => answer.headers.get(name);
  const number = (name: string) => (header(name) === null ? null : Number(header(name)));
  const date = Date.parse(header("Date") ?? "");
  return {
    status: answer.status,
    generation: header("X-Generation"),
    unitsCharged: number("X-Units-Charged"),
    quotaRemaining: number("X-Quota-Remaining"),
    quotaReset: header("X-Quota-Reset"),
    date: Number.isNaN(date) ? null : date,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop); // a stream may wait often with one signal
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
