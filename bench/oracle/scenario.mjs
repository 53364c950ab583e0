// Builds a chain: deploys the contracts, runs N seeded operations on them, writes the contracts' own truth to <out>/truth.json.
import fs from 'node:fs'
import path from 'node:path'
import { Interface, ZeroHash } from 'ethers'
import { HERE, PERMIT2, ZERO, hex, addr, parseArgs, prng, sleep, startNode, stopNode } from './lib.mjs'
import { act, closeBoth, deployAll, hookData, modify, transactions, valueFor } from './deploy.mjs'
import { sqrtAtTick, MIN_SQRT, MAX_SQRT, MIN_TICK, MAX_TICK } from './tickmath.mjs'
import { collect, readClock, keyArr, modifyFrames, poolIdOf } from './truth.mjs'

const o = parseArgs({ seed: 1, ops: 500, out: '', port: 18545, chainId: 31337, days: 10, checkpoints: 4, mint: 15, keep: false, archive: false, pace: 0, reorgEvery: 0, maxSeconds: 900 })
const OUT = path.resolve(o.out || path.join(HERE, 'out', 'seed-' + o.seed))
fs.rmSync(OUT, { recursive: true, force: true })
fs.mkdirSync(path.join(OUT, 'home'), { recursive: true })
const started = Date.now()
const R = prng(o.seed)
const GENESIS = 1700000000
const { child, rpc } = await startNode({ port: o.port, chainId: o.chainId, genesis: GENESIS, dump: path.join(OUT, 'state.json'), cache: path.join(OUT, 'home'), logFile: path.join(OUT, 'anvil.log'), detached: o.keep, extra: o.archive ? ['--preserve-historical-states'] : [] })
fs.writeFileSync(path.join(OUT, 'anvil.pid'), String(child.pid))
process.on('SIGINT', () => { child.kill('SIGINT'); process.exit(1) })
process.on('exit', () => { if (!o.keep) child.kill('SIGKILL') }) // whatever happened, no node stays behind

try {
  await main()
} catch (e) {
  console.error(e)
  await stopNode(child)
  process.exit(1)
}

