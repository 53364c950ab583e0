import { useMemo } from "preact/hooks";
import { integer, sign, usdFull } from "./format.js";
import { useAnswer } from "./answer.js";
import { chainOf } from "./node.js";
import { Failure } from "./states.js";
import { ListPage } from "./list.js";
import type { Position } from "../../client/ts/src/index.js";

const MOST_POSITIONS = 500; // what the totals read: five pages, five units

interface Total {
  chainId: number;
  open: number;
  closed: number;
  value: number;
  fees: number;
  pnl: number;
  unknown: number;
}

/** An owner: totals by chain, then the positions. */
export function OwnerPage({ address, query }: { address: string; query: URLSearchParams }) {
  const fixed = useMemo(() => ({ owner: address, status: "all", includeRisky: "true", minPoolTvl: "0" }), [address]);
  const all = useAnswer(async (api, signal) => {
    const rows: Position[] = [];
    const question = { owner: address, status: "all", sort: "underlying_value", includeRisky: true, minPoolTvl: 0 } as const;
    for await (const row of api.allPositions(question, { signal })) {
      if (rows.push(row) === MOST_POSITIONS) break;
    }
    return rows;
  }, [address]);
  return (
    <>
      <article class="column owner">
        <header class="head"><h1>Owner</h1><p class="sub"><code>{address}</code></p></header>
        {all.error ? <Failure error={all.error} retry={all.retry} /> : <Totals rows={all.answer} />}
      </article>
      <h2 class="wide">Positions</h2>
      <ListPage kind="positions" query={query} fixed={fixed} embedded />
    </>
  );
}

function totalsOf(rows: Position[]): Total[] {
  const chains = new Map<number, Total>();
  for (const row of rows) {
    const t = chains.get(row.chainId) ?? { chainId: row.chainId, open: 0, closed: 0, value: 0, fees: 0, pnl: 0, unknown: 0 };
    chains.set(row.chainId, t);
    const { underlyingValueUsd: value, pendingFeesUsd: fees, pnlUsd: pnl } = row.metrics;
    t[row.isActive ? "open" : "closed"]++;
    t.value += value ?? 0;
    t.fees += fees ?? 0;
    t.pnl += pnl ?? 0;
    if (value === null || fees === null || pnl === null) t.unknown++;
  }
  return [...chains.values()].toSorted((a, b) => a.chainId - b.chainId);
}

function Totals({ rows }: { rows: Position[] | null }) {
  const totals = useMemo(() => totalsOf(rows ?? []), [rows]);
  if (rows === null) return <div class="loading" aria-busy="true"><i style={{ width: "640px" }} /></div>;
  const sum = (pick: (t: Total) => number) => totals.reduce((n, t) => n + pick(t), 0);
  const line = (name: string, pick: (f: (t: Total) => number) => number) => {
    const unknown = pick((t) => t.unknown);
    const pnl = pick((t) => t.pnl);
    return (
      <tr key={name}>
        <th scope="row">{name}</th>
        <td class="number">{integer(pick((t) => t.open))}</td>
        <td class="number from-tablet">{integer(pick((t) => t.closed))}</td>
        <td class="number">{usdFull(pick((t) => t.value))}</td>
        <td class="number from-tablet">{usdFull(pick((t) => t.fees))}</td>
        <td class={`number ${sign(pnl)}`}>{usdFull(pnl)}</td>
        <td class="number from-tablet"><span data-tip="Rows of which a number is unknown; the sums leave that number out.">{integer(unknown)}</span></td>
      </tr>
    );
  };
  return (
    <>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Chain</th><th scope="col" class="number">Open</th><th scope="col" class="number from-tablet">Closed</th><th scope="col" class="number">Value</th>
            <th scope="col" class="number from-tablet">Fees due</th><th scope="col" class="number">PnL</th><th scope="col" class="number from-tablet">Unknown</th>
          </tr>
        </thead>
        <tbody>
          {totals.map((t) => line(chainOf(t.chainId)?.name ?? String(t.chainId), (f) => f(t)))}
          {totals.length !== 1 && line("All chains", sum)}
        </tbody>
      </table>
      {rows.length === MOST_POSITIONS && <p class="quiet">Summed over the {integer(MOST_POSITIONS)} largest positions.</p>}
    </>
  );
}
