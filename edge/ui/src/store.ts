import { useEffect, useState } from "preact/hooks";

/** A value that several parts of the page watch. */
export class Store<T> {
  #watchers = new Set<(value: T) => void>();

  constructor(public value: T) {}

  set(value: T) {
    this.value = value;
    for (const tell of this.#watchers) tell(value);
  }

  watch(tell: (value: T) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, show] = useState(store.value);
  useEffect(() => {
    // What was set between the drawing and this moment told no one yet.
    show(() => store.value);
    return store.watch((value) => show(() => value));
  }, [store]);
  return store.value;
}
