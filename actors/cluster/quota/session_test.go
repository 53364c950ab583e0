package quota

import (
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster"
	"tidemark/storage/accounts"
)

const testMonth = accounts.Month(2026*12 + 10)

// alone is a ledger whose servers are never asked, and an account with a quota.
func alone(t *testing.T, onOutage int64) (*Ledger, *accounts.Cell) {
	t.Helper()
	now := time.Now().UnixNano()
	set := metrics.NewSet()
	terms := accounts.NewTerms(&accounts.Plan{MonthlyUnits: 10_000, RequestsPerSecond: 100, Burst: 100}, false)

	return &Ledger{
		cfg: Config{
			Book:     accounts.NewBook(accounts.NewTurner(now, 0).Step(now, now)),
			OnOutage: onOutage, Metrics: set, Log: slog.New(slog.DiscardHandler),
		},
		bucket: &cluster.Bucket{Node: "a"}, process: "mine", wake: make(chan struct{}, 1),
		sessions: map[*accounts.Cell]*[2]*session{},
		metrics:  ledgerMetrics{set.NewCounter("l"), set.NewCounter("u"), set.NewCounter("c"), set.NewCounter("f")},
	}, accounts.NewCell(7, "acme", 0, terms)
}

// tallyOf is what a store has of an account: units billed, and leased in all.
func tallyOf(billed, lease int64) *accounts.Tally {
	t := &accounts.Tally{Month: testMonth, Lease: lease}
	t.Routes[0] = accounts.Count{Requests: billed, Units: billed}
	return t
}

// empty is the record of an account that nobody has used.
func empty() *record { return &record{Nodes: map[string]*part{}} }

// What is written of a node follows what it is billed, and nothing is written that the
// record has.
func TestWhatIsReported(t *testing.T) {
	l, cell := alone(t, 0)
	r := empty()
	f := func(what string, granted int64, send bool, billed, leased int64) {
		t.Helper()
		s := l.session(cell, tallyOf(0, 0))
		got, sent := l.prepare(s, r)
		p := r.Nodes["a"]
		if got != granted || sent != send || p.Billed != billed || p.Lease != leased || p.Process != "mine" {
			t.Errorf("%s: granted %d, sent %t, %+v; want %d, %t, billed %d, leased %d",
				what, got, sent, p, granted, send, billed, leased)
		}
		l.finish(s, r, got)
	}

	if allowed, waits := l.Allow(cell, tallyOf(0, 0)); allowed != 0 || !waits {
		t.Errorf("at first %d units are allowed, it waits %t", allowed, waits)
	}
	f("the first lease", 100, true, 0, 100)
	if allowed, waits := l.Allow(cell, tallyOf(0, 0)); allowed != 100 || waits {
		t.Errorf("with a lease %d units are allowed, it waits %t", allowed, waits)
	}
	f("nothing new", 0, false, 0, 100)

	// Units of the lease are billed: what counts against the quota stays the same.
	l.Report(cell, tallyOf(30, 30), false)
	f("some are billed", 0, true, 30, 70)
	f("nothing new", 0, false, 30, 70)

	// Requests without units are reported too.
	free := tallyOf(30, 30)
	free.Routes[1].Requests = 4
	l.Report(cell, free, false)
	f("requests without units", 0, true, 30, 70)

	// An account that has fallen idle gives the rest back.
	l.Report(cell, free, true)
	f("it is idle", 0, true, 30, 0)
	if share := cell.Share(testMonth); share == nil || share.Allowance != 30 {
		t.Errorf("the account is told %+v; want an allowance of 30", share)
	}
}

