// Drives the real contracts through everything that a pool can meet at prices, spacings, fees and decimals drawn by seed: hooks
// that trade, change liquidity and take deltas in the middle of others' operations, several changes of one position in a
// transaction, operators, pools without liquidity, blocks of many transactions. What is open, and whose, is read from receipts,
// to choose what to do next; the truth is what the contracts answer.
import { Interface } from 'ethers'
import { ZERO, addr, coder, hex, ours } from './lib.mjs'
import { RICH, act, closeBoth, hookData, modify, transactions, valueFor } from './deploy.mjs'
import { sqrtAtTick, MIN_SQRT, MAX_SQRT, MIN_TICK, MAX_TICK } from './tickmath.mjs'
import { keyArr, modifyFrames, poolIdOf, readClock } from './truth.mjs'

// Seconds from block to block: many chains have several blocks a second.
const PAUSES = [0, 0, 1, 12, 12, 12, 600, 3700, 90000]
// A swap over all prices with spacing 1 takes 7,000 steps.
const GAS = hex(400_000_000)
const word = n => '0x' + BigInt(n).toString(16).padStart(64, '0')
const view = new Interface(['function getSlot0(bytes32) view returns (uint160 sqrt, int24 tick, uint24, uint24)', 'function getLiquidity(bytes32) view returns (uint128)'])
const OP = 'tuple(uint8,tuple(address,address,uint24,int24,address),tuple(bool,int256,uint160),tuple(int24,int24,int256,bytes32),uint256,uint256,bytes)'
const SPACINGS = [1, 2, 10, 60, 200, 16384, 32767], FEES = [0, 1, 100, 3000, 10000, 999999, 1000000]
// About how much liquidity a pool has; with more, amounts at the last prices do not fit 2^127.
const UNITS = [1n, 1000n, 10n ** 9n, 10n ** 13n, 10n ** 17n]
// How often what is done.
const WEIGHTS = { swap: 40, donate: 5, protocol: 3, collectProtocol: 2, direct: 12, mint: 14, change: 12, several: 8, flash: 2, burn: 4, transfer: 4, approve: 3, subscribe: 2, initialize: 2, multicall: 3 }
const TABLE = Object.entries(WEIGHTS).flatMap(([k, w]) => Array(w).fill(k))
// The callbacks in which a hook acts, by their permission bits.
const CALLBACKS = { add: [1 << 11, 1 << 10], remove: [1 << 9, 1 << 8], swap: [1 << 7, 1 << 6], donate: [1 << 5, 1 << 4] }

export class Variety {
  constructor (rpc, R, c, admin, owners) {
    Object.assign(this, { rpc, R, c, admin, owners, tx: transactions(rpc, GAS), defs: new Map(), stats: {} })
    Object.assign(this, { pools: [], others: [], modifications: [], moves: [], clock: [] })
    Object.assign(this, { nfts: new Map(), actions: new Map(), gas: new Map(), protocolFees: new Map(), fees: new Map() })
  }

  // prepare deploys a second router, hooks that do what they are told, and tokens of 0 and 36 decimals.
  async prepare () {
    const { c, rpc, admin } = this, { busy } = ours()
    this.busy = busy.iface
    this.routers = [c.router.address, addr('0x' + 'b0'.repeat(20))]
    await rpc.send('anvil_setCode', [this.routers[1], await rpc.send('eth_getCode', [c.router.address, 'latest'])])
    c.tokens.push(await c.addToken('Oracle Whole', 'OW0', 0), await c.addToken('Oracle Fine', 'OF36', 36))
    // One that only acts, and one that takes and gives besides.
    this.hooks = [addr('0x' + 'ac'.repeat(18) + '3ff0'), addr('0x' + 'ac'.repeat(18) + '3fff')]
    for (const h of this.hooks) {
      await rpc.send('anvil_setCode', [h, busy.runtime])
      await this.tx.must(admin, h, this.busy.encodeFunctionData('init', [c.manager.address]))
    }
    for (const a of [...this.hooks, this.routers[1]]) {
      await rpc.send('anvil_setBalance', [a, hex(RICH)])
      for (const t of c.tokens) await this.tx.must(admin, t.address, c.TK.encodeFunctionData('mint', [a, RICH]))
    }
    for (let i = 0; i < 12; i++) await this.block([await this.initialize()])
  }

