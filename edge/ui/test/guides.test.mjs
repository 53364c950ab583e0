// The TypeScript client against a node, and every TypeScript block of the guides.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { startNode } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const client = join(root, "edge/client/ts");

let node, dir, lib;

/** Bundle a program for Node, beside the client as npm installs its package. */
async function bundle(code, name) {
  const [source, out] = [join(dir, `${name}.ts`), join(dir, `${name}.mjs`)];
  writeFileSync(source, code);
  await build({ entryPoints: [source], outfile: out, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "silent" });
  return out;
}

before(async () => {
  dir = mkdtempSync(join(tmpdir(), "tm-ts-"));
  writeFileSync(join(dir, "package.json"), '{ "private": true }');
  const npm = (...args) => execFileSync("npm", [...args, "--silent"], { cwd: dir, encoding: "utf8" });
  npm("install", `./${npm("pack", client).trim()}`);
  writeFileSync(join(dir, "lib.mjs"), 'export * from "tidemark-client";');
  [node, lib] = await Promise.all([
    startNode({ TIDEMARK_SIM_POSITIONS: "300", TIDEMARK_SIM_DAYS: "10" }),
    import(pathToFileURL(join(dir, "lib.mjs"))),
  ]);
});

after(async () => {
  await node?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test("the iterator reads pages until there are no more", async () => {
  const api = new lib.Tidemark({ url: node.url, key: node.key });
  const query = { sort: "nft_id_asc", status: "all", minPoolTvl: 0, includeRisky: true, chainId: 42161 };
  const { pagination } = await api.positions({ ...query, limit: 1 });
  const ids = [];
  for await (const position of api.allPositions({ ...query, limit: 50 })) ids.push(position.positionId);
  assert.ok(pagination.total > 100);
  assert.ok(Math.abs(ids.length - pagination.total) <= 2, `${ids.length} of ${pagination.total}`); // the market goes on
  assert.deepEqual(ids, ids.toSorted((a, b) => Number(a) - Number(b)));

  let first = 0;
  for await (const _ of api.allPools()) if (++first === 3) break;
  assert.equal(first, 3);
});

test("every call of the client is answered", async () => {
  const seen = [];
  const api = new lib.Tidemark({ url: node.url, key: node.key, onAnswer: (meta) => seen.push(meta) });
  const { positions: [position] } = await api.positions({ limit: 1, sort: "underlying_value" });
  const { pools: [pool] } = await api.pools({ limit: 1 });
  const { chainId, positionId } = position;
  assert.equal((await api.position(chainId, positionId)).positionId, positionId);
  assert.equal((await api.positionCharts(chainId, positionId, "90d")).range, "90d");
  assert.ok((await api.explain(chainId, positionId)).steps.length > 0);
  assert.equal((await api.pool(pool.chainId, pool.poolId)).poolId, pool.poolId);
  assert.equal((await api.poolCharts(pool.chainId, pool.poolId)).range, "30d");
  assert.equal((await api.usage()).account, "demo");
  assert.equal((await api.chains()).length, 3);
  assert.equal((await api.protocols())[0].key, "swapdex-v4");
  assert.ok((await api.plans()).plans.length > 0);
  assert.ok((await api.units()).units.length > 0);
  assert.ok((await api.stats()).positions.total > 0);
  assert.equal((await api.health()).chains.length, 3);
  assert.deepEqual(seen.slice(0, 2).map((m) => [m.status, m.unitsCharged]), [[200, 1], [200, 2]]);
  assert.match(seen[0].generation, /^1:\d+,42161:\d+,43114:\d+$/);
});

test("a stream comes back behind its last event", async () => {
  const parts = [
    'event: generation\nid: 1:1/0\ndata: {"generation":"1:1"}\n\n: \n\nevent: changed\nid: 1:2/1\ndata: {"positionId":"77"}\n\n',
    'event: changed\nid: 1:3/1\nda', // cut within an event
    'event: reorg\nid: 1:3/2\ndata: {"chainId":1,"ids":["1-77"]}\n\nevent: end\ndata: {"reason":"stop"}\n\n',
    'event: end\ndata: {"reason":"quota"}\n\n',
  ];
  const after = [];
  const server = createServer((request, response) => {
    assert.equal(request.url, "/v1/stream?positions=1-77%2C1-78");
    response.end(parts[after.push(request.headers["last-event-id"]) - 1]);
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));

  const api = new lib.Tidemark({ url: `http://127.0.0.1:${server.address().port}`, key: "tm_srv_" });
  const got = [];
  for await (const e of api.stream({ positions: ["1-77", "1-78"] })) got.push(`${e.event} ${e.id}`);
  server.close();
  assert.deepEqual(got, ["generation 1:1/0", "changed 1:2/1", "reorg 1:3/2", "end "]);
  assert.deepEqual(after, [undefined, "1:2/1", "1:2/1", "1:3/2"]);
});

test("an export that ends early says where to go on", async () => {
  const rows = '{"rank":1}\n{"rank":2}\n';
  let spent = true; // before the first row
  const server = createServer((request, response) => {
    if (spent) return response.writeHead(429, { "Retry-After": "2000000" }).end('{"error":"spent","retryAfterSec":2000000}');
    spent = request.url === "/v1/pools/export?after=0";
    response.setHeader("X-Generation", "1:7").end(`${rows}{"end":true,"more":true}\n`);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

  const api = new lib.Tidemark({ url: `http://127.0.0.1:${server.address().port}` });
  await assert.rejects(api.exportPools().next(), lib.QuotaSpent);
  spent = false;
  const got = [];
  const all = async () => { for await (const pool of api.exportPools()) got.push(pool.rank); };
  await assert.rejects(all(), (e) => e instanceof lib.CutExport && e.after === 2 && e.generation === "1:7" && e.cause instanceof lib.QuotaSpent);
  assert.deepEqual(got, [1, 2]);
  server.close();
});

test("failures of a node are types", async () => {
  const api = new lib.Tidemark({ url: node.url, key: node.key });
  await assert.rejects(api.positions({ limit: 500 }), (e) => e instanceof lib.BadRequest && e.status === 400 && e.requestId !== null);
  await assert.rejects(api.position(1, "999999"), lib.NotFound);
  await assert.rejects(new lib.Tidemark({ url: node.url, key: "nonsense" }).usage(), lib.Unauthorized);
  await assert.rejects(new lib.Tidemark({ url: "http://127.0.0.1:1", attempts: 1 }).health(), lib.Unreachable);
  const stop = AbortSignal.abort();
  await assert.rejects(api.pools({}, { signal: stop }), { name: "AbortError" });
  assert.equal((await new lib.Tidemark({ url: `${node.url}/` }).chains()).length, 3); // a slash at the end is no other address

  // A page of something in between is no answer of a node.
  const between = createServer((_, response) => response.end("<h1>Welcome</h1>"));
  await new Promise((ready) => between.listen(0, "127.0.0.1", ready));
  const away = new lib.Tidemark({ url: `http://127.0.0.1:${between.address().port}` });
  await assert.rejects(away.pools(), (e) => e instanceof lib.TidemarkError && e.status === 200);
  between.close();
});

test("what a retry can cure is tried again after Retry-After, anything else once", async () => {
  let answers = [], asked = 0;
  const server = createServer((_, response) => {
    const [status, retry, body] = answers[Math.min(asked++, answers.length - 1)];
    response.writeHead(status, { "Content-Type": "application/json", ...(retry && { "Retry-After": retry }) });
    response.end(JSON.stringify(body));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const api = new lib.Tidemark({ url: `http://127.0.0.1:${server.address().port}`, maxWait: 5 });
  const ok = [200, null, { pools: [], pagination: {} }];
  const f = async (want, wrong, ...given) => {
    [answers, asked] = [given, 0];
    const from = performance.now();
    if (wrong) await assert.rejects(api.pools(), wrong);
    else await api.pools();
    assert.equal(asked, want);
    if (want > 1) assert.ok(performance.now() - from > 900, "did not wait");
  };
  await f(2, null, [503, "1", { error: "deep" }], ok);
  await f(2, null, [429, "1", { error: "burst" }], ok);
  await f(1, lib.QuotaSpent, [429, "2000000", { error: "spent", retryAfterSec: 2000000 }], ok);
  await f(1, lib.NotFound, [404, null, { error: "none" }], ok);
  await f(1, lib.Gone, [410, null, { error: "not kept" }], ok);
  await f(1, lib.Forbidden, [403, null, { error: "origin" }], ok);
  await f(1, lib.Unavailable, [503, "60", { error: "down" }], ok);
  server.close();
});

test("every TypeScript block of the guides runs", async () => {
  const files = [join(root, "README.md"), ...readdirSync(join(root, "edge/docs")).filter((f) => f.endsWith(".md")).map((f) => join(root, "edge/docs", f))];
  let blocks = 0;
  for (const file of files) {
    for (const [, code] of readFileSync(file, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)) {
      const program = await bundle(code.replaceAll("http://127.0.0.1:8080", node.url), `block${blocks++}`);
      const said = execFileSync(process.execPath, [program], { encoding: "utf8", env: { ...process.env, KEY: node.key } });
      assert.ok(said.length > 0, `${file} says nothing`);
    }
  }
  assert.ok(blocks > 0);
});

test("the package of the client is what its sources compile to, and nothing else", () => {
  const names = readdirSync(join(client, "src")).flatMap((f) => [f.replace(".ts", ".d.ts"), f.replace(".ts", ".js")]);
  const packed = join(dir, "node_modules/tidemark-client");
  assert.deepEqual(readdirSync(packed).toSorted(), ["dist", "package.json"]);
  assert.deepEqual(readdirSync(join(packed, "dist")).toSorted(), names.toSorted());
});
