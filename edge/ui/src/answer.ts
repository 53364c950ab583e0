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
  const generation = useSlow(useStore(health)?.chains.find((c) => c.chainId === follow)?.generation ?? null);

  useEffect(() => {
    const stop = new AbortController();
    ask(client(), stop.signal).then(
      (got) => { setAnswer(got); setError(null); },
      (failure) => { if (!stop.signal.aborted) setError(failure); },
    );
    return () => stop.abort();
  }, [...on, using, again, generation]);

  return { answer, error, retry: () => askAgain((n) => n + 1) };
}

/** A value that changes at most once in the pace of the page. */
function useSlow<T>(value: T): T {
  const every = useStore(pace);
  const [slow, setSlow] = useState(value);
  useEffect(() => {
    if (slow === value || every === 0) return;
    if (slow === null) {
      setSlow(value);
      return;
    }
    const timer = setTimeout(() => setSlow(value), every * 1000);
    return () => clearTimeout(timer);
  }, [value === slow, every]);
  return slow;
}

export const RANGES: ChartRange[] = ["30d", "60d", "90d", "180d", "all"];

export const rangeOf = (query: URLSearchParams): ChartRange => {
  const given = query.get("range") as ChartRange;
  return RANGES.includes(given) ? given : "30d";
};
