// The real contracts at their limits, and events that a provider leaves out for good. One node follows the same chain many
// times over: as it is, where every event must be taken, no pool quarantined, and every value equal to the contracts'; and with
// one event missing, where the comparison with the contracts must find it, name it, and have it mended, also when the node was
// killed before it could.
// node e2e-limits.mjs --binary ../../tidemark [--seed 1] [--ops 160] [--out out/e2e-limits] [--maxSeconds 170]
import fs from 'node:fs'
import path from 'node:path'
import { HERE, addr, hex, parseArgs, prng, startNode } from './lib.mjs'
import { Tidemark, configOf, freePorts, killAll, track, waitFor } from './tidemark.mjs'
import { compareChain, readChain } from './compare.mjs'
import { deployAll } from './deploy.mjs'
import { Endpoint, readWhole } from './provider.mjs'
import { Extremes } from './extremes.mjs'
import { collect } from './truth.mjs'

const o = parseArgs({ binary: '../../tidemark', seed: 1, ops: 160, out: 'out/e2e-limits', maxSeconds: 170 })
const OUT = path.resolve(HERE, o.out), started = Date.now()
const log = text => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}`)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()
process.on('uncaughtException', e => { console.error(e); process.exit(1) })

// How long the node may take, after it was started again, until nothing is missing.
const HEAL = 30000
const problems = []
let node

try { await main() } catch (e) {
  problems.push(e.stack)
  if (node) console.error(node.tail(30))
}
killAll()
for (const p of problems) console.error('FAIL ' + p)
console.log(`${problems.length} failures`)
process.exit(problems.length ? 1 : 0)

async function main () {
  fs.rmSync(OUT, { recursive: true, force: true })
  fs.mkdirSync(OUT, { recursive: true })
  const [rpcPort, port, opsPort] = await freePorts(3)
  const { truth, losses, chain } = await makeChain(rpcPort)
  const last = chain.blocks.length - 1
  const runs = await serve(chain, losses, last)
  node = new Tidemark({ binary: path.resolve(HERE, o.binary), dir: path.join(OUT, 'node'), port, opsPort, config: configOf(runs, truth.contracts, truth.tokens) })
  await node.start()

  const found = runs.filter(r => r.loss && r.loss.names)
  await Promise.all([runs[0], ...found].map(r => waitFor(`${r.name} to be at the head`, 60000, async () => (await node.chainHealth(r.id))?.asOfBlock === last)))
  log('every chain is at the head')
  await node.kill()
  for (const r of runs) r.endpoints[0].faults.plant = undefined
  await node.start()
  await compareHonest(runs[0], truth)
  await heal(runs.filter(r => r.loss), truth, last)
}

// makeChain drives the contracts and reads what they say in the end.
async function makeChain (port) {
  const { child, rpc } = await startNode({ port, chainId: 1, genesis: 1700000000, cache: path.join(OUT, 'home') })
  track(child.pid)
  await rpc.send('anvil_setBlockTimestampInterval', [12])
  const accounts = (await rpc.send('eth_accounts')).map(addr), admin = accounts[0], owners = accounts.slice(1, 11)
  const c = await deployAll(rpc, hex(30_000_000), admin, owners)
  const x = new Extremes(rpc, prng(o.seed), c, admin, owners)
  await x.oddTokens()
  const losses = await x.losses()
  await x.listed()
  log('the listed cases are done')
  for (let i = 0; i < o.ops; i++) await x.random()
  for (const [kind, n] of Object.entries(x.stats)) log(`${kind}: ${n.ok} succeeded, ${n.reverted} reverted`)

  const final = await collect(rpc, { manager: c.manager.address, posm: c.posm.address, stateView: c.stateView.address, direct: x.direct, pools: x.pools })
  const truth = { chainId: 1, contracts: { poolManager: c.manager, positionManager: c.posm }, tokens: [...c.tokens, ...x.odd, ...x.nothings()], final }
  return { truth, losses, chain: await readWhole(rpc) }
}

// serve shows the chain as it is, and once for every loss.
async function serve (chain, losses, last) {
  const runs = []
  for (const loss of [null, ...losses]) {
    const id = [1, 42161, 43114][runs.length] ?? 500000 + runs.length
    const faults = loss ? { plant: l => Number(l.blockNumber) === loss.block } : {}
    runs.push({ id, name: loss ? loss.name + ' is lost' : 'everything', loss, endpoints: [await new Endpoint(chain, id, () => last, faults).listen()] })
  }
  log(`${runs.length} providers show a chain of ${last} blocks, ${chain.logs.flat().length} logs`)
  return runs
}

async function compareHonest (r, truth) {
  const h = await waitFor('the chain to be served', 20000, async () => { const c = await node.chainHealth(r.id); return c?.asOfBlock === truth.final.block.number && c.status === 'ok' && c })
  if (h.quarantinedPools) problems.push(`the chain at its limits is ${JSON.stringify(h)}`)
  const { differences, values, positions, pools } = compareChain(truth, await readChain(node, r.id))
  problems.push(...differences.slice(0, 20))
  const { code, text } = await node.verify(r.id)
  if (code !== 0) problems.push(`verify ended with ${code}: ${text}`)
  if (!/positions may take out/.test(text) || text.match(/positions may take out/g).length !== 1) problems.push('verify did not report the one token that rebases: ' + text)
  log(`${values} values of ${positions} positions and ${pools} pools, ${differences.length} differences; verify: ${text.trim().split('\n').slice(1).join('; ')}`)
}

// heal waits until every loss was found, named and mended.
async function heal (runs, truth, last) {
  const from = Date.now()
  for (const r of runs) {
    try {
      await waitFor(`${r.name} to be mended`, Math.max(1, HEAL - (Date.now() - from)), async () => {
        const c = await node.chainHealth(r.id)
        return c.asOfBlock === last && c.verified?.different === 0 && c.quarantinedPools === 0
      })
    } catch (e) {
      problems.push(`${e.message}: ${JSON.stringify(await node.chainHealth(r.id))}\n${node.lines(r.id).slice(-8).join('\n')}`)
      continue
    }
    const named = node.lines(r.id).filter(l => l.includes('differs from a contract')).map(l => { const j = JSON.parse(l); return `${j.what} ${j.id}: ${j.field}` })
    if (r.loss.names && !named.some(n => r.loss.names.test(n))) problems.push(`${r.name}, and not named as ${r.loss.names}: ${named.join('; ')}`)
    const { differences } = compareChain({ ...truth, chainId: r.id }, await readChain(node, r.id))
    if (differences.length) problems.push(`${r.name}: ${differences.length} differences from the contracts, such as ${differences[0]}`)
    log(`${r.name}: mended after ${((Date.now() - from) / 1000).toFixed(1)} s, found as ${named[0] ?? 'a refused event'}`)
  }
}
