// What the page knows about the node that it talks to.
import { Tidemark, type Chain, type Health, type Meta } from "../../client/ts/src/index.js";
import { inTab } from "./kept.js";
import { Store } from "./store.js";

const KEY_NAME = "tidemark.key";
const HEALTH_EVERY_MS = 2000;
const HEALTH_WAIT_MS = 8000; // a node that takes longer does not answer

/** The API key: kept for this tab only, never in an address. */
export const key = new Store<string | null>(inTab.get(KEY_NAME));

/** The key that was typed. A header has no letters beyond ASCII, so the node is sent their codes, and refuses them. */
export const keyOf = (text: string) => text.trim().replace(/[^ -~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);

key.watch((value) => inTab.set(KEY_NAME, value));

export const chains = new Store<Chain[]>([]);
export const health = new Store<Health | null>(null);
/** When the node stopped answering, in milliseconds of the node's clock; null while it answers. */
export const offlineSince = new Store<number | null>(null);
/** The last metered answer's headers. */
export const meta = new Store<Meta | null>(null);

// Ages are told by the node's clock, whatever the browser's says.
let skew = 0;
export const now = () => Date.now() + skew;

function noteAnswer(answer: Meta) {
  if (offlineSince.value !== null) offlineSince.set(null);
  if (answer.unitsCharged !== null) meta.set(answer);
  // The Date header has whole seconds, so a smaller difference means nothing.
  if (answer.date !== null && Math.abs(answer.date - now()) > 1500) skew = answer.date - Date.now();
}

/** A client with the key. `tell` is called with the headers of every answer. */
export function client(attempts = 2, tell?: (answer: Meta) => void): Tidemark {
  const onAnswer = (answer: Meta) => { noteAnswer(answer); tell?.(answer); };
  return new Tidemark({ url: "", key: key.value ?? undefined, attempts, maxWait: 5, onAnswer });
}

const free = new Tidemark({ url: "", attempts: 1, onAnswer: noteAnswer });

let polling = false;

async function pollHealth() {
  if (document.hidden || polling) return;
  polling = true;
  const call = { signal: AbortSignal.timeout(HEALTH_WAIT_MS) };
  try {
    // The names come with the first readouts: later they would move them.
    const named = chains.value.length > 0;
    const [found, state] = await Promise.all([named ? chains.value : free.chains(call), free.health(call)]);
    if (!named) chains.set(found);
    health.set(state);
  } catch {
    if (offlineSince.value === null) offlineSince.set(now());
  } finally {
    polling = false;
  }
}

/** Watch the node's health for as long as the page is seen. */
export function watchNode() {
  void pollHealth();
  setInterval(pollHealth, HEALTH_EVERY_MS);
  document.addEventListener("visibilitychange", pollHealth);
}

export const chainOf = (id: number) => chains.value.find((c) => c.chainId === id);
