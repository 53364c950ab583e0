package chart

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// How a position stood at the end of a day follows from its transactions up
// to then, from where the pool's price and fee growth ended the day, and from
// the last write, by then, of the fee growth outside its two ticks:
//
//	uncollected = (inside at the day's end - inside at the last change) * L / 2^128
//
// Inside at the newest change stands in the position's record. A change paid
// out the fees since the one before it, so that
//
//	inside at the change before = inside at the change - fees * 2^128 / L
//
// which is right to a raw unit. It says nothing across a time without
// liquidity: of a reopened position, the fees that were uncollected on days
// before it was closed are not known, and what needs them is null.

// History is what the transactions of one position did to it, one after the
// other, oldest first.
type History struct {
	position  *market.Position
	changes   []change
	sum       flows
	liquidity clmath.U128
}

// change is what one transaction did to a position.
type change struct {
	time   int64
	after  clmath.U128    // liquidity
	paid   [2]clmath.U256 // fees
	inside [2]clmath.U256 // fee growth between the position's ticks
	known  bool           // inside is
	flow   flows
}

// flows are sums of what went in and out.
type flows struct {
	deposited, withdrawn, collected [2]clmath.U256
	gasWei                          clmath.U256
	gasUnknown                      bool
}

// NewHistory returns the history of a position to which nothing was added yet.
func NewHistory(p *market.Position) *History {
	return &History{position: p, changes: make([]change, 0, p.Entries)}
}

// HistoryOfMint returns the history of an open position that was minted and not touched
// since: its record has all of it. ok is false for any other position.
func HistoryOfMint(st *market.State, p *market.Position) (h *History, ok bool) {
	if p.Entries != 1 || !p.IsOpen() {
		return nil, false
	}

	h = NewHistory(p)
	sums := st.Sums(p)
	h.changes = append(h.changes, change{
		time: int64(p.MintedAt), after: p.Liquidity(),
		flow: flows{
			deposited: [2]clmath.U256{sums.Deposited0, sums.Deposited1},
			withdrawn: [2]clmath.U256{sums.Withdrawn0, sums.Withdrawn1},
			collected: [2]clmath.U256{sums.Collected0, sums.Collected1},
			gasWei:    p.GasWei.U256(), gasUnknown: p.GasUnknown,
		},
	})
	return h, true
}

// Add takes the next transaction.
func (h *History) Add(t *market.Transaction) {
	h.sum.add(t)
	h.liquidity, _ = h.liquidity.Apply(t.LiquidityDelta)

	// A transfer changes nothing but gas, and ends no interval of fees.
	if n := len(h.changes); t.Type == market.Transfer && n > 0 {
		last := &h.changes[n-1].flow
		last.gasWei, last.gasUnknown = h.sum.gasWei, h.sum.gasUnknown
		return
	}
	h.changes = append(h.changes, change{
		time: t.Time, after: h.liquidity, flow: h.sum,
		paid: [2]clmath.U256{t.Fees0, t.Fees1},
	})
}

func (f *flows) add(t *market.Transaction) {
	amounts := [2]*clmath.U256{&t.Amount0, &t.Amount1}
	fees := [2]*clmath.U256{&t.Fees0, &t.Fees1}
	for leg := range amounts {
		switch t.Type {
		case market.Mint:
			f.deposited[leg].Add(&f.deposited[leg], amounts[leg])
		case market.Burn:
			f.withdrawn[leg].Add(&f.withdrawn[leg], amounts[leg])
		}
		f.collected[leg].Add(&f.collected[leg], fees[leg])
	}

	wei := t.GasWei.U256()
	f.gasWei.Add(&f.gasWei, &wei)
	f.gasUnknown = f.gasUnknown || t.GasUnknown
}

// findInside finds the fee growth inside at every change, from the newest one
// back.
func (h *History) findInside() {
	n := len(h.changes)
	if n == 0 {
		return
	}
	p, newest := h.position, &h.changes[n-1]
	newest.inside = [2]clmath.U256{p.FeeGrowthInside0LastX128, p.FeeGrowthInside1LastX128}
	newest.known = true

	for k := n - 1; k > 0; k-- {
		before, after := &h.changes[k-1], &h.changes[k]
		if !after.known || before.after.IsZero() {
			continue
		}
		for leg := range before.inside {
			growth := clmath.GrowthOf(&after.paid[leg], before.after)
			before.inside[leg].Sub(&after.inside[leg], &growth)
		}
		before.known = true
	}
}

// owedSince is FeesOwed where last may be a raw unit's growth too high.
func owedSince(inside, last *clmath.U256, liquidity clmath.U128) clmath.U256 {
	var grown clmath.U256
	if grown.Sub(inside, last); grown[3] > math.MaxInt64 {
		return clmath.U256{}
	}
	return clmath.FeesOwed(inside, last, liquidity)
}
