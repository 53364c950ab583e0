package sim

import "sort"

// stream is one of the sources of what happens. In a block, the streams act in
// this order.
type stream int

const (
	births  stream = iota // pools are initialised
	beats                 // the core pools' daily round; see rota.go
	actions               // everything else
	streams
)

// beatMs is the pace of the daily round: the turn of each of six core pools
// comes three times a day.
const beatMs = 80 * 60 * 1000

// slowBeatMs is the pace of the daily round before a crowd's busy days, when
// every core pool takes part in each.
const slowBeatMs = 8 * 3600 * 1000

// calendar says when things happen, in closed form: the i-th entry of a stream
// has a slot of time to itself and happens at a hashed moment in it. So moments
// ascend, and each is found without computing the others.
type calendar struct {
	key    uint64
	paceMs int64 // of blocks
	venues []venue
	before []int64 // actions before each day of the history, and before its end
	endMs  int64   // where the history ends
	slow   int64   // beats of the quiet days, when they are slow
	ended  int64   // beats before endMs
	rounds int64   // beats in all
	speed  int64   // of blocks after the history, by the clock's
	turnMs int64   // of a beat after the history
	lullMs int64   // after the history, without actions
	total  int64   // actions before endMs
	liveMs int64   // a slot after the history
	large  uint64  // how many thousandths of live trades are as large as before
}

const dayMs = day * 1000

func newCalendar(cfg *settings, venues []venue) calendar {
	c := calendar{
		key: hash(cfg.Seed, 'c', uint64(cfg.Chain)), venues: venues,
		paceMs: cfg.BlockTime.Milliseconds(), endMs: int64(cfg.Days) * dayMs,
		before: cfg.actionsByDay(), total: int64(cfg.Actions),
	}
	if cfg.Crowd.BusyDays > 0 {
		c.slow = cfg.quietMs() / slowBeatMs
	}

	// Live actions come at least as often as those of the last day did.
	lastDay := c.total - c.before[cfg.Days-1]
	// What is beyond that are small trades, so that volume goes on as it was.
	c.liveMs = max(1, min(cfg.LivePace.Milliseconds(), dayMs/max(lastDay, 1)))
	c.large = uint64(min(lastDay*c.liveMs*1000/dayMs+1, 1000))

	c.ended, c.rounds = c.slow+(c.endMs-c.slow*slowBeatMs)/beatMs, 1<<40
	c.speed, c.turnMs = 1, beatMs
	switch {
	case cfg.Calm:
		c.rounds, c.liveMs, c.lullMs = c.ended, cfg.calmPaceMs(), calmLull.Milliseconds()
	case cfg.Brisk:
		c.speed, c.turnMs = briskSpeed(cfg.Every), briskBeatMs
	}
	return c
}

// Activity grows towards the end of the history, so that its last week is dense
// and yet no day differs much from the day before: evenPercent of the actions
// are spread evenly, the rest so that a day has growthDaily thousandths of what
// the next day has.
const (
	evenPercent = 57
	growthDaily = 865
)

// actionsByDay returns how many actions come before each day of the history,
// and before its end.
func (c *settings) actionsByDay() []int64 {
	if c.Crowd.BusyDays > 0 {
		return c.busyByDay()
	}

	weights, sum := make([]int64, c.Days), int64(0)
	for d, w := c.Days-1, int64(1<<32); d >= 0 && w > 0; d, w = d-1, w*growthDaily/1000 {
		weights[d] = w
		sum += w
	}

	before, passed := make([]int64, c.Days+1), int64(0)
	even := int64(c.Actions) * evenPercent / 100
	growing := float64(int64(c.Actions) - even)
	for d, w := range weights {
		passed += w
		part := float64(passed) / float64(sum)
		before[d+1] = even*int64(d+1)/int64(c.Days) + int64(growing*part)
	}

	// The sum of the rounded parts may be one short.
	before[c.Days] = int64(c.Actions)
	return before
}

