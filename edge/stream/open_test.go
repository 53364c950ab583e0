package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// names are the events that a stream got since the last time; a comment is none.
func (f *follower) names(t *testing.T) string {
	t.Helper()
	var list []string
	for _, e := range parse(t, f.text) {
		list = append(list, strings.TrimSpace(e.name+" "+e.id))
	}
	f.text = nil
	return strings.Join(list, ", ")
}

// TestChainsOfKeys checks that a stream waits for the chains of what it is about, each once;
// an owner has positions on all.
func TestChainsOfKeys(t *testing.T) {
	f := func(want []market.ChainID, keys ...key) {
		t.Helper()
		if got := chainsOfKeys(keys); !slices.Equal(got, want) {
			t.Errorf("%v are of chains %v; want %v", keys, got, want)
		}
	}

	if chainsOfKeys(nil) == nil {
		t.Error("a stream of nothing waits for all chains")
	}
	pool := func(chain market.ChainID, id byte) key { return key{ofPool, chain, [32]byte{id}} }
	f([]market.ChainID{1}, pool(1, 1))
	f([]market.ChainID{5, 1}, pool(5, 1), pool(1, 1), pool(5, 2), pool(1, 3))
	f(nil, pool(1, 1), key{kind: ofOwner})
}

// TestFirstEvents checks what a stream begins with: the newest generations, also those
// that the hub has not polled yet, or what it missed behind the event it names.
func TestFirstEvents(t *testing.T) {
	s := newStage(t)
	s.begin()
	f := func(what, id, want string) {
		t.Helper()
		got := s.open(what, "positions=1-1", id)
		if names := got.names(t); names != want {
			t.Errorf("%s: the first events are %q; want %q", what, names, want)
		}
	}

	// No change is known yet: what a stream has is all there is.
	f("new", "", "generation 1:1,42161:1/0")
	f("the present", "1:1,42161:1/0", "")
	f("the present of its own chain", "1:1/0", "")
	f("another generation", "1:2/0", "reset 1:1,42161:1/0")
	f("none of its chain", "42161:1/0", "reset 1:1,42161:1/0")
	f("a place in an unknown step", "1:1/3", "reset 1:1,42161:1/0")

	s.at = s.scenes[1]
	s.happen("collect 1")
	s.publish()
	f("behind a generation", "1:1,42161:1/0", "changed 1:2,42161:1/1, generation 1:2,42161:1/0")
	f("behind the last change", "1:2,42161:1/1", "generation 1:2,42161:1/0")
	f("behind more changes than there were", "1:2,42161:1/9", "reset 1:2,42161:1/0")
	f("behind all", "1:2,42161:1/0", "")

	view := *s.at.view
	view.Generation++
	view.Changes = nil
	s.board.Publish(&view)
	f("the hub has not looked", "", "generation 1:3,42161:1/0")
}

// TestOpenStreams checks that the number of open streams is known.
func TestOpenStreams(t *testing.T) {
	s := newStage(t)
	set := metrics.NewSet()
	s.hub = New(Config{Board: s.board, Metrics: set})
	s.hub.SetBounds(time.Minute, 1<<20)
	s.hub.start = newStage(t).hub.start
	s.begin()
	f := func(want float64) {
		t.Helper()
		if got := set.GetOrCreateGauge("tidemark_edge_streams_open", nil).Get(); got != want {
			t.Errorf("%g streams are open; want %g", got, want)
		}
	}

	f(0)
	s.open("a", "positions=1-1", "")
	s.open("b", "positions=1-1", "")
	f(2)
	s.close("a")
	f(1)
	s.close("b")
	f(0)
}

// TestCommentsOfOldNews checks that a comment says nothing of generations that the stream
// was told when it began.
func TestCommentsOfOldNews(t *testing.T) {
	s := newStage(t)
	s.begin()
	first := s.open("first", "positions=1-1", "")
	s.at = s.scenes[1]
	s.happen("collect 2")
	s.publish() // of no concern to the streams
	first.text = nil
	second := s.open("second", "positions=1-1", "")
	second.text = nil

	third := s.open("third", "positions=1-1", "1:2,42161:1/0")

	s.wait(20)
	if got := first.names(t); got != ", generation 1:2,42161:1/0" {
		t.Errorf("a stream from before gets %q; want a comment and the generation", got)
	}
	for what, f := range map[string]*follower{"begun": second, "come back": third} {
		if got := f.names(t); got != "" && got != ", " || strings.Contains(got, "generation") {
			t.Errorf("a stream that has %s after it gets %q; want comments alone", what, got)
		}
	}
}

