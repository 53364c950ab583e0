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
  await page.unrouteAll({ behavior: "ignoreErrors" }); // of answers that are still changed
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

const RATES = new Set(["roi", "apr", "feeApr", "feesTvlRatio", "currentPrice", "timeInRange", "priceLower", "priceUpper"]);
const AMOUNTS = new Set(["amount0", "amount1", "fees0", "fees1", "native", "gasNative"]);
const COUNTS = new Set(["positionsCount", "holdersCount"]);

/** Everything that may be null, is. */
function forget(o) {
  for (const name of Object.keys(o)) {
    if (typeof o[name] === "object") continue; // a series
    if (/Usd/.test(name) || RATES.has(name) || AMOUNTS.has(name) || COUNTS.has(name)) o[name] = null;
  }
}

test("a loss of less than a cent is no loss of 0", async () => {
  const page = await open(browser, node, "/docs");
  await change(page, (o) => { if (o.metrics?.pnlUsd !== undefined) o.metrics.pnlUsd = -0.001; });
  await page.goto(`${node.url}/ui/positions/${position.chainId}/swapdex-v4/${position.positionId}`);
  await page.locator(".figures dd", { hasText: "\u2212<$0.01" }).waitFor();
  await done(page);
});

test("a count has no decimals", async () => {
  const page = await open(browser, node, "/docs");
  await change(page, (o) => { if (o.txCount !== undefined) o.txCount = 89; });
  await page.goto(`${node.url}/ui/pools/${pool.chainId}/swapdex-v4/${pool.poolId}`);
  await page.getByText("89 events", { exact: true }).waitFor();
  await done(page);
});

test("two chains that are left out are two", async () => {
  const page = await open(browser, node, "/docs");
  await change(page, (o) => { if (o.pagination) Object.assign(o, { partial: true, missingChains: [1, 42161] }); });
  await page.goto(`${node.url}/ui/positions?limit=20`);
  await page.getByText("Ethereum and Arbitrum One cannot be served now: their rows and their counts are left out.").waitFor();
  await done(page);
});

/** The rows of dashes that do not say why. */
const silent = (page) => page.evaluate(() => {
  const all = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (all.nextNode()) {
    const at = all.currentNode.parentElement;
    if (!all.currentNode.data.includes("\u2014") || at.closest(".readout-line, .footnotes, option")) continue;
    if (!/^[A-Z][a-z ]+.*\.$/.test(at.closest("[data-tip]")?.dataset.tip ?? "")) found.push(at.closest("tr, div, p").textContent);
  }
  return found;
});

test("every dash says why, and every rounded number what it is exactly", async () => {
  const page = await open(browser, node, "/docs");
  const place = (kind, row, id) => `/ui/${kind}/${row.chainId}/swapdex-v4/${id}`;
  const paths = ["/ui/positions", "/ui/pools", place("positions", position, position.positionId), place("pools", pool, pool.poolId), `/ui/owners/${position.owner}`];
  await change(page, forget);
  for (const path of paths) {
    await page.goto(node.url + path);
    await page.locator(".pair").first().waitFor();
    await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
    assert.deepEqual(await silent(page), [], path);
  }

  await page.unrouteAll();
  await page.goto(node.url + paths[2]);
  const row = page.locator("tr", { hasText: "Deposited" });
  await row.evaluate((tr) => getSelection().selectAllChildren(tr));
  await page.keyboard.press("Control+c");
  const { deposits } = (await node.get(paths[2].replace("/ui/", "/v1/"))).body.amounts;
  const [, amount0, amount1] = (await page.evaluate(() => navigator.clipboard.readText())).split("\t");
  assert.deepEqual([amount0, amount1], [deposits.amount0, deposits.amount1]);
  await done(page);
});
