import { useMemo } from "preact/hooks";
import { integer, sign, usdFull } from "./format.js";
import { useAnswer } from "./answer.js";
import { chainOf } from "./node.js";
import { Banners, Failure } from "./states.js";
import { ListPage } from "./list.js";
import { ExactCell } from "./figures.js";
import { NO_SUM } from "./reasons.js";
import { copyExact } from "./table.js";
import { AsRequest, RequestButton, type Shown } from "./request.js";
import type { Owner, OwnerSums } from "../../client/ts/src/index.js";

/** An owner: totals by chain, then the positions. */
export function OwnerPage({ address, query }: { address: string; query: URLSearchParams }) {
  const fixed = useMemo(() => ({ owner: address, status: "all", includeRisky: "true", minPoolTvl: "0" }), [address]);
  const { answer, error, retry } = useAnswer((api, signal) => api.owner(address, { signal }), [address]);
  const shown: Shown = { path: `/v1/owners/${address}`, query: {}, method: "owner", args: [address] };
  return (
    <>
      <article class="column owner">
        <Banners flags={answer} />
        <header class="head"><h1>Owner</h1><p class="sub"><code>{address}</code></p><RequestButton /></header>
        <AsRequest shown={shown} />
        {error ? <Failure error={error} retry={retry} /> : <Totals owner={answer} />}
      </article>
      <h2 class="wide">Positions</h2>
      <ListPage kind="positions" query={query} fixed={fixed} embedded />
    </>
  );
}

function Totals({ owner }: { owner: Owner | null }) {
  if (owner === null) return <div class="loading" aria-busy="true"><i style={{ width: "640px" }} /></div>;
  const chains = owner.chains.filter((c) => c.openPositions + c.closedPositions > 0);
  return (
    <table class="plain-table" onCopy={copyExact}>
      <thead>
        <tr>
          <th scope="col">Chain</th><th scope="col" class="number">Open</th><th scope="col" class="number from-tablet">Closed</th><th scope="col" class="number">Value</th>
          <th scope="col" class="number from-tablet">Fees due</th><th scope="col" class="number">PnL</th><th scope="col" class="number from-tablet">Unknown</th>
        </tr>
      </thead>
      <tbody>
        {chains.map((c) => <Line key={c.chainId} name={chainOf(c.chainId)?.name ?? String(c.chainId)} sums={c} />)}
        {chains.length !== 1 && <Line name="All chains" sums={owner.total} />}
      </tbody>
    </table>
  );
}

function Line({ name, sums }: { name: string; sums: OwnerSums }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{integer(sums.openPositions)}</td>
      <td class="number from-tablet">{integer(sums.closedPositions)}</td>
      <ExactCell text={usdFull(sums.underlyingValueUsd)} of={sums.underlyingValueUsd} why={NO_SUM} />
      <ExactCell text={usdFull(sums.pendingFeesUsd)} of={sums.pendingFeesUsd} why={NO_SUM} className="from-tablet" />
      <ExactCell text={usdFull(sums.pnlUsd)} of={sums.pnlUsd} why={NO_SUM} className={sign(sums.pnlUsd)} />
      <td class="number from-tablet"><span data-tip="Positions of which a number is unknown; the sums leave that number out.">{integer(sums.unknown)}</span></td>
    </tr>
  );
}
