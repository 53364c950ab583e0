import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "./store.js";
import { chains, client, health, key } from "./node.js";
import { go, inGenerations, withQuery } from "./route.js";
import { Filters, LIMITS, questionOf, sent, widest, type Question } from "./filters.js";
import { Footnotes, poolColumns, positionColumns } from "./columns.js";
import { Table, type Column } from "./table.js";
import { Banners, Failure, isRefused, KeyForm } from "./states.js";
import { AsRequest, RequestButton, type Shown } from "./request.js";
import { integer } from "./format.js";
import { poolHref, positionHref } from "./route.js";
import { pace } from "./pace.js";
import { useReturn } from "./answer.js";
import { Gone, type Pool, type PoolList, type Position, type PositionList } from "../../client/ts/src/index.js";

export type Row = Position | Pool;
type Answer = Omit<PositionList & PoolList, "positions" | "pools"> & { rows: Row[] };

const keyOf = (row: Row) => `${row.chainId}-${"positionId" in row ? row.positionId : row.poolId}`;
const hrefOf = (row: Row) => ("positionId" in row ? positionHref(row) : poolHref(row));

/** The answer to a question, and the generations that it is from. */
async function ask(q: Question, signal: AbortSignal): Promise<[Answer, string]> {
  let generation = "";
  const api = client(2, (meta) => (generation = meta.generation ?? ""));
  const answer = await api.get<PositionList & PoolList>(`/v1/${q.kind}`, sent(q), { signal });
  return [{ ...answer, rows: q.kind === "positions" ? answer.positions : answer.pools }, generation];
}

/** How often a pinned walk is asked again: what nobody asks for is kept for a minute. */
const RENEW_MS = 45_000;

/** The newest generations, as far as the question reads them. */
function useGeneration(q: Question): string {
  const all = useStore(health)?.chains ?? [];
  return all.filter((c) => !q.parameters.chainId || String(c.chainId) === q.parameters.chainId).map((c) => c.generation).join();
}

interface Loaded {
  asked: string;
  answer: Answer | null;
  error: Error | null;
}

/** The rows of a question, asked again as generations come, or pinned to some. */
function useRows(q: Question, held: () => boolean) {
  const [loaded, setLoaded] = useState<Loaded>({ asked: "", answer: null, error: null });
  const [again, askAgain] = useState(0);
  const using = useStore(key);
  const every = useStore(pace);
  const generation = useGeneration(q);
  const id = (of: Question) => JSON.stringify([of, using]);
  const asked = id(q);
  const last = useRef({ at: 0, generation: "", answered: "", asking: 0, stop: new AbortController() });

  const load = async () => {
    const { stop } = last.current;
    last.current.asking++;
    last.current.at = Date.now();
    last.current.generation = generation;
    try {
      const [answer, from] = await ask(q, stop.signal);
      if (q.generation !== "pin") {
        setLoaded({ asked, answer, error: null });
        return;
      }
      // The walk goes on in the generations that were pinned; their first page is here.
      last.current.answered = id({ ...q, generation: from });
      setLoaded({ asked: last.current.answered, answer, error: null });
      go(inGenerations(from), { replace: true });
    } catch (error) {
      if (stop.signal.aborted) return;
      setLoaded((was) => ({ asked, answer: was.asked === asked ? was.answer : null, error: error as Error }));
    } finally {
      last.current.asking--;
    }
  };

  // Another question: at once, and whatever was under way is dropped.
  useEffect(() => {
    if (using === null) return;
    last.current.stop = new AbortController();
    if (last.current.answered !== asked) void load();
    last.current.answered = "";
    return () => last.current.stop.abort();
  }, [asked, again]);

  // Another generation: in its turn, once the last one is answered and the pointer has left
  // the rows.
  useEffect(() => {
    if (using === null || every === 0 || q.generation || last.current.generation === generation) return;
    let timer = 0;
    const turn = () => {
      if (held() || last.current.asking > 0) timer = setTimeout(turn, 400);
      else void load();
    };
    timer = setTimeout(turn, Math.max(0, last.current.at + every * 1000 - Date.now()));
    return () => clearTimeout(timer);
  }, [generation, every, asked]);

  // A pinned walk: the same rows again, so that their generations are kept.
  const ended = loaded.error instanceof Gone;
  useEffect(() => {
    if (using === null || !q.generation || ended) return;
    const timer = setInterval(() => { if (!document.hidden) void load(); }, RENEW_MS);
    return () => clearInterval(timer);
  }, [asked, ended]);

  const retry = () => askAgain((n) => n + 1);
  useReturn(loaded.error, retry);
  return { loaded, current: loaded.asked === asked, retry };
}

export function ListPage({ kind, query, fixed, embedded }: {
  kind: "positions" | "pools";
  query: URLSearchParams;
  /** Parameters that the page itself sets. */
  fixed?: Record<string, string>;
  /** Below something else, which has its own head. */
  embedded?: boolean;
}) {
  const q = questionOf(kind, query);
  Object.assign(q.parameters, fixed);
  const using = useStore(key);
  const area = useRef<HTMLDivElement>(null);
  const held = () => {
    const rows = area.current?.querySelector("tbody");
    const selection = getSelection();
    return Boolean(rows && (rows.matches(":hover") || rows.querySelector(":focus-visible") || (selection && !selection.isCollapsed && selection.containsNode(rows, true))));
  };
  const { loaded, current, retry } = useRows(q, held);
  // Until the new answer is there the old rows stay, dimmed; nothing jumps.
  const answer = loaded.answer;
  // A failure while rows are there leaves them: the banner tells of it.
  const failed = loaded.error !== null && current && (answer === null || isRefused(loaded.error));

  const shown: Shown = { path: `/v1/${kind}`, query: sent(q), method: kind, args: [] };
  return (
    <div class="list-page" ref={area}>
      {!embedded && <h1 class="sr">{kind === "positions" ? "Positions" : "Pools"}</h1>}
      <div class="toolbar">
        <Filters question={q} fixed={fixed} />
        {!embedded && <RequestButton />}
      </div>
      {!embedded && <AsRequest shown={shown} />}
      <Banners flags={answer} error={current && !failed ? loaded.error : null} />
      {using === null ? (
        <KeyForm />
      ) : failed ? (
        <Failure error={loaded.error!} retry={retry} />
      ) : answer && answer.rows.length === 0 && current ? (
        <Empty question={q} fixed={fixed} />
      ) : (
        <Rows question={q} rows={answer?.rows ?? null} dimmed={!current && answer !== null} fixed={fixed} />
      )}
      {using !== null && !failed && !(current && answer?.rows.length === 0) && <Pager question={q} answer={answer} />}
      {answer && !failed && <Footnotes rows={answer.rows} />}
    </div>
  );
}

