import { render, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useStore } from "./store.js";
import { chains, key, watchNode } from "./node.js";
import { followLinks, view, type View } from "./route.js";
import { ListPage } from "./list.js";
import { Shell } from "./shell.js";
import { Keys, watchKeys } from "./keyboard.js";
import { KeyForm } from "./states.js";
import { watchTips } from "./tips.js";

type Details = typeof import("./details.js");

/** The details come with their charts when they are first asked for. */
function Detail({ pick }: { pick: (d: Details) => ComponentChildren }) {
  const [module, setModule] = useState<Details | null>(null);
  useEffect(() => void import("./details.js").then(setModule), []);
  return module ? <>{pick(module)}</> : <div class="column" aria-busy="true" />;
}

function Content({ v }: { v: View }) {
  const using = useStore(key);
  if (v.page === "positions" || v.page === "pools") return <ListPage key={v.page} kind={v.page} query={v.query} />;
  if (using === null && v.page !== "unknown") return <><h1 class="sr">{TITLES[v.page]}</h1><KeyForm /></>;
  switch (v.page) {
    case "position": return <Detail pick={(d) => <d.PositionPage key={`${v.chain}-${v.id}`} chain={v.chain} id={v.id} query={v.query} />} />;
    case "pool": return <Detail pick={(d) => <d.PoolPage key={`${v.chain}-${v.id}`} chain={v.chain} id={v.id} query={v.query} />} />;
    case "owner": return <Detail pick={(d) => <d.OwnerPage key={v.address} address={v.address} query={v.query} />} />;
    case "usage": return <Detail pick={(d) => <d.UsagePage key={using} />} />;
  }
  return <div class="state"><h1>There is no such page</h1><p><a href="/ui/positions">Positions</a> and <a href="/ui/pools">pools</a> are here.</p></div>;
}

const TITLES = { positions: "Positions", pools: "Pools", position: "Position", pool: "Pool", owner: "Owner", usage: "Usage", unknown: "Not found" };

function App() {
  const v = useStore(view);
  useStore(chains); // names of chains stand everywhere
  useEffect(() => {
    const which = "id" in v ? v.id : "address" in v ? v.address : "";
    document.title = `${TITLES[v.page]}${which && ` ${which.slice(0, 10)}`} · Tidemark`;
  }, [v]);
  return (
    <Shell>
      <Content v={v} />
      <Keys />
    </Shell>
  );
}

watchNode();
followLinks();
watchKeys();
watchTips();
render(<App />, document.getElementById("app")!);
