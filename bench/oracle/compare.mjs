// Compares what a tidemark node serves with the contracts' own answers.
import { countSeconds } from './seconds.mjs'

const OPEN = 'status=all&minValueUsd=0&minPoolTvl=0&includeRisky=true'

const lower = s => s.toLowerCase()
// The exact decimal of a raw amount: no exponent, trailing zeros trimmed.
export function decimal (raw, decimals) {
  const s = raw.padStart(decimals + 1, '0')
  const whole = s.slice(0, s.length - decimals), part = decimals ? s.slice(-decimals).replace(/0+$/, '') : ''
  return part ? whole + '.' + part : whole
}
// What a list row and a detail have in common, keys sorted.
function common (row) {
  const { rank, transactions, transactionsDegraded, transactionsPartial, transactionsTruncated, stale, dataAsOf, ...rest } = row
  return JSON.stringify(rest, (k, v) => v && typeof v === 'object' && !Array.isArray(v)
    ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => a < b ? -1 : 1))
    : v)
}

// readChain reads every position and pool of a chain: the lists with every
// filter open, and the details, a few at a time.
export async function readChain (node, chainId) {
  const positions = await node.list(`/v1/positions?chainId=${chainId}&${OPEN}&sort=nft_id_asc&limit=100`, 'positions')
  const pools = await node.list(`/v1/pools?chainId=${chainId}&minTvlUsd=0&includeRisky=true&sort=age&limit=100`, 'pools')
  const details = new Map()
  const queue = [...positions.rows.map(r => `/v1/positions/${chainId}/swapdex-v4/${r.positionId}`),
    ...pools.rows.map(r => `/v1/pools/${chainId}/swapdex-v4/${r.poolId}`)]
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let p; (p = queue.pop());) { const d = await node.get(p); details.set(d.positionId ?? d.poolId, d) }
  }))
  return { chainId, positions, pools, details }
}

// compareChain returns what was compared and the differences. Counted as
// values are the contracts' answers only, once each.
export function compareChain (truth, read) {
  const out = { values: 0, positions: 0, live: 0, pools: 0, timed: 0, differences: [] }
  const say = text => out.differences.push(`chain ${read.chainId} ${text}`)
  const same = (what, got, want) => { if (got !== want) say(`${what}: ${got}, want ${want}`) }
  const value = (what, got, want) => { out.values++; same(what, got, want) }
  const tokens = new Map(truth.tokens.map(t => [lower(t.address), t]))

  same('head', read.positions.rows[0]?.asOfBlock, truth.final.block.number)
  same('positions in the list', read.positions.rows.length, truth.final.positions.length)
  same('total', read.positions.total, truth.final.positions.length)
  const rows = new Map(read.positions.rows.map(r => [r.tokenId, r]))
  const seconds = truth.clock && countSeconds(truth) // chains at their limits have none
  for (const p of truth.final.positions) {
    const r = rows.get(p.tokenId), at = 'position ' + p.tokenId
    if (!r) { say(at + ' is missing'); continue }
    out.positions++
    if (!p.burned) out.live++
    comparePosition(p, r, at, value)
    if (seconds) out.timed += compareTimes(seconds.get(p.tokenId), r, at, value)
    same(`${at} list and detail`, common(read.details.get(p.tokenId) ?? {}), common(r))
    same(`${at} positionId`, r.positionId, p.tokenId)
    for (const [k, group] of Object.entries(r.amounts)) {
      if (k === 'gas') continue
      for (const i of [0, 1]) {
        const places = r['token' + i].decimals
        same(`${at} ${k}.amount${i}`, group['amount' + i], places === null ? null : decimal(group[`amount${i}Raw`], places))
      }
    }
  }
  const order = read.positions.rows.map(r => Number(r.tokenId))
  if (order.some((x, i) => i && order[i - 1] >= x)) say('positions are not in order of their ids')

  same('pools in the list', read.pools.rows.length, truth.final.pools.length)
  const poolRows = new Map(read.pools.rows.map(r => [r.poolId, r]))
  for (const p of truth.final.pools) {
    const r = poolRows.get(p.poolId), at = `pool ${p.name}`
    if (!r) { say(at + ' is missing'); continue }
    out.pools++
    value(`${at} sqrtPriceX96`, r.sqrtPriceX96, p.sqrtPriceX96)
    value(`${at} tick`, r.currentTick, p.tick)
    value(`${at} liquidity`, r.liquidity, p.liquidity)
    same(`${at} tickSpacing`, r.tickSpacing, p.tickSpacing)
    same(`${at} hooks`, r.hooks, lower(p.hooks))
    if (p.fee !== 0x800000) same(`${at} fee`, r.fee, p.fee)
    const here = truth.final.positions.filter(x => !x.burned && x.poolId === p.poolId && x.liquidity !== '0')
    same(`${at} positionsCount`, r.positionsCount, here.length)
    same(`${at} holdersCount`, r.holdersCount, new Set(here.map(x => x.owner)).size)
    for (const i of [0, 1]) {
      const t = tokens.get(lower(p['currency' + i])) ?? { symbol: r['token' + i].symbol, decimals: 18 }
      same(`${at} token${i}`, r['token' + i].address, lower(p['currency' + i]))
      if (t.odd) continue
      same(`${at} symbol${i}`, r['token' + i].symbol, t.symbol)
      same(`${at} decimals${i}`, r['token' + i].decimals, t.decimals)
    }
    same(`${at} list and detail`, common(read.details.get(p.poolId) ?? {}), common(r))
  }
  return out
}