function Rows({ question: q, rows, dimmed, fixed }: { question: Question; rows: Row[] | null; dimmed: boolean; fixed: Record<string, string> | undefined }) {
  useStore(chains); // the marks of the rows name them
  const columns = useMemo(() => {
    const all = (q.kind === "positions" ? positionColumns : poolColumns) as Column<Row>[];
    return all.filter((c) => !(c.id === "owner" && fixed?.owner));
  }, [q.kind, fixed, chains.value]);
  return (
    <Table label={q.kind === "positions" ? "Positions" : "Pools"} columns={columns} rows={rows} expected={q.limit}
      keyOf={keyOf} hrefOf={hrefOf} onOpen={go} sort={q.sort} sortHref={(sort) => withQuery({ sort })} dimmed={dimmed} />
  );
}

/** No rows: which filters are set, and a way out of them. What the page itself sets hides nothing. */
function Empty({ question: q, fixed = {} }: { question: Question; fixed?: Record<string, string> | undefined }) {
  const names = Object.keys(q.parameters).filter((name) => !(name in fixed));
  const hidden = hiddenBy(q);
  return (
    <div class="state" role="status">
      <h2>{q.page > 1 ? "The ranking ends before this page" : `No ${q.kind} match`}</h2>
      <p>
        {names.length > 0 ? `Filtered by ${names.map((n) => `${n} ${q.parameters[n]}`).join(", ")}. ` : ""}
        {hidden.length > 0 && `Hidden unless asked for: ${hidden.join(", ")}. `}
        {names.length + hidden.length === 0 && q.page === 1 && `There are no ${q.kind} here.`}
      </p>
      <div class="row">
        {q.page > 1 && <a class="button" href={withQuery({ page: null })}>First page</a>}
        {names.length + hidden.length > 0 && <a class="button" href={widest(q)}>Show everything</a>}
      </div>
    </div>
  );
}

/** What a list leaves out unless it is asked for. */
function hiddenBy(q: Question): string[] {
  const p = q.parameters;
  const risky = p.includeRisky !== "true";
  if (q.kind === "pools") return risky && !p.search ? ["pools with risky tokens"] : [];

  return [
    (p.status ?? "active") === "active" && "closed positions",
    p.minPoolTvl === undefined && "pools below $1,000",
    risky && "risky tokens",
    ["apr", "fee_apr", "roi"].includes(q.sort) && "positions without value",
  ].filter((what) => what !== false);
}

function Pager({ question: q, answer }: { question: Question; answer: Answer | null }) {
  const p = answer?.pagination;
  const from = (q.page - 1) * q.limit + 1;
  const page = (n: number) => withQuery({ page: n === 1 ? null : String(n) });
  return (
    <nav class="pager" aria-label="Pages">
      <span class="count">
        {p && answer.rows.length > 0 && <>
          <b>{integer(from)}–{integer(from + answer.rows.length - 1)}</b> of{" "}
          {p.totalCapped
            ? <span class="capped" tabIndex={0} data-tip="At least so many: the count was stopped at its cap, or is not ready.">{integer(p.total)}+</span>
            : integer(p.total)}
        </>}
      </span>
      <span class="limits">
        {LIMITS.map((n) => <a key={n} href={withQuery({ limit: n === 50 ? null : String(n) })} aria-current={n === q.limit ? "true" : undefined}>{n}</a>)}
        <span>rows</span>
      </span>
      <Pin question={q} />
      <span class="turn">
        <PageLink href={page(1)} on={q.page > 1} label="First page">«</PageLink>
        <PageLink href={page(q.page - 1)} on={q.page > 1} label="Previous page" rel="prev">‹</PageLink>
        <span class="at">{integer(q.page)}</span>
        <PageLink href={page(q.page + 1)} on={p?.hasMore ?? false} label="Next page" rel="next">›</PageLink>
        <PageLink href={page(p?.totalPages ?? 1)} on={(p?.hasMore ?? false) && !p?.totalCapped} label="Last page">»</PageLink>
      </span>
    </nav>
  );
}

/** Whether pages are turned in the same generations. */
function Pin({ question: q }: { question: Question }) {
  return (
    <button type="button" class="plain pin" aria-pressed={q.generation !== ""} onClick={() => go(inGenerations(q.generation ? null : "pin"), { replace: true })}
      data-tip={"Turn pages of the same rankings, whatever is published meanwhile.\nKept for ten minutes at most, by a question every 45 s."}>Pin</button>
  );
}

function PageLink({ href, on, label, rel, children }: { href: string; on: boolean; label: string; rel?: string; children: string }) {
  return on
    ? <a href={href} aria-label={label} rel={rel}>{children}</a>
    : <span class="off" aria-hidden="true">{children}</span>;
}
