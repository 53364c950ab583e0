// Drives the real contracts to the ends of what they accept: prices, spacings, fees, liquidity and amounts at their limits, hooks
// that revert or take deltas, tokens that are odd. What the contracts take, their events must be believed; what they revert
// leaves no event. First a list of cases that must succeed, then seeded ones.
import { ZeroHash } from 'ethers'
import { ZERO, hex, ours } from './lib.mjs'
import { RICH, act, closeBoth, deployer, hookData, modify, transactions } from './deploy.mjs'
import { sqrtAtTick, MIN_SQRT, MAX_SQRT, MIN_TICK, MAX_TICK } from './tickmath.mjs'
import { keyArr, poolIdOf } from './truth.mjs'

// A swap over all prices with spacing 1 takes 7,000 steps.
const GAS = hex(400_000_000)
const TWO127 = 1n << 127n
// The most liquidity that may refer to a tick.
const mostOn = ts => ((1n << 128n) - 1n) / BigInt(Math.floor(MAX_TICK / ts) - Math.floor(MIN_TICK / ts) + 1)
const word = n => '0x' + BigInt(n).toString(16).padStart(64, '0')

export class Extremes {
  constructor (rpc, R, c, admin, owners) {
    Object.assign(this, { rpc, R, c, admin, owners, tx: transactions(rpc, GAS), pools: [], direct: [], nfts: new Map(), nextId: 1, stats: {} })
  }

  count (kind, ok) { (this.stats[kind] ??= { ok: 0, reverted: 0 })[ok ? 'ok' : 'reverted']++ }

  async try (kind, from, to, data, value = 0n) {
    const r = await this.tx.receipt(await this.tx.send(from, to, data, value))
    this.count(kind, r.status === '0x1')
    return r.status === '0x1'
  }

  async oddTokens () {
    const deploy = deployer(this.rpc, GAS, this.admin), { odd } = ours()
    this.odd = []
    for (const decimals of [0n, 255n, 1n << 200n]) {
      const { address } = await deploy(odd, ['uint256'], [decimals])
      await this.tx.must(this.admin, address, odd.iface.encodeFunctionData('set', [this.c.router.address, RICH]))
      this.odd.push({ address, symbol: 'ODD', decimals: Number(decimals), odd: true })
    }
    this.setBalance = (token, who, v) => this.tx.must(this.admin, token, odd.iface.encodeFunctionData('set', [who, v]))
  }

  // ---------- single operations ----------
  async initialize (name, a, b, fee, ts, sqrt, hooks = ZERO, protocolFee = 0) {
    const [x, y] = BigInt(a) < BigInt(b) ? [a, b] : [b, a]
    const key = { currency0: x, currency1: y, fee, tickSpacing: ts, hooks }
    const ok = await this.try('initialize', this.admin, this.c.manager.address, this.c.M.encodeFunctionData('initialize', [keyArr(key), sqrt]))
    if (!ok) return null
    const pool = { name, key, poolId: poolIdOf(keyArr(key)), ticksSeen: new Set(), edge: Math.floor(MAX_TICK / ts) * ts }
    this.pools.push(pool)
    if (protocolFee) await this.protocol(pool, protocolFee)
    return pool
  }

  protocol (p, fee) { return this.try('protocolFee', this.admin, this.c.manager.address, this.c.M.encodeFunctionData('setProtocolFee', [keyArr(p.key), fee])) }

  run (kind, ...ops) { return this.try(kind, this.admin, this.c.router.address, this.c.RT.encodeFunctionData('run', [ops])) }

  swap (p, down, amount, limit, hd = '0x', kind = 'swap') {
    limit ??= down ? MIN_SQRT + 1n : MAX_SQRT - 1n
    return this.run(kind, [0, keyArr(p.key), [down, amount, limit], [0, 0, 0, ZeroHash], 0, 0, hd])
  }

  donate (p, a, b) { return this.run('donate', [1, keyArr(p.key), [false, 0, 0], [0, 0, 0, ZeroHash], a, b, '0x']) }

