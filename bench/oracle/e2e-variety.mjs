// What pools can meet, drawn by seed, against the contracts at many heights: one chain and one node for every seed. The node
// follows the chain as it is built, takes back what a reorganisation does, and is compared whenever it stands still: every
// position, pool and tick, every change of liquidity, and with tidemark verify what no answer shows, such as fee growths.
// node e2e-variety.mjs --binary ../../tidemark [--seeds 1,2,3] [--ops 250] [--heights 4] [--out out/e2e-variety] [--maxSeconds 900]
import fs from 'node:fs'
import path from 'node:path'
import { HERE, addr, hex, parseArgs, prng, startNode, stopNode } from './lib.mjs'
import { Tidemark, freePorts, killAll, track, untrack, waitFor } from './tidemark.mjs'
import { compareChain, compareChanges, compareMoves, comparePools, readChain } from './compare.mjs'
import { act, deployAll, modify } from './deploy.mjs'
import { Variety } from './variety.mjs'
import { collect } from './truth.mjs'

const o = parseArgs({ binary: '../../tidemark', seeds: '1,2,3', ops: 250, heights: 4, out: 'out/e2e-variety', maxSeconds: 900 })
const OUT = path.resolve(HERE, o.out), started = Date.now()
const GAS = hex(30_000_000)
// What part of the blocks of a kind must succeed for it to count as tried.
const LEAST = 0.1
const log = text => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}`)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()
process.on('uncaughtException', e => { console.error(e); process.exit(1) })

const problems = [], stats = {}
for (const seed of o.seeds.split(',')) {
  try { await run(Number(seed)) } catch (e) { problems.push(`seed ${seed}: ${e.stack}`) }
}
killAll()
for (const [kind, n] of Object.entries(stats)) {
  log(`${kind}: ${n.ok} succeeded, ${n.reverted} reverted`)
  if (n.ok < LEAST * (n.ok + n.reverted)) problems.push(`${kind} hardly ever succeeded`)
}
for (const p of problems) console.error('FAIL ' + p)
console.log(`${problems.length} failures`)
process.exit(problems.length ? 1 : 0)

async function run (seed) {
  const dir = path.join(OUT, String(seed)), [rpcPort, port, opsPort] = await freePorts(3)
  fs.rmSync(dir, { recursive: true, force: true })
  const { child, rpc } = await startNode({ port: rpcPort, chainId: 1, genesis: 1700000000, cache: path.join(dir, 'home') })
  track(child.pid)
  await rpc.send('anvil_setBlockTimestampInterval', [12])
  const accounts = (await rpc.send('eth_accounts')).map(addr), admin = accounts[0], owners = accounts.slice(1, 11)
  const c = await deployAll(rpc, GAS, admin, owners), x = new Variety(rpc, prng(seed), c, admin, owners)
  await x.prepare()
  const chain = { id: 1, rpc: rpc.url, poolManager: c.manager.address, positionManager: c.posm.address, stables: [c.tokens[0].address] }
  const node = new Tidemark({ binary: path.resolve(HERE, o.binary), dir: path.join(dir, 'node'), port, opsPort, chains: [chain] })
  await node.start()

  for (let i = 1; i <= o.ops; i++) {
    if (x.R.chance(0.02)) await reorganise(rpc, x, node)
    await x.random()
    if (Math.floor(i * o.heights / o.ops) > Math.floor((i - 1) * o.heights / o.ops)) await compare(seed, rpc, x, node)
  }
  for (const k in x.stats) for (const w in x.stats[k]) (stats[k] ??= { ok: 0, reverted: 0 })[w] += x.stats[k][w]
  await node.kill()
  await stopNode(child)
  untrack(child.pid)
  fs.rmSync(path.join(dir, 'node/data'), { recursive: true, force: true })
}

// indexed waits until the node is at the chain's head.
async function indexed (rpc, node) {
  const head = await rpc.send('eth_getBlockByNumber', ['latest', false])
  return waitFor(`block ${Number(head.number)} to be indexed`, 30000, async () => { const h = await node.chainHealth(1); return h?.asOfBlockHash === head.hash && h.status === 'ok' && h })
}

// reorganise lets the node see a few blocks that are then taken back.
async function reorganise (rpc, x, node) {
  const id = await rpc.send('evm_snapshot', []), forget = x.save()
  for (let i = x.R.int(1, 6); i > 0; i--) await x.random()
  await indexed(rpc, node)
  if (!await rpc.send('evm_revert', [id])) throw new Error('could not go back')
  forget()
}

// compare holds what the node serves against the contracts, and again after a crash; and what it serves against itself.
async function compare (seed, rpc, x, node) {
  const { c } = x
  let h = await indexed(rpc, node)
  const d = { manager: c.manager.address, posm: c.posm.address, stateView: c.stateView.address, router: x.routers[0], hooks: x.hooks, tokens: c.tokens, accounts: x.owners, direct: x.others, pools: x.pools }
  const burnData = p => [{ from: p.owner, to: c.posm.address, gas: hex(400_000_000), data: modify([act.burn(p.tokenId), act.takePair(x.pools.find(q => q.poolId === p.poolId), p.owner)]) }]
  const { modifications, moves, clock, gas, actions, fees } = x
  const truth = { contracts: { positionManager: c.posm }, tokens: c.tokens, final: await collect(rpc, d, { full: true, burnData }), modifications, moves, clock, gas, actions, fees }
  const differences = []
  let values
  for (const life of ['live', 'after a crash']) {
    const read = await readChain(node, 1), found = compareChain(truth, read)
    const all = [...found.differences, ...compareChanges(truth, read), ...compareMoves(truth, read), ...await comparePools(truth, read, node)]
    if (h.quarantinedPools) all.push(`${h.quarantinedPools} pools are quarantined`)
    differences.push(...all.map(t => `${life}: ${t}`))
    values = found.values
    if (life === 'live') { await node.kill(); await node.start(); h = await indexed(rpc, node) }
  }
  const { code, text } = await node.verify(1), own = await node.check(), at = `seed ${seed}, block ${h.asOfBlock}`
  if (code !== 0) differences.push(`verify ended with ${code}: ${text}`)
  for (const t of own.differences) differences.push(`${t.rule}: ${t.route}: ${t.field} is ${t.got}; other answers make it ${t.want}`)
  problems.push(...differences.slice(0, 20).map(t => `${at}: ${t}`))
  log(`${at}: ${values} values, ${modifications.length} changes, ${own.values} values of the node's own, ${differences.length} differences; verify: ${text.trim().split('\n').slice(1).join('; ')}`)
}
