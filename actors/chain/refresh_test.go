package chain

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Whatever happens in a market, the stats and prices that are published are those of a
// computation from nothing.
func TestStatsAreThoseOfAllPools(t *testing.T) {
	s := newStage(t)
	s.publish()
	for _, wait := range []time.Duration{
		time.Minute, time.Minute, 4 * time.Minute, 30 * time.Minute, time.Hour, 7 * time.Hour, 25 * time.Hour,
	} {
		s.now = s.now.Add(wait)
		s.follow()
		s.refresh()

		st := s.chain.view.State
		for i := range st.Pools.Len() {
			if want := value.Stats(st, i); !sameStats(st.Stats.At(i), &want) {
				t.Errorf("%s later pool %d has the stats %+v; want %+v", wait, i, *st.Stats.At(i), want)
			}
		}
		for i, want := range value.Prices(st, &s.chain.Prices, nil, func() {}) {
			if !samePrice(st.Prices.At(uint32(i)), &want) {
				t.Errorf("%s later token %d has the price %+v; want %+v", wait, i, *st.Prices.At(uint32(i)), want)
			}
		}
	}
}

// When the price of a token moves, the pools with it are valued again, and no others.
func TestPoolsOfMovedPrices(t *testing.T) {
	s := newStage(t)
	s.publish()
	c, st := s.chain, *s.chain.view.State
	if changed := c.solvePrices(&st, nil, func() {}); len(changed) > 0 || slices.Max(c.due) > 0 {
		t.Fatalf("without a change the prices of %v move, and those of pools %v", changed, c.due)
	}

	for token := range st.Tokens.Len() {
		want := *c.prices.At(token)
		c.prices.Mut(token).Usd = want.Usd + 1e9
		if !market.Known(want.Usd) {
			c.prices.Mut(token).Usd = 1e9
		}
		changed := c.solvePrices(&st, nil, func() {})
		if !slices.Equal(changed, []uint32{token}) || !samePrice(st.Prices.At(token), &want) {
			t.Errorf("the price of token %d moved: %v are written, it is %+v; want %+v", token, changed,
				*st.Prices.At(token), want)
		}
		for i := range st.Pools.Len() {
			p := st.Pools.At(i)
			if touched := p.Currency0 == token || p.Currency1 == token; (c.due[i] == duePrices) != touched {
				t.Errorf("the price of token %d moved: %d is due of pool %d; want it: %t", token, c.due[i], i, touched)
			}
		}
		if changed := c.valuePools(&st, func() {}); len(changed) > 0 {
			t.Errorf("the price of token %d moved: the stats of %v are written", token, changed)
		}
	}
}

// A refresh pauses in every loop over rows, at every so many of them.
func TestPauses(t *testing.T) {
	s := newStage(t)
	s.publish()
	c, st := s.chain, *s.chain.view.State
	f := func(what string, want int, do func(pause func())) {
		t.Helper()
		n := 0
		if do(func() { n++ }); n != want {
			t.Errorf("%s: %d pauses; want %d", what, n, want)
		}
	}

	solved := 0
	value.Prices(&st, &c.Prices, nil, func() { solved++ })
	f("the prices, and the loop over tokens", solved+1, func(pause func()) { c.solvePrices(&st, nil, pause) })
	c.prices.Mut(0).Usd++
	f("the loop over pools when one moves", solved+2, func(pause func()) { c.solvePrices(&st, nil, pause) })
	f("the windows stand", 0, func(pause func()) { c.markStale(&st, c.ledger.Changes(), pause) })
	later := st
	later.Head.Time += value.WindowStep
	f("the windows move", 1, func(pause func()) { c.markStale(&later, c.ledger.Changes(), pause) })
}

// What a reorganisation has taken away has no price and no stats, and comes back with new ones.
func TestTakenBackPools(t *testing.T) {
	s := newStage(t)
	s.publish()
	c, st := s.chain, *s.chain.view.State
	pools, tokens := market.Thaw(st.Pools), market.Thaw(st.Tokens)
	pools.Truncate(st.Pools.Len() - 2)
	tokens.Truncate(st.Tokens.Len() - 1)
	less := st
	less.Pools, less.Tokens = pools.Freeze(), tokens.Freeze()

	f := func(what string, st *market.State, prices, stats uint32, stale ...uint32) {
		t.Helper()
		c.markStale(st, c.ledger.Changes(), func() {})
		var got []uint32
		for i, due := range c.due {
			if due == dueHeld {
				got = append(got, uint32(i))
			}
		}
		if c.prices.Len() != prices || c.stats.Len() != stats || !slices.Equal(got, stale) {
			t.Errorf("%s: %d prices, %d stats, to be valued are %v; want %d, %d, %v", what, c.prices.Len(),
				c.stats.Len(), got, prices, stats, stale)
		}
	}

	n, m := st.Pools.Len(), st.Tokens.Len()
	f("as before", &st, m, n)
	f("less", &less, m-1, n-2)
	f("as before again", &st, m-1, n-2, n-2, n-1)
}

