import type { ComponentChildren } from "preact";
import { withQuery } from "./route.js";
import { RANGES } from "./answer.js";
import type { ChartRange, Series } from "../../client/ts/src/index.js";

/** The few numbers at the head of a page. */
export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

export function Figure({ name, about, text, exact, tip, className, under }: {
  name: string;
  about?: string;
  text: string;
  exact?: string | number | null;
  tip?: string | undefined;
  className?: string;
  under?: ComponentChildren;
}) {
  const said = [exact ?? "", tip ?? ""].filter((s) => s !== "").join("\n");
  return (
    <div>
      <dt>{about ? <span data-tip={about} tabIndex={0}>{name}</span> : name}</dt>
      <dd class={className}>
        <span data-tip={said || undefined} tabIndex={tip ? 0 : undefined}>{text}</span>
        {under && <small>{under}</small>}
      </dd>
    </div>
  );
}

/** A number that is rounded: exact on hover, or the reason why it is unknown. */
export function Exact({ text, of, why, className }: { text: string; of: number | string | null; why: string; className?: string }) {
  return <span class={className} data-tip={of === null ? why : String(of)} tabIndex={of === null ? 0 : undefined}>{text}</span>;
}

/** A cell of such a number, which is exact in the copy too. */
export function ExactCell({ className = "", ...number }: Parameters<typeof Exact>[0]) {
  return <td class={`number ${className}`} data-exact={number.of ?? ""}><Exact {...number} /></td>;
}

/** One row of buttons for all charts of a page. */
export function Ranges({ value }: { value: ChartRange }) {
  return (
    <nav class="ranges" aria-label="Time of the charts">
      {RANGES.map((r) => (
        <a key={r} href={withQuery({ range: r === "30d" ? null : r })} aria-current={r === value ? "true" : undefined}>{r === "all" ? "All" : r.replace("d", " d")}</a>
      ))}
    </nav>
  );
}

export const days = (s: Series) => s.map((p) => p.timestamp);
export const values = (s: Series) => s.map((p) => p.value);
