// A provider of JSON-RPC as they are: a finished chain out of memory, shown block by block, with the limits and faults of real
// ones. Every endpoint has its own faults; all of them show the same chain.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { HERE, hex, sleep, startNode } from './lib.mjs'
import { HeadServer } from './heads.mjs'
import { freePorts, track, untrack } from './tidemark.mjs'

// What the methods cost where compute units are counted.
const COSTS = { eth_chainId: 0, eth_blockNumber: 10, eth_getTransactionReceipt: 15, eth_getBlockByNumber: 16, eth_getBlockByHash: 21, eth_call: 26, eth_getLogs: 75, eth_getBlockReceipts: 500 }

// readWhole reads a whole chain from a node that holds it.
export async function readWhole (rpc) {
  const last = Number(await rpc.send('eth_blockNumber')), numbers = Array.from({ length: last + 1 }, (_, i) => i)
  const blocks = (await rpc.batch(numbers.map(n => ['eth_getBlockByNumber', [hex(n), false]]))).map(x => x.result)
  const receipts = (await rpc.batch(blocks.map(b => ['eth_getBlockReceipts', [b.number]]))).map(x => x.result ?? [])
  const logs = receipts.map((rs, i) => rs.flatMap(r => r.logs).map(l => ({ ...l, blockTimestamp: blocks[i].timestamp })))
  return { blocks, receipts, logs, byHash: new Map(blocks.map((b, i) => [b.hash, i])), byTx: new Map(receipts.flat().map(r => [r.transactionHash, r])), calls: new Map(), rpc }
}

// finishedChain builds a chain once under a directory, starts a node that holds it, and reads it whole.
export async function finishedChain (out, seed, ops) {
  const dir = path.join(out, `chain-${seed}-${ops}`), [port] = await freePorts(1)
  if (!fs.existsSync(path.join(dir, 'truth.json'))) {
    fs.mkdirSync(dir, { recursive: true })
    const args = ['scenario.mjs', '--seed', seed, '--ops', ops, '--chainId', 1, '--port', port, '--out', dir, '--checkpoints', 0, '--mint', 28]
    const child = spawn(process.execPath, args.map(String), { cwd: HERE, stdio: ['ignore', 'ignore', 'inherit'] })
    track(child.pid)
    const code = await new Promise(resolve => child.once('close', resolve))
    untrack(child.pid)
    if (code !== 0) throw new Error('the scenario ended with ' + code)
  }
  const truth = JSON.parse(fs.readFileSync(path.join(dir, 'truth.json')))
  const { child, rpc } = await startNode({ port, chainId: truth.chainId, load: path.join(dir, 'state.json'), cache: path.join(out, 'home') })
  track(child.pid)
  return { truth, chain: await readWhole(rpc) }
}

// Endpoint is one URL. head is a function of the request's count, so that one URL can have several backends behind it.
export class Endpoint {
  // faults, all optional: see the names below and faults.mjs
  constructor (chain, chainId, head, faults = {}) {
    Object.assign(this, { chain, chainId, head, faults, served: 0, refused: 0, requests: 0, born: Date.now(), tokens: {}, once: new Set() })
  }

