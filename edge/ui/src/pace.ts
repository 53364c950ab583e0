// How often rows follow new generations; each look costs units.
import { inTab } from "./kept.js";
import { Store } from "./store.js";

const NAME = "tidemark.pace";
export const PACES = [0, 5, 30] as const;

/** Seconds between looks; 0 stands still. */
export const pace = new Store<number>(Number(inTab.get(NAME) ?? 5));

pace.watch((seconds) => inTab.set(NAME, String(seconds)));
