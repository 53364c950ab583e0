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
//
// A series only asks how things stood when an interval ended. So the changes of
// one interval are one, and so are all of them before the series begins. What
// they add to the growth inside is added up.

// History is what the transactions of one position did to it in each interval, oldest
// first.
type History struct {
	position  *market.Position
	step      Step
	from      uint32
	changes   []change
	sum       flows
	liquidity clmath.U128
}

// change is what the transactions of one interval did to a position.
type change struct {
	at     uint32         // number of the interval
	known  bool           // inside is
	gap    bool           // the position had no liquidity before one of them
	after  clmath.U128    // liquidity
	grown  [2]clmath.U256 // fee growth inside since the change before, without a gap
	inside [2]clmath.U256 // fee growth between the position's ticks
	flow   flows
}

// flows are sums of what went in and out.
type flows struct {
	deposited, withdrawn, collected [2]clmath.U256
	gasWei                          clmath.U256
	gasUnknown                      bool
}

// NewHistory returns the history of a position to which nothing was added yet, for a
// series from an interval to another.
func NewHistory(p *market.Position, step Step, from, to uint32) *History {
	most := min(p.Entries, max(to+1, from)-from)
	return &History{position: p, step: step, from: from, changes: make([]change, 0, most)}
}

// HistoryOfMint returns the history of an open position that was minted and not touched
// since: its record has all of it. ok is false for any other position.
func HistoryOfMint(
	st *market.State, p *market.Position, step Step, from, to uint32,
) (h *History, ok bool) {
	if p.Entries != 1 || !p.IsOpen() {
		return nil, false
	}

	h = NewHistory(p, step, from, to)
	sums := st.Sums(p)
	h.changes = append(h.changes, change{
		at: max(from, step.Of(int64(p.MintedAt))), after: p.Liquidity(),
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
	before := h.liquidity
	h.liquidity, _ = before.Apply(t.LiquidityDelta)

	// A transfer changes nothing but gas, and pays out no fees.
	if n := len(h.changes); t.Type == market.Transfer && n > 0 {
		last := &h.changes[n-1].flow
		last.gasWei, last.gasUnknown = h.sum.gasWei, h.sum.gasUnknown
		return
	}

	at := max(h.from, h.step.Of(t.Time))
	if n := len(h.changes); n == 0 || h.changes[n-1].at != at {
		h.changes = append(h.changes, change{at: at})
	}
	last := &h.changes[len(h.changes)-1]
	last.after, last.flow = h.liquidity, h.sum
	if len(h.changes) > 1 {
		last.grow(before, &t.Fees0, &t.Fees1)
	}
}

// grow adds the growth inside that paid these fees to the liquidity before a transaction.
func (c *change) grow(before clmath.U128, fees0, fees1 *clmath.U256) {
	if c.gap = c.gap || before.IsZero(); c.gap {
		return
	}
	for leg, fees := range [2]*clmath.U256{fees0, fees1} {
		growth := clmath.GrowthOf(fees, before)
		c.grown[leg].Add(&c.grown[leg], &growth)
	}
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
		if !after.known || after.gap {
			return
		}
		for leg := range before.inside {
			before.inside[leg].Sub(&after.inside[leg], &after.grown[leg])
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