  async liquidity (p, lo, up, delta, salt = 1) {
    let x = this.direct.find(y => y.poolId === p.poolId && y.tickLower === lo && y.tickUpper === up && y.salt === word(salt))
    if (!await this.run('direct', [2, keyArr(p.key), [false, 0, 0], [lo, up, delta, word(salt)], 0, 0, '0x'])) return false
    if (!x) this.direct.push(x = { poolId: p.poolId, owner: this.c.router.address, tickLower: lo, tickUpper: up, salt: word(salt), liq: 0n })
    x.liq += delta
    p.ticksSeen.add(lo).add(up)
    return true
  }

  // nft sends actions of the position manager for one of the owners.
  async nft (kind, p, who, list) {
    await this.rpc.send('anvil_setBalance', [who, hex(RICH)])
    return this.try(kind, who, this.c.posm.address, modify(list), p.key.currency0 === ZERO ? 10n ** 38n : 0n)
  }

  async mint (p, lo, up, liq, who = this.owners[0]) {
    if (!await this.nft('mint', p, who, [act.mint(p, lo, up, liq, who), ...closeBoth(p, who)])) return 0
    this.nfts.set(this.nextId, { p, lo, up, liq, who })
    p.ticksSeen.add(lo).add(up)
    return this.nextId++
  }

  burn (id) { const { p, who } = this.nfts.get(id); return this.nft('burn', p, who, [act.burn(id), act.takePair(p, who)]) }
  collect (id) { const { p, who } = this.nfts.get(id); return this.nft('collect', p, who, [act.dec(id, 0), act.takePair(p, who)]) }
  increase (id, liq) { const { p, who } = this.nfts.get(id); return this.nft('increase', p, who, [act.inc(id, liq), ...closeBoth(p, who)]) }
  transfer (id, to) { return this.try('transfer', this.nfts.get(id).who, this.c.posm.address, this.c.P.encodeFunctionData('transferFrom', [this.nfts.get(id).who, to, id])) }

  // ---------- what can be lost ----------
  // losses makes events that nothing follows which a replay could notice, and returns them: what it is, the block that it is
  // alone in, and how a comparison with the contracts must name it. A pool whose beginning is lost stops the chain.
  async losses () {
    const [S, E] = this.c.tokens.map(t => t.address), out = []
    const pool = async n => {
      const p = await this.initialize('loss ' + n, S, E, 2000 + n, 10, sqrtAtTick(0))
      await this.liquidity(p, -1000, 1000, 10n ** 18n)
      return p
    }
    const lose = async (name, names, ok) => {
      if (!await ok) throw new Error('cannot make the loss: ' + name)
      out.push({ name, names, block: Number(await this.rpc.send('eth_blockNumber')) })
    }
    await lose('a swap', /pool .*slot0/, this.swap(await pool(1), true, -(10n ** 12n)))
    await lose('a donation', /pool .*feeGrowthGlobal/, this.donate(await pool(2), 10n ** 12n, 1n))
    await lose('a protocol fee', /pool .*slot0/, this.protocol(await pool(3), 1000))
    await lose('liquidity on new ticks', /tick .*initialised/, this.liquidity(await pool(4), 5000, 6000, 10n ** 12n))
    await lose('more liquidity', /tick .*liquidity/, this.liquidity(this.pools.at(-1), -1000, 1000, 10n ** 12n))

    const p = await pool(5), ids = []
    for (let i = 0; i < 4; i++) ids.push(await this.mint(p, -2000, 2000, 10n ** 15n, this.owners[i]))
    await this.swap(p, true, -(10n ** 12n))
    await lose('a mint', /position .*minted/, this.mint(p, 3000, 3010, 10n ** 15n))
    await this.mint(p, 3000, 3010, 10n ** 15n)
    await lose('a collect', /position .*feeGrowthInside/, this.collect(ids[0]))
    await lose('an increase', /position .*liquidity/, this.increase(ids[1], 10n ** 12n))
    await lose('a transfer', /position .*owner/, this.transfer(ids[2], this.owners[9]))
    await lose('a burn', /position .*owner/, this.burn(ids[3]))
    for (const id of ids) this.nfts.delete(id)

    await lose('the beginning of a pool', null, this.initialize('loss 6', S, E, 2006, 10, sqrtAtTick(0)))
    await this.liquidity(this.pools.at(-1), -1000, 1000, 10n ** 18n)
    this.untouched = this.pools.length
    return out
  }