  // ---------- what is there ----------
  async slot0 (p) {
    const ask = async fn => view.decodeFunctionResult(fn, await this.rpc.send('eth_call', [{ to: this.c.stateView.address, data: view.encodeFunctionData(fn, [p.poolId]) }, 'latest']))
    const [s, [liq]] = await Promise.all([ask('getSlot0'), ask('getLiquidity')])
    return { sqrt: s.sqrt, tick: Number(s.tick), liq }
  }

  // block mines transactions in one block and reads from their receipts what they did.
  async block (list) {
    await this.rpc.send('evm_setAutomine', [false])
    const sent = [], gasPrice = this.R.pick([0n, 7n, 10n ** 9n + 7n])
    for (const [kind, from, to, data, value = 0n] of list) {
      await this.rpc.send('anvil_setBalance', [from, hex(RICH)])
      sent.push([kind, await this.tx.send(from, to, data, value, gasPrice)])
    }
    const { timestamp } = await this.rpc.send('eth_getBlockByNumber', ['latest', false])
    await this.rpc.send('evm_setNextBlockTimestamp', [Number(timestamp) + this.R.pick(PAUSES)])
    await this.rpc.send('evm_mine', [])
    await this.rpc.send('evm_setAutomine', [true])
    for (const [kind, hash] of sent) {
      const r = await this.tx.receipt(hash), ok = r.status === '0x1'
      ;(this.stats[kind] ??= { ok: 0, reverted: 0 })[ok ? 'ok' : 'reverted']++
      if (ok) await this.absorb(r)
    }
    const head = Number(await this.rpc.send('eth_blockNumber'))
    this.clock.push(...await readClock(this.rpc, { stateView: this.c.stateView.address, pools: this.pools }, head, head))
  }

  // absorb reads a receipt.
  async absorb (r) {
    const { M, P, manager, posm } = this.c, changed = [], touched = new Set()
    for (const l of r.logs) {
      const at = addr(l.address), ev = at === manager.address ? M.parseLog(l) : at === posm.address ? P.parseLog(l) : null
      switch (ev?.name) {
        case 'Initialize': this.pools.push(this.defs.get(ev.args.id)); break
        case 'ProtocolFeeUpdated': this.protocolFees.set(ev.args.id, Number(ev.args.protocolFee)); break
        case 'Swap': this.absorbSwap(ev.args); break
        case 'ModifyLiquidity':
          changed.push([l, this.absorbChange(ev.args)])
          if (ev.args.sender === posm.address) touched.add(Number(ev.args.salt))
          break
        case 'Transfer': if (at === posm.address) touched.add(this.absorbTransfer(l, ev.args)); break
      }
    }
    this.shareGas(BigInt(r.gasUsed) * BigInt(r.effectiveGasPrice), [...touched].sort((a, b) => a - b))
    if (changed.length) await this.readChanges(r.transactionHash, changed)
  }

  count (poolId) { this.actions.set(poolId, (this.actions.get(poolId) ?? 0) + 1) }

  absorbTransfer (l, { from, to, id }) {
    const n = Number(id), x = this.nfts.get(n) ?? { liq: 0n }
    this.nfts.set(n, { ...x, who: to, burned: to === ZERO })
    const told = from === ZERO || to === ZERO && x.liq > 0n // by the change of liquidity that comes next
    if (!told) this.moves.push({ id: String(id), at: [Number(l.blockNumber), Number(l.logIndex), from.toLowerCase(), to.toLowerCase()].join() })
    return n
  }

  // absorbSwap notes what liquidity got of a swap's fee: the largest share that gives that fee with the protocol's. Of a swap that
  // moved nothing nobody can tell the direction.
  absorbSwap ({ id, amount0, amount1, fee }) {
    this.count(id)
    const both = this.protocolFees.get(id) ?? 0, down = amount0 < 0n || amount1 > 0n, p = down ? both & 0xfff : both >> 12
    let l = 1000000
    while (p + l - Math.floor(p * l / 1000000) > Number(fee)) l--
    this.fees.set(id, amount0 || amount1 ? l : undefined)
  }

  // shareGas divides what a transaction paid among the positions that it touched; the odd wei are the first one's.
  shareGas (paid, ids) {
    const n = BigInt(ids.length)
    ids.forEach((id, i) => this.gas.set(id, (this.gas.get(id) ?? 0n) + paid / n + (i ? 0n : paid % n)))
  }

