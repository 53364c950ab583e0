// One tidemark node as a child process: started, killed, asked.
import { execFile, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { sleep } from './lib.mjs'

// Every process of a run, so that none stays behind however it ends.
const pids = new Set()
export const track = pid => { pids.add(pid); return pid }
export const untrack = pid => pids.delete(pid)
export function killAll () {
  for (const pid of pids) { try { process.kill(pid, 'SIGKILL') } catch {} }
  pids.clear()
}
process.on('exit', killAll)
for (const s of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(s, () => process.exit(1))

export async function freePorts (n) {
  const servers = await Promise.all(Array.from({ length: n }, () => new Promise((resolve, reject) => {
    const s = net.createServer().on('error', reject)
    s.listen(0, '127.0.0.1', () => resolve(s))
  })))
  const ports = servers.map(s => s.address().port)
  await Promise.all(servers.map(s => new Promise(resolve => s.close(resolve))))
  return ports
}

// waitFor calls f until it answers something true, at most ms long.
export async function waitFor (what, ms, f, every = 100) {
  const end = Date.now() + ms
  let last
  for (;;) {
    try { const v = await f(); if (v) return v } catch (e) { last = e }
    if (Date.now() > end) throw new Error(`waited ${ms / 1000} s for ${what}${last ? ': ' + last.message : ''}`)
    await sleep(every)
  }
}

export class Tidemark {
  // chains: [{ id, rpc, poolManager, positionManager, stables }], of which the configuration is made unless it is given
  constructor ({ binary, dir, chains, port, opsPort, config }) {
    Object.assign(this, { binary, dir, port, opsPort, chains, key: '', reorgs: 0, seen: 0, lives: 0 })
    this.url = `http://127.0.0.1:${port}`
    fs.mkdirSync(dir, { recursive: true })
    this.config = path.join(dir, 'tidemark.toml')
    fs.writeFileSync(this.config, config ?? toml(chains))
  }

  async start () {
    const log = fs.openSync(path.join(this.dir, 'serve.log'), 'a')
    this.child = spawn(this.binary, ['serve', '--feed', 'rpc', '--config', this.config, '--data', path.join(this.dir, 'data'),
      '--listen', `127.0.0.1:${this.port}`, '--ops-listen', `127.0.0.1:${this.opsPort}`], { stdio: ['ignore', 'pipe', log] })
    fs.closeSync(log)
    const child = this.child
    track(child.pid)
    this.lives++
    let ended = null
    child.on('error', e => { ended = e.message })
    child.on('exit', (code, signal) => { ended = `it ended (${code ?? signal})`; untrack(child.pid) })
    child.stdout.on('data', b => fs.appendFileSync(path.join(this.dir, 'serve.log'), b))
    await waitFor('the node to answer', 30000, async () => ended || await this.health(), 20)
    if (ended) throw new Error(`cannot start ${this.binary}: ${ended}\n${this.tail()}`)
    this.key ||= JSON.parse(execFileSync(this.binary, ['keys', 'issue', '--account', 'demo', '--json',
      '--data', path.join(this.dir, 'data')])).key
  }

  // kill ends the node at once, as a crash would.
  async kill () {
    await this.sample().catch(() => {})
    this.reorgs += this.seen
    this.seen = 0
    const child = this.child
    const gone = new Promise(resolve => child.once('exit', resolve))
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the node ended by itself\n' + this.tail())
    child.kill('SIGKILL')
    await gone
  }

  // sample reads how many reorganisations this life of the node has followed.
  async sample () {
    const r = await fetch(`http://127.0.0.1:${this.opsPort}/metrics`, { signal: AbortSignal.timeout(2000) })
    let n = 0
    for (const m of (await r.text()).matchAll(/^tidemark_feed_reorgs_total\{[^}]*\} (\d+)/gm)) n += Number(m[1])
    this.seen = n
  }

  async health () {
    const r = await fetch(this.url + '/health', { signal: AbortSignal.timeout(5000) })
    const j = await r.json()
    return Array.isArray(j.chains) ? j : null
  }

  async chainHealth (id) { return (await this.health())?.chains.find(c => c.chainId === id) }

  // page returns { status, generation, text }, waiting out the 503s that say
  // so: those of a chain whose records load after a restart.
  async page (path, ms = 30000) {
    return waitFor(path, ms, async () => {
      const r = await fetch(this.url + path, { headers: { 'KC-APIKey': this.key }, signal: AbortSignal.timeout(10000) })
      const text = await r.text()
      if (r.status === 503 && r.headers.get('retry-after')) throw new Error(text)
      return { status: r.status, generation: r.headers.get('x-generation'), text }
    })
  }

  async get (path) {
    const { status, text } = await this.page(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }

  // every row of a list, by looping until hasMore is false
  async list (path, key) {
    const rows = []
    for (let page = 1; page <= 1000; page++) {
      const j = await this.get(`${path}&page=${page}`)
      rows.push(...j[key])
      if (!j.pagination.hasMore) return { rows, total: j.pagination.total }
    }
    throw new Error(path + ': more than 1000 pages')
  }

  // check holds all answers of the node against each other and returns the report of what was compared.
  async check () {
    const file = path.join(this.dir, 'check.json')
    const error = await new Promise(resolve => {
      const child = execFile(this.binary, ['check', '--url', this.url, '--json'],
        { env: { ...process.env, TIDEMARK_CHECK_KEY: this.key }, maxBuffer: 64 << 20 }, (error, stdout) => {
          untrack(child.pid)
          fs.writeFileSync(file, stdout)
          resolve(error)
        })
      track(child.pid)
    })
    if (error && error.code !== 1) throw new Error(`tidemark check did not finish: ${error.message.slice(0, 500)}`)
    return JSON.parse(fs.readFileSync(file))
  }

  // verify compares a chain's ledger with the contracts, as an operator would.
  async verify (id) {
    const child = spawn(this.binary, ['verify', '--data', path.join(this.dir, 'data'), '--chain', String(id)], { timeout: 60000 })
    let text = ''
    child.stdout.on('data', b => { text += b })
    child.stderr.on('data', b => { text += b })
    const code = await new Promise(resolve => child.once('close', resolve))
    return { code, text }
  }

  // lines are what the node has logged of a chain.
  lines (id) {
    const text = fs.readFileSync(path.join(this.dir, 'serve.log'), 'utf8')
    return text.split('\n').filter(l => l.includes(`"chain":${id},`))
  }

  tail (lines = 15) {
    try { return fs.readFileSync(path.join(this.dir, 'serve.log'), 'utf8').trimEnd().split('\n').slice(-lines).join('\n') } catch { return '' }
  }
}

function toml (chains) {
  const list = a => '[' + a.map(x => JSON.stringify(x)).join(', ') + ']'
  const others = [1, 42161, 43114].filter(id => !chains.some(c => c.id === id))
  return ['feed = "rpc"', '', '[refresh]', 'every = "200ms"', ''].join('\n') +
    others.map(id => `\n[[chains]]\nid = ${id}\nenabled = false\n`).join('') + chains.map(c => `
[[chains]]
id = ${c.id}
rpc = ${list([c.rpc])}
pool-manager = "${c.poolManager}"
position-manager = "${c.positionManager}"
start-block = 0
stables = ${list(c.stables)}
max-head-age = "0s"
`).join('')
}

// configOf is the configuration of a node that follows the same chain under many ids, each through endpoints of its own.
export function configOf (runs, { poolManager, positionManager }, tokens) {
  const unused = [1, 42161, 43114].filter(id => !runs.some(r => r.id === id))
  return ['feed = "rpc"', '', '[refresh]', `every = "${runs[0].every ?? '200ms'}"`].join('\n') + unused.map(id => `\n[[chains]]\nid = ${id}\nenabled = false\n`).join('') +
    runs.map(r => `
[[chains]]
id = ${r.id}
slug = "case-${r.id}"
name = "Case ${r.id}"
pool-manager = "${poolManager.address}"
position-manager = "${positionManager.address}"
start-block = 0
native-symbol = "ETH"
native-name = "Ether"
stables = ["${tokens[0].address}"]
decimals = []
wrapped-native = "${tokens[1].address}"
max-log-range = ${r.rate ? 1 : 2000}
` + r.endpoints.map((e, i) => `[[chains.endpoints]]
name = "url-${i + 1}"
url = "${e.url}"
timeout = "10s"
`).join('') + (r.heads ? `[[chains.endpoints]]
name = "heads"
url = "${r.heads}"
` : '')).join('')
}