// While a chain is too far behind to publish, its commits keep the prices and stats that it
// has: a start goes on from them. What follows from prices is of the pool of now there, until
// the next generation values all pools.
func TestCommitsWhileBehind(t *testing.T) {
	s := newStage(t)
	s.publish()
	was := s.chain.view
	s.now = s.now.Add(time.Hour)
	s.follow()
	head := s.chain.ledger.Head()
	s.chain.status.Syncing = true
	s.refresh()
	if s.chain.view != was || s.chain.Backlog() != 0 {
		t.Errorf("behind, generation %d is published, and %d events wait", s.chain.view.Generation, s.chain.Backlog())
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}

	s.open()
	s.load()
	c, st := s.chain, was.State
	if c.ledger.Head() != head || c.prices.Len() != st.Prices.Len() || c.stats.Len() != st.Stats.Len() {
		t.Fatalf("at %+v there are %d prices and %d stats; want %+v, %d and %d", c.ledger.Head(), c.prices.Len(),
			c.stats.Len(), head, st.Prices.Len(), st.Stats.Len())
	}
	for i := range st.Stats.Len() {
		if !sameMeasured(c.stats.At(i), st.Stats.At(i)) {
			t.Errorf("pool %d has the stats %+v; want %+v", i, *c.stats.At(i), *st.Stats.At(i))
		}
	}
	if !c.everything {
		t.Error("the next generation would not value all pools")
	}
}

// The records of an hour are the prices that are solved at its beginning, with since when
// a token has lost its price or its trust.
func TestRecordsOfAnHour(t *testing.T) {
	s := newStage(t)
	s.publish()
	c := s.chain
	hour := market.HourOf(c.ledger.Head().Time) + 1
	c.Prices.PairUsd, c.Prices.LoneUsd = 1e18, 1e18 // no market is trusted any more
	want, _ := beginHour(new(value.Pricer), c, hour)

	lost := 0
	c.beginHour(hour)
	span := market.Span{
		From: c.ledger.Head().Number + 1, To: c.ledger.Head().Number + 1, Parent: c.ledger.Head().Hash,
		Hash: market.Hash{9}, Time: int64(hour) * market.Hour,
	}
	if _, err := c.ledger.Apply(&span); err != nil {
		t.Fatal(err)
	}
	st := c.ledger.Freeze()
	for i, p := range want {
		record := ledger.HourPriceOf(uint32(i), &p.Price)
		record.PriceLostAt, record.TrustLostAt = p.PriceLostAt, p.TrustLostAt
		if got := ledger.HourRecord(uint32(i), st.Tokens.At(uint32(i))); !sameRecord(got, record) {
			t.Errorf("token %d has the record %+v; want %+v", i, got, record)
		}
		if p.PriceLostAt != p.TrustLostAt {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no token has lost one and kept the other; this is no test")
	}
}

// The metrics of a chain count what it applied, and how long its steps took.
func TestMetrics(t *testing.T) {
	s, writer, follower := newShared(t)
	set, now := metrics.NewSet(), time.Now()
	writer.chain.Metrics = NewMetrics(set, 1)
	follower.chain.Metrics = NewMetrics(set, 2)
	clock := func() time.Time { // a second passes between two looks at it
		now = now.Add(time.Second)
		return now
	}
	f := func(want string) {
		t.Helper()
		var out bytes.Buffer
		set.WritePrometheus(&out)
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is not among\n%s", want, &out)
		}
	}

	writer.follow()
	events := writer.chain.Backlog()
	if err := writer.chain.Refresh(clock, func() {}); err != nil {
		t.Fatal(err)
	}
	cut := s.cuts[0]
	if err := follower.chain.Take(cut.batch, cut.note, cut.place, clock, func() {}); err != nil {
		t.Fatal(err)
	}
	if events == 0 || writer.chain.Waited() != time.Second {
		t.Errorf("%d events wait, it waited %s for the commit", events, writer.chain.Waited())
	}
	if got := writer.chain.Metrics.events.Get(); got != uint64(events) {
		t.Errorf("%d events are counted; want %d", got, events)
	}
	if got := writer.chain.Metrics.spans.Get(); got < 3*24 {
		t.Errorf("%d spans are counted; want one of each hour and more", got)
	}
	f(`tidemark_chain_commit_seconds_sum{chain="1"} 1`)
	f(`tidemark_chain_commit_seconds_count{chain="1"} 1`)
	f(`tidemark_chain_refresh_seconds_sum{chain="1"} 3`)
	f(`tidemark_chain_refresh_seconds_count{chain="1"} 1`)
	f(`tidemark_chain_follow_seconds_sum{chain="2"} 1`)
	f(`tidemark_chain_follow_seconds_count{chain="2"} 1`)
}

// Solving the prices of an hour copies no rows: the ledger writes in place to the rows
// that it has written since the last refresh.
func TestAnHourCopiesNothing(t *testing.T) {
	s := newStage(t)
	s.publish()
	c := s.chain
	tokens := c.ledger.Present().Tokens.Len()
	write := func(hour uint32) (written map[uint32]*market.Token) {
		t.Helper()
		c.beginHour(hour)
		from := c.ledger.Head()
		span := market.Span{
			From: from.Number + 1, To: from.Number + 1, Parent: from.Hash, Hash: market.Hash{byte(hour)},
			Time: int64(hour) * market.Hour,
		}
		if _, err := c.ledger.Apply(&span); err != nil {
			t.Fatal(err)
		}

		written = make(map[uint32]*market.Token)
		for i := range tokens {
			if row := c.ledger.Present().Tokens.At(i); row.HourAt == hour {
				written[i] = row
			}
		}
		return written
	}

	hour := market.HourOf(c.ledger.Head().Time) + 1
	pair, lone := c.Prices.PairUsd, c.Prices.LoneUsd
	c.Prices.PairUsd, c.Prices.LoneUsd = 1e18, 1e18 // no market is trusted any more
	first := write(hour)
	c.Prices.PairUsd, c.Prices.LoneUsd = pair, lone
	both := 0
	for i, row := range write(hour + 1) {
		if first[i] == nil {
			continue
		}
		if both++; first[i] != row {
			t.Errorf("the row of token %d was copied in the second hour", i)
		}
	}
	if both == 0 {
		t.Fatal("no token was written in both hours; this is no test")
	}
}
