// The arithmetic of a row, as one can follow it with a calculator.
import { useState } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { Failure } from "./states.js";
import { REASONS } from "./reasons.js";
import { short, usd, UNKNOWN } from "./format.js";
import type { Explanation, ExplanationPrice, ExplanationStep } from "../../client/ts/src/index.js";

export function Explain({ chain, id }: { chain: number; id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="explain" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Explain: every number above, as arithmetic</summary>
      {open && <Steps chain={chain} id={id} />}
    </details>
  );
}

function Steps({ chain, id }: { chain: number; id: string }) {
  const { answer: e, error, retry } = useAnswer((api, signal) => api.explain(chain, id, { signal }), [chain, id]);
  if (error) return <Failure error={error} retry={retry} />;
  if (!e) return <div class="loading" aria-busy="true"><i style={{ width: "480px" }} /></div>;
  return (
    <>
      <Prices of={e} />
      <ol class="steps">{e.steps.map((s, i) => <Step key={`${s.name}${i}`} step={s} />)}</ol>
    </>
  );
}

function Prices({ of: e }: { of: Explanation }) {
  return (
    <table class="plain-table">
      <thead><tr><th scope="col">Price of</th><th scope="col" class="number">USD</th><th scope="col">From</th><th scope="col" class="from-tablet">Held against</th></tr></thead>
      <tbody>
        {e.prices.map((p) => (
          <tr key={p.token}>
            <th scope="row" data-tip={p.token}><bdi>{p.symbol ?? short(p.token)}</bdi></th>
            <td class="number">{p.price.priceUsd ?? UNKNOWN}</td>
            <td>{sourceOf(p)}</td>
            <td class="from-tablet">{p.checks.map((c) => <span key={c.name} class={c.met ? "met" : "unmet"} data-tip={`have ${c.have}, want ${c.want}`}>{c.met ? "✓" : "✗"} {c.name}</span>)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function sourceOf(p: ExplanationPrice): string {
  if (p.reason) return REASONS[p.reason] ?? p.reason;
  const used = p.markets.filter((m) => m.used);
  if (used.length === 0) return p.anchor ? "anchor: 1 USD" : p.price.source;
  const depth = used.reduce((sum, m) => sum + (m.reachableUsd ?? 0), 0);
  return `${p.anchor ? "anchor: " : ""}median of ${used.length} ${used.length === 1 ? "market" : "markets"}, ${usd(depth)} reachable`;
}

function Step({ step: s }: { step: ExplanationStep }) {
  return (
    <li>
      <h3>{s.name}{s.value !== null && <b class="number">{s.value}</b>}</h3>
      <code class="formula">{s.formula}</code>
      <dl>{s.terms.map((t) => <div key={t.name}><dt>{t.name}</dt><dd class="number">{t.raw ?? t.value ?? UNKNOWN}</dd></div>)}</dl>
    </li>
  );
}
