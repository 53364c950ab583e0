package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestRandomMarketsAddUp holds what is answered of random markets, with reorganisations, to
// what follows from their events in plain floating point: without ticks, growth counters or
// buckets, in one pass over all that happened.
func TestRandomMarketsAddUp(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { replayRandomMarket(t, seed) })
	}
}

func replayRandomMarket(t *testing.T, seed uint64) {
	s := newStage(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, line := range []string{"token A 18", "token USD 18", "stables USD", "set market-age 0",
		"set lone-age 0", "set lone-swaps 0", "set lone-holder 0"} {
		s.line(&script.Line{Text: line, Words: strings.Fields(line)})
	}

	m := &replay{s: s, usd: map[int64]float64{}}
	m.happen("pool P A USD 3000 60 @1")
	m.happen("direct zed P -12000 12000 1e24") // the way out of everybody else's claims
	m.happen("mint 1 alice P -6000 9000 1e23")
	m.happen("mint 2 bob P -120 180 1e23")
	s.ask = s.serve()

	next := 3
	for round := range 40 {
		head := s.at.chain.Cursor().State.Head.Number
		for range r.IntN(12) {
			m.act(r, &next)
		}
		if r.IntN(4) == 0 {
			m.takeBack(max(4, head-min(head, r.Uint64N(5)))) // the first four make the pool
		}
		m.happen(fmt.Sprintf("wait +%d", r.IntN(7200)))

		// The running hour has no flows, as its record is in no chart yet.
		hours := 1 + r.Int64N(1+int64(round%7)*10)
		s.at.market.Time = (s.at.market.Time/3600+hours)*3600 + r.Int64N(3600)
		m.happen("block")
		s.where = fmt.Sprintf("round %d", round)
		m.check()
	}
	if days := (m.now - script.Start) / 86400; days <= 30 || m.estimates < 3 {
		t.Errorf("%d days, %d estimates", days, m.estimates)
	}
}

// replay is what happened in a pool of a token against a stable, and what is computed of it.
type replay struct {
	s      *stage
	events []happening
	usd    map[int64]float64 // of the token, by the record of an hour, as the charts show it

	estimates int // that were compared

	now       int64
	root      float64 // of the pool's price
	tick      int32
	positions []*holding
	hours     map[int64][2]float64 // volume and fees by hour
	closes    []happening          // every price, oldest first
}

type happening struct {
	block uint64
	time  int64
	event market.Event
	root  float64
}

// holding is a position, or what an estimate is asked of.
type holding struct {
	id            uint64
	lower, upper  int32
	liquidity     float64
	since, inside int64
	owed          [2]float64 // raw
	earned        []payment
	cost          float64
}

// payment is a fee that a holding earned, in raw units.
type payment struct {
	time int64
	side int
	raw  float64
}

func (m *replay) happen(line string) {
	c := m.s.at.chain
	span, err := m.s.at.market.Span(c.Cursor().State, line)
	m.s.must(err)
	now := time.Now()
	m.s.must(c.Advance(feed.Step{Span: span, Head: span.Head(), SpanConfirmed: now}, now))
	m.s.fresh = false
	for i := range span.Blocks {
		for _, log := range span.Blocks[i].Logs {
			m.events = append(m.events, happening{block: span.To, time: span.Time, event: log.Event})
		}
	}
}

func (m *replay) takeBack(to uint64) {
	m.s.takeBack(to)
	m.events = slices.DeleteFunc(m.events, func(h happening) bool { return h.block > to })
	m.happen("wait +1")
}

// act lets something happen that the pool, as it stands, allows.
func (m *replay) act(r *rand.Rand, next *int) {
	m.compute()
	var open []*holding
	for _, p := range m.positions {
		if p.liquidity > 0 && p.id > 2 {
			open = append(open, p)
		}
	}

	m.s.at.market.Time += r.Int64N(1800)
	switch what := r.IntN(10); {
	case what < 2:
		lower := -600 + 60*r.IntN(20)
		m.happen(fmt.Sprintf("mint %d carol P %d %d %de18", *next, lower, lower+60*(1+r.IntN(8)), 1+r.IntN(400_000)))
		*next++
	case what == 2 && len(open) > 0:
		m.happen(fmt.Sprintf("remove %d %s", open[r.IntN(len(open))].id, []string{"all", "1e18"}[r.IntN(2)]))
	case what == 3:
		m.happen(fmt.Sprintf("collect %d", 1+r.IntN(2)))
	case what == 4:
		m.happen(fmt.Sprintf("push P @%g", 0.96+0.1*r.Float64()))
	case m.root < 1:
		m.happen(fmt.Sprintf("sell1 P %de18", 1+r.IntN(9000)))
	default:
		m.happen(fmt.Sprintf("sell0 P %de18", 1+r.IntN(9000)))
	}
}

// compute goes through all that happened.
func (m *replay) compute() {
	m.positions, m.closes, m.hours = nil, nil, map[int64][2]float64{}
	at := int64(0)
	m.now = m.s.at.chain.Cursor().State.Head.Time
	for _, h := range append(slices.Clone(m.events), happening{time: m.now}) {
		for _, p := range m.positions {
			if p.liquidity > 0 && p.lower <= m.tick && m.tick < p.upper {
				p.inside += h.time - at
			}
		}
		at = h.time

		switch e := h.event.(type) {
		case market.Initialize:
			m.root, m.tick = rootOf(&e.SqrtPriceX96), e.Tick
		case market.ModifyLiquidity:
			m.modify(h.time, &e)
		case market.Swap:
			m.swap(h.time, &e)
			m.root, m.tick = rootOf(&e.SqrtPriceX96), e.Tick
		default:
			continue
		}
		m.closes = append(m.closes, happening{time: h.time, root: m.root})
	}
}

func rootOf(sqrt *clmath.U256) float64 { return clmath.Float64(sqrt) / math.Ldexp(1, 96) }

func rootAt(tick int32) float64 { return math.Pow(1.0001, float64(tick)/2) }

// price is what the token was worth in the hour of a time; NaN without a record.
func (m *replay) price(unix int64) float64 {
	if usd, ok := m.usd[unix/3600]; ok {
		return usd
	}
	return math.NaN()
}

func (m *replay) modify(now int64, e *market.ModifyLiquidity) {
	id := uint64(e.Salt[31]) | uint64(e.Salt[30])<<8
	i := slices.IndexFunc(m.positions, func(p *holding) bool { return p.id == id })
	if i < 0 {
		i = len(m.positions)
		m.positions = append(m.positions, &holding{id: id, lower: e.TickLower, upper: e.TickUpper, since: now})
	}

	p := m.positions[i]
	amount := e.LiquidityDelta.Abs().U256()
	delta := clmath.Float64(&amount) * float64(e.LiquidityDelta.Sign())
	a0, a1 := p.amounts(delta, m.root)
	p.cost += m.worth(p.owed[0]-a0, m.price(now)) + (p.owed[1]-a1)/1e18
	p.owed, p.liquidity = [2]float64{}, p.liquidity+delta
	if math.Abs(p.liquidity) < 1e10 {
		p.liquidity = 0 // but for rounding
	}
}

// worth is what raw units of the token are worth; none need no price.
func (m *replay) worth(raw, usd float64) float64 {
	if raw == 0 {
		return 0
	}
	return raw / 1e18 * usd
}

// amounts is what a liquidity over the range holds at a price.
func (p *holding) amounts(liquidity, root float64) (a0, a1 float64) {
	lower, upper := rootAt(p.lower), rootAt(p.upper)
	root = min(max(root, lower), upper)
	return liquidity * (1/root - 1/upper), liquidity * (root - lower)
}

// swap pays its fee to the positions, range by range.
func (m *replay) swap(now int64, e *market.Swap) {
	from, to := m.root, rootOf(&e.SqrtPriceX96)
	side, paid := 0, e.Amount0
	if to > from {
		side, paid = 1, e.Amount1
	}
	raw := paid.Abs().U256()
	input := clmath.Float64(&raw)
	left, fee := input, float64(e.Fee)/1e6

	stops := []float64{to}
	for _, p := range m.positions {
		for _, stop := range []float64{rootAt(p.lower), rootAt(p.upper)} {
			if p.liquidity > 0 && stop > min(from, to) && stop < max(from, to) {
				stops = append(stops, stop)
			}
		}
	}
	slices.Sort(stops)
	if to < from {
		slices.Reverse(stops)
	}

	for n, stop := range stops {
		liquidity, middle := 0.0, (from+stop)/2
		inside := func(p *holding) bool { return rootAt(p.lower) <= middle && middle < rootAt(p.upper) }
		for _, p := range m.positions {
			if inside(p) {
				liquidity += p.liquidity
			}
		}
		in := liquidity * math.Abs(stop-from)
		if side == 0 {
			in = liquidity * math.Abs(1/stop-1/from)
		}
		part := in / (1 - fee)
		if n == len(stops)-1 {
			part = left
		}
		for _, p := range m.positions {
			if inside(p) && liquidity > 0 {
				raw := part * fee * (p.liquidity / liquidity)
				p.owed[side] += raw
				p.earned = append(p.earned, payment{now, side, raw})
			}
		}
		left, from = left-part, stop
	}

	usd := input / 1e18
	if side == 0 {
		usd = input / 1e18 * m.price(now)
		if math.IsNaN(usd) { // the output's
			out := e.Amount1.Abs().U256()
			usd = clmath.Float64(&out) / 1e18
		}
	}
	h := m.hours[now/3600]
	m.hours[now/3600] = [2]float64{h[0] + usd, h[1] + usd*fee}
}
