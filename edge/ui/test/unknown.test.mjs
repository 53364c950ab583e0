// What the pages say of numbers that are null: each dash has its reason, and nothing else is called unknown.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, rows, startBrowser, startNode } from "./harness.mjs";

let browser, node, position, pool;

before(async () => {
  [node, browser] = await Promise.all([startNode({ TIDEMARK_SIM_POSITIONS: "200", TIDEMARK_SIM_DAYS: "10" }), startBrowser()]);
  position = (await node.get("/v1/positions?sort=underlying_value&limit=1")).body.positions[0];
  pool = (await node.get("/v1/pools?limit=1")).body.pools[0];
});

after(async () => {
  await browser?.close();
  await node?.stop();
});

/** Change every object of the answers that a page gets. */
async function change(page, edit) {
  const walk = (value) => {
    if (value === null || typeof value !== "object") return;
    if (!Array.isArray(value)) edit(value);
    Object.values(value).forEach(walk);
  };
  await page.route(/\/v1\/(positions|pools|owners)/, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    walk(json);
    return route.fulfill({ response, json });
  });
}

async function done(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

test("a reason about a number that no column has makes no row unknown", async () => {
  const page = await open(browser, node, "/docs");
  await change(page, (o) => {
    if (o.metrics?.pnlUsd !== undefined) {
      o.pricing.reason = "no_market"; // of pnlCostUsd
      for (const name of ["underlyingValueUsd", "pnlUsd", "roi", "pendingFeesUsd", "feeApr", "apr"]) o.metrics[name] ??= 1;
    }
  });
  await page.goto(`${node.url}/ui/positions?limit=20`);
  await rows(page);
  assert.equal(await page.getByText("with an unknown number").count(), 0);
  await done(page);
});

test("a share of nothing is not said to lack a price", async () => {
  const page = await open(browser, node, "/docs");
  await change(page, (o) => {
    if (o.metrics?.tvlUsd !== undefined) Object.assign(o.metrics, { tvlUsd: 0, feeApr: null });
  });
  await page.goto(`${node.url}/ui/pools?limit=20`);
  await rows(page);
  const tip = await page.locator("tr[data-key] .c-poolApr [data-tip]").first().getAttribute("data-tip");
  assert.equal(tip, "There is none: what it is a share of is $0.");
  await done(page);
});
