// Pictures of every page and state, for the README and for looking at:
//
//	node test/pictures.mjs          into pictures, which is committed
//	node test/pictures.mjs DIR      elsewhere
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { open, startBrowser, startNode } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../pictures");
const SIZES = { phone: [360, 740], tablet: [768, 960], desk: [1440, 900] };

const node = await startNode({ TIDEMARK_SIM_POSITIONS: "3000", TIDEMARK_SIM_POOLS: "80", TIDEMARK_SIM_DAYS: "90" });
const browser = await startBrowser();
mkdirSync(out, { recursive: true });

/** A page as it looks when it is at rest. */
async function take(name, path, { size = "desk", theme = "light", act, ...options } = {}) {
  const [width, height] = SIZES[size];
  const page = await open(browser, node, path, { width, height, theme, reduced: true, expected: [401, 429], ...options });
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
  await act?.(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(out, `${name}.png`) });
  if (page.faults.length > 0) throw new Error(`${name}: ${page.faults.join("\n")}`);
  await page.context().close();
}

try {
  const rows = (await node.get("/v1/positions?sort=pnl&limit=20&minValueUsd=10000&range=in&minPoolTvl=100000")).body.positions;
  const position = rows.find((p) => p.metrics.ageSeconds > 30 * 86400 && p.tickUpper - p.tickLower < 20000) ?? rows[0];
  const pool = (await node.get("/v1/pools?sort=volume&limit=1")).body.pools[0];
  const pages = {
    front: "/",
    positions: "/ui/positions",
    pools: "/ui/pools",
    position: `/ui/positions/${position.chainId}/swapdex-v4/${position.positionId}`,
    pool: `/ui/pools/${pool.chainId}/swapdex-v4/${pool.poolId}`,
    owner: `/ui/owners/${position.owner}`,
    docs: "/docs/flags",
    reference: "/docs/reference",
  };
  for (const [name, path] of Object.entries(pages)) {
    await take(`${name}-light`, path);
    await take(`${name}-dark`, path, { theme: "dark" });
    await take(`${name}-phone`, path, { size: "phone", theme: name === "positions" || name === "pool" ? "dark" : "light" });
  }
  await take("positions-tablet", pages.positions, { size: "tablet" });
  await take("state-no-key", pages.positions, { key: "" });
  await take("state-wrong-key", pages.pools, { key: "tm_srv_000000000000000000000000000000000000", theme: "dark" });
  await take("state-empty", "/ui/positions?minValueUsd=999999999999&chainId=1");
  await take("state-flags", "/ui/positions?includeRisky=true&minPoolTvl=0&sort=nft_id_desc&range=out", { act: (page) => page.keyboard.press("r") });
  node.admin("chains", "offline", "42161");
  await new Promise((done) => setTimeout(done, 3000));
  await take("state-partial", pages.pools, { theme: "dark" });
} finally {
  await browser.close();
  await node.stop();
}
