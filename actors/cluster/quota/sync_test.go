package quota

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/storage/accounts"
)

// dirty reports whether metering is to look at a cell again.
func (l *Ledger) dirty() bool { return len(l.cfg.Book.Dirty(nil)) > 0 }

// When the servers cease to answer, those that wait for units need not wait any longer;
// when they answer again, what is left is looked at, and may be given back.
func TestServersComeAndGo(t *testing.T) {
	f := func(cutOff bool, s session, renewed bool) {
		t.Helper()
		l, cell := alone(t, 0)
		l.cutOff, s.cell = !cutOff, cell
		l.sessions[cell] = &[2]*session{nil, &s}
		l.setCutOff(cutOff)
		if got := l.dirty(); got != renewed || l.cutOff != cutOff {
			t.Errorf("cut off %t, %+v: its lease is looked at: %t; want %t", cutOff, s, got, renewed)
		}
		l.setCutOff(cutOff)
		if l.dirty() {
			t.Errorf("cut off %t: it is looked at twice", cutOff)
		}
	}

	f(true, session{asks: true}, true)
	f(true, session{allowed: 5}, false)
	f(false, session{asks: true}, false)
	f(false, session{allowed: 5, spent: 4}, true)
	f(false, session{allowed: 5, spent: 5}, false)
}

// What an answer of the servers brings: a lease is spent from then on, or given back if the
// account has fallen idle meanwhile; without one, it asks again later.
func TestAnswersOfTheServers(t *testing.T) {
	f := func(what string, granted int64, had, want session, change func(l *Ledger, r *record)) {
		t.Helper()
		l, cell := alone(t, 0)
		r := empty()
		had.cell, had.month, had.busy = cell, testMonth, true
		r.Nodes["a"] = had.part("mine", granted)
		change(l, r)
		asked, began := had.asked, time.Now()
		l.finish(&had, r, granted)

		if had.syncedAt.Before(began) || (want.size != 0) != !had.grantedAt.IsZero() ||
			had.refusedAt.IsZero() != want.refusedAt.IsZero() || had.queued != (len(l.queue) == 1) {
			t.Errorf("%s: synced at %s, granted at %s, refused at %s", what, had.syncedAt, had.grantedAt, had.refusedAt)
		}
		want.cell, want.month = cell, testMonth
		want.syncedAt, want.grantedAt, want.refusedAt = had.syncedAt, had.grantedAt, had.refusedAt
		if want.size == 0 {
			want.size = had.size
		}
		if had != want {
			t.Errorf("%s: %+v; want %+v", what, had, want)
		}
		if share := cell.Share(testMonth); share == nil || share.Allowance != want.allowed || l.dirty() != asked {
			t.Errorf("%s: the account is told %+v", what, share)
		}
		if n := l.metrics.units.Get(); n != uint64(max(want.allowed-5, 0)) || l.metrics.leases.Get() != min(n, 1) {
			t.Errorf("%s: %d units in %d leases are counted", what, n, l.metrics.leases.Get())
		}
	}
	later := time.Now()
	as := func(*Ledger, *record) {}

	f("a lease", 100, session{asks: true, asked: true, allowed: 5, size: 200, grantedAt: later},
		session{joined: true, allowed: 105, size: 400}, as)
	f("a lease of an account that is idle now", 100, session{asks: true, asked: true, allowed: 5, idle: true, size: 200},
		session{joined: true, allowed: 5, idle: true, changed: true, queued: true}, as)
	f("a lease of one unit", 1, session{asks: true, asked: true, allowed: 5, size: 200, grantedAt: later},
		session{joined: true, allowed: 6, size: 400}, as)
	f("no units", 0, session{asks: true, asked: true, allowed: 5, size: 200},
		session{joined: true, allowed: 5, refusedAt: later}, as)
	f("a report", 0, session{changed: true, allowed: 5, size: 200}, session{joined: true, allowed: 5}, as)
	f("a report, and units were asked for meanwhile", 0, session{changed: true, asks: true, allowed: 5, size: 200},
		session{joined: true, asks: true, allowed: 5, queued: true}, as)
	f("a report after an earlier process", 0, session{changed: true, start: 4, base: 7, allowed: 5},
		session{joined: true, start: 4, base: 7, allowed: 5}, as)
	f("more was billed meanwhile", 0, session{allowed: 5}, session{joined: true, allowed: 5, changed: true, queued: true},
		func(_ *Ledger, r *record) {
			r.Nodes["a"].Routes = map[string][2]int64{accounts.Route(0).Path(): {1, 0}}
		})
	f("less is leased now", 0, session{allowed: 5}, session{joined: true, allowed: 5, changed: true, queued: true},
		func(_ *Ledger, r *record) { r.Nodes["a"].Lease++ })
	f("a record without this node", 0, session{allowed: 5, changed: true}, session{joined: true, allowed: 5},
		func(_ *Ledger, r *record) { clear(r.Nodes) })
	f("another process has the name", 0, session{allowed: 5, changed: true}, session{allowed: 5},
		func(l *Ledger, r *record) { l.ousted, r.Nodes["a"].Lease = true, 77 })
}

