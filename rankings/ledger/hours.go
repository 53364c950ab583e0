package ledger

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// keptHours is how far back rolling windows reach. Buckets are freed when the
// day in which they grew older begins, so they live up to a day longer.
const keptHours = 7 * 24

// tally adds the swap in l.replay to its pool's hour, day and minute. The pool's
// day has begun already. Out is the event's amount of the output token.
func (l *Ledger) tally(i uint32, p *market.Pool, out clmath.I128) {
	r := &l.replay
	b := l.bucket(i, p)
	if r.Down {
		saturate(&b.In0, &r.In)
		saturate(&b.Fees0, &r.Fees)
	} else {
		saturate(&b.In1, &r.In)
		saturate(&b.Fees1, &r.Fees)
	}
	volume := l.volumeUsd(p, out)
	fees := 0.0
	if !r.Fees.IsZero() {
		fees = volume * (clmath.Float64(&r.Fees) / clmath.Float64(&r.In))
	}
	b.VolumeUsd += volume
	b.FeesUsd += fees
	b.Close = clmath.Float64(&p.SqrtPriceX96)
	b.Swaps++

	d := Days.edit(l, i)
	d.VolumeUsd += volume
	d.FeesUsd += fees
	d.Swaps++
	if p.SqrtPriceX96.Gt(&d.High) {
		d.High = p.SqrtPriceX96
	}
	if p.SqrtPriceX96.Lt(&d.Low) {
		d.Low = p.SqrtPriceX96
	}
	closeMinute(Minutes.edit(l, i), market.MinuteOf(l.time), b.Close)
}

// volumeUsd values a swap once: by its input, or by its output when the input
// has no price.
func (l *Ledger) volumeUsd(p *market.Pool, out clmath.I128) float64 {
	tokenIn, tokenOut := p.Currency1, p.Currency0
	if l.replay.Down {
		tokenIn, tokenOut = tokenOut, tokenIn
	}
	if usd := l.usd(tokenIn, &l.replay.In); market.Known(usd) {
		return usd
	}
	amount := out.Abs().U256()
	return l.usd(tokenOut, &amount)
}

// saturate adds an amount to a sum that stops at the largest value: a bucket
// of a worthless token may pass 128 bits, and no window needs the difference.
func saturate(sum *clmath.U128, amount *clmath.U256) {
	narrow, fits := clmath.Narrow(amount)
	total, wrapped := sum.Add(narrow)
	if wrapped || !fits {
		total = clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	}
	*sum = total
}

// bucket returns the pool's bucket of the present hour for writing, made when
// this is the hour's first swap; p is the pool's row, open for writing.
func (l *Ledger) bucket(i uint32, p *market.Pool) *market.HourBucket {
	hour := market.HourOf(l.time)
	if p.LastHour != market.NoIndex && l.st.Hours.At(p.LastHour).Hour == hour {
		return Hours.edit(l, p.LastHour)
	}

	b := market.HourBucket{Pool: i, Hour: hour, Prev: p.LastHour}
	slot, ok := l.freeHours.take()
	if ok {
		*Hours.edit(l, slot) = b
	} else {
		slot = Hours.add(l, b)
	}

	p.LastHour = slot
	return Hours.edit(l, slot)
}

// sweepHours frees the buckets that no window of today reaches. Once a day is
// enough, and cheaper than at every hour: old buckets lie scattered, and each
// write to a frozen chunk copies it.
func (l *Ledger) sweepHours() {
	oldest := l.day * 24
	if oldest < keptHours {
		return
	}

	oldest -= keptHours
	for i := range l.st.Pools.Len() {
		// The list runs from the newest back: cut it where the old ones begin.
		newer, slot := uint32(market.NoIndex), l.st.Pools.At(i).LastHour
		for slot != market.NoIndex && l.st.Hours.At(slot).Hour >= oldest {
			newer, slot = slot, l.st.Hours.At(slot).Prev
		}

		if slot == market.NoIndex {
			continue
		}

		if newer == market.NoIndex {
			Pools.edit(l, i).LastHour = market.NoIndex
		} else {
			Hours.edit(l, newer).Prev = market.NoIndex
		}

		l.freeBuckets(slot)
	}
}

// freeBuckets frees a bucket and all older ones of its list.
func (l *Ledger) freeBuckets(slot uint32) {
	for slot != market.NoIndex {
		b := Hours.edit(l, slot)
		prev := b.Prev
		*b = market.HourBucket{Pool: market.NoIndex, Prev: market.NoIndex}
		l.freeHours.put(slot)
		slot = prev
	}
}

// closeMinute sets the close of a minute, which is the ring's newest or a
// later one.
func closeMinute(m *market.Minutes, minute uint32, sqrt float64) {
	if newest := m.Minute[m.Newest]; newest != minute && newest != 0 {
		m.Newest = (m.Newest + 1) % market.MinuteSlots
	}
	m.Minute[m.Newest] = minute
	m.Sqrt[m.Newest] = sqrt
}
