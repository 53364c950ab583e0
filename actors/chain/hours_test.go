package chain

import (
	"slices"
	"testing"
	"time"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// TestHoursOfACatchUp follows a market of 45 days to its head. The store has the hours
// of the days that it keeps, each to the day's close, and of the days before at most the last.
func TestHoursOfACatchUp(t *testing.T) {
	// The second feed says that the head is of the next year.
	for _, ahead := range []int64{0, 365 * market.Day} {
		s := newLongStage(t, 45)
		s.load()
		for more := true; more; {
			step, err := s.feed.Next(t.Context(), s.chain.Cursor())
			if err != nil {
				t.Fatal(err)
			}
			step.Head.Time += ahead
			if err := s.chain.Advance(step, s.now); err != nil {
				t.Fatal(err)
			}
			more = s.chain.ledger.Head().Number < step.Head.Number
		}
		s.refresh()

		anchors := s.chain.ledger.Anchors()
		checkHours(t, s.store, s.chain.ledger.Freeze(), anchors[len(anchors)-1].Time)
	}
}

// checkHours checks the stored hours of every pool against its days. The ledger can go back to
// a block of the time undoable.
func checkHours(t *testing.T, store *storage.Store, st *market.State, undoable int64) {
	t.Helper()
	today, first, before := market.DayOf(st.Head.Time), storage.FirstKeptDay(st.Head.Time, undoable), 0

	for pool := range st.Pools.Len() {
		it := store.PoolDays(1, pool, 0, today-1, storage.OldestFirst)
		for it.Next() {
			d := it.Entry()
			hours, err := store.PoolHours(1, pool, d.Day, d.Day)
			switch {
			case err != nil:
				t.Fatal(err)
			case d.Day < first:
				before++
				if len(hours) > 1 { // the last one is in the day
					t.Errorf("pool %d has %d hours on day %d; %d is the first", pool, len(hours), d.Day, first)
				}
			case len(hours) == 0 || hours[len(hours)-1].Close != d.Close:
				t.Errorf("pool %d has %d hours on day %d; want some to its close", pool, len(hours), d.Day)
			}
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		it.Close()
	}

	if before < 100 {
		t.Errorf("only %d days are too old for hours; this is no test", before)
	}
}

// beginHour returns the prices, by token, and the pools with which an hour begins on a chain.
func beginHour(
	k *value.Pricer, c *Chain, hour uint32,
) (prices []value.HourPrice, pools []market.HeldPool) {
	pools = k.BeginHour(c.ledger.Present(), &c.Prices, nil, hour, func(_ uint32, p value.HourPrice) {
		prices = append(prices, p)
	})
	return prices, pools
}

// What a chain keeps of its pools between hours is that of a chain which keeps nothing, at
// every span, also after spans were taken back.
func TestKeptOfPools(t *testing.T) {
	s := newStage(t)
	s.load()
	s.chain.Prices.LoneSwaps, s.chain.Prices.LoneAge = 3, market.Hour
	compared, reverts := 0, 0
	compare := func() {
		t.Helper()
		c := s.chain
		hour := market.HourOf(c.ledger.Head().Time) + 1
		got, gotPools := beginHour(&c.pricer, c, hour)
		want, wantPools := beginHour(new(value.Pricer), c, hour)
		compared++
		if !slices.Equal(gotPools, wantPools) {
			t.Fatalf("at %+v the pools are %+v; want %+v", c.ledger.Head(), gotPools, wantPools)
		}
		for i := range want {
			a, b := got[i], want[i]
			if !samePrice(&a.Price, &b.Price) || a.PriceLostAt != b.PriceLostAt || a.TrustLostAt != b.TrustLostAt {
				t.Fatalf("at %+v token %d is %+v; want %+v", c.ledger.Head(), i, a, b)
			}
		}
	}

	for round := range 40 {
		for {
			step, err := s.feed.Next(t.Context(), s.chain.Cursor())
			if err != nil {
				t.Fatal(err)
			}
			if step.RevertTo != nil {
				reverts++
			}
			if err := s.chain.Advance(step, s.now); err != nil {
				t.Fatal(err)
			}
			compare()
			if s.chain.ledger.Head().Number == step.Head.Number {
				break
			}
		}
		if round%3 == 2 {
			if err := s.feed.Reorg(150); err != nil {
				t.Fatal(err)
			}
		}
		s.now = s.now.Add(20 * time.Minute)
	}
	if reverts < 5 || compared < 50 {
		t.Errorf("%d spans with %d reverts are no test", compared, reverts)
	}
}
