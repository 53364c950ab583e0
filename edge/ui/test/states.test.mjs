// What the pages say when the node cannot answer as it should.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findings, open, rows, startBrowser, startNode } from "./harness.mjs";

let browser;
const nodes = [];

before(async () => (browser = await startBrowser()));
after(async () => {
  await browser?.close();
  await Promise.all(nodes.map((node) => node.stop()));
});

async function start(settings) {
  const node = await startNode({ TIDEMARK_SIM_POSITIONS: "200", TIDEMARK_SIM_DAYS: "10", ...settings });
  nodes.push(node);
  return node;
}

async function done(page) {
  assert.deepEqual(await findings(page), []);
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

test("stale data is said to be stale", async () => {
  const node = await start({ TIDEMARK_LIMITS_FRESHNESS: "1ns" });
  const page = await open(browser, node, "/ui/positions");
  await rows(page);
  await page.getByText("Stale.").waitFor();
  await done(page);
});

test("a partial ranking names what is missing; offline is told, and keeps the rows", async () => {
  const node = await start({});
  node.admin("chains", "offline", "42161");
  const page = await open(browser, node, "/ui/pools", { expected: ["ERR_CONNECTION_REFUSED"] });
  await page.getByText("Partial.").waitFor();
  await page.getByText("Arbitrum One cannot be served now").waitFor();
  const chains = new Set((await rows(page)).map((key) => key.split("-")[0]));
  assert.deepEqual([...chains].sort(), ["1", "43114"]);
  await page.goto(`${node.url}/ui/pools?chainId=42161`);
  await page.getByRole("heading", { name: "Not available now" }).waitFor();
  page.faults = page.faults.filter((f) => !f.includes("503"));
  await page.goto(`${node.url}/ui/pools`);
  const kept = (await rows(page)).length;
  await node.stop();
  nodes.splice(nodes.indexOf(node), 1);
  await page.getByText("Offline.").waitFor();
  assert.equal((await rows(page)).length, kept);
  await done(page);
});

test("a spent quota says when it comes back; too many a second goes on by itself", async () => {
  const node = await start({});
  node.admin("accounts", "create", "small", "--plan", "free");
  const key = node.issue("small");
  for (let left = 25_000; left > 0;) {
    const { body } = await node.get("/v1/usage", key);
    if (body.unitsUsed === undefined) { await new Promise((r) => setTimeout(r, 300)); continue; }
    left = body.unitsLimit - body.unitsUsed;
    break;
  }
  // The answer that a spent month has, from this node, for this key.
  const page = await open(browser, node, "/docs", { key, expected: [429] });
  const spent = { error: "the quota of this month is spent", retryAfterSec: 777_600 };
  await page.route("**/v1/positions*", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "777600", "Content-Type": "application/json" }, body: JSON.stringify(spent) }));
  await page.goto(`${node.url}/ui/positions`);
  await page.getByRole("heading", { name: "The month's units are spent" }).waitFor();
  await page.getByText("They come back in 9d").waitFor();
  await page.unroute("**/v1/positions*");

  let refused = 0;
  await page.route("**/v1/pools*", (route) => (refused++ === 0
    ? route.fulfill({ status: 429, headers: { "Retry-After": "1", "Content-Type": "application/json" }, body: '{"error":"too many requests"}' })
    : route.continue()));
  await page.goto(`${node.url}/ui/pools`);
  await rows(page);
  assert.ok(refused >= 2);
  await done(page);
});

test("a failure of a refresh is told above the rows; a key that is revoked is asked for again", async () => {
  const node = await start({});
  node.admin("accounts", "create", "passing", "--plan", "growth");
  const key = node.issue("passing");
  const page = await open(browser, node, "/ui/pools", { key, expected: [429, 401] });
  const kept = (await rows(page)).length;
  const spent = { error: "the quota of this month is spent", retryAfterSec: 777_600 };
  await page.route("**/v1/pools*", (route) => route.fulfill({ status: 429, headers: { "Retry-After": "777600", "Content-Type": "application/json" }, body: JSON.stringify(spent) }));
  await page.mouse.move(5, 5);
  await page.getByText("Not refreshed.").waitFor();
  await page.getByText("They come back in 9d").waitFor();
  assert.equal((await rows(page)).length, kept);
  await page.unroute("**/v1/pools*");

  node.admin("accounts", "suspend", "passing");
  await page.getByRole("heading", { name: "That key was not accepted" }).waitFor();
  await done(page);
});

test("what the node did not answer is asked again once it does", async () => {
  const node = await start({});
  const { owner } = (await node.get("/v1/positions?limit=1")).body.positions[0];
  const page = await open(browser, node, "/ui/positions?limit=20", { expected: ["ERR_FAILED"] });
  await rows(page);
  await page.getByRole("button", { name: /rows follow/ }).click();
  await page.getByRole("button", { name: /rows follow/ }).click(); // held
  for (const [path, drawn] of [["/ui/usage", "Units used"], [`/ui/owners/${owner}`, "All chains|Ethereum|Arbitrum|Avalanche"], ["/ui/pools", "TVL"]]) {
    await page.route(/v1.(usage|owners|pools|positions)/, (route) => route.abort());
    await page.goto(node.url + path);
    await page.getByRole("heading", { name: "The node does not answer" }).first().waitFor();
    await page.unrouteAll();
    await page.getByRole("heading", { name: "The node does not answer" }).first().waitFor({ state: "detached" });
    await page.locator("table tbody tr, .figures").getByText(new RegExp(drawn)).or(page.locator("tr[data-key]")).first().waitFor();
  }
  await done(page);
});