  absorbChange ({ id, sender, tickLower, tickUpper, liquidityDelta, salt }) {
    this.count(id)
    const p = this.pools.find(p => p.poolId === id), lo = Number(tickLower), up = Number(tickUpper)
    p.ticksSeen.add(lo).add(up)
    if (sender === this.c.posm.address) {
      const x = this.nfts.get(Number(salt))
      this.nfts.set(Number(salt), { ...x, p, lo, up, liq: x.liq + liquidityDelta })
    } else {
      const i = this.others.findIndex(x => x.poolId === id && x.owner === sender && x.tickLower === lo && x.tickUpper === up && x.salt === salt)
      const x = i < 0 ? { poolId: id, owner: sender, tickLower: lo, tickUpper: up, salt, liq: 0n } : this.others[i]
      this.others.splice(i < 0 ? this.others.length : i, 1, { ...x, liq: x.liq + liquidityDelta })
    }
    return [id, sender, lo, up, liquidityDelta, salt].join()
  }

  // readChanges notes what the manager returned for each change of liquidity. Calls nest, so that they are not in the order of
  // the events; those of one sender are.
  async readChanges (hash, changed) {
    const frames = modifyFrames(this.c.manager.address, await this.rpc.send('debug_traceTransaction', [hash, { tracer: 'callTracer' }]))
    if (frames.length !== changed.length) throw new Error(`${hash}: ${frames.length} calls, ${changed.length} changes of liquidity`)
    for (const [l, key] of changed) {
      const i = frames.findIndex(f => [f.poolId, f.sender, f.tickLower, f.tickUpper, f.liquidityDelta, f.salt].join() === key)
      this.modifications.push({ blockNumber: Number(l.blockNumber), logIndex: Number(l.logIndex), ...frames.splice(i, 1)[0] })
    }
  }

  // save returns a function that forgets everything since.
  save () {
    const was = {}
    for (const k of ['nfts', 'actions', 'gas', 'protocolFees', 'fees']) was[k] = new Map(this[k])
    for (const k of ['pools', 'others', 'modifications', 'moves', 'clock']) was[k] = [...this[k]]
    return () => Object.assign(this, was)
  }

  // ---------- one operation: [kind, from, to, data, value] ----------
  // random is a block of one operation, or of some.
  async random () {
    const list = []
    for (let i = this.R.chance(0.3) ? this.R.int(2, 6) : 1; i > 0; i--) {
      const x = await this[this.R.pick(TABLE)](this.R.pick(this.pools))
      list.push(...Array.isArray(x[0]) ? x : [x])
    }
    await this.block(list)
  }

  router (kind, at, ...ops) { return [kind, this.admin, at, this.c.RT.encodeFunctionData('run', [ops]), 0n] }

  nft (kind, p, who, list) { return [kind, who, this.c.posm.address, modify([...list, ...closeBoth(p, who)]), valueFor(p)] }

  posm (kind, from, fn, ...args) { return [kind, from, this.c.posm.address, this.c.P.encodeFunctionData(fn, args), 0n] }

  async initialize () {
    const { R, c } = this, tokens = [ZERO, ...c.tokens.map(t => t.address)], a = R.pick(tokens), b = R.pick(tokens.filter(t => t !== a))
    const hooks = R.pick([ZERO, ZERO, c.hookDyn, c.hookTax, ...this.hooks, ...this.hooks]), [currency0, currency1] = BigInt(a) < BigInt(b) ? [a, b] : [b, a]
    const fee = hooks !== ZERO && R.chance(0.4) ? 0x800000 : R.pick(FEES)
    const key = { currency0, currency1, fee, tickSpacing: R.pick(SPACINGS), hooks }
    const tick = R.pick([0, R.int(-1000, 1000), R.int(-100000, 100000), R.int(MIN_TICK, MAX_TICK - 1), MIN_TICK, MAX_TICK - 1])
    const edge = Math.floor(MAX_TICK / key.tickSpacing) * key.tickSpacing, poolId = poolIdOf(keyArr(key))
    const p = { name: `${fee}/${key.tickSpacing}@${tick}`, key, poolId, tick, edge, ticksSeen: new Set(), unit: R.pick(UNITS), taxesRemovals: (BigInt(hooks) & 1n) === 1n }
    if (!this.defs.has(poolId)) this.defs.set(poolId, p)
    const who = R.pick(this.owners), sqrt = sqrtAtTick(tick) + (R.chance(0.5) ? 1n : 0n), first = this.c.M.encodeFunctionData('initialize', [keyArr(key), sqrt])
    if (this.hooks.includes(hooks)) { // the hook may be the first to trade
      const ops = R.chance(0.5) ? [this.liquidityOp(p, -edge, edge, p.unit, word(7)), [0, keyArr(key), [true, -1000n, MIN_SQRT + 1n], [0, 0, 0, word(0)], 0, 0, '0x']] : []
      await this.tx.must(this.admin, hooks, this.busy.encodeFunctionData('open', [ops.length ? coder.encode([OP + '[]'], [ops]) : '0x']))
    }
    if (R.chance(0.5)) return ['initialize', this.admin, c.manager.address, first, 0n]
    const mint = modify([act.mint(p, -edge, edge, p.unit, who), ...closeBoth(p, who)])
    return ['initialize and mint', who, c.posm.address, c.P.encodeFunctionData('multicall', [[c.P.encodeFunctionData('initializePool', [keyArr(key), sqrt]), mint]]), valueFor(p)]
  }