async function main () {
  await rpc.send('anvil_setBlockTimestampInterval', [1]) // not the wall clock: the same seed gives the same chain
  const accounts = (await rpc.send('eth_accounts')).map(addr)
  const admin = accounts[0]
  const owners = accounts.slice(1, 11)
  const GAS = hex(30_000_000)
  let now = GENESIS
  const stats = {}, hookStats = {}
  const bump = (k, ok) => { stats[k] ??= { ok: 0, reverted: 0 }; stats[k][ok ? 'ok' : 'reverted']++ }
  const { send, receipt, must } = transactions(rpc, GAS)
  const { manager, posm, stateView, router, subscriber, hookDyn, hookTax, tokens, M, P, RT } = await deployAll(rpc, GAS, admin, owners)

  fs.writeFileSync(path.join(OUT, 'contracts.json'), JSON.stringify({ rpc: rpc.url, chainId: o.chainId, poolManager: manager, positionManager: posm, stateView, tokens }, null, 1))

  // ----- pools -----
  const NAT = { address: ZERO, symbol: 'native', decimals: 18 }
  const [S, E, A, B] = tokens
  const defs = [
    { name: 'plain-10', a: S, b: E, fee: 500, ts: 10, price: 0.0002, full: true },
    { name: 'plain-60', a: S, b: A, fee: 3000, ts: 60, price: 0.0004, full: true },
    { name: 'native-60-protocol', a: NAT, b: S, fee: 3000, ts: 60, price: 2500, full: true, protocolFee: 500 | (1000 << 12) },
    { name: 'tight-1', a: A, b: B, fee: 100, ts: 1, price: 1, full: true },
    { name: 'dynamic-60', a: E, b: A, fee: 0x800000, ts: 60, price: 15, full: true, hooks: hookDyn, dynamic: true, protocolFee: 300 | (700 << 12) },
    { name: 'zero-lp-fee-10-protocol', a: A, b: B, fee: 0, ts: 10, price: 1.3, full: true, protocolFee: 1000 | (37 << 12) },
    { name: 'sparse-200', a: E, b: B, fee: 10000, ts: 200, price: 15, full: false },
    { name: 'hook-deltas-60', a: NAT, b: A, fee: 3000, ts: 60, price: 1, full: true, hooks: hookTax, taxesRemovals: true },
    { name: 'wide-32767', a: A, b: S, fee: 999, ts: 32767, price: 2500, full: true },
    { name: 'tiny-liquidity-60', a: S, b: A, fee: 3001, ts: 60, price: 0.0004, full: true, tiny: true },
    { name: 'all-fee-10', a: S, b: B, fee: 1000000, ts: 10, price: 1, full: true }
  ]
  const d = { manager: manager.address, posm: posm.address, stateView: stateView.address, router: router.address, hooks: [hookDyn, hookTax], tokens, accounts: owners, direct: [], pools: [] }
  const initOne = async q => {
    let [c0, c1] = [q.a, q.b]
    let raw = q.price * 10 ** (q.b.decimals - q.a.decimals) // raw units of b per raw unit of a
    if (BigInt(c0.address) > BigInt(c1.address)) { [c0, c1] = [c1, c0]; raw = 1 / raw }
    const tick0 = Math.floor(Math.log(raw) / Math.log(1.0001)) + R.int(-30, 30)
    const key = { currency0: c0.address, currency1: c1.address, fee: q.fee, tickSpacing: q.ts, hooks: q.hooks || ZERO }
    const s = sqrtAtTick(tick0)
    // about 10^5 whole units of currency0 (or of currency1, whichever is coarser) over the whole range
    const unit = (10n ** BigInt(c0.decimals) * 100000n * s) >> 96n
    const pool = { name: q.name, key, poolId: poolIdOf(keyArr(key)), tick0, center: tick0, unit: q.tiny ? 5n : unit || 1n, ticksSeen: new Set(), dynamic: !!q.dynamic, hooked: !!q.hooks, taxesRemovals: !!q.taxesRemovals, def: q }
    const off = R.chance(0.5) ? 0n : (sqrtAtTick(tick0 + 1) - s) / 3n
    await must(admin, manager.address, M.encodeFunctionData('initialize', [keyArr(key), s + off]))
    if (q.protocolFee) await must(admin, manager.address, M.encodeFunctionData('setProtocolFee', [keyArr(key), q.protocolFee]))
    d.pools.push(pool)
    return pool
  }

  // ----- building blocks -----
  const pk = keyArr
  const viewI = new Interface(['function getSlot0(bytes32) view returns (uint160,int24,uint24,uint24)', 'function getLiquidity(bytes32) view returns (uint128)'])
  async function slot0 (p) {
    const r = viewI.decodeFunctionResult('getSlot0', await rpc.send('eth_call', [{ to: stateView.address, data: viewI.encodeFunctionData('getSlot0', [p.poolId]) }, 'latest']))
    const [liq] = viewI.decodeFunctionResult('getLiquidity', await rpc.send('eth_call', [{ to: stateView.address, data: viewI.encodeFunctionData('getLiquidity', [p.poolId]) }, 'latest']))
    return { sqrt: r[0], tick: Number(r[1]), liq }
  }
  const live = new Map() // tokenId -> { pool, owner, lo, up, liq }   (what we believe; the truth is read from the contracts)
  let nextId = 1
  const snap = (t, ts) => Math.floor(t / ts) * ts
  const clampTick = (t, ts) => { const hi = Math.floor(MAX_TICK / ts) * ts; return Math.max(-hi, Math.min(hi, t)) }
  function range (p, tick) {
    const ts = p.key.tickSpacing
    if (p.def.full && R.chance(0.05)) return [clampTick(MIN_TICK, ts), clampTick(MAX_TICK, ts)]
    const w = Math.max(1, Math.round((20 * 60 / ts + 1) ** R.f() * R.int(1, 3)))
    const c = snap(tick, ts) + ts * Math.round((R.f() - 0.5) * 2.4 * w)
    let lo = clampTick(c - ts * R.int(0, w), ts)
    let up = clampTick(lo + ts * R.int(1, 2 * w), ts)
    if (lo >= up) { lo = clampTick(snap(tick, ts), ts); up = lo + ts; if (up > MAX_TICK) { up = lo; lo -= ts } }
    return [lo, up]
  }
  const randLiq = p => { const u = p.unit; if (p.def.tiny) return BigInt(R.int(1, 6)); return R.chance(0.04) ? BigInt(R.int(1, 50)) : R.chance(0.03) ? R.scale(u, 1e3, 1e7) : R.scale(u, 0.01, 20) + 1n }

  async function swapArgs (p) {
    const s = await slot0(p)
    const far = Math.max(3000, p.key.tickSpacing * 20)
    let zfo = R.chance(0.5)
    if (s.tick > p.center + far) zfo = !R.chance(0.1)
    if (s.tick < p.center - far) zfo = R.chance(0.1)
    const dirTicks = [...p.ticksSeen].filter(t => zfo ? sqrtAtTick(t) < s.sqrt : sqrtAtTick(t) > s.sqrt)
    let limit
    const k = R.f()
    if (k < 0.25 && dirTicks.length) { // exactly on, or one off, a used tick (near ones more likely)
      dirTicks.sort((a, b) => zfo ? b - a : a - b)
      limit = sqrtAtTick(dirTicks[Math.min(dirTicks.length - 1, Math.floor(R.f() ** 2 * 6))]) + BigInt(R.pick([0, 0, 0, -1, 1]))
    } else if (k < 0.32) { // exactly on a bitmap word boundary
      const ts = p.key.tickSpacing
      const w = Math.floor(Math.floor(s.tick / ts) / 256) + (zfo ? 0 : 1)
      limit = sqrtAtTick(clampTick((w * 256 - (zfo ? 0 : 1)) * ts, ts))
    } else limit = sqrtAtTick(Math.max(MIN_TICK + 1, Math.min(MAX_TICK - 1, s.tick + (zfo ? -1 : 1) * R.int(1, Math.max(600, p.key.tickSpacing * 30)))))
    if (zfo && limit >= s.sqrt) limit = s.sqrt - 1n
    if (!zfo && limit <= s.sqrt) limit = s.sqrt + 1n
    if (limit <= MIN_SQRT) limit = MIN_SQRT + 1n
    if (limit >= MAX_SQRT) limit = MAX_SQRT - 1n
    // amounts from 1 wei to several times what it takes to reach the limit
    const L = s.liq || p.unit
    const lo = zfo ? limit : s.sqrt, hi = zfo ? s.sqrt : limit
    const in0 = (L << 96n) * (hi - lo) / hi / lo + 1n, in1 = L * (hi - lo) / (1n << 96n) + 1n
    const exactIn = p.key.fee === 1000000 ? true : R.chance(0.6)
    const ref = (zfo === exactIn) ? in0 : in1
    const z = R.f()
    const amount = z < 0.08 ? BigInt(R.int(1, 30)) : z < 0.75 ? R.scale(ref, 0.0005, 0.9) + 1n : R.scale(ref, 0.9, 8) + 1n
    return [zfo, exactIn ? -amount : amount, limit]
  }
  async function swapOp (p) {
    const [zfo, amt, limit] = await swapArgs(p)
    let hd = '0x'
    if (p.dynamic) {
      const z = R.f()
      if (z < 0.4) hd = hookData(1, R.pick([0, 1, 100, 500, 3000, 10000, 123457, 999999, amt < 0n ? 1000000 : 777777]), 0)
      else if (z < 0.6) hd = hookData(2, R.pick([0, 50, 500, 2500, 60000]), 0)
      else if (z < 0.7) hd = hookData(4, 0, R.pick([1, 50, 100]))
      else if (z < 0.8) hd = hookData(R.pick([8, 16, 24, 9, 18]), 700, (amt < 0n ? -amt : amt) / 3n + 1n)
      else if (z < 0.9) hd = hookData(32, 0, 0)
      if (hd !== '0x') p.hookNote = 'hook-mode-' + Number(BigInt(hd.slice(0, 66)))
    } else if (p.hooked && R.chance(0.5)) hd = hookData(R.pick([4, 8, 16, 32, 36, 60]), 0, R.pick([1, 10, 50, 100]))
    if (!p.dynamic && hd !== '0x') p.hookNote = 'hook-mode-' + Number(BigInt(hd.slice(0, 66)))
    return [0, pk(p.key), [zfo, amt, limit], [0, 0, 0, ZeroHash], 0, 0, hd]
  }
  async function donateOp (p) {
    const u = p.unit
    if (p.def.tiny) { // growth per unit of liquidity so large that the 256-bit accumulator wraps around
      const v = () => R.chance(0.3) ? 0n : R.scale(10n ** 36n, 1, 10)
      return [1, pk(p.key), [false, 0, 0], [0, 0, 0, ZeroHash], v(), v(), '0x']
    }
    const v = () => R.chance(0.3) ? 0n : R.scale(u, 1e-6, 1e-2)
    return [1, pk(p.key), [false, 0, 0], [0, 0, 0, ZeroHash], v(), v(), '0x']
  }
  async function directOp (p) {
    const mineHere = d.direct.filter(x => x.poolId === p.poolId && x.liq > 0n)
    if (mineHere.length && R.chance(0.6)) {
      const x = R.pick(mineHere)
      const z = R.f()
      const dl = z < 0.3 ? 0n : z < 0.6 ? -x.liq : -(x.liq / 3n + 1n)
      return [[2, pk(p.key), [false, 0, 0], [x.tickLower, x.tickUpper, dl, x.salt], 0, 0, '0x'], () => { x.liq += dl }]
    }
    const s = await slot0(p)
    const [lo, up] = range(p, s.tick)
    const salt = '0x' + R.int(1, 3).toString(16).padStart(64, '0') // collides with token ids on purpose
    const l = randLiq(p)
    let x = d.direct.find(y => y.poolId === p.poolId && y.tickLower === lo && y.tickUpper === up && y.salt === salt)
    return [[2, pk(p.key), [false, 0, 0], [lo, up, l, salt], 0, 0, '0x'], () => {
      if (!x) d.direct.push(x = { poolId: p.poolId, owner: router.address, tickLower: lo, tickUpper: up, salt, liq: 0n })
      x.liq += l; p.ticksSeen.add(lo); p.ticksSeen.add(up)
    }]
  }
  const runRouter = (ops) => [admin, router.address, RT.encodeFunctionData('run', [ops]), 0n]

  // ----- one operation: returns { kind, tx: [from,to,data,value], done } -----
  const weights = { swap: 46, mint: o.mint, increase: 7, decrease: 7, collect: 7, burn: 4, transfer: 3, donate: 4, direct: 4, protocolFee: 1, subscribe: 1, compound: 1, many: 4 }
  const table = Object.entries(weights).flatMap(([k, w]) => Array(w).fill(k))
  const someToken = (f = () => true) => { const l = [...live.entries()].filter(([id, x]) => f(x)); return l.length ? R.pick(l) : null }
  let pendingIds = 0
  function mintList (p, tick, to) {
    const [lo, up] = range(p, tick)
    const liq = randLiq(p)
    const id = nextId + pendingIds++
    return [act.mint(p, lo, up, liq, to), () => { live.set(id, { pool: p, owner: to, lo, up, liq }); p.ticksSeen.add(lo); p.ticksSeen.add(up) }]
  }
  async function op (kind) {
    const p = R.pick(d.pools)
    if (kind === 'swap') { p.hookNote = ''; const tx = runRouter([await swapOp(p)]); return { kind, tx, note: p.hookNote } }
    if (kind === 'donate') return { kind, tx: runRouter([await donateOp(p)]) }
    if (kind === 'direct') { const [x, done] = await directOp(p); return { kind, tx: runRouter([x]), done } }
    if (kind === 'protocolFee') {
      const f = () => R.pick([0, 0, 1, 250, 999, 1000])
      return { kind, tx: [admin, manager.address, M.encodeFunctionData('setProtocolFee', [pk(p.key), f() | (f() << 12)]), 0n] }
    }
    if (kind === 'mint') {
      const who = R.pick(owners)
      const to = R.chance(0.9) ? who : R.pick(owners)
      const [m, done] = mintList(p, (await slot0(p)).tick, to)
      return { kind, mints: 1, tx: [who, posm.address, modify([m, ...closeBoth(p, who)]), valueFor(p)], done }
    }
    if (kind === 'many') { // several things in one transaction, hence several logs
      if (R.chance(0.5)) {
        const ops = [], dones = []
        for (let i = R.int(2, 5); i > 0; i--) {
          const q = R.chance(0.5) ? p : R.pick(d.pools)
          const z = R.f()
          if (z < 0.7) ops.push(await swapOp(q))
          else if (z < 0.85) ops.push(await donateOp(q))
          else { const [x, done] = await directOp(q); ops.push(x); dones.push(done) }
        }
        return { kind: 'many-router', tx: runRouter(ops), done: () => dones.forEach(f => f()) }
      }
      const who = R.pick(owners), tick = (await slot0(p)).tick
      const [a, d1] = mintList(p, tick, who), [b, d2] = mintList(p, tick, who)
      const old = someToken(x => x.owner === who && x.pool === p && x.liq > 0n)
      const list = [a, ...(old ? [act.dec(old[0], old[1].liq / 2n)] : []), b]
      return { kind: 'many-posm', mints: 2, tx: [who, posm.address, modify([...list, ...closeBoth(p, who)]), valueFor(p)], done: () => { d1(); d2(); if (old) old[1].liq -= old[1].liq / 2n } }
    }
    const t = someToken(x => kind === 'increase' || kind === 'burn' || kind === 'transfer' || kind === 'subscribe' || x.liq > 0n)
    if (!t) return op('mint')
    const [id, x] = t
    const q = x.pool
    if (kind === 'increase') { const l = randLiq(q); return { kind, tx: [x.owner, posm.address, modify([act.inc(id, l), ...closeBoth(q, x.owner)]), valueFor(q)], done: () => { x.liq += l } } }
    if (kind === 'decrease') { const l = R.chance(0.25) ? x.liq : x.liq * BigInt(R.int(1, 99)) / 100n; return { kind, tx: [x.owner, posm.address, modify([act.dec(id, l), act.takePair(q, x.owner)]), 0n], done: () => { x.liq -= l } } }
    if (kind === 'collect') return { kind, tx: [x.owner, posm.address, modify([act.dec(id, 0), act.takePair(q, R.chance(0.8) ? x.owner : R.pick(owners))]), 0n] }
    if (kind === 'compound') return { kind, tx: [x.owner, posm.address, modify([act.dec(id, 0), act.incFromDeltas(id), ...closeBoth(q, x.owner)]), valueFor(q)] }
    if (kind === 'burn') return { kind, tx: [x.owner, posm.address, modify([act.burn(id), act.takePair(q, x.owner)]), 0n], done: () => live.delete(id) }
    if (kind === 'transfer') { const to = R.pick(owners); return { kind, tx: [x.owner, posm.address, P.encodeFunctionData('transferFrom', [x.owner, to, id]), 0n], done: () => { x.owner = to; x.sub = false } } }
    if (kind === 'subscribe') {
      return x.sub
        ? { kind: 'unsubscribe', tx: [x.owner, posm.address, P.encodeFunctionData('unsubscribe', [id]), 0n], done: () => { x.sub = false } }
        : { kind, tx: [x.owner, posm.address, P.encodeFunctionData('subscribe', [id, subscriber.address, '0x']), 0n], done: () => { x.sub = true } }
    }
    throw new Error(kind)
  }
  const truthPools = async () => { // the compound action changes liquidity by an amount only the contract knows
    const P2 = new Interface(['function getPositionLiquidity(uint256) view returns (uint128)'])
    const ids = [...live.keys()]
    const r = await rpc.batch(ids.map(i => ['eth_call', [{ to: posm.address, data: P2.encodeFunctionData('getPositionLiquidity', [i]) }, 'latest']]))
    ids.forEach((i, k) => { live.get(i).liq = BigInt(r[k].result) })
  }
  async function tickClock () {
    const mean = o.days * 86400 / o.ops
    const dt = Math.max(1, Math.round(-Math.log(1 - R.f()) * mean))
    now = Math.max(now + dt, Number((await rpc.send('eth_getBlockByNumber', ['latest', false])).timestamp) + 1)
    await rpc.send('evm_setNextBlockTimestamp', [hex(now)])
  }
  const MODIFIED = M.getEvent('ModifyLiquidity').topicHash
  const modifications = []
  const clock = [] // of every block, read while the node still has its state
  const observe = async () => clock.push(...await readClock(rpc, d, clock.length + 1, Number(await rpc.send('eth_blockNumber'))))
  const settle = async (x, h) => {
    const r = await receipt(h)
    const ok = r.status === '0x1'
    const ls = r.logs.filter(l => l.topics[0] === MODIFIED)
    if (ls.length) { // what the manager returned for every liquidity change (now: the node forgets old states)
      const fr = modifyFrames(manager.address, await rpc.send('debug_traceTransaction', [h, { tracer: 'callTracer' }]))
      if (fr.length !== ls.length) throw new Error(`${h}: ${fr.length} calls, ${ls.length} logs`)
      fr.forEach((f, i) => modifications.push({ blockNumber: Number(ls[i].blockNumber), transactionHash: h, logIndex: Number(ls[i].logIndex), ...f }))
    }
    bump(x.kind, ok)
    if (x.note) { hookStats[x.note] ??= { ok: 0, reverted: 0 }; hookStats[x.note][ok ? 'ok' : 'reverted']++ }
    if (ok) { if (x.mints) nextId += x.mints; x.done?.() }
    return ok
  }

  // ----- run -----
  const half = defs.length - 3
  for (let i = 0; i < half; i++) await initOne(defs[i])
  for (const p of d.pools) { // something to swap against, from the start
    for (let i = 0; i < 3; i++) {
      await tickClock()
      pendingIds = 0
      const who = owners[i]
      const ts = p.key.tickSpacing
      const id = nextId
      let lo, up
      if (i === 0 && p.def.full) [lo, up] = [clampTick(MIN_TICK, ts), clampTick(MAX_TICK, ts)]
      else { lo = snap(p.tick0, ts) - ts * R.int(1, 40); up = snap(p.tick0, ts) + ts * R.int(1, 40) }
      const liq = R.scale(p.unit, 1, 5)
      const x = { kind: 'mint', mints: 1, tx: [who, posm.address, modify([act.mint(p, lo, up, liq, who), ...closeBoth(p, who)]), valueFor(p)], done: () => { live.set(id, { pool: p, owner: who, lo, up, liq }); p.ticksSeen.add(lo); p.ticksSeen.add(up) } }
      if (!await settle(x, await send(...x.tx))) throw new Error('could not seed ' + p.name)
    }
  }
  const checkpoints = []
  let n = 0, late = 0
  const reorgs = []
  async function block () {
    await tickClock()
    if (R.chance(0.12)) { // a block with several transactions; only kinds whose outcome does not depend on guessed ids
      await rpc.send('evm_setAutomine', [false])
      const list = []
      for (let i = R.int(2, 6); i > 0 && n < o.ops; i--, n++) {
        pendingIds = 0
        const x = await op(R.pick(['swap', 'swap', 'swap', 'collect', 'donate']))
        list.push([x, await send(...x.tx)])
      }
      await rpc.send('evm_mine', [])
      await rpc.send('evm_setAutomine', [true])
      for (const [x, h] of list) await settle(x, h)
    } else {
      pendingIds = 0
      const x = await op(R.pick(table))
      await settle(x, await send(...x.tx))
      if (x.kind === 'compound') await truthPools()
      n++
    }
    await observe()
    if (o.pace) await sleep(o.pace)
  }
  while (n < o.ops) {
    if ((Date.now() - started) / 1000 > o.maxSeconds) { console.error('time limit reached at op', n); break }
    if (n > o.ops * 0.15 * (late + 1) && half + late < defs.length) { // a pool that appears later
      const p = await initOne(defs[half + late++])
      const ts = p.key.tickSpacing
      if (p.def.tiny) { // two positions of liquidity 1, and gifts that make the growth accumulators wrap; only the first one collects
        const lo = clampTick(MIN_TICK, ts), up = clampTick(MAX_TICK, ts), first = nextId
        for (const who of owners.slice(0, 2)) {
          const id = nextId
          await settle({ kind: 'mint', mints: 1, done: () => { live.set(id, { pool: p, owner: who, lo, up, liq: 1n }); p.ticksSeen.add(lo); p.ticksSeen.add(up) } }, await send(who, posm.address, modify([act.mint(p, lo, up, 1n, who), ...closeBoth(p, who)])))
        }
        for (let i = 0; i < 5; i++) {
          const v = 16n * 10n ** 37n
          await settle({ kind: 'donate' }, await send(...runRouter([[1, pk(p.key), [false, 0, 0], [0, 0, 0, ZeroHash], v, i % 2 ? v / 3n : v, '0x']])))
          await settle({ kind: 'collect' }, await send(owners[0], posm.address, modify([act.dec(first, 0), act.takePair(p, owners[0])])))
        }
      }
      for (const who of owners.slice(0, 2)) {
        const id = nextId, lo = clampTick(snap(p.tick0, ts) - ts * R.int(1, 20), ts), up = clampTick(snap(p.tick0, ts) + ts * R.int(1, 20), ts), liq = R.scale(p.unit, 1, 5)
        await settle({ kind: 'mint', mints: 1, done: () => { live.set(id, { pool: p, owner: who, lo, up, liq }); p.ticksSeen.add(lo); p.ticksSeen.add(up) } }, await send(who, posm.address, modify([act.mint(p, lo, up, liq, who), ...closeBoth(p, who)]), valueFor(p)))
      }
    }
    await block()
    // Part of the chain is built twice: `depth` blocks are made, seen by whoever follows the node, then taken back.
    if (o.reorgEvery && n >= (reorgs.length + 1) * o.reorgEvery) {
      const id = await rpc.send('evm_snapshot', [])
      const was = { live: new Map([...live].map(([k, v]) => [k, { ...v }])), nextId, direct: d.direct.map(x => ({ ...x })), n, m: modifications.length, c: clock.length, now }
      const depth = R.int(1, 8), first = Number(await rpc.send('eth_blockNumber')) + 1
      for (let i = 0; i < depth; i++) await block()
      const hashes = []
      for (let b = first; b <= Number(await rpc.send('eth_blockNumber')); b++) hashes.push((await rpc.send('eth_getBlockByNumber', [hex(b), false])).hash)
      if (!await rpc.send('evm_revert', [id])) throw new Error('could not go back')
      live.clear()
      for (const [k, v] of was.live) live.set(k, v)
      nextId = was.nextId; n = was.n; now = was.now; d.direct = was.direct; modifications.length = was.m; clock.length = was.c
      reorgs.push({ firstBlock: first, orphaned: hashes })
    }
    if (checkpoints.length < o.checkpoints && n >= (checkpoints.length + 1) * o.ops / (o.checkpoints + 1)) checkpoints.push(await collect(rpc, d))
  }

  const burnData = p => {
    const pool = d.pools.find(x => x.poolId === p.poolId)
    return [{ from: p.owner, to: posm.address, gas: GAS, data: modify([act.burn(p.tokenId), act.takePair(pool, p.owner)]) }]
  }
  await observe()
  const final = await collect(rpc, d, { full: true, burnData })

  modifications.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
  const truth = {
    seed: o.seed, ops: n, chainId: o.chainId,
    contracts: { poolManager: manager, positionManager: posm, stateView, permit2: { address: PERMIT2 }, router, hooks: [hookDyn, hookTax] },
    tokens, owners, stats, hookStats, reorgs,
    final, checkpoints, modifications, clock
  }
  fs.writeFileSync(path.join(OUT, 'truth.json'), JSON.stringify(truth, (k, v) => typeof v === 'bigint' ? String(v) : v, 1))
  const okN = Object.values(stats).reduce((s, x) => s + x.ok, 0), bad = Object.values(stats).reduce((s, x) => s + x.reverted, 0)
  console.log(`seed ${o.seed}: ${n} operations (${okN} succeeded incl. seeding, ${bad} reverted), ${final.block.number} blocks, ${final.positions.length} positions (${final.positions.filter(p => !p.burned).length} live), ${modifications.length} liquidity changes, ${((Date.now() - started) / 1000).toFixed(1)} s`)
  console.log(Object.entries(stats).map(([k, v]) => `${k} ${v.ok}/${v.ok + v.reverted}`).join(', '))
  if (reorgs.length) console.log(`${reorgs.length} reorganisations, ${reorgs.reduce((s, x) => s + x.orphaned.length, 0)} orphaned blocks`)
  if (final.untraced) console.log('untraced', final.untraced.join(','))
  if (o.keep) {
    console.log(`node left running: pid ${child.pid}, ${rpc.url}; to stop it and write state.json: kill -INT ${child.pid}`)
    child.unref()
    process.exit(0)
  }
  await stopNode(child)
  if (!o.archive) fs.rmSync(path.join(OUT, 'home'), { recursive: true, force: true })
  console.log('node stopped; state in ' + path.relative(process.cwd(), path.join(OUT, 'state.json')))
}
