package sim

import "sort"

// stream is one of the sources of what happens. In a block, the streams act in
// this order.
type stream int

const (
	births  stream = iota // pools come into being
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

// calendar says when things happen, as a closed form: the i-th of a stream has
// a slot of time to itself and a hashed moment in it, so that moments ascend
// and any of them is found without the others.
type calendar struct {
	key     uint64
	paceMs  int64 // of blocks
	venues  []venue
	quietMs int64 // where the dense part of the history begins
	endMs   int64 // where the history ends
	quiet   int64 // actions before quietMs
	slow    int64 // beats before quietMs, when they are slow
	ended   int64 // beats before endMs
	rounds  int64 // beats in all
	speed   int64 // of blocks after the history, by the clock's
	turnMs  int64 // of a beat after the history
	lullMs  int64 // after the history, without actions
	total   int64 // actions before endMs
	liveMs  int64 // a slot after the history
}

// denseMs is the part of the history with more life in it: its last week, with
// densePercent of all actions, if that is not most of the history anyway.
const (
	denseMs      = 7 * day * 1000
	densePercent = 45
)

func newCalendar(cfg *settings, venues []venue) calendar {
	c := calendar{
		key: hash(cfg.Seed, 'c', uint64(cfg.Chain)), venues: venues,
		paceMs: cfg.BlockTime.Milliseconds(), endMs: int64(cfg.Days) * day * 1000,
		total: int64(cfg.Actions),
	}
	if c.quietMs = cfg.quietMs(); c.quietMs > 0 {
		c.quiet = c.total * (100 - densePercent) / 100
	}
	if cfg.Crowd.BusyDays > 0 {
		c.quiet, c.slow = c.total*int64(cfg.Crowd.Early)/1000, c.quietMs/slowBeatMs
	}
	c.liveMs = max(1, min(cfg.LivePace.Milliseconds(), (c.endMs-c.quietMs)/(c.total-c.quiet)))
	c.ended, c.rounds = c.slow+(c.endMs-c.slow*slowBeatMs)/beatMs, 1<<40
	c.speed, c.turnMs = 1, beatMs
	switch {
	case cfg.Calm:
		c.rounds, c.liveMs, c.lullMs = c.ended, cfg.calmPaceMs(), CalmLull.Milliseconds()
	case cfg.Brisk:
		c.speed, c.turnMs = BriskSpeed(cfg.Every), briskBeatMs
	}
	return c
}

// moment returns when the i-th of a stream happens, in ms after genesis.
func (c *calendar) moment(s stream, i int64) int64 {
	switch {
	case s == births:
		return c.venues[i].bornMs
	case s == beats:
		from, length := c.beatAt(i)
		return c.within(s, i, from, from+length)
	case i < c.quiet:
		return c.within(s, i, slot(i, c.quiet, 0, c.quietMs), slot(i+1, c.quiet, 0, c.quietMs))
	case i < c.total:
		k, n := i-c.quiet, c.total-c.quiet
		return c.within(s, i, slot(k, n, c.quietMs, c.endMs), slot(k+1, n, c.quietMs, c.endMs))
	}
	from := c.endMs + c.lullMs + c.paceMs + (i-c.total)*c.liveMs // after the history's last block
	return c.within(s, i, from, from+c.liveMs)
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

// slot returns where the i-th of n equal parts of a stretch begins.
func slot(i, n, from, to int64) int64 {
	step := to - from
	return from + step/n*i + step%n*i/n
}

func (c *calendar) within(s stream, i, from, to int64) int64 {
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

// perDay returns how many actions a day has at t seconds.
func (c *calendar) perDay(t int64) float64 {
	switch ms := t * 1000; {
	case ms >= c.endMs:
		return day * 1000 / float64(c.liveMs)
	case ms >= c.quietMs:
		return float64(c.total-c.quiet) * day * 1000 / float64(c.endMs-c.quietMs)
	}
	return float64(c.quiet) * day * 1000 / float64(c.quietMs)
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
		a.next[s] = int64(sort.Search(int(c.bound(s, int64(n))), func(i int) bool {
			return c.moment(s, int64(i))/c.paceMs >= int64(n)
		}))
	}
	return a
}

// bound is a number of entries that the time before block n cannot exceed.
func (c *calendar) bound(s stream, n int64) int64 {
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