// What is in the store of this node is reported when it has changed, and every second.
func TestReportsOfUse(t *testing.T) {
	f := func(what string, had session, tally *accounts.Tally, idle, cutOff bool, want session) {
		t.Helper()
		l, cell := alone(t, 0)
		l.cutOff = cutOff
		had.cell, had.month, want.cell, want.month, want.syncedAt = cell, testMonth, cell, testMonth, had.syncedAt
		want.reported, want.queued = tally.Routes, want.changed
		l.sessions[cell] = &[2]*session{}
		l.sessions[cell][testMonth&1] = &had
		if l.Report(cell, tally, idle); had != want || len(l.queue) == 1 != want.changed || len(l.wake) != len(l.queue) {
			t.Errorf("%s: %+v; want %+v", what, had, want)
		}
	}
	now := time.Now().Add(time.Minute) // no report is due soon
	billed := tallyOf(20, 30)

	f("nothing new", session{reported: billed.Routes, spent: 20, allowed: 50, syncedAt: now}, billed, false, false,
		session{spent: 20, allowed: 50})
	f("more was billed", session{spent: 10, allowed: 50, syncedAt: now}, billed, false, false,
		session{spent: 20, allowed: 50, changed: true})
	f("as much was told before", session{reported: billed.Routes, spent: 25, allowed: 50, syncedAt: now}, billed, false,
		false, session{spent: 25, allowed: 50})
	f("beyond what is allowed", session{reported: billed.Routes, spent: 10, allowed: 15, syncedAt: now}, billed, false,
		false, session{spent: 20, allowed: 20})
	f("a report is due", session{reported: billed.Routes, spent: 20, allowed: 50}, billed, false, false,
		session{spent: 20, allowed: 50, changed: true})
	start := tallyOf(5, 5).Routes
	f("a part was billed before the start", session{start: 9, startCounts: start, reported: billed.Routes, allowed: 50,
		syncedAt: now}, billed, false, false, session{start: 9, startCounts: start, spent: 24, allowed: 50})
	f("it is idle", session{reported: billed.Routes, spent: 20, allowed: 50, asks: true, syncedAt: now}, billed, true,
		false, session{spent: 30, allowed: 30, idle: true, changed: true})
	f("it is idle, with nothing left", session{reported: billed.Routes, spent: 20, allowed: 30, syncedAt: now}, billed,
		true, false, session{spent: 30, allowed: 30, idle: true})
	f("it is idle, and all of its lease was billed since", session{spent: 10, allowed: 30, syncedAt: now}, billed,
		true, false, session{spent: 30, allowed: 30, idle: true, changed: true})
	f("it is idle, with one unit left", session{reported: billed.Routes, spent: 20, allowed: 31, syncedAt: now}, billed,
		true, false, session{spent: 30, allowed: 30, idle: true, changed: true})
	f("it was idle", session{reported: billed.Routes, spent: 20, allowed: 50, idle: true, syncedAt: now}, billed, true,
		false, session{spent: 20, allowed: 50, idle: true})
	synctest.Test(t, func(*testing.T) { // whose time stands still
		f("a report is due now", session{reported: billed.Routes, spent: 20, allowed: 50,
			syncedAt: time.Now().Add(-reportEvery)}, billed, false, false, session{spent: 20, allowed: 50, changed: true})
		f("a report is due soon", session{reported: billed.Routes, spent: 20, allowed: 50,
			syncedAt: time.Now().Add(1 - reportEvery)}, billed, false, false, session{spent: 20, allowed: 50})
	})
	f("it is idle while cut off", session{reported: billed.Routes, spent: 20, allowed: 50, asks: true, syncedAt: now},
		billed, true, true, session{spent: 20, allowed: 50, asks: true})
}

