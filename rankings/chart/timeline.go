package chart

import (
	"unsafe"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Records are what is kept of a pool's past beyond the State.
type Records struct {
	// Ends are the pool's, ascending: those of the range, led by the newest one
	// before it. Intervals in which nothing happened have none.
	Ends []End
	// Opening is the sqrtPriceX96 before the first of Ends; 0 if that has its own.
	Opening float64
	// Quotes of the pool's tokens by the record of the last hour of each interval
	// of the range. Those of the running one are not read.
	Quotes [2][]value.Quote
}

// Timeline is how a pool stood at the end of consecutive intervals, or stands so
// far in the last one, which is the running one.
type Timeline struct {
	st    *market.State
	pool  uint32
	step  Step
	from  uint32 // the range's first interval
	first uint32 // the first that is known of the pool
	ends  []pricedEnd
}

// pricedEnd is the end of one interval: what the pool held and what its tokens were
// worth.
type pricedEnd struct {
	End
	quotes [2]value.Quote
}

// NewTimeline lines up the intervals of a pool from one on to the running one.
func NewTimeline(st *market.State, pool uint32, step Step, from uint32, r *Records) *Timeline {
	now, known := step.Of(st.Now()), step.knownFrom(st)
	t := &Timeline{
		st: st, pool: pool, step: step, from: from, first: from,
		ends: make([]pricedEnd, 0, now-from+1),
	}

	running := step.runningEnd(st, pool)
	kept := step.endsUntil(running.At, st, pool, r.Ends)

	var past End // a copy: the records are not changed, since others may read them
	var at *End
	opening := r.Opening
	for number := from; number <= now; number++ {
		for len(kept) > 0 && kept[0].At <= number {
			past, kept = kept[0], kept[1:]
			at = &past
			opening = at.openAt(opening)
		}
		if running.At == number || at == nil && running.At <= number {
			at = &running
			opening = at.openAt(opening)
		}
		if at == nil || number < known {
			t.first = number + 1
			continue
		}

		n := number - from
		end := pricedEnd{*at, [2]value.Quote{r.Quotes[0][n], r.Quotes[1][n]}}
		end.carryTo(number)
		t.ends = append(t.ends, end)
	}
	t.priceNow()
	return t
}

// openAt sets the price at which an interval opened, unless it has one, and returns
// that of the next. High and low have both within them.
func (e *End) openAt(opening float64) (next float64) {
	next = value.Float(&e.Close)
	if e.Open == 0 {
		e.Open = opening
		if opening == 0 {
			e.Open = e.Low
		}
		e.High, e.Low = max(e.High, e.Open, next), min(e.Low, e.Open, next)
	}
	return next
}

// From returns the first interval of the range that the Timeline was asked for.
func (t *Timeline) From() uint32 { return t.from }

// In returns the Timeline over another copy of its State. With nil it has none until the next
// In. Both share what they were made from.
func (t *Timeline) In(st *market.State) *Timeline {
	in := *t
	in.st = st
	return &in
}

// Bytes returns the memory of the intervals.
func (t *Timeline) Bytes() int { return cap(t.ends) * int(unsafe.Sizeof(pricedEnd{})) }

// priceNow puts the prices of now on the last interval, which is not over.
func (t *Timeline) priceNow() {
	if len(t.ends) == 0 {
		return
	}
	p, end := t.st.Pools.At(t.pool), &t.ends[len(t.ends)-1]
	end.quotes = [2]value.Quote{
		value.QuoteOf(t.st.Prices.At(p.Currency0)), value.QuoteOf(t.st.Prices.At(p.Currency1)),
	}
}
