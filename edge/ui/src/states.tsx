// What stands where the rows would be, and what is said above them.
import { useState } from "preact/hooks";
import { useStore } from "./store.js";
import { chainOf, key, keyOf, now, offlineSince } from "./node.js";
import { withQuery } from "./route.js";
import { ago, duration, time } from "./format.js";
import { BadRequest, Forbidden, Gone, NotFound, QuotaSpent, RateLimited, Unauthorized, Unavailable, Unreachable } from "../../client/ts/src/index.js";

export interface Flags {
  stale?: boolean;
  dataAsOf?: string;
  partial?: boolean;
  missingChains?: number[];
}

/** The honesty flags of an answer in words, and why there is no newer one. */
export function Banners({ flags, error = null }: { flags: Flags | null; error?: Error | null }) {
  const offline = useStore(offlineSince);
  const names = flags?.missingChains?.map((id) => chainOf(id)?.name ?? `chain ${id}`).join(" and ");
  const since = flags?.dataAsOf ? Date.parse(flags.dataAsOf) / 1000 : 0;
  return (
    <div role="status">
      {offline !== null && <p class="banner"><b>Offline.</b> The node has not answered since {time(offline / 1000)}. What you see is what it said last.</p>}
      {offline === null && flags && error && (
        <p class="banner">
          {error instanceof Gone
            ? <><b>No longer pinned.</b> {explain(error)[1]} <a href={newest()}>Newest rows</a></>
            : <><b>Not refreshed.</b> {explain(error).join(". ")}</>}
        </p>
      )}
      {flags?.partial && <p class="banner"><b>Partial.</b> {names} cannot be served now: {flags.missingChains?.length === 1 ? "its rows and its count" : "their rows and their counts"} are left out. Such an answer is free.</p>}
      {flags?.stale && <p class="banner"><b>Stale.</b> This was current at {time(since)}, {ago(now() / 1000 - since)}.</p>}
    </div>
  );
}

/** The form for a key; with what was wrong with the last one. */
export function KeyForm({ wrong }: { wrong?: string | undefined }) {
  const [text, setText] = useState("");
  return (
    <form class="state key" onSubmit={(e) => { e.preventDefault(); if (text.trim()) key.set(keyOf(text)); }}>
      <h2>{wrong ? "That key was not accepted" : "Rankings need a key"}</h2>
      <p>{wrong ?? "Paste a server key. It stays in this tab and is sent to this node only, in the KC-APIKey header."}</p>
      <div class="row">
        <input type="password" name="key" autocomplete="off" spellcheck={false} placeholder="tm_srv_…" aria-label="API key"
          value={text} onInput={(e) => setText(e.currentTarget.value)} autofocus />
        <button type="submit" class="primary">Use key</button>
      </div>
      <p class="quiet">A node that is started on a terminal prints one, once. Another: <code>tidemark keys issue --account demo</code></p>
    </form>
  );
}

/** Whether a failure takes the place of what was shown before: nothing is without a key that is accepted. */
export const isRefused = (error: Error | null) => error instanceof Unauthorized || error instanceof Forbidden;

/** The address of the question at its first page, in the newest generations. */
const newest = () => withQuery({ page: null, generation: null });

/** A failure in place of the rows: what happened, and what can be done. */
export function Failure({ error, retry }: { error: Error; retry: () => void }) {
  if (error instanceof Unauthorized) return <KeyForm wrong={`The node says: ${error.message}.`} />;
  if (error instanceof Forbidden) {
    return <KeyForm wrong={`The node says: ${error.message}. This page asks without an Origin header, so it needs a server key (tm_srv_…).`} />;
  }
  const [title, text] = explain(error);
  return (
    <div class="state" role="alert">
      <h2>{title}</h2>
      <p>{text}</p>
      {error instanceof Gone && <a class="button" href={newest()}>Newest rows</a>}
      {!(error instanceof BadRequest || error instanceof NotFound || error instanceof Gone) && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

function explain(error: Error): [string, string] {
  if (error instanceof QuotaSpent) {
    const at = now() / 1000 + (error.retryAfter ?? 0);
    return ["The month's units are spent", `They come back in ${duration(error.retryAfter ?? 0)}, on ${time(at)}. A larger plan is effective at once.`];
  }
  if (error instanceof RateLimited) return ["Too many requests a second", `Another is admitted in ${error.retryAfter ?? 1} s.`];
  if (error instanceof BadRequest) return ["The node refused the question", `${error.message}.`]; // it begins with a parameter's name
  if (error instanceof NotFound) return ["There is no such thing", sentence(error.message)];
  if (error instanceof Gone) return ["This walk has ended", "A pin is kept for a minute after the last question, and for ten minutes in all."];
  if (error instanceof Unavailable) return ["Not available now", sentence(error.message)];
  if (error instanceof Unreachable) return ["The node does not answer", "The page tries again as soon as it does."];
  return ["The answer could not be used", sentence(error.message)];
}

const sentence = (text: string) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1).replace(/\.$/, "")}.`;
