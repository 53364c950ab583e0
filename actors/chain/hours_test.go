package chain

import (
	"testing"

	"tidemark/rankings/market"
	"tidemark/storage"
)

// TestHoursOfACatchUp follows a market of 45 days to its head. The store has the hours
// of the days that it keeps, each to the day's close, and none of the days before.
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

		checkHours(t, s.store, s.chain.ledger.Freeze())
	}
}

// checkHours checks the stored hours of every pool against its days.
func checkHours(t *testing.T, store *storage.Store, st *market.State) {
	t.Helper()
	today, first, before := market.DayOf(st.Head.Time), storage.FirstKeptDay(st.Head.Time), 0

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
				if len(hours) > 0 {
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
