// What a chain may say to break a page: names that are long or written to
// deceive, ids of 78 digits, numbers of 30.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { open, overflow, startBrowser, startNode } from "./harness.mjs";

const NAMES = ["W".repeat(64), "<img src=x onerror=alert(1)>", "\u05e9\u05dc\u05d5\u05dd ".repeat(12), "\u6f22".repeat(64)];
const ID = String(2n ** 256n - 1n);
const AMOUNT = "123456789012345678901234567890.123456789";

let browser, node, paths;

before(async () => {
  [node, browser] = await Promise.all([startNode({ TIDEMARK_SIM_POSITIONS: "200", TIDEMARK_SIM_DAYS: "10" }), startBrowser()]);
  const position = (await node.get("/v1/positions?sort=underlying_value&limit=1")).body.positions[0];
  const place = (kind, id) => `/ui/${kind}/${position.chainId}/swapdex-v4/${id}`;
  paths = ["/", "/ui/positions", "/ui/pools", place("positions", position.positionId), place("pools", position.poolId), `/ui/owners/${position.owner}`];
});

after(async () => {
  await browser?.close();
  await node?.stop();
});

/** An answer with the worst values that its fields allow. */
function worsen(value, name = "") {
  if (name === "symbol") return NAMES[worsen.turn++ % NAMES.length];
  if (name === "risky") return true;
  if (/^(positionId|tokenId)$/.test(name)) return ID;
  if (/^(amount[01]|fees[01]|native)$/.test(name) && typeof value === "string") return AMOUNT;
  if (/^(apr|feeApr|roi)$/.test(name) && typeof value === "number") return -100_000;
  if (name === "currentPrice") return 1.23456789e-30;
  if (/Usd/.test(name) && typeof value === "number") return -1.2345678e30;
  if (Array.isArray(value)) return value.map((v) => worsen(v));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, worsen(v, k)]));
}
worsen.turn = 0;

const isIndex = (route, path) => path === "/" && route.request().headers().accept?.includes("json");

for (const width of [360, 1280]) {
  test(`hostile names and huge numbers stay in their places at ${width} px`, async () => {
    const page = await open(browser, node, "/docs", { width });
    const answer = async (route) => {
      const { pathname } = new URL(route.request().url());
      if (!/^.v1.(positions|pools|owners)/.test(pathname) && !isIndex(route, pathname)) return route.continue();
      const response = await route.fetch();
      return route.fulfill({ response, json: worsen(await response.json()) });
    };
    await page.route("**/*", answer);

    for (const path of paths) {
      await page.goto(node.url + path);
      await page.locator(".pair").first().waitFor();
      await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
      assert.equal(await overflow(page), 0, `${path} scrolls sideways`);
      assert.deepEqual(await page.evaluate(spilt), [], path);
    }
    // What is cut can be read whole.
    const name = page.locator(".pair bdi").first();
    await name.hover();
    assert.equal(await page.locator(".tip").textContent(), await name.textContent());
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

/** Numbers that are wider than their cell without being cut, and flags that are out of sight. */
function spilt() {
  const cells = [...document.querySelectorAll("td.number, .figures dd")];
  const wide = cells.filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "visible");
  const hidden = [...document.querySelectorAll("td .pair .flag")].filter((e) => {
    return e.getBoundingClientRect().right > e.closest("td").getBoundingClientRect().right + 1;
  });
  return [...wide, ...hidden].map((e) => e.outerHTML.slice(0, 200));
}