// busyByDay is actionsByDay of a crowd with busy days.
func (c *settings) busyByDay() []int64 {
	before := make([]int64, c.Days+1)
	quiet := c.Days - c.Crowd.BusyDays
	early := int64(c.Actions) * int64(c.Crowd.Early) / 1000
	for d := range before {
		before[d] = early * int64(min(d, quiet)) / int64(quiet)
		if d > quiet {
			before[d] += (int64(c.Actions) - early) * int64(d-quiet) / int64(c.Crowd.BusyDays)
		}
	}
	return before
}

// moment returns when the i-th of a stream happens, in ms after genesis.
func (c *calendar) moment(s stream, i int64) int64 {
	switch {
	case s == births:
		return c.venues[i].bornMs
	case s == beats:
		from, length := c.beatAt(i)
		return c.momentWithin(s, i, from, from+length)
	case i < c.total:
		d := int64(sort.Search(len(c.before), func(d int) bool { return c.before[d] > i })) - 1
		k, n := i-c.before[d], c.before[d+1]-c.before[d]
		from := d * dayMs
		return c.momentWithin(s, i, slotStart(k, n, from, from+dayMs), slotStart(k+1, n, from, from+dayMs))
	}

	from := c.endMs + c.lullMs + c.paceMs + (i-c.total)*c.liveMs // after the history's last block
	return c.momentWithin(s, i, from, from+c.liveMs)
}

// beatAt returns the slot of a beat.
func (c *calendar) beatAt(i int64) (from, length int64) {
	if i < c.slow {
		return i * slowBeatMs, slowBeatMs
	}
	from = c.slow*slowBeatMs + (min(i, c.ended)-c.slow)*beatMs
	if i < c.ended {
		return from, beatMs
	}
	return from + (i-c.ended)*c.turnMs, c.turnMs
}

// slotStart returns where the i-th of n equal parts of a stretch begins.
func slotStart(i, n, from, to int64) int64 {
	step := to - from
	return from + step/n*i + step%n*i/n
}

func (c *calendar) momentWithin(s stream, i, from, to int64) int64 {
	if to <= from {
		return from
	}
	return from + int64(hash(c.key, uint64(s), uint64(i))%uint64(to-from))
}

// length returns how many a stream has.
func (c *calendar) length(s stream) int64 {
	switch s {
	case births:
		return int64(len(c.venues))
	case beats:
		return c.rounds
	}
	return 1 << 40
}

// perDay returns how many actions a day has at t seconds, live ones without
// those that are small trades.
func (c *calendar) perDay(t int64) float64 {
	if t*1000 >= c.endMs {
		return dayMs / float64(c.liveMs) * float64(c.large) / 1000
	}
	d := t / day
	return float64(c.before[d+1] - c.before[d])
}

// agenda walks what happens from a block on, in order.
type agenda struct {
	*calendar
	next [streams]int64
}

// agendaFrom returns the agenda that begins with block n, counted from genesis.
func (c *calendar) agendaFrom(n uint64) agenda {
	a := agenda{calendar: c}
	for s := range streams {
		a.next[s] = int64(sort.Search(int(c.upperBound(s, int64(n))), func(i int) bool {
			return c.moment(s, int64(i))/c.paceMs >= int64(n)
		}))
	}
	return a
}

// upperBound is a number of entries that the time before block n cannot exceed.
func (c *calendar) upperBound(s stream, n int64) int64 {
	switch s {
	case births:
		return c.length(births)
	case beats:
		return n*c.paceMs/min(beatMs, c.turnMs) + 2 // slow ones are fewer
	}
	return c.total + n*c.paceMs/c.liveMs + 2
}

// event is an entry of the agenda.
type event struct {
	stream
	index int64
	block uint64 // counted from genesis
	t     int64  // seconds after genesis, of the block
}

// peek returns the next entry without taking it.
func (a *agenda) peek() event {
	first := event{block: 1 << 63}
	for s := range streams {
		if a.next[s] >= a.length(s) {
			continue
		}
		if block := uint64(a.moment(s, a.next[s]) / a.paceMs); block < first.block {
			first = event{stream: s, index: a.next[s], block: block}
		}
	}
	first.t = int64(first.block) * a.paceMs / 1000
	return first
}

// take goes past an entry that peek returned.
func (a *agenda) take(e event) { a.next[e.stream]++ }
