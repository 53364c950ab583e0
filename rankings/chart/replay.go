package chart

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// ReplayRecords are what is kept of a pool's past beyond the State, for a replay of it.
type ReplayRecords struct {
	Begin End // as the pool stood when the replay begins
	// Days and Hours are the ends of those in which something happened, ascending: Days
	// before HourlyFrom, and Hours from that day on. Others are passed over.
	Days, Hours []End
}

// CreatedEnd returns how a pool stood when it was created, by its first day.
func CreatedEnd(d *market.PoolDay) End {
	return End{Close: d.Open, Tick: clmath.TickAtSqrtPrice(&d.Open)}
}

// hourlyDays is for how many days, with today, a replay goes by hours. The store keeps
// them for two more.
const hourlyDays = 30

// HourlyFrom returns the first day of which a replay has the hours.
func HourlyFrom(st *market.State) uint32 {
	known := uint64(Hourly.knownFrom(st))
	firstWhole := uint32((known + market.HoursOfDay - 1) / market.HoursOfDay)
	return max(firstWhole, market.DayOf(st.Now())-(hourlyDays-1))
}

// Replay is a pool's history from a time until now: how it stood at first, and the
// days and hours in which something happened, oldest first.
type Replay struct {
	st       *market.State
	pool     uint32
	from     int64
	begin    End
	passages []passage
	daily    bool // some of them are days
}

// passage is an interval in which something happened, and how the pool stood at its
// end.
type passage struct {
	from, to int64
	End
	path
	growth [2]float64 // of the fees of both tokens
}

// NewReplay lines up the history of a pool from a time on.
func NewReplay(st *market.State, pool uint32, from int64, kept *ReplayRecords) *Replay {
	r := &Replay{st: st, pool: pool, from: from, begin: kept.Begin}
	last, hourly := &r.begin, HourlyFrom(st)
	add := func(step Step, e *End) {
		start, end := step.Start(e.At), step.Start(e.At+1)
		p := passage{from: max(start, from), to: min(end, st.Now()), End: *e}
		p.follow(last)
		r.passages = append(r.passages, p)
		r.daily = r.daily || step == Daily
		last = e
	}

	// The store may be ahead of the State, whose newest interval is its own.
	today, step := market.DayOf(st.Now()), Daily
	if today >= hourly {
		step = Hourly
	}
	running := step.runningEnd(st, pool)
	for i := range kept.Days {
		if e := &kept.Days[i]; e.At < min(hourly, today) {
			add(Daily, e)
		}
	}
	if step == Hourly {
		hours := Hourly.endsUntil(running.At, st, pool, kept.Hours)
		for i := range hours {
			if e := &hours[i]; e.At >= hourly*market.HoursOfDay {
				add(Hourly, e)
			}
		}
	}
	if running.At == step.Of(st.Now()) {
		add(step, &running)
	}
	return r
}

// follow completes a passage by how the pool stood before it.
func (p *passage) follow(before *End) {
	p.open, p.close = value.Float(&before.Close), value.Float(&p.Close)
	p.high, p.low = max(p.High, p.open, p.close), min(p.Low, p.open, p.close)

	var grown clmath.U256
	p.growth[0] = value.Float(grown.Sub(&p.FeeGrowthGlobal0X128, &before.FeeGrowthGlobal0X128))
	p.growth[1] = value.Float(grown.Sub(&p.FeeGrowthGlobal1X128, &before.FeeGrowthGlobal1X128))
}

// below is what happened while a pool's tick was below another one.
type below struct {
	growth               [2]float64 // of the fees of both tokens
	summed               [2]float64 // the same, added up over the passages
	seconds              float64
	splitFees, splitTime bool // a part of them was split by the way of the price

	exact bool // grown is the growth to the last bit
	grown [2]clmath.U256
}

// below adds up what happened below a tick.
func (r *Replay) below(tick int32, kept *KeptTick) (b below) {
	root := clmath.SqrtPriceAtTick(tick)
	level := value.Float(&root)
	last, clock := &r.begin, r.from

	for i := range r.passages {
		p := &r.passages[i]
		if last.Tick < tick {
			b.seconds += float64(p.from - clock)
		}
		b.add(p, p.below(tick, level))
		b.splitTime = b.splitTime || p.turnsAt(level)
		last, clock = &p.End, p.to
	}
	if last.Tick < tick {
		b.seconds += float64(r.st.Now() - clock)
	}

	b.summed = b.growth
	if kept.Known {
		b.exact, b.splitFees, b.grown = true, false, r.grownBelow(tick, kept)
		b.growth = [2]float64{value.Float(&b.grown[0]), value.Float(&b.grown[1])}
	}
	return b
}

// add adds the parts of a passage that were below a tick.
func (b *below) add(p *passage, part shares) {
	b.growth[0] += part.falling * p.growth[0]
	b.growth[1] += part.rising * p.growth[1]
	b.seconds += part.time * float64(p.to-p.from)
	if !part.wholly() {
		b.splitTime = true
		b.splitFees = b.splitFees || p.growth != [2]float64{}
	}
}

// turnsAt reports whether the way of the price begins, ends or turns at a level, which it does
// not pass. Nothing tells how long it stood there, nor on which side the tick was then.
func (p *passage) turnsAt(level float64) bool {
	return p.high > p.low && (level == p.high || level == p.low)
}

// below returns which parts of a passage happened below a tick, whose square root of
// the price is level.
func (p *passage) below(tick int32, level float64) shares {
	switch {
	case p.high > p.low:
		return p.path.below(level)
	case p.Tick < tick:
		return shares{1, 1, 1}
	}
	return shares{}
}
