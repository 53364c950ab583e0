import { integer } from "./format.js";
import { key } from "./node.js";
import { useAnswer } from "./answer.js";
import { Failure } from "./states.js";
import { Figure, Figures } from "./figures.js";
import { AsRequest, RequestButton } from "./request.js";

/** A path that may be broken behind its slashes. */
const broken = (path: string) => path.split("/").flatMap((part, i) => (i === 0 ? [part] : ["/", <wbr key={i} />, part]));

/** What the key's account has used this month. */
export function UsagePage() {
  const { answer: u, error, retry } = useAnswer((api, signal) => api.usage({ signal }), []);
  if (error) return <div class="column"><h1 class="sr">Usage</h1><Failure error={error} retry={retry} /></div>;
  if (!u) return <div class="column loading" aria-busy="true"><h1 class="sr">Usage</h1><i style={{ width: "480px" }} /></div>;
  return (
    <article class="column">
      <header class="head"><h1>Usage</h1><p class="sub">Account <b>{u.account}</b>, plan {u.plan}, {u.month}</p>
        <div class="buttons"><RequestButton /><button type="button" class="plain" onClick={() => key.set(null)}>Forget the key</button></div></header>
      <AsRequest shown={{ path: "/v1/usage", query: {}, method: "usage", args: [] }} />
      <Figures>
        <Figure name="Units used" text={integer(u.unitsUsed)} under={u.unitsLimit === null ? "no limit" : `of ${integer(u.unitsLimit)}`} />
        {u.unitsLimit !== null && <Figure name="Left" text={integer(u.unitsLimit - u.unitsUsed)} under={`${((1 - u.unitsUsed / u.unitsLimit) * 100).toFixed(1)} %`} />}
        <Figure name="Begins anew" text={new Date(u.resetsAt).toISOString().slice(0, 10)} exact={u.resetsAt} under="00:00 UTC" />
      </Figures>
      <table class="plain-table">
        <thead><tr><th scope="col">Route</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Units</th></tr></thead>
        <tbody>
          {u.routes.map((r) => <tr key={r.path}><th scope="row"><code>{broken(r.path)}</code></th><td class="number">{integer(r.requests)}</td><td class="number">{integer(r.units)}</td></tr>)}
        </tbody>
      </table>
    </article>
  );
}
