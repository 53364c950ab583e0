// The address is the state of the page.
import { Store } from "./store.js";

export type View =
  | { page: "positions" | "pools" | "usage"; query: URLSearchParams }
  | { page: "position" | "pool"; chain: number; id: string; query: URLSearchParams }
  | { page: "owner"; address: string; query: URLSearchParams }
  | { page: "unknown"; query: URLSearchParams };

const PROTOCOL = "swapdex-v4"; // the one that is served

export function viewOf(url: URL): View {
  const [, , kind, chain, protocol, id] = url.pathname.split("/");
  const query = url.searchParams;
  if (kind === undefined || kind === "" || (kind === "positions" && !chain)) return { page: "positions", query };
  if (kind === "pools" && !chain) return { page: "pools", query };
  if (kind === "usage") return { page: "usage", query };
  if (kind === "owners" && chain) return { page: "owner", address: chain.toLowerCase(), query };
  if ((kind === "positions" || kind === "pools") && chain && /^\d{1,15}$/.test(chain) && protocol === PROTOCOL && id) {
    return { page: kind === "positions" ? "position" : "pool", chain: Number(chain), id: decoded(id), query };
  }
  return { page: "unknown", query };
}

/** A part of a path. What is no encoding of anything stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const view = new Store<View>(viewOf(new URL(location.href)));

const refresh = () => view.set(viewOf(new URL(location.href)));
addEventListener("popstate", refresh);

/**
 * Go to an address of the dashboard. `replace` leaves no entry to go back to, and `stay` leaves the page where it is
 * scrolled to.
 */
export function go(href: string, { replace = false, stay = false } = {}) {
  const from = location.pathname;
  if (replace) history.replaceState(null, "", href);
  else {
    history.pushState(null, "", href);
    if (!stay) scrollTo(0, 0);
  }
  refresh();

  // What had the focus is gone with its view: reading goes on at the new one.
  if (location.pathname !== from) document.getElementById("main")?.focus({ preventScroll: true });
}

/** The current address with some parameters changed; null removes one. */
export function withQuery(change: Record<string, string | null>): string {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(change)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  // A filter that changes asks a new question, which begins at its first page.
  if (!("page" in change)) url.searchParams.delete("page");
  // A pin names the chains that the question is about.
  if ("chainId" in change) url.searchParams.delete("generation");
  const query = url.searchParams.toString();
  return url.pathname + (query ? `?${query}` : "");
}

/** The page of a list at hand, in some generations or, without any, in the newest. */
export const inGenerations = (generation: string | null) => withQuery({ generation, page: view.value.query.get("page") });

/** Follow links within the dashboard without loading the page again. */
export function followLinks() {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.origin !== location.origin || !link.pathname.startsWith("/ui") || link.target || link.hash) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

const place = (kind: string, chain: number, protocol: string, id: string) => `/ui/${kind}/${chain}/${protocol}/${id}`;
export const positionHref = (p: { chainId: number; protocol: string; positionId: string }) =>
  place("positions", p.chainId, p.protocol, p.positionId);
export const poolHref = (p: { chainId: number; protocol: string; poolId: string }) =>
  place("pools", p.chainId, p.protocol, p.poolId);
export const ownerHref = (address: string) => `/ui/owners/${address}`;