function comparePosition (p, r, at, value) {
  const { current, uncollectedFees } = r.amounts
  if (p.burned) {
    value(`${at} isActive`, r.isActive, false)
    value(`${at} liquidity`, r.liquidity, '0')
    value(`${at} uncollected0`, uncollectedFees.amount0Raw, '0')
    value(`${at} uncollected1`, uncollectedFees.amount1Raw, '0')
    return
  }
  value(`${at} owner`, r.owner, lower(p.owner))
  value(`${at} pool`, r.poolId, p.poolId)
  value(`${at} tickLower`, r.tickLower, p.tickLower)
  value(`${at} tickUpper`, r.tickUpper, p.tickUpper)
  value(`${at} liquidity`, r.liquidity, p.liquidity)
  value(`${at} isActive`, r.isActive, p.liquidity !== '0')
  value(`${at} uncollected0`, uncollectedFees.amount0Raw, p.fees0)
  value(`${at} uncollected1`, uncollectedFees.amount1Raw, p.fees1)
  if (p.amount0 !== undefined) {
    value(`${at} current0`, current.amount0Raw, p.amount0)
    value(`${at} current1`, current.amount1Raw, p.amount1)
  }
}

// A hook may keep or add a part of what a change moves; that stands in no event.
const sharesIn = (hooks, delta) => (BigInt(hooks) & (delta > 0n ? 2n : 1n)) !== 0n
const absolute = v => v < 0n ? -v : v

