// A node with a simulated market and a browser that watches what a page does.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.TIDEMARK ?? resolve(here, "../../../tidemark");
const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const START_TIMEOUT_MS = 120_000; // a busy machine simulates its market slowly
export const WAIT_MS = 30_000;

/** Start a node of a small market. Settings are environment variables of the node. */
export async function startNode(settings = {}) {
  const dir = mkdtempSync(join(tmpdir(), "tm-"));
  const child = spawn(binary, ["serve", "--data", join(dir, "data"), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"], {
    cwd: dir, stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TIDEMARK_SIM_POSITIONS: "900", TIDEMARK_SIM_POOLS: "60", TIDEMARK_SIM_DAYS: "40", ...settings },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const ended = new Promise((done) => child.on("exit", done));

  const admin = (...args) => execFileSync(binary, [...args, "--data", join(dir, "data")], { encoding: "utf8" });
  const node = {
    url: "", key: "", admin,
    issue: (account) => JSON.parse(admin("keys", "issue", "--account", account, "--json")).key,
    get: async (path, key = node.key) => {
      const answer = await fetch(node.url + path, { headers: { "KC-APIKey": key } });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
  process.once("exit", () => child.kill("SIGKILL"));

  const end = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < end && child.exitCode === null) {
    node.url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? "";
    const health = node.url && (await fetch(`${node.url}/health`).then((a) => a.json(), () => null));
    if (health?.chains?.every((c) => c.generation !== null)) {
      node.key = node.issue("demo");
      return node;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the node does not serve:\n${said}`);
}

const candidates = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function startBrowser() {
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no chromium; install one with apt-get install chromium, or name it in CHROMIUM");
  // The sandbox needs user namespaces, which machines that run tests often lack.
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/**
 * Open a page of a node. What it must never do is kept: errors on the console
 * and requests to other hosts. Statuses that a test brings about are expected.
 */
export async function open(browser, node, path, { width = 1440, height = 900, theme = "light", key = node.key, expected = [], reduced = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: reduced ? "reduce" : "no-preference" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.some((status) => message.text().includes(String(status)))) page.faults.push(message.text());
  });
  page.on("pageerror", (error) => page.faults.push(`${error.message}\n${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(node.url) && !request.url().startsWith("data:")) page.faults.push(`request to ${request.url()}`);
    if (request.url().includes("tm_srv_")) page.faults.push(`a key in an address: ${request.url()}`);
    // A server key with an Origin header is refused.
    if (request.headers().origin && request.url().includes("/v1/")) page.faults.push(`an Origin header to ${request.url()}`);
  });
  if (key) await page.addInitScript((value) => { if (!sessionStorage.getItem("tidemark.key")) sessionStorage.setItem("tidemark.key", value); }, key);
  await page.goto(node.url + path);
  return page;
}

/** Wait for the rows of a ranking. */
export async function rows(page) {
  await page.waitForSelector("table.list tbody tr[data-key]");
  return page.$$eval("table.list tbody tr[data-key]", (all) => all.map((row) => row.dataset.key));
}

/** How far the page is wider than its window. */
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** What axe-core finds of WCAG 2 A and AA, in words. */
export async function findings(page) {
  await page.evaluate(readFileSync(axePath, "utf8"));
  return page.evaluate(async () => {
    const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.any[0]?.message ?? ""}`).join("\n  ")}`);
  });
}