// An account asks for units when few are left, but not again at once when there were none.
func TestAsksForUnits(t *testing.T) {
	f := func(what string, had session, lease int64, asks, waits bool, allowed int64) {
		t.Helper()
		l, cell := alone(t, 0)
		had.cell, had.month, had.idle = cell, testMonth, true
		l.sessions[cell] = &[2]*session{}
		l.sessions[cell][testMonth&1] = &had
		got, does := l.Allow(cell, &accounts.Tally{Month: testMonth, Lease: lease})
		if got != allowed || does != waits || had.asks != asks || had.queued != asks || had.idle || had.spent != lease {
			t.Errorf("%s: %d are allowed, it waits %t: %+v; want %d, %t", what, got, does, had, allowed, waits)
		}
	}
	now := time.Now()

	f("enough is left", session{allowed: 1000, size: 100}, 10, false, false, 1000)
	const least = accounts.MaxUnits
	f("less than a request may take", session{allowed: least + 9, size: 100}, 10, true, true, least+9)
	f("as much as a request may take", session{allowed: least + 10, size: 100}, 10, true, false, least+10)
	f("more was spent than is allowed", session{allowed: 5, size: 100}, 10, true, true, 10)
	f("there were no units just now", session{allowed: 5, size: 100, refusedAt: now}, 5, false, false, 5)
	f("there were none a second ago", session{allowed: 5, size: 100, refusedAt: now.Add(-askAgain)}, 5, true, true, 5)

	l, cell := alone(t, 0)
	l.ousted = true
	l.session(cell, tallyOf(0, 0)).refusedAt = now
	if _, waits := l.Allow(cell, tallyOf(0, 0)); !waits {
		t.Error("a request to a node that is ousted tries again at once")
	}
}

// Each month of an account has a session of its own, which begins with its first use.
func TestSessionsOfMonths(t *testing.T) {
	l, cell := alone(t, 0)
	this := l.session(cell, tallyOf(7, 9))
	want := session{
		cell: cell, month: testMonth, start: 9, allowed: 9, spent: 9, size: 100,
		startCounts: tallyOf(7, 9).Routes, reported: tallyOf(7, 9).Routes,
	}
	if *this != want {
		t.Errorf("it begins with %+v; want %+v", *this, want)
	}

	next, later := tallyOf(0, 0), tallyOf(0, 0)
	next.Month++
	later.Month += 2
	if l.session(cell, tallyOf(8, 9)) != this || l.session(cell, next) == this || l.session(cell, tallyOf(8, 9)) != this {
		t.Error("a month has two sessions")
	}
	after := l.session(cell, later)
	if after == this || after.month != testMonth+2 || l.session(cell, tallyOf(9, 9)) != after {
		t.Errorf("a month that has the place of an earlier one: %+v", after)
	}

	f := func(perSecond, want int64) {
		t.Helper()
		terms := accounts.NewTerms(&accounts.Plan{RequestsPerSecond: perSecond}, false)
		s := &session{cell: accounts.NewCell(1, "x", 0, terms)}
		if s.begin(tallyOf(0, 0)); s.size != want {
			t.Errorf("at %d requests a second the first lease is of %d units; want %d", perSecond, s.size, want)
		}
	}
	f(0, minLease)
	f(minLease+1, minLease+1)
	f(maxLease+1, maxLease)
}

