package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// nodes is a live feed that has some spans, and the head after the last of them.
type nodes struct {
	spans []market.Span
	fail  error    // of blocks that are missing
	asked []uint64 // after which block
}

func (n *nodes) head() market.Head { return n.spans[len(n.spans)-1].Head() }

func (n *nodes) Next(_ context.Context, c feed.Cursor) (feed.Step, error) {
	at := c.Anchors[0]
	step := feed.Step{Head: n.head()}
	if at == n.head() {
		step.Confirmed = time.Now()
		return step, nil
	}
	n.asked = append(n.asked, at.Number)
	if n.fail != nil {
		return step, n.fail
	}

	i := slices.IndexFunc(n.spans, func(s market.Span) bool { return s.From == at.Number+1 })
	if i >= 0 {
		span := n.spans[i]
		step.Span = &span
	}
	return step, nil
}

func (n *nodes) Close() error { return nil }

// damaged makes an archive of three segments and more, of which a byte in the middle of
// the second is not as it was written.
func damaged(t *testing.T, spans []market.Span) (a *Archive, file string, log *bytes.Buffer) {
	t.Helper()
	a = openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)
	second, dir := a.segments[1], a.cfg.Dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	flip(t, second.path, second.size/2)
	log = new(bytes.Buffer)
	a, err := Open(Config{
		Identity: identity, Dir: dir, SegmentBytes: 8_000, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, second.path[len(dir)+1:], log
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[at] ^= 0x40
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A damaged segment in the middle is noticed while the chain is at its head, named, and
// fetched again; then the archive is as it was.
func TestHoleIsFilled(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a, file, log := damaged(t, spans)
	live := &nodes{spans: spans}
	f := NewFeed(a, live)
	synctest.Test(t, func(t *testing.T) {
		for range 3 * a.Status().Segments {
			atHead(t, f, live)
			time.Sleep(scrubEvery)
		}
		for range 100 {
			atHead(t, f, live)
			time.Sleep(repairEvery)
		}
	})

	first, last := live.asked[0], live.asked[len(live.asked)-1]
	i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From == last+1 })
	st := a.Status()
	if len(st.Holes) > 0 || st.Damages != 1 {
		t.Fatalf("%+v: want no hole, and one damage", st)
	}
	for _, want := range []string{file, fmt.Sprintf("from=%d to=%d ", first+1, spans[i].To), "the archive is whole again"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if len(live.asked) > len(spans)/3 {
		t.Errorf("%d spans were fetched again of %d", len(live.asked), len(spans))
	}
	hold(t, a, spans).Close()
}

// Sums are checked every scrubEvery, not at every call.
func TestScrubsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := newMaker(9, 100).spans(90)
		a, _, _ := damaged(t, spans)
		f := NewFeed(a, &nodes{spans: spans})

		scrubs, last := 0, f.scrubbed
		for range 100 {
			f.maintain(t.Context())
			if f.scrubbed != last {
				scrubs, last = scrubs+1, f.scrubbed
			}
			time.Sleep(scrubEvery / 10)
		}

		if scrubs != 10 {
			t.Errorf("sums were checked %d times in ten intervals", scrubs)
		}
	})
}

// atHead is a call of Next by a ledger at the chain's head.
func atHead(t *testing.T, f *Feed, live *nodes) {
	t.Helper()
	step, err := f.Next(t.Context(), feed.Cursor{Anchors: []market.Head{live.head()}})
	if err != nil || step.Span != nil {
		t.Fatalf("at the head: %+v, %v", step.Span, err)
	}
}

// While the nodes fail, or do not have the block before the hole, they are asked once a
// minute, and the head is not held up.
func TestHoleIsTriedAgain(t *testing.T) {
	f := func(name, want string, live *nodes) {
		t.Helper()
		a, _, log := damaged(t, newMaker(9, 100).spans(90))
		feed := NewFeed(a, live)
		synctest.Test(t, func(t *testing.T) {
			for range 3 * a.Status().Segments {
				atHead(t, feed, live)
				time.Sleep(scrubEvery)
			}
			live.asked = nil
			for range 300 {
				atHead(t, feed, live)
				time.Sleep(time.Second)
			}
		})

		if n := len(live.asked); n < 4 || n > 6 {
			t.Errorf("%s: asked %d times in five minutes", name, n)
		}
		if st := a.Status(); len(st.Holes) != 1 || !strings.Contains(log.String(), want) {
			t.Errorf("%s: holes %v; the log lacks %q:\n%s", name, st.Holes, want, log)
		}
	}

	spans := newMaker(9, 100).spans(90)
	f("failing", "no node answers", &nodes{spans: spans, fail: errors.New("no node answers")})
	f("without the blocks", "the nodes have nothing after block", &nodes{spans: spans[85:]})
}

// Blocks before the archive's first are fetched, and kept before it; what it has is not
// fetched again.
func TestBlocksBeforeTheFirst(t *testing.T) {
	spans := newMaker(10, 100).spans(80)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans[30:])
	live := &nodes{spans: spans}
	f := NewFeed(a, live)
	at := market.Head{Number: 99}
	for at != live.head() {
		step, err := f.Next(t.Context(), feed.Cursor{Anchors: []market.Head{at}})
		if err != nil || step.Span == nil {
			t.Fatalf("after block %d: %+v, %v", at.Number, step, err)
		}
		if fetched := at.Number < spans[29].To; step.Archived == fetched {
			t.Fatalf("blocks from %d: archived %v", step.Span.From, step.Archived)
		}
		if !step.Archived {
			appendSpan(t, a, step.Span)
		}
		at = step.Span.Head()
	}

	if len(live.asked) != 30 {
		t.Errorf("%d spans were fetched; want 30", len(live.asked))
	}
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	st := a.Status()
	if !st.Whole(100) || st.Base.Number != 99 {
		t.Errorf("%+v: want it whole", st)
	}
	hold(t, a, spans).Close()
}

// Without nodes, a replay says which blocks are missing.
func TestReplayEnds(t *testing.T) {
	spans := newMaker(11, 100).spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans[:20])
	appendAll(t, a, spans[25:])
	f := func(at market.Head, want string) {
		t.Helper()
		_, err := NewFeed(a, nil).Next(t.Context(), feed.Cursor{Anchors: []market.Head{at}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %d: %v; want %s", at.Number, err, want)
		}
	}

	hole := Range{spans[20].From, spans[24].To}
	f(market.Head{Number: 49}, "the archive lacks blocks 50 to 99")
	f(spans[19].Head(), "the archive lacks blocks "+hole.String())
	f(spans[22].Head(), "the archive lacks blocks "+hole.String())
	f(spans[59].Head(), "the archive ends here")
	f(market.Head{Number: spans[40].To, Hash: market.Hash{1}}, "the archive has other blocks after")
}
