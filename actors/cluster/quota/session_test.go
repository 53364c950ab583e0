package quota

import (
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
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
		got, sent := l.prepare(s, r, false)
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
		granted, _ := l.prepare(s, r, false)
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
	if len(l.queue) != 1 || len(l.wake) != 1 {
		t.Error("units of an outage are not reported")
	}
	f(10, 20)
	f(20, 20)
	if s := l.session(cell, tallyOf(20, 20)); !s.asks || !s.changed {
		t.Error("what was spent in an outage is not reported, or no more is asked for")
	}

	l, cell = alone(t, 20)
	l.setCutOff(true)
	l.session(cell, tallyOf(0, 0)).allowed = accounts.MaxUnits // enough for any request
	for spent, want := range []int64{accounts.MaxUnits, accounts.MaxUnits + 20} {
		if got, _ := l.Allow(cell, tallyOf(int64(spent), int64(spent))); got != want {
			t.Errorf("%d spent of a lease: %d units are allowed; want %d", spent, got, want)
		}
	}

	l, cell = alone(t, 1)
	l.setCutOff(true)
	f(0, 1)

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
// and what was lost is told. A second process of the name takes nothing, but a copy that is
// behind has none.
func TestPartIsContinued(t *testing.T) {
	l, cell := alone(t, 0)
	r := empty()
	r.Nodes["a"] = &part{Process: "before", Billed: 40, Lease: 60, Routes: map[string][2]int64{accounts.Route(0).Path(): {40, 40}}}
	l.Allow(cell, tallyOf(30, 30)) // the store is behind the report
	s := l.session(cell, tallyOf(30, 30))
	granted, sent := l.prepare(s, r, false)
	want := &part{Process: "mine", Billed: 40, Lease: 160, Lost: 60, Routes: map[string][2]int64{accounts.Route(0).Path(): {40, 40}}}
	if got := r.Nodes["a"]; granted != 100 || !sent || !reflect.DeepEqual(got, want) {
		t.Errorf("granted %d, sent %t, %+v; want %+v", granted, sent, got, want)
	}
	l.finish(s, r, granted)
	if share := cell.Share(testMonth); share.Allowance != 130 || share.Elsewhere != 70 || share.Reserved != 60 {
		t.Errorf("the account is told %+v", share)
	}

	behind := empty()
	behind.Nodes["a"] = &part{Process: "before", Billed: 40, Lease: 60}
	if _, sent := l.prepare(s, behind, true); !sent || l.ousted || behind.Nodes["a"].Process != "mine" {
		t.Errorf("a copy that is behind: sent %t, ousted %t, %+v", sent, l.ousted, behind.Nodes["a"])
	}

	r.Nodes["a"].Process = "another"
	if granted, sent := l.prepare(s, r, false); granted != 0 || sent || !l.ousted || r.Nodes["a"].Process != "another" {
		t.Errorf("beside another process of its name: granted %d, sent %t, %+v", granted, sent, r.Nodes["a"])
	}
}

// An account is told what the others have, with what this node had before this process, and
// what of it is lost: never less than nothing.
func TestShares(t *testing.T) {
	r := empty()
	r.Nodes["a"] = &part{Billed: 1000, Lease: 1000, Lost: 1000} // of this node
	r.Nodes["b"] = &part{Billed: 5, Lease: 6, Lost: 2, Routes: map[string][2]int64{accounts.Route(1).Path(): {3, 5}}}
	r.Nodes["c"] = &part{Lease: 4, Lost: 1}
	f := func(s session, elsewhere, reserved int64) {
		t.Helper()
		s.month, s.allowed, s.syncedAt = testMonth, 77, time.Unix(9, 5)
		s.carry[1] = accounts.Count{Requests: 10, Units: 20}
		want := &accounts.Share{
			Month: testMonth, Allowance: 77, At: time.Unix(9, 5), Elsewhere: elsewhere, Reserved: reserved,
		}
		want.Routes[1] = accounts.Count{Requests: 13, Units: 25}
		if got := s.share(r, "a"); !reflect.DeepEqual(got, want) {
			t.Errorf("base %d, start %d, lost %d: told %+v; want %+v", s.base, s.start, s.lost, got, want)
		}
	}

	f(session{}, 15, 3)
	f(session{base: 9, start: 4}, 20, 0)
	f(session{base: 9, start: 4, startCounts: tallyOf(3, 0).Routes, lost: 2}, 20, 4)
	f(session{base: 9, start: 4, startCounts: tallyOf(5, 0).Routes, lost: 2}, 20, 5)
}

// A record is written when this node's part of it is another one, or of another process.
func TestWhatIsSent(t *testing.T) {
	f := func(what string, had *part, asks, sent bool) {
		t.Helper()
		l, cell := alone(t, 0)
		r := empty()
		if had != nil {
			had.Routes = map[string][2]int64{accounts.Route(0).Path(): {had.Billed, had.Billed}}
			r.Nodes["a"] = had
		}
		s := l.session(cell, tallyOf(30, 30))
		s.join(nil)
		s.asks, s.joined = asks, had != nil && had.Process == "mine"
		if granted, send := l.prepare(s, r, false); send != sent || (granted > 0) != asks || s.asked != asks {
			t.Errorf("%s: sent %t, granted %d, asked for %t; want %t", what, send, granted, s.asked, sent)
		}
	}

	f("nothing is there", nil, false, true)
	f("it is there", &part{Process: "mine", Billed: 30}, false, false)
	f("it is there, and a lease is taken", &part{Process: "mine", Billed: 30}, true, true)
	f("an earlier process wrote it", &part{Process: "before", Billed: 30}, false, true)
	f("less was billed", &part{Process: "mine", Billed: 20, Lease: 10}, false, true)
	f("more is leased", &part{Process: "mine", Billed: 30, Lease: 5}, false, true)
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

// A record that no node writes is refused, with the node that it is of.
func TestDecodeRecord(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r, err := decodeRecord([]byte(text))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || r != nil) {
			t.Errorf("%s: %+v, %v; want %q", text, r, err, want)
		}
	}

	f(`{"limit":5,"nodes":{"a":{"process":"p","billed":1,"lease":0,"lost":0}}}`, "")
	f(`{}`, "")
	f(`{`, "cannot read a month's usage: ")
	f(`{"limit":5,"nodes":null}`, "cannot read a month's usage: its nodes are null")
	for _, p := range []string{"null", `{"billed":-1}`, `{"lease":-1}`, `{"lost":-1}`} {
		f(`{"nodes":{"a":`+p+`}}`, "cannot read a month's usage: that of node a is ")
	}
}