test("a node that hangs is said to be offline", async () => {
  const node = await start({});
  const page = await open(browser, node, "/ui/pools");
  await rows(page);
  let asked = 0;
  await page.route("**/health", () => { asked++; }); // never answered
  await page.getByText("Offline.").waitFor();
  assert.equal(asked, 1, "health is asked for while it is asked for");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.getByText("Offline.").waitFor({ state: "detached" });
  await done(page);
});

test("charts of a time that cannot be had are not those of another", async () => {
  const node = await start({});
  const { positionId } = (await node.get("/v1/positions?chainId=1&limit=1")).body.positions[0];
  const page = await open(browser, node, `/ui/positions/1/swapdex-v4/${positionId}`, { expected: [503] });
  await page.locator(".plots .chart").first().waitFor();
  await page.route("**/charts*", (route) => route.fulfill({ status: 503, headers: { "Retry-After": "60" }, json: { error: "too much at once" } }));
  await page.getByRole("link", { name: "90 d" }).click();
  await page.getByRole("heading", { name: "Not available now" }).waitFor();
  assert.equal(await page.locator(".plots .chart").count(), 0);
  await done(page);
});

test("an unknown position, a capped total and a degraded detail are told", async () => {
  const node = await start({ TIDEMARK_LIMITS_TOTAL_CAP: "20", TIDEMARK_LIMITS_TRANSACTIONS_WAIT: "1ns" });
  const page = await open(browser, node, "/ui/positions/1/swapdex-v4/999999", { expected: [404] });
  await page.getByRole("heading", { name: "There is no such thing" }).waitFor();
  page.faults = page.faults.filter((f) => !f.includes("400"));
  await page.goto(`${node.url}/ui/positions/1/swapdex-v4/%zz`);
  await page.getByRole("heading", { name: "There is no such thing" }).waitFor();
  await page.goto(`${node.url}/ui/positions?minValueUsd=abc`);
  await page.getByText('minValueUsd "abc" is not').waitFor();
  page.faults = page.faults.filter((f) => !f.includes("400"));
  await page.goto(`${node.url}/ui/positions?limit=20&minValueUsd=1`);
  await rows(page);
  await page.getByText(/^20\+$|^21\+$|^40\+$/).waitFor();
  await page.goto(`${node.url}/ui/positions/1/swapdex-v4/2`);
  await page.getByText("Still loading.").waitFor();
  await done(page);
});

test("the front page says that the node does not answer, and goes on when it does", async () => {
  const node = await start({});
  const page = await open(browser, node, "/docs", { expected: ["ERR_FAILED"] });
  await page.route("**/*", (route) => (route.request().resourceType() === "fetch" ? route.abort() : route.continue()));
  await page.goto(`${node.url}/`);
  await page.getByText("The node does not answer.").waitFor();
  assert.deepEqual(await findings(page), []);
  await page.unrouteAll();
  await page.waitForFunction(() => document.querySelectorAll(".live tbody tr").length > 0);
  await done(page);
});

test("without a preview the front page shows the chains", async () => {
  const node = await start({});
  const page = await open(browser, node, "/docs");
  await page.route(`${node.url}/`, async (route) => (route.request().headers().accept?.includes("json")
    ? route.fulfill({ json: { name: "tidemark", version: "test", links: {} } })
    : route.continue()));
  await page.goto(`${node.url}/`);
  await page.getByRole("cell", { name: "Arbitrum One" }).waitFor();
  await done(page);
});

test("an empty list says what hides rows there, and offers more only where there is more", async () => {
  const node = await start({});
  const page = await open(browser, node, "/ui/owners/0x00000000000000000000000000000000000000aa");
  await page.getByText("There are no positions here.").waitFor();
  assert.equal(await page.getByRole("link", { name: "Show everything" }).count(), 0);

  await page.goto(`${node.url}/ui/pools?search=nothing`);
  await page.getByText("Filtered by search nothing.").waitFor();
  assert.equal(await page.getByText("Hidden unless asked for").count(), 0); // a search shows risky tokens

  await page.goto(`${node.url}/ui/positions?sort=roi&minPoolTvl=0&minValueUsd=1e15&includeRisky=1&status=active`);
  await page.getByText("Hidden unless asked for: closed positions, positions without value.").waitFor();
  assert.equal(await page.getByLabel("Risky").isChecked(), true);
  await page.getByRole("link", { name: "Show everything" }).click();
  await rows(page);
  await page.mouse.move(5, 5); // the row's tip goes
  await done(page);
});

test("a browser that keeps nothing shows everything", async () => {
  const node = await start({});
  const page = await open(browser, node, "/docs", { key: "" });
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });
  });
  await page.goto(`${node.url}/docs/reference`);
  await page.locator("#listPools").waitFor();
  await page.goto(`${node.url}/ui/pools`);
  await page.getByLabel("API key").fill(node.key);
  await page.getByRole("button", { name: "Use key" }).click();
  await rows(page);
  await page.keyboard.press("t");
  assert.ok(await page.evaluate(() => document.documentElement.dataset.theme));
  await done(page);
});

test("paper is white, and has what is read", async () => {
  const node = await start({});
  for (const theme of ["light", "dark"]) {
    const page = await open(browser, node, "/ui/pools", { theme });
    await rows(page);
    if (theme === "light") await page.keyboard.press("t"); // dark by choice
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.locator("header.top").isVisible(), false);
    assert.equal(await page.locator(".list th").first().evaluate((th) => getComputedStyle(th).position), "static");
    assert.equal(await page.locator("tr[data-key]").first().isVisible(), true);
    await page.goto(`${node.url}/docs/units`);
    assert.equal(await page.locator(".contents").isVisible(), false);
    assert.equal(await page.locator("main h1").isVisible(), true);
    await done(page);
  }
});