// Leases are asked for at once, and reports that are due get into line. Others wait in the
// queue while there is something to report or to wait for, and what cannot be sent now stays.
func TestQueue(t *testing.T) {
	l, cell := alone(t, 0)
	now := time.Now()
	asks, busy := &session{asks: true, queued: true}, &session{asks: true, busy: true, queued: true}
	waits, done := &session{changed: true, syncedAt: now, queued: true}, &session{queued: true}
	due, inLine := &session{changed: true, queued: true}, &session{changed: true, queued: true, inLine: true}
	for _, s := range []*session{asks, busy, waits, done, due, inLine} {
		s.cell = cell
	}
	l.queue, l.reports = []*session{done, asks, inLine, busy, due, waits}, []*session{inLine}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f := func(left int, queue, reports []*session) {
		t.Helper()
		got := l.startDue(ended, now)
		l.work.Wait()
		if got != left || !reflect.DeepEqual(l.queue, queue) || !reflect.DeepEqual(l.reports, reports) || l.reporters != 0 {
			t.Errorf("%d are left, %d in the queue and %d reports, of %d reporters", got, len(l.queue), len(l.reports),
				l.reporters)
		}
		for _, s := range []*session{asks, busy, waits, done, due, inLine} {
			if s.queued != slices.Contains(queue, s) || s.inLine != slices.Contains(reports, s) || s.busy != (s == busy) {
				t.Errorf("a session is %+v", s)
			}
		}
	}

	f(5, []*session{busy, waits, asks}, []*session{inLine, due})
	if l.enqueue(asks); len(l.queue) != 3 || len(l.wake) != 1 {
		t.Errorf("the queue has %d sessions when one is queued again; want 3", len(l.queue))
	}
	now = now.Add(reportEvery)
	f(5, []*session{busy, asks}, []*session{inLine, due, waits})
}

// A lease waits for no report, however many there are.
func TestLeasesBeforeReports(t *testing.T) {
	l, cell, _ := connected(t, natstest.Start(t, 1, false), "a")
	var all []*session
	for i := range 2*maxReports + 1 {
		c := accounts.NewCell(uint64(100+i), "another", 0, cell.Terms())
		l.Report(c, tallyOf(1, 1), false)
		all = append(all, l.session(c, tallyOf(1, 1)))
	}
	f := func(what string, asks *session, reporters, reports int) {
		t.Helper()
		if asks != nil {
			l.Allow(asks.cell, tallyOf(1, 1))
		}
		l.reporters = reporters
		l.startDue(t.Context(), time.Now())
		l.work.Wait()
		if asks != nil && asks.allowed <= 1 || l.reporters != reporters || len(l.reports) != reports {
			t.Errorf("%s: %+v; %d reports are left; want %d", what, asks, len(l.reports), reports)
		}
	}

	f("while reports are sent", l.session(cell, tallyOf(1, 1)), maxReports, len(all))
	f("for an account whose report waits", all[1], maxReports, len(all))
	f("when reports can be sent", nil, 0, 0)
	for _, s := range all {
		if !s.joined || s.changed || s.busy || s.inLine {
			t.Errorf("account %d is not reported: %+v", s.cell.ID, s)
		}
	}
}

// The units of an outage are told with what was known of the others, whose part of the quota
// they may go beyond.
func TestToldOfAnOutage(t *testing.T) {
	l, cell := alone(t, 0)
	f := func(known *accounts.Share, allowed int64, want accounts.Share) {
		t.Helper()
		if known != nil {
			cell.SetShare(known)
		}
		want.Month = testMonth
		l.tellCutOff(&session{cell: cell, month: testMonth, allowed: allowed})
		if got := cell.Share(testMonth); !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v, %d allowed: told %+v; want %+v", known, allowed, *got, want)
		}
	}

	f(nil, 30, accounts.Share{Allowance: 30})
	f(&accounts.Share{Month: testMonth, Allowance: 5, Elsewhere: 70, Reserved: 3}, 40,
		accounts.Share{Allowance: 40, Elsewhere: 70, Reserved: 3})
	f(&accounts.Share{Month: testMonth, Elsewhere: 9_990}, 20, accounts.Share{Allowance: 20, Elsewhere: 9_980})
	f(&accounts.Share{Month: testMonth, Elsewhere: 9_990}, 10_001, accounts.Share{Allowance: 10_001})
}