  async listen () {
    this.server = http.createServer((q, r) => this.handle(q, r).catch(() => r.destroy()))
    this.server.on('error', () => {})
    await new Promise(resolve => this.server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${this.server.address().port}/v2/s3cret-key`
    return this
  }

  close () { this.server.closeAllConnections(); this.server.close() }

  // listenHeads serves a subscription to heads over a websocket besides, and returns its URL; tellHead says that there is a new one.
  async listenHeads () {
    this.heads = new HeadServer(this.chain)
    return this.heads.listen()
  }

  tellHead () { this.heads?.tell(this.head(0)) }

  async handle (q, r) {
    const parts = []
    for await (const b of q) parts.push(b)
    const sent = JSON.parse(Buffer.concat(parts)), n = this.requests++, f = this.faults
    this.asked ??= Date.now()
    const calls = Array.isArray(sent) ? sent : [sent], batch = Array.isArray(sent) && calls.length > 1
    const answer = (status, body, headers = {}) => { r.writeHead(status, { 'content-type': 'application/json', ...headers }); r.end(typeof body === 'string' ? body : JSON.stringify(body)) }
    const refusal = (code, message) => ({ jsonrpc: '2.0', id: null, error: { code, message } })

    if (f.fail && this.chance(n, 1) < f.fail) return answer(f.failStatus ?? 502, '<html>bad gateway</html>')
    if (f.hang && this.chance(n, 2) < f.hang) return
    if (f.drip && this.chance(n, 3) < f.drip) { r.writeHead(200, { 'content-type': 'application/json' }); return this.drip(r) }
    if (f.until && Date.now() - this.born < f.until) return answer(503, 'starting')
    if (batch && f.batch && calls.length > (f.batch.over ?? 1)) {
      const b = f.batch
      if (b.kind === 'status') return answer(b.status, b.text ?? 'no')
      if (b.kind === 'object') return answer(200, refusal(-32600, 'batches are not part of your plan'))
      if (b.kind === 'array') return answer(200, [refusal(-32600, 'too many calls')])
      return answer(200, calls.map(c => ({ ...refusal(-32600, 'batch is too large for your plan'), id: c.id })))
    }
    if (f.rate && !f.rate.perCall && !this.take('rate', f.rate, calls.length)) {
      this.refused++
      const headers = f.rate.after === 'date' ? { 'retry-after': new Date(Date.now() + 1000).toUTCString() } : f.rate.after ? { 'retry-after': '1' } : {}
      return answer(429, refusal(-32005, 'too many requests'), headers)
    }
    const out = []
    for (const c of calls) out.push(await this.reply(c, n))
    const bad = out.find(o => o.status)
    if (bad && !batch) return answer(bad.status, { jsonrpc: '2.0', id: calls[0].id, error: bad.error })
    for (const o of out) delete o.status
    answer(200, Array.isArray(sent) ? out : out[0])
  }

  // chance is a fraction by the request's number, the same at every run.
  chance (n, salt) { let x = (n + 1) * 2654435761 + salt * 40503; x ^= x >>> 15; x = Math.imul(x, 2246822519); x ^= x >>> 13; return ((x >>> 0) % 10000) / 10000 }

  async drip (r) { for (let i = 0; i < 200 && !r.destroyed; i++) { r.write(' '); await sleep(250) } r.destroy() }

  // take counts against a bucket that holds one second's allowance.
  take (name, limit, cost) {
    const b = this.tokens[name] ??= { left: limit.perSecond, at: Date.now() }, now = Date.now()
    b.left = Math.min(limit.perSecond, b.left + (now - b.at) / 1000 * limit.perSecond)
    b.at = now
    if (b.left < cost) return false
    b.left -= cost
    this.served += cost
    return true
  }

  async reply (c, n) {
    const f = this.faults
    const error = (code, message, status) => ({ jsonrpc: '2.0', id: c.id, error: { code, message }, status })
    if (f.rate?.perCall && !this.take('rate', f.rate, f.rate.units ? COSTS[c.method] ?? 26 : 1)) {
      this.refused++
      return error(429, 'Your app has exceeded its compute units per second capacity')
    }
    if (f.unsupported?.includes(c.method)) return error(-32601, `the method ${c.method} does not exist/is not available`)
    if (f.failing?.[c.method] > Date.now() - this.born) return error(-32603, 'Internal error')
    try {
      return { jsonrpc: '2.0', id: c.id, result: await this.result(c.method, c.params ?? [], n, f) }
    } catch (e) { return error(e.code ?? -32000, e.message, e.status) }
  }

  async result (method, params, n, f) {
    const { blocks, receipts, byHash, byTx } = this.chain, head = this.head(n, method)
    this.late(head, f)
    switch (method) {
      case 'eth_chainId': return hex(this.chainId)
      case 'eth_blockNumber': return hex(head)
      case 'eth_getBlockByNumber': return this.block(params[0], head, f)
      case 'eth_getBlockByHash': { const i = byHash.get(params[0]); return i <= head ? blocks[i] : null }
      case 'eth_getLogs': return this.logs(params[0], head, n, f)
      case 'eth_getBlockReceipts': {
        const i = byHash.get(params[0])
        if (!(i <= head) || f.noReceipts || this.late(i, f)) return null
        return f.shortReceipts && this.chance(n, 4) < f.shortReceipts ? receipts[i].slice(0, -1) : receipts[i]
      }
      case 'eth_getTransactionReceipt': { const r = byTx.get(params[0]); return !f.noReceipts && r && Number(r.blockNumber) <= head ? r : null }
      case 'eth_call': {
        const key = JSON.stringify(params)
        if (!this.chain.calls.has(key)) this.chain.calls.set(key, await this.chain.rpc.raw({ jsonrpc: '2.0', id: 1, method, params }))
        const j = this.chain.calls.get(key)
        if (j.error) throw Object.assign(new Error(j.error.message), { code: j.error.code })
        return j.result
      }
    }
    throw Object.assign(new Error('the method ' + method + ' does not exist'), { code: -32601 })
  }

  block (tag, head, f) {
    const { blocks } = this.chain
    if (tag === 'latest' && f.head) return { ...blocks[head], number: hex(head + f.head), hash: '0x' + 'ee'.repeat(32) }
    if (tag === 'latest' && f.fork) return { ...blocks[head], hash: '0x' + 'ab'.repeat(32) }
    const i = tag === 'latest' ? head : tag === 'finalized' ? Math.max(0, head - (f.finalized ?? 0)) : Number(tag)
    return i <= head ? blocks[i] : null
  }

  // late reports whether a block was shown too recently for its logs to be indexed. Those of the beginning are.
  late (i, f) {
    if (!f.late) return false
    this.first ??= this.head(0)
    const seen = this.seen ??= new Map()
    if (i > this.first && !seen.has(i)) seen.set(i, Date.now())
    return Date.now() - seen.get(i) < f.late
  }

  logs (q, head, n, f) {
    const { blocks, logs, byHash } = this.chain
    let from = Number(q.fromBlock), to = Number(q.toBlock)
    if (q.blockHash) {
      from = to = byHash.get(q.blockHash)
      if (!(from <= head)) throw new Error('unknown block')
    }
    const size = to - from + 1, refuse = (code, message, status) => { throw Object.assign(new Error(message), { code, status }) }
    if (f.range && size > f.range.blocks) {
      refuse(-32600, f.range.text.replace('FROM', hex(from)).replace('TO', hex(from + f.range.blocks - 1)).replace('N', f.range.blocks), f.range.status)
    }
    const addresses = q.address.map(a => a.toLowerCase()), topics = q.topics?.[0]
    const out = []
    for (let i = from; i <= Math.min(to, head); i++) {
      if (this.late(i, f)) continue
      for (const l of logs[i]) {
        if (!addresses.includes(l.address) || topics && !topics.includes(l.topics[0])) continue
        out.push(f.shift === undefined ? l : { ...l, blockTimestamp: f.shift === 0 ? '0x0' : hex(Number(l.blockTimestamp) + f.shift) })
      }
    }
    if (f.plant) return out.filter(l => !f.plant(l))
    if (f.results && out.length > f.results && size > 1) refuse(-32005, `query returned more than ${f.results} results`)
    if (f.drop && out.length && !this.once.has('drop') && blocks[from]) { this.once.add('drop'); out.splice(out.length >> 1, 1) }
    return f.short && out.length && this.chance(n, 5) < f.short ? out.slice(0, -1) : out
  }
}
