import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** One value of a row: what is shown, what it is exactly, and what is said of it. */
export interface Value {
  text: string;
  /** The exact value, for hovering and copying. */
  exact?: string | undefined;
  /** Why it is unknown, or what is odd about it. */
  tip?: string | undefined;
  className?: string;
}

export interface Column<R> {
  id: string;
  head: string;
  about?: string;
  /** The sorts that the head switches between. */
  sorts?: { name: string; direction: "ascending" | "descending" }[];
  /** Numbers stand to the right. */
  number?: boolean;
  /** The narrowest screen that has room: every one, tablets, or desks. */
  from?: "tablet" | "desk" | "wide";
  value?: (row: R) => Value;
  render?: (row: R) => ComponentChildren;
}

interface Props<R> {
  label: string;
  columns: Column<R>[];
  rows: R[] | null;
  /** How many rows the skeleton has. */
  expected: number;
  keyOf: (row: R) => string;
  hrefOf: (row: R) => string;
  onOpen: (href: string) => void;
  sort: string;
  sortHref: (sort: string) => string;
  dimmed?: boolean;
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const TINT_MS = 600;

export function Table<R>(props: Props<R>) {
  const body = useRef<HTMLTableSectionElement>(null);
  useSlidingRows(body, props.rows);

  const open = (event: MouseEvent, row: R) => {
    const target = event.target as Element;
    if (target.closest("a, button") || getSelection()?.toString()) return;
    props.onOpen(props.hrefOf(row));
  };

  return (
    <table class={props.dimmed ? "list dimmed" : "list"} aria-label={props.label} aria-busy={props.rows === null} onCopy={copyExact}>
      <thead>
        <tr>{props.columns.map((c) => <Head key={c.id} column={c} sort={props.sort} sortHref={props.sortHref} />)}</tr>
      </thead>
      <tbody ref={body}>
        {props.rows === null
          ? Array.from({ length: props.expected }, (_, i) => <Skeleton key={i} columns={props.columns} at={i} />)
          : props.rows.map((row) => (
              <tr key={props.keyOf(row)} data-key={props.keyOf(row)} onClick={(event) => open(event, row)}>
                {props.columns.map((c) => <Cell key={c.id} column={c} row={row} sorted={isSorted(c, props.sort)} />)}
              </tr>
            ))}
      </tbody>
    </table>
  );
}

const isSorted = <R,>(c: Column<R>, sort: string) => c.sorts?.some((s) => s.name === sort) ?? false;

function classes<R>(c: Column<R>, sorted: boolean, more = ""): string {
  return [`c-${c.id}`, c.number && "number", c.from && `from-${c.from}`, sorted && "sorted", more].filter(Boolean).join(" ");
}

function Head<R>({ column: c, sort, sortHref }: { column: Column<R>; sort: string; sortHref: (sort: string) => string }) {
  const now = c.sorts?.findIndex((s) => s.name === sort) ?? -1;
  const sorted = now >= 0;
  const content = !c.sorts ? (
    c.about ? <span data-tip={c.about}>{c.head}</span> : c.head
  ) : (
    <a href={sortHref(c.sorts[(now + 1) % c.sorts.length]!.name)} data-tip={c.about} draggable={false}>
      {c.head}
      <svg class="arrow" viewBox="0 0 8 8" aria-hidden="true">
        {sorted && <path d={c.sorts[now]!.direction === "descending" ? "M4 7 1 2.5h6z" : "M4 1 7 5.5H1z"} />}
      </svg>
    </a>
  );
  return (
    <th scope="col" class={classes(c, sorted)} aria-sort={sorted ? c.sorts![now]!.direction : undefined}>
      {content}
    </th>
  );
}

function Cell<R>({ column: c, row, sorted }: { column: Column<R>; row: R; sorted: boolean }) {
  const cell = useRef<HTMLTableCellElement>(null);
  const value = c.value?.(row);
  const before = useRef(value?.text);

  // A number that a new generation changed is marked for a moment.
  useEffect(() => {
    if (before.current !== value?.text && before.current !== undefined && cell.current) {
      cell.current.classList.remove("changed");
      void cell.current.offsetWidth;
      cell.current.classList.add("changed");
    }
    before.current = value?.text;
  }, [value?.text]);

  if (!value) return <td class={classes(c, sorted)}>{c.render?.(row)}</td>;
  const said = [value.exact, value.tip].filter(Boolean).join("\n");
  return (
    <td ref={cell} class={classes(c, sorted, value.className)} data-exact={value.exact ?? ""} onAnimationEnd={(e) => e.currentTarget.classList.remove("changed")}>
      {said ? <span data-tip={said} tabIndex={value.tip ? 0 : undefined}>{value.text}</span> : value.text}
    </td>
  );
}

function Skeleton<R>({ columns, at }: { columns: Column<R>[]; at: number }) {
  return (
    <tr class="skeleton" aria-hidden="true">
      {columns.map((c, i) => (
        <td key={c.id} class={classes(c, false)}>
          <i style={{ width: `${40 + ((at * 7 + i * 13) % 5) * 10}%` }} />
        </td>
      ))}
    </tr>
  );
}

/** Rows that change places slide there instead of jumping. */
function useSlidingRows(body: { current: HTMLTableSectionElement | null }, rows: unknown) {
  const places = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    const seen = new Map<string, number>();
    for (const row of body.current?.rows ?? []) {
      const name = row.dataset.key;
      if (name === undefined) continue;
      seen.set(name, row.offsetTop);
      const from = places.current.get(name);
      const moved = from === undefined ? 0 : from - row.offsetTop;
      if (moved !== 0 && !still()) {
        row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], { duration: TINT_MS / 2, easing: "ease-out" });
      }
    }
    places.current = seen;
  }, [rows]);
}

/** What is copied out of a table are its exact values, divided by tabs. */
function copyExact(event: ClipboardEvent) {
  const selection = getSelection();
  const table = event.currentTarget as HTMLTableElement;
  if (!selection || selection.isCollapsed) return;
  const chosen = [...table.rows].filter((row) => selection.containsNode(row, true));
  const lines = chosen.map((row) =>
    [...row.cells]
      .filter((cell) => selection.containsNode(cell, true))
      .map((cell) => cell.dataset.exact || cell.textContent?.trim() || "")
      .join("\t"),
  );
  event.clipboardData?.setData("text/plain", lines.join("\n"));
  event.preventDefault();
}