  // ---------- what must succeed ----------
  async listed () {
    const [S, E, A, B] = this.c.tokens.map(t => t.address), { hookDyn, hookTax } = this.c
    const both = 1000 | (1000 << 12), failed = []
    const must = async (what, ok) => { if (!await ok) failed.push(what) }

    const low = await this.initialize('lowest price', A, B, 3000, 1, MIN_SQRT)
    await must('liquidity at the lowest price', this.liquidity(low, MIN_TICK, MIN_TICK + 10, 1000000n))
    await must('1 wei bought at the lowest price', this.swap(low, false, -1n))
    await must('a swap that moves the lowest price', this.swap(low, false, -3n))
    await must('back to one above it', this.swap(low, true, -(10n ** 30n)))
    const high = await this.initialize('highest price', A, B, 0, 1, MAX_SQRT - 1n)
    await must('liquidity at the highest price', this.liquidity(high, MAX_TICK - 10, MAX_TICK, 1000000n))
    await must('1 wei sold at the highest price', this.swap(high, true, -1n))
    await must('a swap that moves the highest price', this.swap(high, true, -(10n ** 22n)))
    await must('back to the highest price', this.swap(high, false, -(10n ** 36n)))

    const whole = await this.initialize('whole fee', S, B, 1000000, 32767, sqrtAtTick(0))
    await must('liquidity of the largest spacing', this.liquidity(whole, -whole.edge, whole.edge, 10n ** 18n))
    await must('2^127 paid as a fee', this.swap(whole, true, -TWO127))
    await must('2^127 paid as a fee, upwards', this.swap(whole, false, -TWO127))
    await must('2^127 - 1 donated', this.donate(whole, TWO127 - 1n, TWO127 - 1n))
    const most = await this.initialize('most liquidity', S, E, 999999, 32767, sqrtAtTick(0), ZERO, both)
    await must('the most liquidity that a tick takes', this.liquidity(most, -32767, 32767, mostOn(32767)))
    if (await this.liquidity(most, 0, 32767, 1n)) failed.push('more liquidity than a tick takes')
    await must('a fee of almost everything', this.swap(most, true, -(10n ** 20n)))
    const tight = await this.initialize('all prices', A, B, 100, 1, sqrtAtTick(0))
    await must('liquidity over all prices', this.liquidity(tight, MIN_TICK, MAX_TICK, 10n ** 6n))
    await must('a swap down over all prices', this.swap(tight, true, -(10n ** 34n)))
    await must('a swap up over all prices', this.swap(tight, false, -(10n ** 34n)))
    await must('an exact output over all prices', this.swap(tight, true, 10n ** 12n, sqrtAtTick(-100)))

    const dynamic = await this.initialize('dynamic fee', E, A, 0x800000, 60, sqrtAtTick(1), hookDyn, both)
    await must('liquidity of a dynamic pool', this.liquidity(dynamic, -600, 600, 10n ** 18n))
    for (const fee of [0, 1, 999999, 1000000]) {
      await must(`a fee of ${fee} for one swap`, this.swap(dynamic, true, -1000000n, undefined, hookData(1, fee, 0), 'fee override'))
      await must(`a stored fee of ${fee}`, this.swap(dynamic, false, -1000000n, undefined, hookData(2, fee, 0), 'fee stored'))
    }
    await must('a hook that takes everything', this.swap(dynamic, true, -1000000n, undefined, hookData(4, 0, 100), 'hook takes all'))
    await this.swap(dynamic, true, -1000n, undefined, '0x12', 'hook reverts')
    const taxed = await this.initialize('hook deltas', ZERO, A, 3000, 60, sqrtAtTick(-1), hookTax)
    await must('liquidity of a pool with deltas', this.liquidity(taxed, -60000, 60000, 10n ** 20n))
    for (const mode of [4, 8, 16, 32, 60]) await must(`hook mode ${mode}`, this.swap(taxed, mode > 8, -(10n ** 16n), undefined, hookData(mode, 0, 50), 'hook deltas'))

    for (const t of this.odd.slice(1)) {
      const p = await this.initialize('odd ' + t.decimals, t.address, A, 3000, 32766, sqrtAtTick(100))
      await must('an odd token', p && this.liquidity(p, -p.edge, p.edge, 10n ** 15n))
      await must('a swap of an odd token', this.swap(p, true, -1000000n))
    }
    // A token that changes balances by itself leaves the manager with less than it owes.
    const rebased = await this.initialize('rebased', this.odd[0].address, A, 3000, 10, sqrtAtTick(100))
    await must('liquidity of a token that rebases', this.liquidity(rebased, -1000, 1000, 10n ** 15n))
    await this.setBalance(this.odd[0].address, this.c.manager.address, 1)
    this.pools.unshift(this.pools.pop())
    this.untouched++
    const nobody = await this.initialize('no token at all', '0x' + '11'.repeat(20), A, 1, 1, sqrtAtTick(5))
    await must('a donation of nothing', this.donate(low, 0, 0))
    await this.donate(nobody, 1, 1)
    for (const [fee, ts, sqrt] of [[1000001, 1, MIN_SQRT], [1, 0, MIN_SQRT], [1, 32768, MIN_SQRT], [1, 1, MIN_SQRT - 1n], [1, 1, MAX_SQRT], [100, 1, sqrtAtTick(0)]]) {
      if (await this.initialize('refused', A, B, fee, ts, sqrt)) failed.push(`initialised with ${[fee, ts, sqrt]}`)
    }
    if (failed.length) throw new Error('the contracts did not do what these cases are for: ' + failed.join('; '))
  }