  async swap (p) { return this.router('swap', this.R.pick(this.routers), await this.swapOp(p)) }

  async swapOp (p, nested = false) {
    const { R } = this, s = await this.slot0(p), down = s.sqrt > MIN_SQRT + 1n && (s.sqrt >= MAX_SQRT - 1n || R.chance(p.tick > s.tick ? 0.3 : 0.7))
    const ahead = [...p.ticksSeen].filter(t => down ? sqrtAtTick(t) < s.sqrt : sqrtAtTick(t) > s.sqrt).sort((a, b) => down ? b - a : a - b), z = R.f()
    const ts = p.key.tickSpacing, at = t => sqrtAtTick(Math.max(MIN_TICK, Math.min(MAX_TICK, t)))
    let limit = down ? MIN_SQRT + 1n : MAX_SQRT - 1n // over all of it, and out of liquidity
    if (z < 0.35 && ahead.length) limit = at(ahead[Math.floor(R.f() ** 2 * ahead.length)]) + BigInt(R.pick([0, 0, 0, 1, -1]))
    else if (z < 0.45) limit = at((Math.floor(s.tick / ts / 256) + (down ? 0 : 1)) * 256 * ts)
    else if (z < 0.9) limit = at(s.tick + (down ? -1 : 1) * R.int(1, 40 * ts))
    if (down ? limit >= s.sqrt : limit <= s.sqrt) limit = s.sqrt + (down ? -1n : 1n)
    limit = limit <= MIN_SQRT ? MIN_SQRT + 1n : limit >= MAX_SQRT ? MAX_SQRT - 1n : limit

    const [a, b] = down ? [limit, s.sqrt] : [s.sqrt, limit], L = s.liq || p.unit, exactIn = R.chance(0.6)
    const full = down === exactIn ? (L << 96n) * (b - a) / b / a + 1n : L * (b - a) / (1n << 96n) + 1n
    const whole = R.pick([BigInt(R.int(1, 30)), R.scale(full, 0.001, 0.9) + 1n, R.scale(full, 0.9, 8) + 1n]), amount = whole > 1n << 126n ? 1n << 126n : whole
    return [0, keyArr(p.key), [down, exactIn ? -amount : amount, limit], [0, 0, 0, word(0)], 0, 0, nested ? '0x' : await this.hookData(p, 'swap', amount)]
  }

  liquidityOp (p, lo, up, delta, salt, hd = '0x') { return [2, keyArr(p.key), [false, 0, 0], [lo, up, delta, salt], 0, 0, hd] }

  async donateOp (p, nested = false) {
    const v = () => this.R.pick([0n, 1n, this.R.scale(p.unit, 0.001, 10), p.unit < 1000n ? 1n << 126n : 7n]) // a large gift to little liquidity wraps the growth
    return [1, keyArr(p.key), [false, 0, 0], [0, 0, 0, word(0)], v(), v(), nested ? '0x' : await this.hookData(p, 'donate')]
  }

  async donate (p) { return this.router('donate', this.R.pick(this.routers), await this.donateOp(p)) }