// A quota is never leased twice: what others have billed or leased is gone, and the last
// units come in small leases.
func TestWhatIsGranted(t *testing.T) {
	f := func(others part, size, want int64) {
		t.Helper()
		l, cell := alone(t, 0)
		r := empty()
		r.Nodes["b"] = &others
		l.Allow(cell, tallyOf(0, 0))
		s := l.session(cell, tallyOf(0, 0))
		s.size = size
		granted, _ := l.prepare(s, r)
		if granted != want || r.Limit != 10_000 || r.usedBut("") != others.used()+want {
			t.Errorf("beside %+v: %d units are granted, %d of %d are used; want %d", others, granted, r.usedBut(""), r.Limit, want)
		}
		l.finish(s, r, granted)
		if asked := s.refusedAt.IsZero(); asked != (want > 0) {
			t.Errorf("beside %+v: it may ask again at once: %t", others, asked)
		}
		if share := cell.Share(testMonth); share.Elsewhere != others.used() || share.Allowance != want {
			t.Errorf("beside %+v: the account is told %+v", others, share)
		}
	}

	f(part{Billed: 0}, 1000, 1000)
	f(part{Billed: 5000, Lease: 3000}, 1000, 500)
	f(part{Billed: 9000, Lease: 900}, 1000, 50)
	f(part{Billed: 9000, Lease: 970}, 1000, 30)
	f(part{Billed: 9000, Lease: 1000}, 1000, 0)
	f(part{Billed: 9000, Lease: 2000}, 1000, 0)
}

// While the servers cannot be asked an account may spend so many units beyond its lease,
// once in a month, and none if the setting is 0; then it asks, to have units at once when
// they can be asked again.
func TestUnitsOfAnOutage(t *testing.T) {
	l, cell := alone(t, 20)
	l.setCutOff(true)
	f := func(spent, allowed int64) {
		t.Helper()
		got, waits := l.Allow(cell, tallyOf(spent, spent))
		if got != allowed || waits {
			t.Errorf("after %d units %d are allowed; want %d", spent, got, allowed)
		}
		if share := cell.Share(testMonth); share == nil || share.Allowance != allowed {
			t.Errorf("after %d units the account is told %+v; want %d", spent, share, allowed)
		}
	}
	f(0, 20)
	f(10, 20)
	f(20, 20)
	if s := l.session(cell, tallyOf(20, 20)); !s.asks || !s.changed {
		t.Error("what was spent in an outage is not reported, or no more is asked for")
	}

	l, cell = alone(t, 0)
	l.setCutOff(true)
	if got, waits := l.Allow(cell, tallyOf(0, 0)); got != 0 || waits || cell.Share(testMonth) != nil {
		t.Errorf("without the setting %d units are allowed, it waits %t, told %+v", got, waits, cell.Share(testMonth))
	}
	if s := l.session(cell, tallyOf(0, 0)); !s.asks {
		t.Error("without the setting nothing is asked for")
	}
}

// A node that starts continues its own part: what an earlier process had leased stays used,
// and what was lost is told. A second process of the name takes nothing.
func TestPartIsContinued(t *testing.T) {
	l, cell := alone(t, 0)
	r := empty()
	r.Nodes["a"] = &part{Process: "before", Billed: 40, Lease: 60, Routes: map[string][2]int64{accounts.Route(0).Path(): {40, 40}}}
	l.Allow(cell, tallyOf(30, 30)) // the store is behind the report
	s := l.session(cell, tallyOf(30, 30))
	granted, sent := l.prepare(s, r)
	want := &part{Process: "mine", Billed: 40, Lease: 160, Lost: 60, Routes: map[string][2]int64{accounts.Route(0).Path(): {40, 40}}}
	if got := r.Nodes["a"]; granted != 100 || !sent || !reflect.DeepEqual(got, want) {
		t.Errorf("granted %d, sent %t, %+v; want %+v", granted, sent, got, want)
	}
	l.finish(s, r, granted)
	if share := cell.Share(testMonth); share.Allowance != 130 || share.Elsewhere != 70 || share.Reserved != 60 {
		t.Errorf("the account is told %+v", share)
	}

	r.Nodes["a"].Process = "another"
	if granted, sent := l.prepare(s, r); granted != 0 || sent || !l.ousted || r.Nodes["a"].Process != "another" {
		t.Errorf("beside another process of its name: granted %d, sent %t, %+v", granted, sent, r.Nodes["a"])
	}
}

// The usage of an account lists what each node has billed, leased and lost.
func TestUsageOf(t *testing.T) {
	r := &record{Limit: 9, Nodes: map[string]*part{
		"a": {Billed: 1, Lease: 2, Lost: 3}, "b": {Billed: 4, Lease: 5},
	}}
	want := Usage{Account: 7, Limit: 9, Nodes: map[string]NodeUsage{"a": {1, 2, 3}, "b": {4, 5, 0}}}
	if got := usageOf(7, r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v; want %+v", got, want)
	}
}