// TestCommentsAfterReset checks that a comment says nothing of the generations that a
// stream was told to start again from.
func TestCommentsAfterReset(t *testing.T) {
	s := newStage(t)
	s.begin()
	a := s.open("a", "owner="+script.Person("alice").String(), "")
	s.at = s.scenes[42161]
	s.board.SetStatus(42161, rankings.ChainStatus{Enabled: true, Offline: true})
	s.happen("collect 1")
	s.publish()

	a.text = nil
	s.board.SetStatus(42161, rankings.ChainStatus{Enabled: true})
	s.poll()
	if got := a.names(t); !strings.HasPrefix(got, "reset ") {
		t.Fatalf("a chain that is back is told as %q", got)
	}
	a.text = nil
	s.wait(20)
	if got := string(a.text); !strings.HasPrefix(got, string(comment)) || strings.Contains(got, "generation") {
		t.Errorf("after the reset the stream gets %q; want comments alone", got)
	}
}

// TestUnknownChanges checks that streams are told to start again, now or when they come
// back, if it is not known what a generation changed.
func TestUnknownChanges(t *testing.T) {
	s := newStage(t)
	s.begin()
	live, other := s.open("live", "positions=1-1", ""), s.open("other", "positions=42161-1", "")
	live.text, other.text = nil, nil
	view := *s.scenes[1].view
	view.Generation++
	view.Changes = &rankings.Changes{Since: 1, At: s.now.UnixMilli(), Unknown: true}
	s.board.Publish(&view)
	s.poll()

	f := func(what string, got *follower, want string) {
		t.Helper()
		if names := got.names(t); names != want {
			t.Errorf("%s gets %q; want %q", what, names, want)
		}
	}
	f("a stream of the chain", live, "reset 1:2,42161:1/0")
	f("a stream of another chain", other, "")
	f("a stream that comes back", s.open("back", "positions=1-1", "1:1,42161:1/0"), "reset 1:2,42161:1/0")
	f("one behind a change", s.open("behind", "positions=1-1", "1:2,42161:1/1"), "reset 1:2,42161:1/0")
	f("one of another chain", s.open("beside", "positions=42161-1", "1:1,42161:1/0"), "")
	f("one that has it", s.open("same", "positions=1-1", "1:2,42161:1/0"), "")
}

// TestWithdrawnChain checks that streams which follow a chain, and those that come back to
// it, get no rows of what it had once it is to be synced again.
func TestWithdrawnChain(t *testing.T) {
	s := newStage(t)
	s.begin()
	live := s.open("live", "positions=1-1", "")
	live.text = nil
	view := *s.scenes[1].view
	view.Generation++
	view.Changes = &rankings.Changes{Since: 1, At: s.now.UnixMilli(), Positions: []rankings.PositionChange{{ID: 1}}}
	s.board.Publish(&view)
	s.board.Withdraw(1)

	s.poll()
	if got := live.names(t); got != "" {
		t.Errorf("a stream gets %q; want nothing", got)
	}
	if got := s.open("back", "positions=1-1", "1:1,42161:1/0").names(t); got != "" {
		t.Errorf("a stream that came back gets %q; want nothing", got)
	}
}

// TestHubRestsAndBegins checks that a stream which begins after nothing was watched for
// hours gets no comments of the time before.
func TestHubRestsAndBegins(t *testing.T) {
	s := newStage(t)
	s.begin()
	s.open("a", "positions=1-1", "")
	s.poll()
	s.close("a")
	s.now = time.Now()
	if s.hub.Poll(s.now.Add(time.Hour)) {
		t.Fatal("the hub does not rest")
	}

	s.now = s.now.Add(3 * time.Hour)
	b := s.open("b", "positions=1-1", "")
	b.text = nil
	s.poll()
	s.wait(5)
	if len(b.text) > 0 {
		t.Errorf("within five seconds the stream gets %q; want nothing", b.text)
	}
}

// TestNothingToWatch checks that a stream of an id that no position can have is as any
// other: it gets comments, pays its minutes and can come back. Nothing concerns it.
func TestNothingToWatch(t *testing.T) {
	s := newStage(t)
	s.begin()
	a := s.open("a", "positions=1-abc", "")
	s.wait(61)
	if got := bytes.Count(a.text, comment); got != 4 || a.paid != 1 {
		t.Errorf("in a minute the stream got %d comments and paid %d more minutes; want 4 and 1", got, a.paid)
	}

	a.text = nil
	s.hub.resetStreams(1)
	s.poll()
	if got := s.open("back", "positions=1-abc", "1:9,42161:9/0").names(t); got != "" || len(a.text) > 0 {
		t.Errorf("it gets %q, and %q when it comes back; want nothing", a.text, got)
	}

	s.close("a")
	s.close("back")
	if s.hub.Poll(s.now) {
		t.Error("the hub does not rest when its streams are closed")
	}
}

