package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// still is a feed that asks nobody, with a clock that only the test moves.
func still(t *testing.T) (f *Feed, now *time.Time) {
	t.Helper()
	now = new(time.Time)
	*now = time.Unix(1_800_000_000, 0)

	f, err := New(Config{
		Chain: 1, Endpoints: []EndpointConfig{{URL: "http://127.0.0.1:1"}},
		PoolManager: manager, PositionManager: positions,
		Clock: endpoint.Clock{
			Now:   func() time.Time { return *now },
			Sleep: func(context.Context, time.Duration) error { return nil },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, now
}

// Progress counts from where catching up began; a speed is that of a window of a second
// and more, and a later window weighs a fifth.
func TestSpeeds(t *testing.T) {
	f, now := still(t)
	step := func(to, head uint64, events int, wait time.Duration) *feed.Progress {
		*now = now.Add(wait)
		f.m.events.Add(events)
		s := &market.Span{From: to - 99, To: to, Blocks: []market.Block{{Logs: make([]market.Log, events)}}}
		out := feed.Step{Span: s, Head: market.Head{Number: head}}
		f.addProgress(&out)
		return out.Progress
	}
	want := func(what string, p *feed.Progress, at, events uint64, perSec float64, eta time.Duration) {
		t.Helper()
		if p == nil || p.From != 101 || p.To != 10_000 || p.At != at || p.Events != events ||
			p.EventsPerSecond != perSec || p.ETA != eta {
			t.Errorf("%s: %+v; want %d events until block %d, %g a second, %s left",
				what, p, events, at, perSec, eta)
		}
	}

	f.m.events.Add(7) // before it began
	want("the first", step(200, 10_000, 50, 0), 200, 50, 0, 0)
	want("within a window", step(300, 10_000, 50, 999*time.Millisecond), 300, 100, 0, 0)
	want("after a window", step(400, 10_000, 100, time.Second+time.Millisecond), 400, 200, 75, 96*time.Second)
	want("within the next", step(500, 10_000, 10, time.Second/2), 500, 210, 75, 95*time.Second)
	want("after the next", step(600, 10_000, 40, time.Second/2), 600, 250, 70, 9400*time.Second/120)

	if p := step(9_936, 10_000, 0, time.Second); p == nil || p.From != 101 {
		t.Errorf("just behind: %+v", p)
	}
	if p := step(9_937, 10_000, 0, time.Second); p != nil {
		t.Errorf("at the head: %+v", p)
	}
	f.m.events.Add(1000)
	if p := step(200, 10_000, 5, time.Second); p == nil || p.Events != 5 || p.EventsPerSecond != 0 {
		t.Errorf("behind once more: %+v; want it to begin anew", p)
	}
}

// While a feed catches up, a line every ten seconds says so.
func TestProgressLines(t *testing.T) {
	f, now := still(t)
	var log strings.Builder
	f.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	for i := range uint64(32) {
		s := &market.Span{From: 100*i + 1, To: 100*i + 100}
		f.addProgress(&feed.Step{Span: s, Head: market.Head{Number: 100_000}})
		*now = now.Add(time.Second)
	}

	if n := strings.Count(log.String(), "catching up"); n != 4 {
		t.Errorf("%d lines in 31 seconds; want 4:\n%s", n, log.String())
	}
	for _, done := range []string{`block=200 head=100000 done="0.2 %"`, `block=1200 head=100000 done="1.2 %"`} {
		if !strings.Contains(log.String(), done) {
			t.Errorf("no %s in\n%s", done, log.String())
		}
	}
}

// Fallbacks serve every role, after those that were made for it.
func TestFallbacksServe(t *testing.T) {
	f := new(Feed)
	f.cfg = Config{}.withDefaults()
	for _, s := range []*source{{fallback: true}, {live: true}, {backfill: true}, {backfill: true, live: true}} {
		e, err := endpoint.New(endpoint.Config{Name: fmt.Sprint(len(f.sources)), URL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		s.Endpoint = e
		f.sources = append(f.sources, s)
	}

	for role, want := range map[Role]string{Backfill: "230", Live: "130"} {
		got := ""
		for _, s := range f.sourcesFor(role) {
			got += s.Name
		}
		if got != want {
			t.Errorf("for %s the sources are %s; want %s", role, got, want)
		}
	}
}

// What says nothing against a node lets it not rest.
func TestPassing(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if got := isPassing(err); got != want {
			t.Errorf("%v: %v; want %v", err, got, want)
		}
	}

	f(absentError("block 7"), true)
	f(movedError("block 7"), true)
	f(fmt.Errorf("asked: %w", context.Canceled), true)
	f(context.DeadlineExceeded, false)
	f(&endpoint.Error{Kind: endpoint.ServerError}, false)
}

// A plan has every block once, in order, whatever is taken and split.
func TestPlanHasEveryBlock(t *testing.T) {
	p := newPlan(10)
	take := func(size, end, from, to uint64) *piece {
		t.Helper()
		q := p.take(size, end)
		if q == nil || q.from != from || q.to != to {
			t.Fatalf("took %+v; want blocks %d to %d", q, from, to)
		}
		q.state = isRead
		return q
	}
	pieces := func(want ...uint64) {
		t.Helper()
		var got []uint64
		for _, q := range p.pieces {
			got = append(got, q.from, q.to)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pieces %v; want %v", got, want)
		}
	}

	first := take(100, 1000, 10, 109)
	take(100, 1000, 110, 209)
	p.split(first, 49) // only that much was answered
	pieces(10, 49, 50, 109, 110, 209)
	take(20, 1000, 50, 69) // what is left of it comes before new blocks, in a smaller size
	pieces(10, 49, 50, 69, 70, 109, 110, 209)
	take(40, 1000, 70, 109)
	take(100, 250, 210, 250)
	if q := p.take(100, 250); q != nil {
		t.Errorf("after the end: %+v", q)
	}

	p.drop()
	if q := p.first(); q.from != 50 {
		t.Errorf("the first is %+v", q)
	}
	take(1, 251, 251, 251)
}

// A piece whose logs were read is not cut.
func TestReadPiecesAreNotCut(t *testing.T) {
	p := newPlan(1)
	q := p.take(100, 100)
	q.read = new(rangeRead)
	if again := p.take(10, 100); again != q || q.to != 100 || len(p.pieces) != 1 {
		t.Errorf("blocks %d to %d of %d pieces", again.from, again.to, len(p.pieces))
	}
}

// Times of logs lie within those of their range, and never fall.
func TestTimesFit(t *testing.T) {
	f := func(before, last int64, times []int64, want bool) {
		t.Helper()
		var blocks []rawBlock
		for _, at := range times {
			blocks = append(blocks, rawBlock{Block: market.Block{Time: max(at, 0)}, dated: at >= 0})
		}
		if got := timesFit(blocks, before, last); got != want {
			t.Errorf("%d < %v < %d: %v; want %v", before, times, last, got, want)
		}
	}

	f(10, 20, nil, true)
	f(10, 20, []int64{10, 10, 15, 20}, true)
	f(10, 20, []int64{9}, false)
	f(10, 20, []int64{21}, false)
	f(10, 20, []int64{12, 11}, false)
	f(10, 20, []int64{12, -1, 12}, true)
	f(10, 20, []int64{12, -1, 11}, false)
	f(0, 20, []int64{0}, false)
}

// Three dated blocks of a range are compared, or by turns one of them.
func TestSamples(t *testing.T) {
	f := func(dated string, one bool, turn uint64, want ...int) {
		t.Helper()
		var blocks []rawBlock
		for _, c := range dated {
			blocks = append(blocks, rawBlock{dated: c == 'x'})
		}
		if got := sampleDated(blocks, one, turn); !slices.Equal(got, want) {
			t.Errorf("%q, one %v, turn %d: %v; want %v", dated, one, turn, got, want)
		}
	}

	f("", false, 0)
	f("---", true, 5)
	f("-x-", false, 0, 1)
	f("xx-x", false, 0, 0, 1, 3)
	f("xxxx", false, 0, 0, 2, 3)
	f("-xxxxx-", false, 9, 1, 3, 5)
	f("-x-x", true, 0, 1)
	f("-x-x", true, 1, 3)
	f("-x-x", true, 2, 1)
}

// The lowest head is that of the last minutes: a window and the one before it.
func TestLowestHead(t *testing.T) {
	var l lowest
	at := time.Unix(1_800_000_000, 0)
	f := func(wait time.Duration, head, want uint64) {
		t.Helper()
		at = at.Add(wait)
		l.saw(head, at)
		if got := l.get(); got != want {
			t.Errorf("after head %d: %d; want %d", head, got, want)
		}
	}

	if l.get() != 0 {
		t.Errorf("before any: %d", l.get())
	}
	f(0, 100, 100)
	f(time.Second, 90, 90)
	f(time.Second, 110, 90)
	f(lowestWindow, 120, 90) // a window begins; the one before counts
	f(lowestWindow, 130, 90)
	f(time.Second, 140, 120)
	f(lowestWindow+time.Second, 150, 140)
}

// A head that falls and comes back shows backends that lag; one that only rises, or
// falls for good, does not.
func TestLaggingBackends(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := func(want bool, heads ...uint64) {
		t.Helper()
		s := new(source)
		for _, h := range heads {
			s.sawHead(h, now)
		}
		if s.fellBack(now.Add(laggardKept-1)) != want || s.fellBack(now.Add(laggardKept)) {
			t.Errorf("heads %v: it fell back: %v; want %v, and not for ever", heads, !want, want)
		}
	}

	f(false, 10, 11, 12)
	f(false, 10, 8, 9)
	f(true, 10, 8, 10)
	f(true, 10, 8, 7, 12)
	f(false, 10, 10)
}

// Where a range turned out to lack events, the ledger goes back to the newest anchor
// before it, whose hash is known or which is the start.
func TestRecoverMissed(t *testing.T) {
	hashed := func(n uint64) market.Head { return market.Head{Number: n, Hash: market.Hash{byte(n)}} }
	f := func(want int, singly uint64, anchors ...market.Head) {
		t.Helper()
		f, _ := still(t)
		r := &reading{from: 50, to: 60, source: f.sources[0]}
		f.recheck = []reading{*r}
		got := f.recoverMissed(r, 9, anchors)
		if got != want || f.singlyBelow != singly {
			t.Errorf("anchors %v: number %d, one by one below %d; want %d and %d",
				fmt.Sprint(anchors), got, f.singlyBelow, want, singly)
		}
		if n := f.m.missed.Get(); n != 1 {
			t.Errorf("%d short answers are counted", n)
		}
	}

	f(2, 61, hashed(70), hashed(50), hashed(49), hashed(40))
	f(0, 61, hashed(49), hashed(40))
	f(2, 61, hashed(70), market.Head{Number: 45}, hashed(40))
	f(1, 61, hashed(70), market.Head{Number: 9})
	f(0, 0, hashed(70), hashed(55))
}

// Headers of a subscription are kept once each, and followed while they are fresh, of a
// fast chain, and reach back to the ledger's head.
func TestShownHeads(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	header := func(n uint64, seconds int64) *wireHeader {
		number, at := quantity(n), quantity(seconds)
		bloom := hexBytes(make([]byte, bloomLen))
		bloom[7] = 1
		return &wireHeader{
			Number: &number, Time: &at, Hash: word{byte(n), 31: 1}, Parent: word{byte(n - 1), 31: 1}, Bloom: &bloom,
		}
	}
	shown := func(last uint64, perSecond float64) *shownHeads {
		s := new(shownHeads)
		for n := uint64(1); n <= last; n++ {
			s.add(header(n, int64(float64(n)/perSecond)), now)
		}
		return s
	}
	f := func(what string, s *shownHeads, at byte, later time.Duration, want int) {
		t.Helper()
		walk, seen, ok := s.after(market.Head{Hash: market.Hash{at, 31: 1}}, now.Add(later))
		if ok != (want >= 0) || ok && (len(walk) != want || !seen.Equal(now)) {
			t.Errorf("%s: %d headers, %v; want %d", what, len(walk), ok, want)
		}
	}

	fast := shown(16, 4)
	f("the last is the ledger's", fast, 16, 0, 0)
	f("ten follow", fast, 6, shownFresh, 10)
	f("the parent of the first", fast, 0, 0, 16)
	f("one that was not shown", fast, 200, 0, -1)
	f("nothing came for long", fast, 6, shownFresh+1, -1)
	f("too few", shown(15, 4), 6, 0, -1)
	f("a slow chain", shown(16, 1), 6, 0, -1)
	f("15 headers in 10 s", shown(31, 1.5), 6, 0, 25)

	for _, h := range fast.list {
		clear(*h.Bloom)
	}
	blank := new(shownHeads)
	for _, h := range fast.list {
		blank.add(h, now)
	}
	f("no header has a bloom filter", blank, 6, 0, -1)

	again := new(shownHeads)
	for i := range 2 {
		again.add(header(1, 1), now.Add(time.Duration(i)*time.Second))
	}
	if len(again.list) != 1 || !again.at.Equal(now) {
		t.Errorf("a header that came twice is kept %d times and makes the heads of %s newer", len(again.list), now)
	}
}

// A head that was shown confirms nothing once it is older than allowed.
func TestShownAge(t *testing.T) {
	feed, now := still(t)
	f := func(limit, age time.Duration, confirms bool) {
		t.Helper()
		feed.cfg.MaxHeadAge = limit
		if got := feed.shownAt(*now, now.Add(-age).Unix()); got.IsZero() == confirms || confirms && !got.Equal(*now) {
			t.Errorf("%s old, limit %s: %s; want it to confirm: %v", age, limit, got, confirms)
		}
	}

	f(0, time.Hour, true)
	f(time.Minute, time.Second, true)
	f(time.Minute, time.Minute, true)
	f(time.Minute, time.Minute+time.Second, false)
}

// readRangeOf reads a range from a node.
func (l *follower) readRangeOf(from, to uint64) *rangeRead {
	l.t.Helper()
	read, err := l.f.askRange(l.t.Context(), l.f.sources[0], from, to)
	if err != nil {
		l.t.Fatal(err)
	}
	return read
}

// The times of logs are compared with three headers of a range, after eight ranges with
// one. A node that cannot be asked is an error, except where there is nothing to date.
func TestDatedRanges(t *testing.T) {
	c := busy(200)
	n := newNode(t, c)
	l := follow(t, nil, n)
	dated := func(r *rangeRead) bool {
		for _, b := range r.blocks {
			if b.Time != c.blocks[b.Number].time {
				return false
			}
		}
		return true
	}

	for i := range 2 * goodEnough {
		r := l.readRangeOf(1, 60)
		before := n.calls["eth_getBlockByNumber"]
		if err := l.f.dateBlocks(t.Context(), r); err != nil || !dated(r) {
			t.Fatalf("range %d: %v", i, err)
		}
		want := 3
		if i >= goodEnough {
			want = 1
		}
		if got := n.calls["eth_getBlockByNumber"] - before; got != want {
			t.Errorf("range %d: %d headers were read; want %d", i, got, want)
		}
	}

	full, empty := l.readRangeOf(1, 60), l.readRangeOf(2, 5)
	n.status = http.StatusBadGateway
	if err := l.f.dateBlocks(t.Context(), full); err == nil {
		t.Error("a node that fails dated a range")
	}
	if err := l.f.dateBlocks(t.Context(), empty); err != nil || len(empty.blocks) != 0 {
		t.Errorf("a range without logs: %v", err)
	}

	// Times that are wrong once are never taken from logs again.
	n.status = 0
	l = follow(t, nil, n)
	r := l.readRangeOf(1, 60)
	for i := range r.blocks {
		r.blocks[i].Time++
	}
	if err := l.f.dateBlocks(t.Context(), r); err != nil || !dated(r) || !l.f.sources[0].wrongTimes.Load() ||
		strings.Count(l.log.String(), "dates logs otherwise") != 1 || l.f.sources[0].goodTimes.Load() != 0 {
		t.Errorf("wrong times: %v; the log has\n%s", err, &l.log)
	}
}

// Blocks that were taken from logs alone are read again together with those shortly
// after them, but not with those that come after the first reading.
func TestGatheredReadings(t *testing.T) {
	c := newChain(1)
	for range 30 {
		c.mine(swapped(1))
	}
	l := follow(t, nil, newNode(t, c))
	gather := func(from, to uint64, readings int, lastTo uint64) {
		t.Helper()
		r := l.readRangeOf(from, to)
		l.f.gatherReading(from, to, r.blocks)
		if last := l.f.recheck[len(l.f.recheck)-1]; len(l.f.recheck) != readings || last.to != lastTo {
			t.Errorf("%d readings, the last up to %d; want %d, up to %d", len(l.f.recheck), last.to, readings, lastTo)
		}
	}
	again := func(want bool) {
		t.Helper()
		l.clock.advance(firstAgain)
		if on := l.f.readAgain(t.Context(), l.anchors()); on != 0 || l.f.recheck[0].last != want {
			t.Errorf("anchor %d, read again %v; want 0, %v", on, l.f.recheck[0].last, want)
		}
	}

	gather(1, 1, 1, 1)
	l.clock.advance(firstAgain / 2)
	gather(2, 2, 1, 2)
	if due := l.f.recheck[0].due.Sub(l.clock.read()); due != firstAgain {
		t.Errorf("what was gathered is read again in %s; want %s", due, firstAgain)
	}
	again(true)
	gather(3, 3, 2, 3)
	if r := l.f.recheck[0]; r.from != 1 || r.to != 2 || r.open {
		t.Errorf("the reading became %+v", r)
	}
}

// A source that shows the newest anchor it can have contradicts a head on another fork;
// one that agrees only further back does not.
func TestContradictions(t *testing.T) {
	c := newChain(20)
	first, second := newNode(t, newChain(30)), newNode(t, c)
	l := follow(t, nil, first, second)
	at := func(n uint64, hash market.Hash) market.Head { return market.Head{Number: n, Hash: hash} }
	f := func(want bool, newest market.Hash) {
		t.Helper()
		l.f.sources[1].head.Store(19)
		head := &observedHead{source: l.f.sources[0]}
		anchors := []market.Head{at(25, market.Hash{25}), {Number: 20}, at(19, newest), at(10, c.blocks[10].hash)}
		if got := l.f.findContradiction(t.Context(), head, anchors); (got == l.f.sources[1]) != want {
			t.Errorf("anchor 19 is %s: %v; want a contradiction: %v", newest, got, want)
		}
	}

	f(true, c.blocks[19].hash)
	f(false, market.Hash{1})

	// Without an anchor on the chain the error says why: the head is below all of them, or
	// contradicts a source, whose name and blocks it has.
	number := quantity(5)
	head := &observedHead{source: l.f.sources[0]}
	head.Number = &number
	anchors := []market.Head{at(25, market.Hash{25}), at(19, c.blocks[19].hash)}
	for replaced, want := range map[bool]string{
		false: "the head is 5, below every anchor of a ledger at 25",
		true:  l.f.sources[0].Name + ": its chain has none of the blocks 19 to 25 that " + l.f.sources[1].Name + " still shows",
	} {
		if err := l.f.noAnchor(t.Context(), head, anchors, replaced); err == nil || err.Error() != want {
			t.Errorf("replaced %t: %v; want %s", replaced, err, want)
		} else if moved := endpoint.KindOf(err) == endpoint.Inconsistent; moved != replaced {
			t.Errorf("replaced %t: the error is %q", replaced, endpoint.KindOf(err))
		}
	}
	l.f.sources[1].Failed(endpoint.AsError(errors.New("broken")), 0)
	f(false, c.blocks[19].hash) // it rests
}
