// How often rows follow new generations; each look costs units.
import { Store } from "./store.js";

const NAME = "tidemark.pace";
export const PACES = [0, 5, 30] as const;

/** Seconds between looks; 0 stands still. */
export const pace = new Store<number>(Number(sessionStorage.getItem(NAME) ?? 5));

pace.watch((seconds) => sessionStorage.setItem(NAME, String(seconds)));
