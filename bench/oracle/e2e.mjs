// The whole way on real input: three real chains with reorganisations, one node that follows them and is killed again and
// again, and at the end every answer of the contracts against what the node serves. 0 differences, or it fails.
// node e2e.mjs --binary ../../tidemark [--seed 1] [--ops 1800] [--pace 30] [--reorgEvery 75] [--out out/e2e] [--maxSeconds 1500]
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { HERE, Rpc, parseArgs, prng, sleep } from './lib.mjs'
import { Tidemark, freePorts, killAll, track, untrack, waitFor } from './tidemark.mjs'
import { compareChain, readChain } from './compare.mjs'

const CHAINS = [1, 42161, 43114]
// How often an operation is a mint: so that 1,800 operations leave more than 250 live positions.
const MINT = 28
// What a run must reach to count.
const LEAST = { live: 250, timed: 100, values: 6000, checked: 1000000, reorgs: 10, kills: 10 }

const o = parseArgs({ binary: '../../tidemark', seed: 1, ops: 1800, pace: 30, reorgEvery: 75, out: 'out/e2e', maxSeconds: 1500 })
const OUT = path.resolve(HERE, o.out), started = Date.now()
const R = prng(o.seed)
const log = text => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(7)} s  ${text}`)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()
process.on('uncaughtException', e => { console.error(e); process.exit(1) })

const problems = []
const result = { values: 0, checked: 0, positions: 0, live: [], timed: 0, pools: 0, reorgs: 0, seen: 0, kills: 0, pages: 0 }
let node
try {
  await main()
} catch (e) {
  problems.push(e.stack)
  if (node) console.error(node.tail(30))
}
killAll()
report()
process.exit(problems.length ? 1 : 0)

async function main () {
  fs.rmSync(OUT, { recursive: true, force: true })
  fs.mkdirSync(OUT, { recursive: true })
  const ports = await freePorts(CHAINS.length + 2)
  const chains = CHAINS.map((id, i) => startScenario(id, ports[i], o.seed * 10 + i))
  const contracts = await Promise.all(chains.map(c => waitFor(`the contracts of chain ${c.id}`, 240000, () => {
    if (c.ended) throw new Error(c.ended)
    return fs.existsSync(c.file('contracts.json')) && JSON.parse(fs.readFileSync(c.file('contracts.json')))
  })))
  log(`three chains are up: seeds ${chains.map(c => c.seed).join(', ')}`)
  node = new Tidemark({
    binary: path.resolve(HERE, o.binary), dir: path.join(OUT, 'node'), port: ports[3], opsPort: ports[4],
    chains: contracts.map(c => ({ id: c.chainId, rpc: c.rpc, poolManager: c.poolManager.address, positionManager: c.positionManager.address, stables: [c.tokens[0].address] }))
  })
  await node.start()
  log('the node is up')
  await follow(chains)
  for (const c of chains) if (c.ended !== 'done') throw new Error(`chain ${c.id}: ${c.ended}`)
  const truths = chains.map(c => JSON.parse(fs.readFileSync(c.file('truth.json'))))
  await indexed(truths)
  await node.sample()
  const reads = await compare(truths, true)
  await restart()
  await indexed(truths)
  await again(truths, reads)
  await checkAnswers()
  result.reorgs = truths.reduce((n, t) => n + t.reorgs.length, 0)
  result.seen = node.reorgs + node.seen
  checkLeast()
}

// A chain that is being built, by a process of its own that leaves its node running.
function startScenario (id, port, seed) {
  const out = path.join(OUT, 'chain-' + id)
  const args = ['scenario.mjs', '--seed', seed, '--ops', o.ops, '--chainId', id, '--port', port, '--out', out, '--pace', o.pace,
    '--reorgEvery', o.reorgEvery, '--maxSeconds', o.maxSeconds, '--checkpoints', 0, '--mint', MINT, '--keep']
  const child = spawn(process.execPath, args.map(String), { cwd: HERE, stdio: ['ignore', 'pipe', 'pipe'] })
  const c = { id, seed, child, ended: '', rpc: new Rpc(`http://127.0.0.1:${port}`), file: name => path.join(out, name) }
  let text = ''
  track(child.pid)
  child.stdout.on('data', b => { text += b })
  child.stderr.on('data', b => { text += b })
  const anvil = setInterval(() => { // its process outlives the scenario's
    if (!fs.existsSync(c.file('anvil.pid'))) return
    const pid = Number(fs.readFileSync(c.file('anvil.pid')))
    if (pid) { track(pid); clearInterval(anvil) }
  }, 10)
  anvil.unref()
  child.on('close', code => {
    untrack(child.pid)
    c.ended = code === 0 ? 'done' : `scenario ended with ${code}: ${text.slice(-2000)}`
    log(`chain ${id}: ${text.split('\n')[0]}`)
  })
  return c
}

// follow kills and restarts the node while blocks arrive; three of the kills come while one chain stands still.
async function follow (chains) {
  const growing = () => chains.filter(c => !c.ended)
  const heads = async () => (await Promise.all(chains.map(c => c.rpc.send('eth_blockNumber')))).join()
  const quiet = [...chains]
  const sampler = setInterval(() => node.sample().catch(() => {}), 500)
  for (let n = 1; growing().length; n++) {
    const stay = R.f() ** 2 * 9000 + 300
    for (const end = Date.now() + stay; Date.now() < end && growing().length;) await sleep(50)
    if (!growing().length) break
    const before = await heads()
    if (n % 3 === 0 && quiet.length && growing().includes(quiet[0])) await killWhileQuiet(quiet.shift())
    else await restart(R.f() * 1000)
    if (await heads() !== before) result.kills++
  }
  clearInterval(sampler)
}

