import { useEffect, useState } from "preact/hooks";
import { useStore } from "./store.js";
import { client, health, key } from "./node.js";
import { pace } from "./pace.js";
import type { ChartRange, Tidemark } from "../../client/ts/src/index.js";

export interface Asked<T> {
  answer: T | null;
  error: Error | null;
  retry: () => void;
}

/** The answer to one question. `follow` names a chain whose generations it follows. */
export function useAnswer<T>(ask: (api: Tidemark, signal: AbortSignal) => Promise<T>, on: unknown[], follow?: number): Asked<T> {
  const [answer, setAnswer] = useState<T | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [again, askAgain] = useState(0);
  const using = useStore(key);
  const turns = useTurns(useStore(health)?.chains.find((c) => c.chainId === follow)?.generation ?? null);

  useEffect(() => {
    const stop = new AbortController();
    ask(client(), stop.signal).then(
      (got) => { setAnswer(got); setError(null); },
      (failure) => { if (!stop.signal.aborted) setError(failure); },
    );
    return () => stop.abort();
  }, [...on, using, again, turns]);

  return { answer, error, retry: () => askAgain((n) => n + 1) };
}

/**
 * How many generations the page has followed, at most one in its pace. The first
 * one that becomes known is no turn: the question has been asked by then.
 */
function useTurns(generation: number | null): number {
  const every = useStore(pace);
  const [turns, setTurns] = useState(0);
  const [shown, setShown] = useState<number | null>(null);

  useEffect(() => {
    if (generation === null || generation === shown) return;
    if (shown === null) {
      setShown(generation);
      return;
    }
    if (every === 0) return;

    const timer = setTimeout(() => { setShown(generation); setTurns((n) => n + 1); }, every * 1000);
    return () => clearTimeout(timer);
  }, [generation === shown, shown, every]);

  return turns;
}

export const RANGES: ChartRange[] = ["30d", "60d", "90d", "180d", "all"];

export const rangeOf = (query: URLSearchParams): ChartRange => {
  const given = query.get("range") as ChartRange;
  return RANGES.includes(given) ? given : "30d";
};