// TestResumeBehindReorg checks that a client which comes back hears nothing of a position
// and a pool that were taken back before anybody watched them, but that they were.
func TestResumeBehindReorg(t *testing.T) {
	s := newStage(t)
	s.begin()
	s.at = s.scenes[1]
	a := s.open("a", "owner="+script.Person("alice").String(), "")
	last := a.lastID(t)
	s.happen("mint 13 bob P @2 @8 1e15")
	s.publish()
	s.happen("pool Q TIDE USD 500 10 @4")
	s.publish()
	pools := s.at.view.State.Pools
	pool := pools.At(pools.Len() - 1).ID.String()

	s.revert()
	s.revert()
	s.happen("block")
	s.publish()
	for _, query := range []string{"owner=" + script.Person("bob").String(), "positions=1-13", "pools=1-" + pool} {
		b := s.open("b", query, last)
		if got := b.names(t); !strings.HasPrefix(got, "reorg 1:4,") || !strings.HasSuffix(got, ", generation 1:4,42161:1/0") {
			t.Errorf("%s: got %q; want a reorg alone", query, got)
		}
		s.close("b")
	}
}

// TestReorgNamesRowsOnce checks that a row with several changes in a reorganisation is
// named once, as batches write it.
func TestReorgNamesRowsOnce(t *testing.T) {
	step := &rankings.Step{Chain: 42161, Changes: &rankings.Changes{
		Positions: []rankings.PositionChange{{ID: 7}, {ID: 7}, {ID: 8}, {ID: 7}},
		Pools:     []rankings.PoolChange{{ID: market.PoolID{0xab}}, {ID: market.PoolID{0xab}}},
	}}
	var got []string
	for at := range step.Len() {
		got = addID(got, step, at)
	}
	pool := "42161-0xab" + strings.Repeat("0", 62)
	if want := []string{"42161-7", "42161-8", "42161-7", pool}; !slices.Equal(got, want) {
		t.Errorf("named are %q; want %q", got, want)
	}
}

// TestReorgOfTwoPools checks that pools which were made in another order by a reorganisation
// are each named once.
func TestReorgOfTwoPools(t *testing.T) {
	s := newStage(t)
	s.begin()
	s.at = s.scenes[1]
	pools := []string{"pool Q TIDE USD 500 10 @4", "pool R TIDE USD 100 1 @4"}
	s.happen(pools[0])
	s.happen(pools[1])
	s.publish()
	var ids []string
	st := s.at.view.State
	for i := range uint32(2) {
		ids = append(ids, "1-"+st.Pools.At(st.Pools.Len()-2+i).ID.String())
	}
	query := "pools=" + strings.Join(ids, ",")
	live := s.open("live", query, "")
	last := live.lastID(t)

	s.revert()
	s.revert()
	s.happen(pools[1])
	s.happen(pools[0])
	s.publish()
	want := `{"chainId":1,"ids":["` + strings.Join(ids, `","`) + `"]}`
	for _, f := range []*follower{live, s.open("back", query, last)} {
		if !strings.Contains(string(f.text), want) {
			t.Errorf("got %s; want %s", f.text, want)
		}
	}
}

// TestHubRuns checks that a hub on its own clock tells of what is published, as long as
// there is a stream, and ends when it is stopped.
func TestHubRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.hub.start = spawn
		s.begin()
		q, err := chains.Stream([]byte("positions=1-1"))
		s.must(err)
		a := &follower{query: q}
		a.Stream = s.hub.Open(Request{Query: q, Now: time.Now(), Abort: func() {}})
		a.read()
		a.text = nil
		f := func(want string) {
			t.Helper()
			time.Sleep(pollEvery)
			synctest.Wait()
			a.read()
			if got := a.names(t); got != want {
				t.Errorf("got %q; want %q", got, want)
			}
		}

		f("")
		for generation := uint64(2); generation <= 4; generation++ {
			view := *s.scenes[1].view
			view.Generation, view.Changes = generation, nil
			s.board.Publish(&view)
			f(fmt.Sprintf("reset 1:%d,42161:1/0", generation))
			time.Sleep(time.Second)
		}
		s.hub.Stop()
		a.read()
		if !a.ended {
			t.Error("a stop does not end the stream")
		}
		a.Close()
	})
}

// BenchmarkResume is a stream that comes back to a full log in which nothing concerns it.
// Meanwhile the hub waits, and with it all other streams.
func BenchmarkResume(b *testing.B) {
	const steps = 7000
	s := newStage(b)
	s.begin()
	s.open("a", "positions=1-1", "")
	for range steps {
		next := *s.at.view
		next.Generation++
		next.Changes = &rankings.Changes{Since: s.at.view.Generation, At: s.now.UnixMilli()}
		s.at.view = &next
		s.board.Publish(s.at.view)
	}
	s.poll()

	owner := "owner=" + script.Person("alice").String()
	for b.Loop() {
		s.open("back", owner, "1:1,42161:1/0").Close()
	}
}