  // hookData is what a hook is asked to do during one operation.
  async hookData (p, during, amount = 1000n) {
    const { R } = this
    if (p.key.hooks === ZERO || R.chance(0.3)) return '0x'
    if (!this.hooks.includes(p.key.hooks)) return during === 'swap' ? hookData(R.pick(p.key.fee === 0x800000 ? [1, 2, 3, 4, 8, 16, 32, 60] : [4, 8, 16, 24, 32, 60]), R.pick([0, 1, 3000, 999999]), R.pick([1, 50, 100])) : '0x'
    const ops = [], when = R.pick(CALLBACKS[during])
    for (let i = R.int(0, 3); i > 0; i--) {
      const q = R.chance(0.8) ? p : R.pick(this.pools), z = R.f()
      ops.push(z < 0.5 ? await this.directOp(q, p.key.hooks) : z < 0.85 ? await this.swapOp(q, true) : await this.donateOp(q, true))
    }
    const delta = () => R.pick([0n, 0n, 1n, -1n, amount / 7n, -amount / 9n]), fee = p.key.fee === 0x800000 && R.chance(0.5) ? 0x400000 | R.pick(FEES) : 0
    return coder.encode([`tuple(uint16,${OP}[],int128,int128,uint24)`], [[when, ops, delta(), delta(), fee]])
  }

  async range (p) {
    const { R } = this, ts = p.key.tickSpacing, { tick } = await this.slot0(p), here = Math.floor(tick / ts) * ts
    const clamp = t => Math.max(-p.edge, Math.min(p.edge, t)), used = [...p.ticksSeen]
    const a = R.pick([here, here, clamp(here + ts * R.int(-20, 20)), -p.edge, p.edge, ...(used.length ? [R.pick(used), R.pick(used)] : [])])
    const b = clamp(R.pick([a + ts, a - ts, a + ts * R.int(2, 40), a - ts * R.int(2, 40), p.edge, -p.edge]))
    return a === b ? [-p.edge, p.edge] : [clamp(Math.min(a, b)), clamp(Math.max(a, b))]
  }

  liquidityOf (p) { return this.R.pick([1n, this.R.scale(p.unit, 0.01, 20) + 1n, this.R.scale(p.unit, 0.5, 3) + 1n]) }

  // directOp changes liquidity of a sender that is not the position manager, with salts that are tokens' too, or words.
  async directOp (p, owner, hd = '0x') {
    const { R } = this, mine = this.others.filter(x => x.poolId === p.poolId && x.owner === owner && x.liq > 0n)
    if (mine.length && R.chance(0.6)) {
      const x = R.pick(mine)
      return this.liquidityOp(p, x.tickLower, x.tickUpper, R.pick([0n, -x.liq, -(x.liq / 2n) - 1n, 1n]), x.salt, hd)
    }
    const salt = R.pick([word(0), word(R.int(1, 20)), word((1n << 64n) + BigInt(R.int(1, 20))), '0x' + 'ff'.repeat(32)])
    return this.liquidityOp(p, ...await this.range(p), this.liquidityOf(p), salt, hd)
  }

  async direct (p) {
    const at = this.R.pick(this.routers)
    return this.router('direct', at, await this.directOp(p, at, await this.hookData(p, this.R.pick(['add', 'remove']))))
  }

  async protocol (p) {
    const fee = () => this.R.pick([0, 1, 500, 1000])
    return ['protocol', this.admin, this.c.manager.address, this.c.M.encodeFunctionData('setProtocolFee', [keyArr(p.key), fee() | fee() << 12]), 0n]
  }

  async collectProtocol (p) {
    const c = this.R.pick([p.key.currency0, p.key.currency1])
    return ['collectProtocol', this.admin, this.c.manager.address, this.c.M.encodeFunctionData('collectProtocolFees', [this.admin, c, this.R.pick([0n, 1n])]), 0n]
  }

  async mint (p) {
    const { R } = this, who = R.pick(this.owners), list = []
    for (let i = R.pick([1, 1, 1, 2, 3]); i > 0; i--) {
      const to = R.chance(0.8) ? who : R.pick([...this.owners, this.c.posm.address, this.routers[0]])
      list.push(act.mint(p, ...await this.range(p), this.liquidityOf(p), to, await this.hookData(p, 'add')))
    }
    return this.nft('mint', p, who, list)
  }

  // token is one that somebody can use, if there is one.
  token () {
    const l = [...this.nfts].filter(([, x]) => !x.burned && this.owners.includes(x.who))
    if (!l.length) return null
    const [id, x] = this.R.pick(l)
    return [id, { ...x }]
  }

