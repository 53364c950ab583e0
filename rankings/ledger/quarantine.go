package ledger

import (
	"errors"
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A pool is quarantined when an event of it cannot have happened after those
// that the ledger has seen: logs are missing, doubled, out of order or made up.
// One pool's numbers are then not to be trusted, and all others are as good as
// before, so the chain goes on without it.
//
// The span with the event is taken back and applied again, with the pool in
// quarantine from the span's start; so its last rows are those that were exact.
// From then on nothing moves its price, ticks or fees. What still follows from
// the events alone is kept up to date: who owns its positions, and their ids,
// ranges and liquidity. A quarantine ends only by a Revert to before it, or by
// a resync.

// Quarantined is a pool that a span has quarantined, and the event that did it.
type Quarantined struct {
	Pool market.PoolID
	Why  *Mismatch
}

// QuarantinedPools returns how many pools are quarantined.
func (l *Ledger) QuarantinedPools() int { return l.quarantined }

// condemn decides what a span that failed with err leads to: when a pool is to
// blame, and the span is not Strict, the next run is to quarantine it.
func (l *Ledger) condemn(s *market.Span, err error) (Quarantined, bool) {
	var m *Mismatch
	if s.Strict || !errors.As(err, &m) || m.Pool == (market.PoolID{}) || l.condemned[m.Pool] {
		return Quarantined{}, false
	}
	if l.condemned == nil {
		l.condemned = make(map[market.PoolID]bool)
	}
	l.condemned[m.Pool] = true
	return Quarantined{Pool: m.Pool, Why: m}, true
}

// quarantine marks the condemned pools that there are. The others begin in the
// span, and are marked when they do.
func (l *Ledger) quarantine() {
	for id := range l.condemned {
		if i, ok := l.poolOf[id]; ok {
			Pools.edit(l, i).Quarantined = true
			l.quarantined++
		}
	}
}

// undoQuarantines counts the quarantines that end with what u takes back.
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

// initializeQuarantined adds a pool whose first event already cannot be. What
// of it is out of range is made to fit, since every reader may rely on that.
func (l *Ledger) initializeQuarantined(e *market.Initialize) {
	for _, currency := range []market.Address{e.Currency0, e.Currency1} {
		l.learn([]market.TokenMeta{{Address: currency, BadDecimals: true}})
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

// modifyQuarantined follows the liquidity of a position in a quarantined pool.
// Its amounts and fees cannot be known, so it gets no entry in its history.
func (l *Ledger) modifyQuarantined(pool uint32, e *market.ModifyLiquidity) {
	id, ok := tokenID(e.Salt)
	i, found := l.position(id)
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
	var wrapped bool
	row.Liquidity, wrapped = row.Liquidity.Apply(e.LiquidityDelta)
	switch {
	case wrapped && e.LiquidityDelta.Sign() < 0:
		row.Liquidity = clmath.U128{}
	case wrapped:
		row.Liquidity = clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	}
	row.CostUsd = market.Unknown

	// An open position names two ticks, whatever becomes of its pool. Ticks of a
	// quarantined pool are never cleared, so they stay the position's.
	l.touchDay(pool)
	p := l.st.Pools.At(pool)
	row.LowerSlot = l.tickSlot(pool, p, row.TickLower)
	row.UpperSlot = l.tickSlot(pool, p, row.TickUpper)
	if wasOpen != row.IsOpen() {
		l.countOpen(row)
	} else if !row.IsOpen() && row.ClosedAt == 0 {
		row.ClosedAt = l.time // minted without liquidity
	}
}