// compareChanges compares the history of every position with what the manager returned for each change of liquidity, and with
// their sums.
export function compareChanges (truth, read) {
  const out = [], pools = new Map(truth.final.pools.map(p => [p.poolId, p]))
  const same = (what, got, want) => { if (got !== want) out.push(`${what}: ${got}, want ${want}`) }
  const of = new Map()
  for (const m of truth.modifications) {
    if (m.sender !== truth.contracts.positionManager.address) continue
    const id = String(BigInt(m.salt))
    of.set(id, [...of.get(id) ?? [], m])
  }
  for (const [id, list] of of) {
    const row = read.details.get(id), entries = row.transactions.filter(t => t.type !== 'transfer'), at = 'position ' + id
    same(`${at} number of changes`, entries.length, list.length)
    const sums = { deposits: [0n, 0n], withdrawals: [0n, 0n], collectedFees: [0n, 0n] }
    let shared = false
    for (const m of list) {
      const e = entries.find(t => t.blockNumber === m.blockNumber && t.logIndex === m.logIndex), delta = BigInt(m.liquidityDelta)
      if (!e) { out.push(`${at} lacks the change ${m.blockNumber}/${m.logIndex}`); continue }
      same(`${at} liquidityDelta`, e.liquidityDelta, m.liquidityDelta)
      same(`${at} type`, e.type, delta > 0n ? 'mint' : delta < 0n ? 'burn' : 'collect')
      for (const i of [0, 1]) {
        const fees = BigInt(m['feesAccrued' + i]), principal = absolute(BigInt(m['callerDelta' + i]) - fees)
        same(`${at} ${m.blockNumber}/${m.logIndex} fees${i}`, e[`fees${i}Raw`], String(fees))
        sums.collectedFees[i] += fees
        if (sharesIn(pools.get(m.poolId).hooks, delta)) { shared = true; continue }
        same(`${at} ${m.blockNumber}/${m.logIndex} amount${i}`, e[`amount${i}Raw`], String(principal))
        sums[delta > 0n ? 'deposits' : 'withdrawals'][i] += principal
      }
    }
    same(`${at} gas`, row.amounts.gas.nativeRaw, String(truth.gas.get(Number(id))))
    for (const k in sums) {
      if (shared && k !== 'collectedFees') continue
      for (const i of [0, 1]) same(`${at} ${k}${i}`, row.amounts[k][`amount${i}Raw`], String(sums[k][i]))
    }
  }
  return out
}

// compareMoves compares who had every position: the transfers that no change of liquidity tells of.
export function compareMoves (truth, read) {
  const out = [], of = new Map()
  for (const m of truth.moves) of.set(m.id, [m.at, ...of.get(m.id) ?? []])
  for (const [id, row] of read.details) {
    const got = row.transactions?.filter(t => t.type === 'transfer').map(t => [t.blockNumber, t.logIndex, t.from, t.to].join()).join(' ') ?? ''
    const want = of.get(id)?.join(' ') ?? ''
    if (got !== want) out.push(`position ${id} moved ${got}, want ${want}`)
  }
  return out
}

// comparePools compares the ticks of every pool, how often it was used, and the fee that a dynamic one last took.
export async function comparePools (truth, read, node) {
  const out = []
  const same = (what, got, want) => { if (got !== want) out.push(`${what}: ${got}, want ${want}`) }
  const text = ticks => ticks.map(t => [t.tick, t.liquidityGross, t.liquidityNet].join()).join(' ')
  for (const p of truth.final.pools) {
    const row = read.details.get(p.poolId), fee = truth.fees.has(p.poolId) ? truth.fees.get(p.poolId) : null
    const { rows } = await node.list(`/v1/pools/${read.chainId}/swapdex-v4/${p.poolId}/ticks?limit=1000`, 'ticks')
    same(`pool ${p.name} ticks`, text(rows), text(p.ticks))
    same(`pool ${p.name} txCount`, row.metrics.txCount, truth.actions.get(p.poolId) ?? 0)
    if (p.fee === 0x800000 && fee !== undefined) same(`pool ${p.name} fee`, row.fee, fee)
  }
  return out
}

// compareTimes returns 1 for a position that was in range for some of its time and not for all of it.
function compareTimes (w, r, at, value) {
  value(`${at} openedAtTimestamp`, r.openedAtTimestamp, w.opened)
  value(`${at} closedAtTimestamp`, r.closedAtTimestamp, w.closed)
  value(`${at} timeInRange`, r.timeInRange, w.open ? w.inRange / w.open : null)
  return w.inRange > 0 && w.inRange < w.open ? 1 : 0
}
