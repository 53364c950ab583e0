// Providers as they are: one node follows the same chain many times over, each through endpoints with other limits and faults.
// Under every fault that leaves any way the chain must move, heal within 30 s of the fault's end otherwise, and never serve a row
// that differs from those of the honest provider at the same block.
// node e2e-faults.mjs --binary ../../tidemark [--seed 11] [--ops 130] [--every 200] [--only TEXT] [--out out/e2e-faults] [--maxSeconds 235]
import fs from 'node:fs'
import path from 'node:path'
import { HERE, parseArgs, sleep } from './lib.mjs'
import { Tidemark, configOf, freePorts, killAll, waitFor } from './tidemark.mjs'
import { compareChain, readChain } from './compare.mjs'
import { Endpoint, finishedChain } from './provider.mjs'
import { cases } from './faults.mjs'

const o = parseArgs({ binary: '../../tidemark', seed: 11, ops: 130, every: 200, only: '', out: 'out/e2e-faults', maxSeconds: 235 })
const OUT = path.resolve(HERE, o.out), started = Date.now()
const log = text => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}`)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()
process.on('uncaughtException', e => { console.error(e); process.exit(1) })

// How long a chain may take to the head after the last block is out, and a shorter chain to be followed.
const HEAL = 30000, SHORTER = 2000
// Of what a limit allows, at least.
const USED = 0.8
const PAGE = 'status=all&minValueUsd=0&minPoolTvl=0&includeRisky=true&sort=nft_id_asc&limit=100'
const problems = []
let node, compared = 0

// When this process did not run, and for how long: on a busy machine neither the providers nor the node could do anything then.
const BEAT = 50, stalls = []
let beat = Date.now()
setInterval(() => {
  const now = Date.now(), late = now - beat - BEAT
  if (late > BEAT / 2) stalls.push({ at: now, late })
  beat = now
}, BEAT).unref()
const stalled = (from, to) => stalls.reduce((ms, s) => ms + (s.at > from && s.at <= to ? s.late : 0), 0)

try { await main() } catch (e) {
  problems.push(e.stack)
  if (node) console.error(node.tail(30))
}
killAll()
for (const p of problems) console.error('FAIL ' + p)
console.log(`${compared} pages compared with the honest provider's, ${problems.length} failures`)
process.exit(problems.length ? 1 : 0)

async function main () {
  const { truth, chain } = await finishedChain(OUT, o.seed, o.ops)
  const last = chain.blocks.length - 1
  const [port, opsPort] = await freePorts(2)
  let shown = Math.floor(last * 0.6)
  const runs = await serveCases(chain, () => shown)
  log(`${runs.length} providers show a chain of ${last} blocks, ${chain.logs.flat().length} logs`)

  fs.rmSync(path.join(OUT, 'node'), { recursive: true, force: true })
  node = new Tidemark({ binary: path.resolve(HERE, o.binary), dir: path.join(OUT, 'node'), port, opsPort, config: configOf(runs, truth.contracts, truth.tokens) })
  await node.start()
  const watching = watch(runs, shown)
  while (shown < last) { await sleep(o.every); shown++ }
  const out = Date.now()
  log('the last block is out')
  await reachHead(runs, last, out)
  watching.stop = true
  await watching.done
  await followShorter(runs, () => { shown -= 3; return shown }, () => { shown = last })
  await verifyHonest(runs[0], last)
  await compareEnd(runs, truth, last)
  for (const r of runs) report(r)
}

async function serveCases (chain, shown) {
  const runs = []
  for (const c of cases(shown)) {
    if (o.only && c.name !== 'honest' && !c.name.includes(o.only)) continue
    const id = [1, 42161, 43114][runs.length] ?? 500000 + runs.length
    const endpoints = []
    for (const e of c.endpoints) endpoints.push(await new Endpoint(chain, id, e.head ?? shown, e.faults).listen())
    runs.push({ ...c, id, endpoints, pages: 0, reached: 0 })
  }
  return runs
}

// rowsOf returns a page's rows without what names the chain or, where no receipt can be had, the gas.
async function rowsOf (r) {
  const { status, text } = await node.page(`/v1/positions?chainId=${r.id}&${PAGE}`, 1000)
  if (status !== 200) return null
  const page = JSON.parse(text)
  if (!page.positions.length) return null
  const at = page.positions[0].asOfBlock
  return { at, text: JSON.stringify(page.positions, (k, v) => ['chainId', 'chain', 'positionKey', 'generation', 'explorerUrl', 'links', 'id'].includes(k) ? undefined : v) }
}

// watch samples every chain's page and compares those of equal blocks with the honest provider's.
function watch (runs, first) {
  const state = { stop: false }, honest = new Map(), waiting = []
  const settle = () => {
    for (let i = waiting.length; i--;) {
      const { r, at, text } = waiting[i]
      if (!honest.has(at)) continue
      waiting.splice(i, 1)
      compared++
      r.pages++
      if (strip(text, r) !== strip(honest.get(at), r)) fail(r, `rows differ at block ${at}`, strip(text, r), strip(honest.get(at), r))
    }
  }
  state.done = (async () => {
    while (!state.stop) {
      await meterBackfill(runs, first)
      for (const r of runs) {
        const h = await rowsOf(runs[0]).catch(() => null)
        if (h) honest.set(h.at, h.text)
        const page = r === runs[0] ? null : await rowsOf(r).catch(() => null)
        if (page) waiting.push({ r, ...page })
        settle()
      }
      await sleep(100)
    }
  })()
  return state
}

