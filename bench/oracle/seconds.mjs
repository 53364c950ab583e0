// How long positions were in range, counted block by block: who had liquidity by the traces of PoolManager.modifyLiquidity, where
// the pool stood by slot0 as the contract had it after every block, and the time by the headers. It knows nothing of seconds
// outside of ticks.

// countSeconds returns {opened, closed, open, inRange} of every position of truth.clock and truth.modifications, by tokenId.
export function countSeconds (truth) {
  const manager = truth.contracts.positionManager.address
  const pools = new Map(truth.final.pools.map((p, i) => [p.poolId, i]))
  const changes = truth.modifications.filter(m => m.sender === manager)
  const rows = new Map()
  let next = 0
  truth.clock.forEach(({ number, time, ticks }, i) => {
    for (; next < changes.length && changes[next].blockNumber <= number; next++) {
      if (changes[next].blockNumber !== number) throw new Error(`block ${changes[next].blockNumber} is not in the clock`)
      change(rows, changes[next], time)
    }
    const seconds = (truth.clock[i + 1]?.time ?? time) - time // until the next block
    for (const r of rows.values()) {
      if (r.liquidity === 0n) continue
      r.open += seconds
      const tick = ticks[pools.get(r.poolId)]
      if (r.tickLower <= tick && tick < r.tickUpper) r.inRange += seconds
    }
  })
  if (next !== changes.length) throw new Error(`${changes.length - next} changes are after the clock`)
  return rows
}

// change applies one change of liquidity.
function change (rows, m, time) {
  const id = String(BigInt(m.salt))
  if (!rows.has(id)) rows.set(id, { poolId: m.poolId, tickLower: m.tickLower, tickUpper: m.tickUpper, liquidity: 0n, opened: time, closed: null, open: 0, inRange: 0 })
  const r = rows.get(id)
  const was = r.liquidity
  r.liquidity += BigInt(m.liquidityDelta)
  if (r.liquidity > 0n) r.closed = null
  else if (was > 0n) r.closed = time
}
