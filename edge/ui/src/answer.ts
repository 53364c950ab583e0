import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "./store.js";
import { client, health, key } from "./node.js";
import { pace } from "./pace.js";
import { Unreachable, type ChartRange, type Tidemark } from "../../client/ts/src/index.js";

export interface Asked<T> {
  /** The last answer: until another question is answered, that of the one before. */
  answer: T | null;
  error: Error | null;
  /** Whether the question that is asked now has been answered, or has failed. */
  current: boolean;
  retry: () => void;
}

/** The answer to one question. `follow` names a chain whose generations it follows. */
export function useAnswer<T>(ask: (api: Tidemark, signal: AbortSignal) => Promise<T>, on: unknown[], follow?: number): Asked<T> {
  const [loaded, setLoaded] = useState<{ asked: string; answer: T | null; error: Error | null; turn: number }>({ asked: "", answer: null, error: null, turn: -1 });
  const [again, askAgain] = useState(0);
  const asked = JSON.stringify([on, useStore(key)]);
  const turns = useTurns(useStore(health)?.chains.find((c) => c.chainId === follow)?.generation ?? null, loaded.turn);

  useEffect(() => {
    const stop = new AbortController();
    ask(client(), stop.signal).then(
      (answer) => setLoaded({ asked, answer, error: null, turn: turns }),
      (error) => { if (!stop.signal.aborted) setLoaded((was) => ({ asked, answer: was.asked === asked ? was.answer : null, error, turn: turns })); },
    );
    return () => stop.abort();
  }, [asked, again, turns]);

  const retry = () => askAgain((n) => n + 1);
  useReturn(loaded.error, retry);
  return { ...loaded, current: loaded.asked === asked, retry };
}

const FIRST_RETURN_MS = 2000;
const LAST_RETURN_MS = 300_000;

/**
 * Ask again once the node answers, after it did not. It may answer how it is and not this,
 * which costs units all the same: the pause doubles.
 */
export function useReturn(error: Error | null, retry: () => void) {
  const pause = useRef(0);
  useEffect(() => {
    if (!(error instanceof Unreachable)) {
      if (error === null) pause.current = 0;
      return;
    }
    const from = Date.now() + pause.current;
    pause.current = Math.min(Math.max(2 * pause.current, FIRST_RETURN_MS), LAST_RETURN_MS);
    const stop = health.watch(() => {
      if (Date.now() < from) return;
      stop();
      retry();
    });
    return stop;
  }, [error]);
}

/**
 * How many generations the page has followed, at most one in its pace. The first
 * one that becomes known is no turn: the question has been asked by then. The next one
 * waits for the answer to the last, which it would drop.
 */
function useTurns(generation: number | null, answered: number): number {
  const every = useStore(pace);
  const [turns, setTurns] = useState(0);
  const [shown, setShown] = useState<number | null>(null);

  useEffect(() => {
    if (generation === null || generation === shown) return;
    if (shown === null) {
      setShown(generation);
      return;
    }
    if (every === 0 || answered !== turns) return;

    const timer = setTimeout(() => { setShown(generation); setTurns((n) => n + 1); }, every * 1000);
    return () => clearTimeout(timer);
  }, [generation === shown, shown, every, answered === turns]);

  return turns;
}

export const RANGES: ChartRange[] = ["30d", "60d", "90d", "180d", "all"];

export const rangeOf = (query: URLSearchParams): ChartRange => {
  const given = query.get("range") as ChartRange;
  return RANGES.includes(given) ? given : "30d";
};