// FuzzRecord holds that whatever is read can be continued, and is written as it was read.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"limit":5,"nodes":{"a":{"process":"p","billed":1,"lease":2,"lost":3,"routes":{"/v1/pools":[1,2]}}}}`))
	f.Add([]byte(`{"limit":5,"nodes":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRecord(text)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Errorf("%v is not errDamaged", err)
			}
			return
		}

		r.Nodes["another"] = &part{Process: "mine"}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeRecord(again); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s is read as %+v, %v; want %+v", again, got, err, r)
		}
	})
}

// Counts that go through a record are those of routes that this node knows, and their units
// are the bill.
func TestCountsOfRecords(t *testing.T) {
	var c counts
	c[0], c[2] = accounts.Count{Requests: 3, Units: 5}, accounts.Count{Requests: 1}
	p := &part{Billed: 99}
	p.setCounts(&c)
	if p.Billed != 5 || len(p.Routes) != 2 || p.counts() != c {
		t.Errorf("%+v, read as %v; want %v", p, p.counts(), c)
	}
	p.Routes["/v9/later"] = [2]int64{7, 7}
	if p.counts() != c {
		t.Errorf("a route of a later node counts: %v", p.counts())
	}

	var less counts
	less[0] = accounts.Count{Requests: 1, Units: 9}
	rest := beyond(&c, &less)
	if want := (accounts.Count{Requests: 2}); rest[0] != want || rest[2] != c[2] {
		t.Errorf("beyond %v there are %v", less[0], rest)
	}
	addCounts(&less, &c)
	if want := (accounts.Count{Requests: 4, Units: 14}); less[0] != want || less[2] != c[2] || unitsOf(&less) != 14 {
		t.Errorf("the sums are %v, %d units", less, unitsOf(&less))
	}

	r := &record{Nodes: map[string]*part{"a": {Billed: 1, Lease: 2}, "b": {Billed: 10, Lease: 20}}}
	if r.usedBut("a") != 30 || r.usedBut("b") != 3 || r.usedBut("") != 33 {
		t.Errorf("without a %d, without b %d, in all %d units are used", r.usedBut("a"), r.usedBut("b"), r.usedBut(""))
	}
}

// A session asks for its next lease before the last one is spent, in leases that last about
// a second.
func TestLeasesOfSessions(t *testing.T) {
	now := time.Now()
	low := func(left, size int64, ago time.Duration, want bool) {
		t.Helper()
		s := &session{allowed: 1000 + left, spent: 1000, size: size, grantedAt: now.Add(-ago)}
		if got := s.low(now); got != want {
			t.Errorf("%d of %d units left after %s is little: %t", left, size, ago, got)
		}
	}
	low(minLease/2-1, 100, 0, true)
	low(minLease/2, 100, 0, false)
	low(49, 100, leasePause, true)
	low(50, 100, leasePause, false)
	low(49, 100, leasePause-1, false)

	resize := func(size int64, ago time.Duration, want int64) {
		t.Helper()
		s := &session{size: size}
		if ago > 0 {
			s.grantedAt = now.Add(-ago)
		}
		if s.resize(now); s.size != want || !s.grantedAt.Equal(now) {
			t.Errorf("after %s a lease of %d units is followed by one of %d; want %d", ago, size, s.size, want)
		}
	}
	resize(100, 0, 100)
	resize(100, shortLease-1, 200)
	resize(100, shortLease, 100)
	resize(100, longLease, 100)
	resize(100, longLease+1, 50)
	resize(minLease, longLease+1, minLease)
	resize(maxLease, 1, maxLease)

	due := func(want bool, s session) {
		t.Helper()
		if got := s.reportDue(now); got != want {
			t.Errorf("a report of %+v is due: %t", s, got)
		}
	}
	due(false, session{})
	due(true, session{changed: true, idle: true, syncedAt: now})
	due(false, session{idle: true})
	due(false, session{changed: true, syncedAt: now.Add(-reportEvery + 1)})
	due(true, session{changed: true, syncedAt: now.Add(-reportEvery)})
}

// The last units of a quota go in small leases.
func TestWantedLeases(t *testing.T) {
	f := func(limit, used int64, nodes int, want int64) {
		t.Helper()
		s := &session{asks: true, size: 1000, allowed: 100}
		if got := s.wanted(limit, used, nodes); got != want {
			t.Errorf("%d of %d are used by %d nodes: %d are wanted; want %d", used, limit, nodes, got, want)
		}
		s.idle = true
		if got := s.wanted(limit, used, nodes); got != 0 {
			t.Errorf("an idle account wants %d units", got)
		}
		s.idle, s.asks = false, false
		if got := s.wanted(limit, used, nodes); got != 0 {
			t.Errorf("an account that asks for nothing wants %d units", got)
		}
	}

	f(0, 0, 2, 0) // no quota
	f(0, 50, 2, 0)
	f(100_000, 0, 2, 900)
	f(100_000, 97_000, 2, 750)
	f(100_000, 97_000, 3, 500)
	f(100_000, 99_900, 2, minLease)
	f(100_000, 99_970, 2, 30)
	f(100_000, 100_000, 2, 0)
	f(100_000, 100_001, 2, 0)
}

// What is leased to a node and not spent is the sum over both months of its accounts.
func TestOpenUnits(t *testing.T) {
	l, cell := alone(t, 0)
	_, other := alone(t, 0)
	l.sessions[cell] = &[2]*session{{allowed: 50, spent: 20}, {allowed: 7}}
	l.sessions[other] = &[2]*session{{allowed: 5, spent: 9}, nil}
	if got := l.openUnits(); got != 37 {
		t.Errorf("%d units are open; want 37", got)
	}
}

// The first lease follows the requests a second of the plan, and is no large part of a quota.
func TestFirstLease(t *testing.T) {
	f := func(units, perSecond, want int64) {
		t.Helper()
		terms := accounts.NewTerms(&accounts.Plan{MonthlyUnits: units, RequestsPerSecond: perSecond}, false)
		s := &session{cell: accounts.NewCell(7, "acme", 0, terms), month: testMonth, asks: true}
		s.begin(tallyOf(0, 0))
		if s.size != want {
			t.Errorf("of %d units and %d requests a second the first lease is %d; want %d",
				units, perSecond, s.size, want)
		}
		if s.allowed += s.wanted(units, 0, 1); s.allowed < want || s.low(time.Now().Add(-time.Hour)) {
			t.Errorf("of %d units it has %d, and asks for more", units, s.allowed)
		}
	}

	f(25_000, 5, minLease)
	f(20_000_000, 500, 500)
	f(1_000_000_000, 50_000, maxLease)
	f(3_000, 5_000, minLease)
	f(100_000, 5_000, 1_000)
	f(100_000, 0, minLease)
}
