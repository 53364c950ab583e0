package ledger

import (
	"errors"
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A pool is quarantined when one of its events contradicts earlier ones: logs are
// missing, duplicated, out of order or false. Its numbers cannot be trusted then.
// Those of all other pools can, so the chain continues without it.
//
// The span with the event is reverted and applied again with the pool in
// quarantine from the start of the span, so its rows stay as they were when they
// were exact. From then on its price, ticks and fees do not change. What follows
// from single events is still kept up to date: the owners of its positions, and
// their ids, ranges and liquidity. A quarantine ends by a Revert to before it, or
// by a resync.

// Quarantined is a pool that a span quarantined, and the event that caused it.
type Quarantined struct {
	Pool market.PoolID
	Why  *Mismatch
}

// QuarantinedPools returns how many pools are quarantined.
func (l *Ledger) QuarantinedPools() int { return l.quarantined }

// blamePool notes the pool that made a span fail with err, for the next run to
// quarantine. It reports false if no other pool can be blamed, or if the span is
// Strict.
func (l *Ledger) blamePool(s *market.Span, err error) (Quarantined, bool) {
	var m *Mismatch
	if s.Strict || !errors.As(err, &m) || m.Pool == (market.PoolID{}) || l.blamed[m.Pool] {
		return Quarantined{}, false
	}

	if l.blamed == nil {
		l.blamed = make(map[market.PoolID]bool)
	}
	l.blamed[m.Pool] = true
	return Quarantined{Pool: m.Pool, Why: m}, true
}

// quarantineBlamed quarantines the blamed pools that exist. Those that the span
// initializes are quarantined by initializePool.
func (l *Ledger) quarantineBlamed() {
	for id := range l.blamed {
		if i, ok := l.poolOf.find(id[:]); ok {
			Pools.edit(l, i).Quarantined = true
			l.quarantined++
		}
	}
}

// undoQuarantines subtracts the quarantines that u ends from their count.
func (l *Ledger) undoQuarantines(u *Undo) {
	saved := Pools.Saved(u)
	for i := range saved {
		if !saved[i].Row.Quarantined && l.st.Pools.At(saved[i].Index).Quarantined {
			l.quarantined--
		}
	}
	for i := u.Rows[Pools.index]; i < l.st.Pools.Len(); i++ {
		if l.st.Pools.At(i).Quarantined {
			l.quarantined--
		}
	}
}

// initializeQuarantined adds a pool with an invalid first event. Values that are
// out of range are clamped, since all readers rely on the ranges.
func (l *Ledger) initializeQuarantined(e *market.Initialize) {
	for _, currency := range []market.Address{e.Currency0, e.Currency1} {
		l.addTokens([]market.TokenMeta{{Address: currency, BadDecimals: true}})
	}

	made := *e
	if made.Fee != market.DynamicFee {
		made.Fee = min(made.Fee, clmath.Pips)
	}
	made.TickSpacing = min(max(made.TickSpacing, 1), maxSpacing)
	if made.SqrtPriceX96.Lt(&clmath.MinSqrtPrice) {
		made.SqrtPriceX96 = clmath.MinSqrtPrice
	}
	if !made.SqrtPriceX96.Lt(&clmath.MaxSqrtPrice) {
		made.SqrtPriceX96.Sub(&clmath.MaxSqrtPrice, &clmath.U256{1})
	}
	made.Tick = clmath.TickAtSqrtPrice(&made.SqrtPriceX96)

	Pools.edit(l, l.addPool(&made)).Quarantined = true
	l.quarantined++
}

// modifyQuarantined updates the liquidity of a position in a quarantined pool.
// Amounts and fees cannot be known, so the change is not in its history.
func (l *Ledger) modifyQuarantined(pool uint32, e *market.ModifyLiquidity) {
	id, ok := tokenID(e.Salt)
	i, found := l.findPosition(id)
	if !ok || !found || e.Sender != l.cfg.PositionManager {
		return
	}

	m := l.takeMove(i)
	row := Positions.edit(l, i)
	if m.kind == moveMint {
		row.Pool = pool
		row.TickLower = min(max(e.TickLower, clmath.MinTick), clmath.MaxTick-1)
		row.TickUpper = max(min(e.TickUpper, clmath.MaxTick), row.TickLower+1)
	}
	if row.Pool != pool {
		return
	}

	wasOpen := row.IsOpen()
	liquidity, wrapped := row.Liquidity().Apply(e.LiquidityDelta)
	switch {
	case wrapped && e.LiquidityDelta.Sign() < 0:
		liquidity = clmath.U128{}
	case wrapped:
		liquidity = clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	}
	if wasOpen || !liquidity.IsZero() {
		row.SetLiquidity(liquidity)
	}
	row.CostUsd = market.Unknown
	row.Timed, row.SecondsInside, row.SecondsClosed = false, 0, 0

	// An open position refers to two ticks, in a quarantined pool too. Its ticks
	// are never cleared, so the references stay valid.
	l.touchDay(pool)
	p := l.st.Pools.At(pool)
	row.LowerSlot = l.tickSlot(pool, p, row.TickLower)
	row.UpperSlot = l.tickSlot(pool, p, row.TickUpper)
	if wasOpen != row.IsOpen() {
		l.countOpen(row)
	} else if !row.IsOpen() && row.ClosedAt == 0 {
		row.ClosedAt = l.clock() // minted without liquidity
		row.SetClose([2]market.ClosePrice{})
	}
}
