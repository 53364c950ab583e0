package sim

import "testing"

// Moments ascend, and an agenda begun anywhere goes on as one begun before.
func TestAgenda(t *testing.T) {
	f := func(config Config, blocks uint64) {
		cfg := settings{Config: config}
		t.Helper()
		cfg.setDefaults()
		c := newPlan(cfg).calendar
		var all []event
		a := c.agendaFrom(0)
		for e := a.peek(); e.block < blocks; e = a.peek() {
			if n := len(all); n > 0 && (e.block < all[n-1].block || e.block == all[n-1].block && e.stream < all[n-1].stream) {
				t.Fatalf("%+v stands after %+v", e, all[n-1])
			}
			all = append(all, e)
			a.take(e)
		}

		for i := 0; i < len(all); i += 1 + len(all)/50 {
			a := c.agendaFrom(all[i].block)
			first := i
			for first > 0 && all[first-1].block == all[i].block {
				first--
			}
			if got := a.peek(); got != all[first] {
				t.Errorf("from block %d: %+v; want %+v", all[i].block, got, all[first])
			}
		}
	}

	f(testConfig(1, 60, 12, 20), 200_000)
	f(testConfig(42161, 60, 12, 2), 900_000)
	f(testConfig(43114, 500, 40, 15), 700_000)
}

// The calendar has room for exactly the mints of the history.
func TestMintsAt(t *testing.T) {
	f := func(positions, pools, actions int) {
		t.Helper()
		cfg := settings{Config: testConfig(1, positions, pools, 3)}
		cfg.Actions = actions
		cfg.setDefaults()
		p := newPlan(cfg)
		mints := 0
		for i := range p.total {
			if p.mintsAt(i) {
				mints++
			}
		}

		// Pools are born with positions of their own.
		for i := range p.venues {
			mints += p.venues[i].firstMints()
		}
		if mints != positions {
			t.Errorf("%d positions in %d pools with %d actions: %d mints", positions, pools, actions, mints)
		}
	}

	f(40, 10, 0)
	f(40, 10, 160)
	f(1001, 77, 0)
	f(1001, 77, 4999)
}
