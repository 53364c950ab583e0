import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

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
  /** What is copied of a cell that is drawn. */
  exact?: (row: R) => string;
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
  useMovement(body, props.rows);

  const open = (event: MouseEvent, row: R) => {
    const target = event.target as Element;
    if (target.closest("a, button") || getSelection()?.toString()) return;
    props.onOpen(props.hrefOf(row));
  };

  // The same rows are the same nodes, which need no comparing.
  const rows = useMemo(() => props.rows?.map((row) => (
    <tr key={props.keyOf(row)} data-key={props.keyOf(row)} onClick={(event) => open(event, row)}>
      {props.columns.map((c) => cell(c, row, isSorted(c, props.sort)))}
    </tr>
  )), [props.rows, props.columns, props.sort]);

  return (
    <table class={props.dimmed ? "list dimmed" : "list"} aria-label={props.label} aria-busy={props.rows === null} onCopy={copyExact}>
      <thead>
        <tr>{props.columns.map((c) => <Head key={c.id} column={c} sort={props.sort} sortHref={props.sortHref} />)}</tr>
      </thead>
      <tbody ref={body} onAnimationEnd={forget}>
        {rows ?? Array.from({ length: props.expected }, (_, i) => <Skeleton key={i} columns={props.columns} at={i} />)}
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
    c.about ? <span data-tip={c.about} tabIndex={0}>{c.head}</span> : c.head
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

/** A cell is no component of its own: a hundred rows have more than a thousand. */
function cell<R>(c: Column<R>, row: R, sorted: boolean) {
  const value = c.value?.(row);
  if (!value) return <td key={c.id} class={classes(c, sorted)} data-exact={c.exact?.(row)}>{c.render?.(row)}</td>;
  const said = [value.exact, value.tip].filter(Boolean).join("\n");
  return (
    <td key={c.id} class={classes(c, sorted, value.className)} data-exact={value.exact ?? ""}>
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

interface Seen {
  top: number;
  texts: string[];
}

/**
 * Rows that change places slide there instead of jumping, and numbers that a
 * new generation changed are marked for a moment.
 */
function useMovement(body: { current: HTMLTableSectionElement | null }, rows: unknown) {
  const before = useRef(new Map<string, Seen>());
  useLayoutEffect(() => {
    // All places are read before anything is written: the layout is made once.
    const now = new Map<HTMLTableRowElement, Seen>();
    for (const row of body.current?.rows ?? []) {
      if (row.dataset.key) now.set(row, { top: row.offsetTop, texts: [...row.cells].map((c) => c.textContent ?? "") });
    }
    for (const [row, { top, texts }] of now) {
      const was = before.current.get(row.dataset.key!);
      if (!was) continue;
      if (was.top !== top && !still()) {
        row.animate([{ transform: `translateY(${was.top - top}px)` }, { transform: "none" }], { duration: TINT_MS / 2, easing: "ease-out" });
      }
      texts.forEach((text, i) => was.texts[i] !== text && i > 0 && row.cells[i]!.classList.add("changed"));
    }
    before.current = new Map([...now].map(([row, seen]) => [row.dataset.key!, seen]));
  }, [rows]);
}

const forget = (event: AnimationEvent) => (event.target as Element).classList.remove("changed");

/** What is copied out of a table are its exact values, divided by tabs. */
export function copyExact(event: ClipboardEvent) {
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
