// How long a block takes from the provider to the page. Two nodes follow the same chain, whose blocks appear about one a second:
// one refreshes every 200 ms and is told of heads by subscription, the other one is as it comes, with polling. The time counts from
// the moment at which the provider shows a block until a page is of it.
// node e2e-latency.mjs --binary ../../tidemark [--blocks 40] [--every 1000] [--out out/e2e-latency] [--maxSeconds 150]
import fs from 'node:fs'
import path from 'node:path'
import { HERE, parseArgs, prng, sleep } from './lib.mjs'
import { Tidemark, configOf, freePorts, killAll, waitFor } from './tidemark.mjs'
import { Endpoint, finishedChain } from './provider.mjs'

const o = parseArgs({ binary: '../../tidemark', seed: 11, ops: 130, blocks: 40, every: 1000, out: 'out/e2e-latency', maxSeconds: 150 })
const OUT = path.resolve(HERE, o.out)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()

const PAGE = '/v1/positions?chainId=1&status=all&minValueUsd=0&minPoolTvl=0&includeRisky=true&limit=1'
// What is measured, and the goal in milliseconds for 95 of 100 blocks.
const WAYS = [
  { name: 'refresh.every = 200ms, heads by subscription', every: '200ms', subscribed: true, goal: 1000 },
  { name: 'refresh.every = 2s, heads by polling', every: '2s', subscribed: false, goal: 2500 }
]
let failed = 0
try { await main() } catch (e) { console.error(e); failed++ }
killAll()
process.exit(failed ? 1 : 0)

async function main () {
  fs.rmSync(path.join(OUT, 'nodes'), { recursive: true, force: true })
  const { truth, chain } = await finishedChain(OUT, o.seed, o.ops)
  let shown = chain.blocks.length - 1 - o.blocks
  for (const [i, w] of WAYS.entries()) {
    w.endpoint = await new Endpoint(chain, 1, () => shown).listen()
    const heads = w.subscribed ? await w.endpoint.listenHeads() : ''
    const [port, opsPort] = await freePorts(2)
    const config = configOf([{ id: 1, every: w.every, heads, endpoints: [w.endpoint] }], truth.contracts, truth.tokens)
    w.node = new Tidemark({ binary: path.resolve(HERE, o.binary), dir: path.join(OUT, 'nodes', String(i)), port, opsPort, config })
    await w.node.start()
  }
  for (const w of WAYS) {
    await waitFor('the head to be served', 30000, async () => (await w.node.chainHealth(1))?.asOfBlock === shown)
    if (w.subscribed) await waitFor('the subscription', 10000, () => w.endpoint.heads.sockets.size > 0)
  }
  const appeared = new Map(), last = shown + o.blocks, R = prng(o.seed)
  const watching = WAYS.map(w => watch(w, appeared, last))
  await sleep(3000) // the first comparison with the contracts is done
  while (shown < last) {
    await sleep(o.every * (0.7 + 0.6 * R.f()))
    appeared.set(++shown, performance.now())
    for (const w of WAYS) w.endpoint.tellHead()
  }
  await Promise.all(watching)
  for (const w of WAYS) report(w)
}

// watch asks for a page again and again and notes when it is of a block for the first time.
async function watch (w, appeared, last) {
  w.times = []
  for (let seen = 0; seen < last;) {
    const { status, text } = await w.node.page(PAGE)
    const now = performance.now(), at = status === 200 ? JSON.parse(text).positions[0]?.asOfBlock ?? 0 : 0
    for (const [n, t] of appeared) if (n > seen && n <= at) w.times.push(now - t)
    if (at > seen && appeared.has(at)) seen = at
    await sleep(10)
  }
}

function report (w) {
  const t = w.times.sort((a, b) => a - b), at = q => Math.round(t[Math.min(t.length - 1, Math.ceil(q * t.length) - 1)])
  const ok = t.length === o.blocks && at(0.95) <= w.goal
  if (!ok) failed++
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${w.name}: ${t.length} blocks, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms; goal ${w.goal} ms, ${w.endpoint.requests} requests`)
}