// connected is a node's ledger over servers, with an account of its own store.
func connected(t *testing.T, servers *natstest.Servers, name string) (*Ledger, *accounts.Cell, *cluster.Cluster) {
	t.Helper()
	c, err := cluster.Open(t.Context(), cluster.Config{
		Servers: servers.URLs(), Name: name, Insecure: true, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	own, cell := alone(t, 0)
	l, err := Open(t.Context(), c, own.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, cell, c
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The usage that nodes have written is read by all of them, month by month, with what this
// node had before; what is no usage is left out or refused.
func TestUsageOverNATS(t *testing.T) {
	servers := natstest.Start(t, 1, false)
	a, cell, _ := connected(t, servers, "a")
	b, other, closing := connected(t, servers, "b")
	f := func(l *Ledger, c *accounts.Cell, billed, allowed int64) {
		t.Helper()
		tally := tallyOf(billed, billed)
		l.Allow(c, tally)
		l.Report(c, tally, false)
		s := l.session(c, tally)
		l.sync(t.Context(), s)
		if s.allowed != allowed || s.busy || !s.joined || l.cutOff {
			t.Errorf("after %d units: %+v; want %d allowed", billed, *s, allowed)
		}
	}
	left := &record{Limit: 10_000, Nodes: map[string]*part{"a": {Process: "before", Billed: 40, Lease: 60,
		Routes: map[string][2]int64{accounts.Route(0).Path(): {40, 40}}}}}
	if n, err := a.bucket.Create(t.Context(), keyOf(7, testMonth), encode(t, left)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	month := map[string]any{
		keyOf(8, testMonth): empty(), keyOf(7, testMonth-1): left, "x." + testMonth.String(): 5,
	}
	for key, value := range month {
		if _, err := a.bucket.Create(t.Context(), key, encode(t, value)); err != nil {
			t.Fatal(err)
		}
	}

	f(a, cell, 30, 130)
	f(b, other, 0, 100)
	f(b, other, 90, 190)
	list, err := a.Usages(t.Context(), testMonth)
	want := map[uint64]Usage{
		7: {Account: 7, Limit: 10_000, Nodes: map[string]NodeUsage{"a": {40, 160, 60}, "b": {90, 100, 0}}},
		8: {Account: 8, Nodes: map[string]NodeUsage{}},
	}
	got := map[uint64]Usage{}
	for _, u := range list {
		got[u.Account] = u
	}
	if err != nil || len(list) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("the usage is %+v, %v; want %+v", list, err, want)
	}

	elsewhere := func(m accounts.Month, units int64, route int64) {
		t.Helper()
		share, err := a.Elsewhere(7, m)
		if err != nil || share.Month != m || share.Elsewhere != units || share.Routes[0].Units != route {
			t.Errorf("elsewhere in %s: %+v, %v; want %d", m, share, err, units)
		}
	}
	elsewhere(testMonth, 190+70, 90+10)
	elsewhere(testMonth-1, 0, 0)
	elsewhere(testMonth+1, 0, 0)
	elsewhere(testMonth+2, 0, 0)
	a.session(cell, tallyOf(30, 30)).joined = false
	elsewhere(testMonth, 190, 90)

	// At the end of a node what is left is reported.
	ended, end := context.WithCancel(t.Context())
	end()
	a.Report(cell, tallyOf(35, 35), false)
	a.Run(ended)
	if r, _, err := a.read(t.Context(), keyOf(7, testMonth)); err != nil || r.Nodes["a"].Billed != 45 {
		t.Errorf("at the end %+v is reported, %v; want 45 units", r, err)
	}

	if _, err := a.bucket.Create(t.Context(), keyOf(9, testMonth), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Usages(t.Context(), testMonth); err == nil || list != nil ||
		!strings.HasPrefix(err.Error(), "cannot read the usage of all nodes: cannot read a month's usage: ") {
		t.Errorf("a damaged record: %+v, %v", list, err)
	}
	if share, err := a.Elsewhere(9, testMonth); err == nil || share != nil {
		t.Errorf("a damaged record: %+v, %v", share, err)
	}

	// Without servers it tries until it is to end, and says that it is cut off.
	closing.Close()
	if _, err := b.Usages(t.Context(), testMonth); err == nil {
		t.Error("usage is read without servers")
	}
	s := b.session(other, tallyOf(90, 90))
	s.busy = true
	ctx, cancel := context.WithTimeout(t.Context(), outagePause/2)
	defer cancel()
	b.sync(ctx, s)
	if !b.cutOff || s.busy || !s.queued || b.metrics.failures.Get() != 1 || b.metrics.conflicts.Get() != 0 {
		t.Errorf("without servers: cut off %t, %+v, %d failures", b.cutOff, *s, b.metrics.failures.Get())
	}
	if err := b.syncOnce(t.Context(), s); err == nil || errors.Is(err, cluster.ErrOutdated) {
		t.Errorf("without servers: %v", err)
	}
}

// A record that cannot be read is of its account alone: the others get units, and so does it
// once the record is mended.
func TestDamagedRecord(t *testing.T) {
	l, cell, _ := connected(t, natstest.Start(t, 1, false), "a")
	damaged := accounts.NewCell(9, "damaged", 0, cell.Terms())
	revision, err := l.bucket.Create(t.Context(), keyOf(9, testMonth), []byte("{"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c *accounts.Cell, allowed int64, waits bool) {
		t.Helper()
		l.Allow(c, tallyOf(0, 0))
		s := l.session(c, tallyOf(0, 0))
		s.busy = true
		l.sync(t.Context(), s)
		if got, w := l.Allow(c, tallyOf(0, 0)); got != allowed || w != waits || s.busy || s.asks || l.cutOff {
			t.Errorf("%s: %d units, waits %t, cut off %t, %+v; want %d", c.Name, got, w, l.cutOff, *s, allowed)
		}
	}

	ask(damaged, 0, true)
	ask(cell, 100, false)
	l.Report(damaged, tallyOf(3, 3), false)
	s := l.session(damaged, tallyOf(3, 3))
	if l.sync(t.Context(), s); !s.changed || !s.queued {
		t.Errorf("what is to be reported is forgotten: %+v", *s)
	}
	l.Report(damaged, tallyOf(3, 3), true)
	if l.sync(t.Context(), s); s.changed {
		t.Errorf("an idle account asks on: %+v", *s)
	}

	if _, err := l.bucket.Update(t.Context(), keyOf(9, testMonth), encode(t, empty()), revision); err != nil {
		t.Fatal(err)
	}
	s.refusedAt = time.Time{}
	ask(damaged, 100, false)
}

// Servers without room refuse a report. Another node was not first: it is not tried again at once.
func TestServersWithoutRoom(t *testing.T) {
	servers := natstest.Start(t, 1, false)
	l, cell, _ := connected(t, servers, "a")
	if _, err := l.bucket.Create(t.Context(), keyOf(8, testMonth), encode(t, empty())); err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		t.Helper()
		err := servers.All[0].GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{
			"": {MaxMemory: -1, MaxStore: bytes, MaxStreams: -1, MaxConsumers: -1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	limit(1)
	var refused *jetstream.APIError
	err := l.syncOnce(t.Context(), l.session(cell, tallyOf(0, 0)))
	if !errors.As(err, &refused) || errors.Is(err, cluster.ErrOutdated) {
		t.Errorf("without room: %v", err)
	}
	limit(-1)
	if err := l.syncOnce(t.Context(), l.session(cell, tallyOf(0, 0))); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// What is there is not written again, and what cannot be written is not leased.
func TestWhatIsWritten(t *testing.T) {
	l, cell, _ := connected(t, natstest.Start(t, 1, false), "a")
	f := func(what string, revision uint64, allowed int64, fails bool) {
		t.Helper()
		s := l.session(cell, tallyOf(0, 0))
		err := l.syncOnce(t.Context(), s)
		if (err != nil) != fails || errors.Is(err, cluster.ErrOutdated) || s.allowed != allowed || s.joined == fails {
			t.Errorf("%s: %v, %d units are allowed; want %d", what, err, s.allowed, allowed)
		}
		if _, n, err := l.read(t.Context(), keyOf(cell.ID, testMonth)); err != nil || n != revision {
			t.Errorf("%s: change %d, %v; want %d", what, n, err, revision)
		}
	}

	f("a first report", 1, 0, false)
	f("nothing new", 1, 0, false)
	l.Allow(cell, tallyOf(0, 0))
	f("a lease", 2, 100, false)
	f("nothing new again", 2, 100, false)

	// A record older than what was seen is written: a copy is behind, or the stream made anew.
	s := l.session(cell, tallyOf(0, 0))
	s.revision = 9
	f("a stream made anew", 3, 100, false)
	if s.revision != 3 {
		t.Errorf("change %d was seen; want 3", s.revision)
	}

	// With what this node adds, the record is larger than a message may be.
	large := &record{Nodes: map[string]*part{"c": {Process: strings.Repeat("x", 1<<20-300)}}}
	if _, err := l.bucket.Create(t.Context(), keyOf(8, testMonth), encode(t, large)); err != nil {
		t.Fatal(err)
	}
	cell, l.process = accounts.NewCell(8, "large", 0, cell.Terms()), strings.Repeat("y", 500)
	l.Allow(cell, tallyOf(0, 0))
	f("a record that is too large", 4, 0, true)
}
