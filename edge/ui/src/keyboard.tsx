// The keys of the dashboard, and the page that lists them.
import { useEffect, useRef } from "preact/hooks";
import { Store, useStore } from "./store.js";
import { opened } from "./request.js";

const helping = new Store(false);

const KEYS: [string, string][] = [
  ["j k ↓ ↑", "next and previous row"],
  ["Enter", "open the row"],
  ["n p", "next and previous page"],
  ["/", "search"],
  ["r", "what is shown, as a request"],
  ["1 2", "positions, pools"],
  ["t", "light or dark"],
  ["Esc", "leave a field or the rows, close this"],
  ["?", "these keys"],
];

const links = () => [...document.querySelectorAll<HTMLAnchorElement>("table.list tbody a.open")];

function move(by: 1 | -1) {
  const all = links();
  const at = all.findIndex((link) => link.closest("tr") === document.activeElement?.closest("tr"));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
}

const click = (selector: string) => document.querySelector<HTMLElement>(selector)?.click();

const ACTIONS: Record<string, () => void> = {
  j: () => move(1), ArrowDown: () => move(1),
  k: () => move(-1), ArrowUp: () => move(-1),
  n: () => click(".pager a[rel=next]"), p: () => click(".pager a[rel=prev]"),
  "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
  r: () => opened.set(!opened.value),
  1: () => click('nav a[href="/ui/positions"]'), 2: () => click('nav a[href="/ui/pools"]'),
  t: () => dispatchEvent(new Event("tidemark-theme")),
  "?": () => helping.set(!helping.value),
};

export function watchKeys() {
  document.addEventListener("keydown", (event) => {
    const field = (event.target as Element).matches?.("input, select, textarea");
    const rows = (event.target as Element).closest?.("table.list tbody");
    if (event.key === "Escape" && (field || rows)) (event.target as HTMLElement).blur();
    if (field || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    // The arrows move through rows only where there are rows.
    if (event.key.startsWith("Arrow") && links().length === 0) return;
    const action = ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

export function Keys() {
  const open = useStore(helping);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" onClose={() => helping.set(false)}
      onKeyDown={(e) => { if (e.key === "?") helping.set(false); }}>
      <h2>Keys</h2>
      <dl>{KEYS.map(([keys, what]) => <div key={keys}><dt>{keys.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  );
}
