// The live half of the front page: the head of one ranking where the node
// shows it to everyone, else how each chain stands.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { chains, health, now, offlineSince, watchNode } from "./node.js";
import { useStore } from "./store.js";
import { ago, duration, integer, percent, sign, usd } from "./format.js";
import { ChainMark, Pair, RangeBar } from "./marks.js";
import { positionHref } from "./route.js";
import { whyUnknown } from "./reasons.js";
import { watchTips } from "./tips.js";
import type { Position } from "../../client/ts/src/index.js";

const LOOK_EVERY_MS = 4000;

interface Index {
  preview?: { positions: Position[] };
}

async function lookAtIndex(): Promise<Index> {
  const answer = await fetch("/", { headers: { Accept: "application/json" }, cache: "no-store" });
  return answer.json() as Promise<Index>;
}

function Live() {
  const [index, setIndex] = useState<Index | null>(null);
  const offline = useStore(offlineSince);
  useStore(health);
  useStore(chains);
  useEffect(() => {
    const look = () => { if (!document.hidden) lookAtIndex().then(setIndex, () => {}); };
    look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  if (index === null) return offline === null ? <Blank /> : <p role="status">The node does not answer. The page tries again.</p>;
  return index.preview ? <Top rows={index.preview.positions} /> : <Chains />;
}

function Blank() {
  return (
    <div class="blank" aria-busy="true">
      {[60, 90, 80, 95, 85, 90].map((width, i) => <i key={i} style={{ width: `${width}%` }} />)}
    </div>
  );
}

function Age() {
  const known = (health.value?.chains ?? []).map((c) => c.dataAsOf).filter((at) => at !== null);
  if (known.length === 0) return null;
  return <span class="quiet">{ago((now() - Math.min(...known.map(Date.parse))) / 1000)}</span>;
}

function Top({ rows }: { rows: Position[] }) {
  return (
    <>
      <h2><a href="/ui/positions?sort=pnl">Positions by profit against holding</a><Age /></h2>
      <table>
        <thead><tr><th scope="col">Pair</th><th scope="col" class="range-cell">Range</th><th scope="col" class="number">Value</th><th scope="col" class="number">PnL</th><th scope="col" class="number apr">Fee APR</th><th scope="col" class="number age">Age</th></tr></thead>
        <tbody>
          {rows.map((p) => (
            <tr key={`${p.chainId}-${p.positionId}`}>
              <td><Pair row={p} href={positionHref(p)} /></td>
              <td class="range-cell"><RangeBar row={p} /></td>
              <td class="number" data-tip={p.metrics.underlyingValueUsd ?? whyUnknown(p.pricing.reason)}>{usd(p.metrics.underlyingValueUsd)}</td>
              <td class={`number ${sign(p.metrics.pnlUsd)}`} data-tip={p.metrics.pnlUsd ?? whyUnknown(p.pricing.reason)}>{usd(p.metrics.pnlUsd)}</td>
              <td class="number apr" data-tip={p.metrics.feeApr ?? whyUnknown(p.pricing.reason, p.amounts.deposits.valueUsd)}>{percent(p.metrics.feeApr)}</td>
              <td class="number age">{duration(p.metrics.ageSeconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Chains() {
  return (
    <>
      <h2>Chains<Age /></h2>
      <table>
        <thead><tr><th scope="col">Chain</th><th scope="col">Status</th><th scope="col" class="number">Block</th><th scope="col" class="number">Age</th></tr></thead>
        <tbody>
          {health.value?.chains.map((c) => (
            <tr key={c.chainId}>
              <td><ChainMark id={c.chainId} /> {chains.value.find((known) => known.chainId === c.chainId)?.name}</td>
              <td>{c.status}</td>
              <td class="number">{integer(c.asOfBlock)}</td>
              <td class="number">{c.dataAsOf ? duration((now() - Date.parse(c.dataAsOf)) / 1000) : "—"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

document.getElementById("origin")!.textContent = location.origin;
watchNode();
watchTips();
render(<Live />, document.getElementById("live")!);