async function restart (ms = 0) {
  await node.kill()
  await sleep(ms)
  await node.start()
}

// killWhileQuiet stops a chain, lets the node catch up with it, and compares the first pages after a kill with those before.
async function killWhileQuiet (c) {
  const pages = [
    `/v1/positions?chainId=${c.id}&status=all&minValueUsd=0&minPoolTvl=0&includeRisky=true&sort=nft_id_asc&limit=100`,
    `/v1/positions?chainId=${c.id}&minPoolTvl=0&includeRisky=true&sort=underlying_value`,
    `/v1/pools?chainId=${c.id}&minTvlUsd=0&includeRisky=true`
  ]
  c.child.kill('SIGSTOP')
  try {
    const head = await waitFor(`chain ${c.id} to stand still`, 5000, async () => {
      const a = await c.rpc.send('eth_getBlockByNumber', ['latest', false])
      await sleep(300)
      return a.hash === (await c.rpc.send('eth_getBlockByNumber', ['latest', false])).hash && a
    })
    await waitFor(`chain ${c.id} to be indexed up to ${Number(head.number)}`, 30000, async () => (await node.chainHealth(c.id))?.asOfBlockHash === head.hash)
    const stored = []
    for (const p of pages) stored.push(await node.page(p))
    await restart(R.f() * 500)
    for (const [i, p] of pages.entries()) {
      const first = await node.page(p)
      result.pages++
      if (first.generation !== stored[i].generation || first.text !== stored[i].text) {
        problems.push(`first page after a kill differs: ${p}\n  before ${stored[i].generation} ${stored[i].text.slice(0, 300)}\n  after  ${first.generation} ${first.text.slice(0, 300)}`)
        fs.writeFileSync(path.join(OUT, `page-${c.id}-${i}-before.json`), stored[i].text)
        fs.writeFileSync(path.join(OUT, `page-${c.id}-${i}-after.json`), first.text)
      }
    }
  } finally { c.child.kill('SIGCONT') }
}

// indexed waits until every chain's generation is of its last block, and no one's records load.
async function indexed (truths) {
  await waitFor('the heads to be indexed', 180000, async () => {
    const h = await node.health()
    return truths.every(t => {
      const c = h.chains.find(c => c.chainId === t.chainId)
      return c && c.asOfBlock === t.final.block.number && c.asOfBlockHash === t.final.block.hash && c.lastIndexedBlock === t.final.block.number
    })
  })
}

async function compare (truths, count) {
  const reads = []
  let differences = 0
  for (const t of truths) {
    const read = await readChain(node, t.chainId)
    const r = compareChain(t, read)
    reads.push(read)
    differences += r.differences.length
    problems.push(...r.differences.slice(0, 20))
    if (r.differences.length > 20) problems.push(`chain ${t.chainId}: ${r.differences.length - 20} differences more`)
    if (!count) continue
    result.values += r.values; result.positions += r.positions; result.timed += r.timed; result.pools += r.pools
    result.live.push(r.live)
  }
  const all = await node.list('/v1/positions?status=all&minValueUsd=0&minPoolTvl=0&includeRisky=true&sort=nft_id_asc&limit=100', 'positions')
  if (all.rows.length !== truths.reduce((n, t) => n + t.final.positions.length, 0)) problems.push(`the chains merged have ${all.rows.length} positions`)
  log(`compared${count ? '' : ' again'}: ${differences} differences`)
  return reads
}

// again compares after one more kill: also with what was served before it.
async function again (truths, before) {
  const after = await compare(truths, false)
  after.forEach((read, i) => {
    if (JSON.stringify(read.positions.rows) !== JSON.stringify(before[i].positions.rows)) problems.push(`chain ${read.chainId}: rows differ after the last kill`)
  })
}

// checkAnswers holds everything that the node answers against itself: lists, details, charts, explanations.
async function checkAnswers () {
  const r = await node.check()
  for (const d of r.differences.slice(0, 20)) problems.push(`${d.rule}: ${d.route}: ${d.field} is ${d.got}; other answers make it ${d.want}`)
  if (r.different > 20) problems.push(`tidemark check found ${r.different - 20} differences more`)
  result.checked = r.values
  log(`checked against itself: ${r.values} values in ${r.requests} answers, ${r.different} differences`)
}

function checkLeast () {
  const few = (what, got, least) => { if (got < least) problems.push(`only ${got} ${what}; a run counts from ${least}`) }
  for (const [i, n] of result.live.entries()) few(`live positions on chain ${CHAINS[i]}`, n, LEAST.live)
  few('values', result.values, LEAST.values)
  few('positions that were in range for some of their time', result.timed, LEAST.timed)
  few('values of the node\'s own answers', result.checked, LEAST.checked)
  few('reorganisations', result.reorgs, LEAST.reorgs)
  few('reorganisations that reached the node', result.seen, LEAST.reorgs)
  few('kills while blocks arrived', result.kills, LEAST.kills)
  few('chains that stood still across a kill', result.pages, 1)
}

function report () {
  for (const p of problems) console.error('DIFFERENCE ' + p)
  console.log(`${result.values} values compared, ${result.checked} checked against each other, ${result.positions} positions (${result.live.join(' + ')} live, ${result.timed} partly in range), ${result.pools} pools, ` +
    `${result.reorgs} reorgs (${result.seen} reached the node), ${result.kills} kills, ${result.pages} first pages, ${problems.length} differences`)
}