// meterBackfill notes what a limited provider had served when the backfill was done.
async function meterBackfill (runs, first) {
  const h = await node.health().catch(() => null)
  for (const r of runs.filter(r => r.rate && !r.filled)) {
    const e = r.endpoints[0], c = h?.chains.find(c => c.chainId === r.id)
    if (c?.lastIndexedBlock >= first - 1) Object.assign(r, { filled: Date.now(), served: e.served, ranges: first })
  }
}

// strip leaves out what follows from the gas where no receipt can be had, the reason of pnlCostUsd among it.
function strip (text, r) {
  if (!r.gasUnknown) return text
  return JSON.stringify(JSON.parse(text), (k, v) => /gas|pnl|roi|cost|apr|^reason$/i.test(k) ? undefined : v)
}

function fail (r, what, got, want) {
  if (r.failed) return
  r.failed = true
  let at = 0
  while (got && want && got[at] === want[at]) at++
  problems.push(`${r.name}: ${what}` + (got ? `\n  got  …${got.slice(Math.max(0, at - 80), at + 120)}\n  want …${want.slice(Math.max(0, at - 80), at + 120)}` : ''))
}

async function reachHead (runs, last, out) {
  const end = Date.now() + HEAL
  let left = runs.filter(r => !r.reached)
  while (left.length && Date.now() < end) {
    const h = await node.health()
    for (const r of left) {
      const c = h.chains.find(c => c.chainId === r.id)
      r.last = c
      if (c?.asOfBlock === last) r.reached = Date.now() - out
    }
    left = left.filter(r => !r.reached)
    await sleep(100)
  }
  for (const r of left) if (!r.slow && !r.rate) fail(r, `not at the head ${HEAL / 1000} s after the last block: ${JSON.stringify(r.last)}`)
}

// followShorter takes the last blocks back without others in their place.
async function followShorter (runs, cut, restore) {
  const head = cut(), from = Date.now(), r = runs[0]
  await waitFor('the shorter chain', 5000, async () => (await node.chainHealth(r.id)).lastIndexedBlock === head, 20)
    .then(() => { r.shorter = Date.now() - from }, e => fail(r, e.message))
  if (r.shorter > SHORTER) fail(r, `a shorter chain was followed after ${r.shorter} ms`)
  await waitFor('its generation', 5000, async () => (await node.chainHealth(r.id)).asOfBlock === head).catch(e => fail(r, e.message))
  restore()
}

// verifyHonest compares the honest chain's ledger with the contracts; what is lost, e2e-limits.mjs has.
async function verifyHonest (r, last) {
  await waitFor(`${r.name} to be at the head`, 20000, async () => (await node.chainHealth(r.id))?.asOfBlock === last)
  const { code, text } = await node.verify(r.id)
  if (code !== 0) fail(r, `verify ended with ${code}: ${text}`)
  log('verify: ' + text.split('\n')[1])
}

async function compareEnd (runs, truth, last) {
  for (const r of [runs[0], ...runs.slice(1).filter(r => r.reached && !r.slow && !r.rate)]) {
    await waitFor(`${r.name} to be at the head again`, 20000, async () => { const c = await node.chainHealth(r.id); return c.asOfBlock === last && c.lastIndexedBlock === last })
      .catch(e => fail(r, e.message))
    if (r.failed) continue
    const { differences, values } = compareChain({ ...truth, chainId: r.id }, await readChain(node, r.id))
    r.values = values
    if (differences.length) fail(r, `${differences.length} differences from the contracts, such as ${differences[0]}`)
  }
}

function report (r) {
  const e = r.endpoints[0]
  const until = r.filled ?? Date.now(), ran = (until - e.asked - stalled(e.asked, until)) / 1000
  const used = r.rate && (r.served ?? e.served) / r.rate / ran
  if (used && used < USED) fail(r, `used ${(100 * used).toFixed(0)} % of its limit`)
  const moved = r.last?.lastIndexedBlock
  log(`${r.failed ? 'FAIL' : 'ok  '} ${r.name}: ${r.reached ? `head after ${(r.reached / 1000).toFixed(1)} s` : `at block ${moved}`}, ${r.pages} pages, ` +
    `${r.values ?? 0} values, ${r.endpoints.map(e => e.requests).join('+')} requests` + (used ? `, ${(100 * used).toFixed(0)} % of the limit, ${e.refused} refused` : '') + (r.ranges ? `, ${(r.served / r.ranges).toFixed(1)} a range` : '') +
    (r.shorter ? `, a shorter chain after ${r.shorter} ms` : ''))
}