  // nothings are currencies without a contract, as a comparison of rows takes them.
  nothings () { return [{ address: '0x' + '11'.repeat(20), odd: true }] }

  // ---------- seeded ----------
  async random () {
    const { R } = this, p = R.pick(this.pools.slice(this.untouched)), z = R.f()
    const amount = R.pick([1n, 2n, 1000n, 10n ** 18n, 1n << 126n, TWO127 - 1n, TWO127, R.scale(10n ** 12n, 1e-9, 1e9) + 1n])
    if (z < 0.5) {
      const used = [...p.ticksSeen], down = R.chance(0.5)
      const limit = R.pick([undefined, sqrtAtTick(R.int(MIN_TICK + 1, MAX_TICK - 1)), used.length ? sqrtAtTick(R.pick(used)) + BigInt(R.int(-1, 1)) : undefined])
      const hd = p.key.hooks === ZERO || R.chance(0.3) ? '0x' : hookData(R.pick([1, 2, 3, 4, 8, 16, 32, 60]), R.pick([0, 1, 3000, 999999, 1000000]), R.pick([1, 50, 100]))
      return this.swap(p, down, R.chance(0.6) ? -amount : amount, limit, hd)
    }
    if (z < 0.58) return this.donate(p, R.pick([0n, 1n, amount]), R.pick([0n, 1n, amount]))
    if (z < 0.62) return this.protocol(p, R.pick([0, 1, 1000]) | (R.pick([0, 1, 1000]) << 12))
    if (z < 0.64) return this.initialize('again', p.key.currency0, p.key.currency1, p.key.fee, p.key.tickSpacing, MIN_SQRT, p.key.hooks)
    return this.randomLiquidity(p)
  }

  async randomLiquidity (p) {
    const { R } = this, ts = p.key.tickSpacing, mine = this.direct.filter(x => x.poolId === p.poolId && x.liq > 0n)
    const at = Math.max(-p.edge, Math.min(p.edge - ts, Math.floor(R.int(MIN_TICK, MAX_TICK) / ts) * ts))
    const [lo, up] = R.pick([[-p.edge, p.edge], [-p.edge, -p.edge + ts], [p.edge - ts, p.edge], [at, at + ts], [-p.edge, at + ts], [at, p.edge]])
    const most = mostOn(ts)
    const liq = R.pick([1n, 1000n, 10n ** 12n, most, most / 2n])
    const z = R.f(), open = [...this.nfts].filter(([, x]) => x.p === p && !x.burned)
    if (z < 0.3 && mine.length) {
      const x = R.pick(mine)
      return this.liquidity(p, x.tickLower, x.tickUpper, R.pick([0n, -x.liq, -(x.liq / 2n) - 1n]), BigInt(x.salt))
    }
    if (z < 0.6) return this.liquidity(p, lo, up, liq, R.int(1, 2))
    if (z < 0.8 || !open.length) return this.mint(p, lo, up, liq, R.pick(this.owners))
    const [id, x] = R.pick(open)
    if (z < 0.87) return this.collect(id)
    if (z < 0.94) return this.increase(id, R.pick([1n, liq]))
    if (await this.burn(id)) x.burned = true
  }
}