  // changeOf is one change of a position, whose liquidity in x moves with it: more, less, nothing left, or its fees only, taken
  // or left inside. One without liquidity can only get some.
  async changeOf (id, x) {
    const { R } = this, hd = await this.hookData(x.p, 'remove'), z = x.liq === 0n ? 0 : R.f(), more = this.liquidityOf(x.p)
    if (z < 0.3) { x.liq += more; return act.inc(id, more, await this.hookData(x.p, 'add')) }
    if (z < 0.45) return R.pick([act.inc(id, 0n), act.incFromDeltas(id)])
    if (z < 0.6) return act.dec(id, 0n, hd)
    const less = R.pick([x.liq, x.liq / 2n, 1n])
    x.liq -= less
    return act.dec(id, less, hd)
  }

  async change (p) {
    const t = this.token()
    return t ? this.nft('change', t[1].p, t[1].who, [await this.changeOf(...t)]) : this.mint(p)
  }

  // several changes of one position in one transaction, or several operations of a router.
  async several (p) {
    const { R } = this, t = this.token(), list = []
    if (!t || R.chance(0.4)) {
      const at = R.pick(this.routers)
      for (let i = R.int(2, 5); i > 0; i--) list.push(await R.pick([() => this.swapOp(p), () => this.donateOp(p), () => this.directOp(p, at)])())
      return this.router('several', at, ...list)
    }
    const [id, x] = t
    if (R.chance(0.3)) return this.nft('several', x.p, x.who, [act.dec(id, x.liq), act.inc(id, x.liq + 1n), act.dec(id, 0n)])
    for (let i = R.int(2, 4); i > 0; i--) list.push(await this.changeOf(id, x))
    return this.nft('several', x.p, x.who, list)
  }

  // flash mints, changes and burns in one transaction.
  async flash (p) {
    const id = Math.max(0, ...this.nfts.keys()) + 1, who = this.R.pick(this.owners), liq = this.liquidityOf(p)
    const between = this.R.pick([[], [act.dec(id, liq)], [act.dec(id, liq), act.inc(id, 5n)]])
    return this.nft('flash', p, who, [act.mint(p, ...await this.range(p), liq, who), ...between, act.burn(id)])
  }

  async burn (p) {
    const t = this.token()
    return t ? this.nft('burn', t[1].p, t[1].who, [act.burn(t[0], await this.hookData(t[1].p, 'remove'))]) : this.mint(p)
  }

  async transfer (p) {
    const { R } = this, t = this.token()
    if (!t) return this.mint(p)
    const [id, { who }] = t, by = R.chance(0.8) ? who : R.pick(this.owners) // an operator, if that was approved
    const to = R.pick([...this.owners, who, this.c.posm.address])
    return this.posm('transfer', by, R.pick(['transferFrom', 'safeTransferFrom(address,address,uint256)']), who, to, id)
  }

  // multicall changes and moves a position in one transaction.
  async multicall (p) {
    const t = this.token()
    if (!t) return this.mint(p)
    const [id, x] = t, { P } = this.c, to = this.R.pick(this.owners), calls = []
    for (let i = this.R.int(1, 2); i > 0; i--) calls.push(modify([await this.changeOf(id, x), ...closeBoth(x.p, x.who)]))
    calls.push(P.encodeFunctionData('transferFrom', [x.who, to, id]))
    return ['multicall', x.who, this.c.posm.address, P.encodeFunctionData('multicall', [calls]), valueFor(x.p)]
  }

  // approve lets another owner act, who then does at once, in the same block.
  async approve (p) {
    const { R } = this, t = this.token()
    if (!t) return this.mint(p)
    const [id, x] = t, by = R.pick(this.owners.filter(a => a !== x.who)), first = R.chance(0.5) ? this.posm('approve', x.who, 'approve', by, id) : this.posm('approve', x.who, 'setApprovalForAll', by, true)
    const then = R.pick([
      () => this.posm('operator', by, 'transferFrom', x.who, R.pick(this.owners), id), async () => this.nft('operator', x.p, by, [await this.changeOf(id, x)]),
      () => this.nft('operator', x.p, by, [act.burn(id)])
    ])
    return [first, await then(), await this.swap(x.p)]
  }

  async subscribe (p) {
    const t = this.token()
    if (!t) return this.mint(p)
    const [id, { who }] = t
    return this.R.chance(0.7) ? this.posm('subscribe', who, 'subscribe', id, this.c.subscriber.address, '0x') : this.posm('subscribe', who, 'unsubscribe', id)
  }
}
