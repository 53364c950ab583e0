// Would the comparison notice? Each rule of the contracts in mistakes.json is broken in a build of its own, over a changed copy of
// one source file (go build -overlay; the product holds no switch for it). A node of every build serves the same finished chain,
// and each must show differences or stop with a report; the unchanged build must show none.
// With --parts 3 --part 1 only every third of them is, from the second on.
// node e2e-wrong.mjs [--seed 3] [--ops 700] [--out out/e2e-wrong] [--maxSeconds 1200] [--parts 1] [--part 0]
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { HERE, parseArgs } from './lib.mjs'
import { Tidemark, freePorts, killAll, track, untrack, waitFor } from './tidemark.mjs'
import { compareChain, readChain } from './compare.mjs'

const MISTAKES = JSON.parse(fs.readFileSync(path.join(HERE, 'mistakes.json')))
const ROOT = path.resolve(HERE, '../..')
const o = parseArgs({ seed: 3, ops: 700, out: 'out/e2e-wrong', maxSeconds: 1200, parts: 1, part: 0 })
const tried = MISTAKES.filter((_, i) => i % o.parts === o.part)
if (tried.length === 0) throw new Error(`--part ${o.part} of --parts ${o.parts} has no mistake; there are ${MISTAKES.length}, and parts count from 0`)
const OUT = path.resolve(HERE, o.out), started = Date.now()
const log = text => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(7)} s  ${text}`)
setTimeout(() => { console.error(`FAIL: not done after ${o.maxSeconds} s`); process.exit(1) }, o.maxSeconds * 1000).unref()

fs.rmSync(OUT, { recursive: true, force: true })
fs.mkdirSync(OUT, { recursive: true })
let failed = 0
try {
  for (const m of MISTAKES) m.source = changed(m)
  const chain = await finishedChain()
  failed += await show(chain, { name: 'nothing', about: 'the unchanged build' }, false)
  for (const m of tried) failed += await show(chain, m, true)
} catch (e) {
  console.error(e)
  failed++
}
killAll()
console.log(failed ? `FAIL: ${failed} builds did not show what they should` : `all ${tried.length} mistakes were noticed, and nothing in the unchanged build`)
process.exit(failed ? 1 : 0)

// changed returns the source file with the mistake in it. The text must be there exactly once: a table that no longer fits the
// source must be mended, not skipped. The tests of bench/mutants hold it to the source too.
function changed (m) {
  const source = fs.readFileSync(path.join(ROOT, m.file), 'utf8')
  const found = source.split(m.find).length - 1
  if (found !== 1) throw new Error(`${m.name}: the text to replace is ${found} times in ${m.file}, not once:\n${m.find}`)
  return source.replace(m.find, () => m.put)
}

function build (m) {
  const slug = m.name.replace(/\W/g, '-'), binary = path.join(OUT, 'tidemark-' + slug), args = ['build', '-o', binary]
  if (m.source) {
    const copy = path.join(OUT, slug + '.go.txt'), overlay = path.join(OUT, slug + '.json')
    fs.writeFileSync(copy, m.source)
    fs.writeFileSync(overlay, JSON.stringify({ Replace: { [path.join(ROOT, m.file)]: copy } }))
    args.push('-overlay', overlay)
  }
  const r = spawnSync('go', [...args, './cmd/tidemark'], { cwd: ROOT, encoding: 'utf8', timeout: 300000 })
  if (r.status !== 0) throw new Error(`cannot build with "${m.name}": ${r.error ?? r.stderr}`)
  return binary
}

// finishedChain builds a chain, stops its node, and serves it again from its state.
async function finishedChain () {
  const out = path.join(OUT, 'chain'), [port] = await freePorts(1)
  const run = (script, ...args) => spawn(process.execPath, [script, '--out', out, '--port', port, ...args].map(String), { cwd: HERE, stdio: ['ignore', 'ignore', 'inherit'] })
  const scenario = run('scenario.mjs', '--seed', o.seed, '--ops', o.ops, '--chainId', 1, '--checkpoints', 0)
  track(scenario.pid)
  const code = await new Promise(resolve => scenario.once('close', resolve))
  untrack(scenario.pid)
  if (code !== 0) throw new Error(`the scenario ended with ${code}`)
  const truth = JSON.parse(fs.readFileSync(path.join(out, 'truth.json')))
  fs.rmSync(path.join(out, 'anvil.pid'))
  const served = run('serve.mjs')
  track(served.pid)
  await waitFor('the finished chain', 60000, () => {
    if (served.exitCode !== null) throw new Error('it ended')
    return fs.existsSync(path.join(out, 'anvil.pid')) && Number(fs.readFileSync(path.join(out, 'anvil.pid')))
  })
  track(Number(fs.readFileSync(path.join(out, 'anvil.pid'))))
  const { poolManager, positionManager } = truth.contracts
  log(`a chain of ${truth.final.block.number} blocks is served`)
  return { truth, config: { id: 1, rpc: `http://127.0.0.1:${port}`, poolManager: poolManager.address, positionManager: positionManager.address, stables: [truth.tokens[0].address] } }
}

// show runs one build and returns 1 when it does not do what is expected of it.
async function show ({ truth, config }, m, wrong) {
  const binary = build(m), [port, opsPort] = await freePorts(2), dir = path.join(OUT, m.name.replace(/\W/g, '-'))
  const node = new Tidemark({ binary, dir, chains: [config], port, opsPort })
  await node.start()
  const report = () => /[^"]*; expected [^"]*/.exec(fs.readFileSync(path.join(dir, 'serve.log'), 'utf8'))?.[0]
  const stopped = await waitFor(`the node with "${m.name}"`, 120000, async () => {
    const c = await node.chainHealth(config.id)
    return report() || (c?.asOfBlockHash === truth.final.block.hash && 'no')
  })
  let seen = 0, text
  if (stopped !== 'no') {
    seen = 1
    text = 'stopped: ' + stopped
  } else {
    const r = compareChain(truth, await readChain(node, config.id))
    seen = r.differences.length
    text = `${seen} differences in ${r.values} values` + (seen ? `, such as ${r.differences[0]}` : '')
  }
  await node.kill()
  fs.rmSync(binary)
  log(`${m.name} (${m.about}): ${text}`)
  return wrong === seen > 0 ? 0 : 1
}
