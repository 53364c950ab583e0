// What stands around every view: the name, where to go, and how fresh it is.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "./store.js";
import { chainOf, health, key, meta, now, offlineSince } from "./node.js";
import { go, inGenerations, view, withQuery } from "./route.js";
import { count, duration, integer } from "./format.js";
import { PACES, pace } from "./pace.js";
import type { HealthChain } from "../../client/ts/src/index.js";

export function Shell({ children }: { children: ComponentChildren }) {
  const v = useStore(view);
  const at = v.page === "pool" || v.page === "pools" ? "pools" : v.page === "usage" ? "usage" : "positions";
  return (
    <>
      <a class="skip" href="#main">To the content</a>
      <header class="top">
        <a class="name" href="/" target="_self" aria-label="Tidemark, front page"><Mark /><span>Tidemark</span></a>
        <nav aria-label="Views">
          <a href="/ui/positions" aria-current={at === "positions" ? "page" : undefined}>Positions</a>
          <a href="/ui/pools" aria-current={at === "pools" ? "page" : undefined}>Pools</a>
          <a href="/docs" target="_self">Docs</a>
        </nav>
        <Search />
        <Freshness />
        <div class="tools">
          <Units />
          <button type="button" class="icon" data-theme-toggle aria-label="Light or dark" data-tip="Light or dark (t)"><HalfDisc /></button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>{children}</main>
    </>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M3 3v14M3 5h5M3 10h9M3 15h5" />
      <path class="water" d="M10 10c1.2-1.6 2.4-1.6 3.6 0s2.4 1.6 3.6 0" />
    </svg>
  );
}

function HalfDisc() {
  return <svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.4" /><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" /></svg>;
}

const TYPING_PAUSE_MS = 150;

/** Pools are found as one types; positions by their id, owner or pool. */
function Search() {
  const v = useStore(view);
  const pools = v.page === "pools" || v.page === "pool";
  const given = v.page === "pools" ? v.query.get("search") ?? "" : "";
  const [text, setText] = useState(given);
  const sent = useRef(given);
  useEffect(() => setText(given), [v.page]);
  useEffect(() => {
    // What the field sent itself is in it already, and perhaps more by now.
    if (given !== sent.current) setText(given);
    sent.current = given;
  }, [given]);

  useEffect(() => {
    if (v.page !== "pools" || text === given) return;
    const timer = setTimeout(() => {
      sent.current = text;
      go(withQuery({ search: text || null }), { replace: true });
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);

  const submit = (event: Event) => {
    event.preventDefault();
    const word = text.trim().toLowerCase();
    if (word === "" || v.page === "pools") return;
    if (pools) go(`/ui/pools?search=${encodeURIComponent(word)}`);
    else if (/^0x[0-9a-f]{40}$/.test(word)) go(`/ui/owners/${word}`);
    else if (/^0x[0-9a-f]{64}$/.test(word)) go(`/ui/positions?poolId=${word}&status=all&minPoolTvl=0&includeRisky=true`);
    else if (/^\d+$/.test(word)) go(`/ui/positions?positionId=${word}&status=all&minPoolTvl=0&includeRisky=true`);
    else go(`/ui/pools?search=${encodeURIComponent(word)}`);
  };

  return (
    <form class="search" role="search" onSubmit={submit}>
      <input id="search" type="search" value={text} onInput={(e) => setText(e.currentTarget.value)} maxLength={pools ? 64 : 66} spellcheck={false} autocomplete="off"
        aria-label="Search" placeholder={pools ? "Symbol, token address or pool id" : "Position id, owner, pool id, or a symbol"} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** Block, age and generation of every chain, and how the rows follow them. */
function Freshness() {
  const all = useStore(health)?.chains ?? [];
  const offline = useStore(offlineSince);
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const pinned = useStore(view).query.get("generation");
  return (
    <div class="fresh" role="group" aria-label="Freshness of the data">
      {all.map((c) => <Readout key={c.chainId} chain={c} offline={offline !== null} />)}
      {pinned ? <Pinned to={pinned} /> : <Pace />}
    </div>
  );
}

/** How often rows follow new generations. */
function Pace() {
  const every = useStore(pace);
  const next = PACES[(PACES.indexOf(every as (typeof PACES)[number]) + 1) % PACES.length]!;
  return (
    <button type="button" class="icon pace" onClick={() => pace.set(next)} aria-label={every ? `${every} s, how often rows follow` : "held, rows stand still"}
      data-tip={every ? `Rows follow new generations every ${every} s, a question each.\nHeld while the pointer or the focus is on them. Next: ${next ? `${next} s` : "stand still"}.` : "Rows stand still. Next: follow every 5 s."}>
      {every ? `${every} s` : "held"}
    </button>
  );
}

/** That the rows are of some generations, and a way back to the newest. */
function Pinned({ to }: { to: string }) {
  const named = to === "pin" ? [] : to.split(",").map((one) => one.split(":"));
  const tip = ["Every page is from the same rankings.",
    ...named.map(([id, generation]) => `${chainOf(Number(id))?.name ?? `Chain ${id}`}: g${generation}`), "Next: follow new ones."];
  return (
    <button type="button" class="icon pace" aria-label="pinned, rows stand still" data-tip={tip.join("\n")}
      onClick={() => go(inGenerations(null), { replace: true })}>pinned</button>
  );
}

function Readout({ chain: c, offline }: { chain: HealthChain; offline: boolean }) {
  const name = chainOf(c.chainId);
  const age = c.dataAsOf ? now() / 1000 - Date.parse(c.dataAsOf) / 1000 : null;
  const late = offline || c.status !== "ok" || age === null || age > 45;
  const tip = [name?.name ?? `Chain ${c.chainId}`, `status ${c.status}`, `block ${integer(c.asOfBlock)}`, `generation ${integer(c.generation)}`,
    c.lagBlocks ? `${c.lagBlocks} blocks behind` : ""].filter(Boolean).join("\n");
  return (
    <span class={late ? "readout late" : "readout"} data-tip={tip} tabIndex={0}>
      <b>{name?.shortName ?? c.chainId}</b>
      <span class="block">{integer(c.asOfBlock)}</span>
      <span class="age">{age === null ? c.status : age < 60 ? `${Math.max(0, Math.round(age))} s` : duration(age)}</span>
      <span class="gen">g{c.generation}</span>
    </span>
  );
}

/** The key's units: what is left of the month, or that there is no limit. */
function Units() {
  const using = useStore(key);
  const answer = useStore(meta);
  if (using === null) return null;
  const left = answer?.quotaRemaining ?? null;
  return (
    <a class="units" href="/ui/usage" data-tip={left === null ? "Units used by this key's account" : `${integer(left)} units left this month`}>
      {left === null ? "Usage" : `${count(left)} units`}
    </a>
  );
}
