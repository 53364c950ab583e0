package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings/script"
)

// TestLife plays a market, and compares what every stream gets.
func TestLife(t *testing.T) {
	const path = "testdata/life.script"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, path, newStage(t).play(string(text)))
}

// TestBytes compares the bytes of a few events.
func TestBytes(t *testing.T) {
	s := newStage(t)
	s.happen("token TIDE 18", "token USD 6", "pool P TIDE USD 3000 60 @4", "mint 1 alice P min max 1e18")
	s.publish()
	a := s.open("a", "owner="+script.Person("alice").String(), "")
	p := s.open("p", "pools=1-"+script.Pool("P").String(), "")

	s.happen("collect 1")
	s.publish()
	s.wait(15)
	s.revert()
	s.happen("block")
	s.publish()
	if n := s.hub.metrics.events.Get(); n == 0 {
		t.Error("no event is counted")
	}
	a.End(EndStop)
	a.read()
	told := bytes.Count(a.text, []byte("event: ")) + bytes.Count(p.text, []byte("event: "))
	if got := int(s.hub.metrics.events.Get()); got != told-1 { // the end is none
		t.Errorf("%d events are counted; the streams got %d and an end", got, told-1)
	}
	golden(t, "testdata/owner.events", string(a.text))
	golden(t, "testdata/pool.events", string(p.text))
}

// begin publishes a first generation of two chains with some positions.
func (s *stage) begin() {
	for _, s.at = range []*scene{s.scenes[1], s.chainOf(42161)} {
		s.happen("token TIDE 18", "token USD 6", "pool P TIDE USD 3000 60 @4")
		for i := 1; i <= 12; i++ {
			s.happen(fmt.Sprintf("mint %d %s P @%d @%d 1e15", i, people[i%len(people)], 1+i%4, 5+i%3))
		}
		s.publish()
	}
}

var people = []string{"alice", "bob", "carol"}

func (s *stage) chainOf(id uint64) *scene {
	s.run(fmt.Sprint("chain ", id))
	return s.at
}

// randomEvent returns a line that fits the market.
func (s *stage) randomEvent(r *rand.Rand) string {
	st := s.at.ledger.Freeze()
	p := st.Positions.At(r.Uint32N(st.Positions.Len()))
	switch {
	case p.Burned || r.IntN(12) == 0:
		return fmt.Sprintf("mint %d %s P @2 @%d 1e15",
			st.Positions.At(st.Positions.Len()-1).ID+1, people[r.IntN(3)], 4+r.IntN(4))
	case !p.IsOpen():
		return fmt.Sprintf("add %d 1e15", p.ID)
	}
	return []string{
		fmt.Sprint("collect ", p.ID), fmt.Sprintf("remove %d all", p.ID), fmt.Sprintf("add %d 1e14", p.ID),
		fmt.Sprintf("give %d %s", p.ID, people[r.IntN(3)]), fmt.Sprintf("push P @%d.%d", 2+r.IntN(5), r.IntN(10)),
	}[r.IntN(5)]
}

// TestResume has streams follow random markets with reorganisations, and begins
// again behind every event that they got: the rest has to be the same bytes.
func TestResume(t *testing.T) {
	const generations = 120
	r := rand.New(rand.NewPCG(5, 5))
	s := newStage(t)
	s.begin()
	for i, raw := range []string{
		"owner=" + script.Person("alice").String(), "owner=" + script.Person("bob").String(),
		"positions=1-1,1-2,1-3,42161-2,1-500", "positions=42161-4", "pools=42161-" + script.Pool("P").String(),
	} {
		s.open(fmt.Sprint(i), raw, "")
	}

	for range generations {
		s.at = s.scenes[1]
		if r.IntN(3) == 0 {
			s.at = s.scenes[42161]
		}
		if r.IntN(8) == 0 {
			s.revert()
		}
		for range 1 + r.IntN(3) {
			s.happen(s.randomEvent(r))
		}
		s.publish()
	}

	seen := map[string]int{}
	for i, name := range s.names[:5] {
		f := s.streams[name]
		if i%2 == 0 {
			s.close(name) // its rows are kept
		}
		rest := f.text
		for _, e := range parse(t, f.text) {
			seen[e.name]++
			rest = rest[len(e.text):]
			again := &follower{}
			q := f.query
			again.Stream = s.hub.Open(Request{Query: after(t, q, e.id), Now: s.now, Abort: func() {}})
			again.read()
			if !bytes.Equal(again.text, rest) {
				t.Fatalf("stream %s after %s %s: got\n%s\nwant\n%s", name, e.name, e.id, again.text, rest)
			}
			again.Close()
		}
	}
	for _, name := range []string{"opened", "closed", "changed", "in_range", "out_of_range", "reorg", "generation"} {
		if seen[name] < 5 {
			t.Errorf("the streams got %d events %s; want some of all: %v", seen[name], name, seen)
		}
	}
}

// TestSlowReader checks that a client which does not read is cut, and that the
// others get everything.
func TestSlowReader(t *testing.T) {
	s := newStage(t)
	const unsent = 64 << 10
	s.hub.SetBounds(time.Minute, unsent)
	s.begin()
	s.at = s.scenes[1]
	const raw = "positions=1-1,1-2,1-3"
	a := s.open("a", raw, "")
	slow := s.open("slow", raw, "")
	slow.closed = true // does not read

	bytesOf := 0
	for i := 0; !slow.abort; i++ {
		s.happen("collect 1", "collect 2", "collect 3")
		s.publish()
		if bytesOf = len(a.text); i > 1000 {
			t.Fatal("a client that does not read is not cut")
		}
	}
	if bytesOf < unsent || bytesOf > unsent+(8<<10) {
		t.Errorf("cut when %d bytes were unsent; want %d", bytesOf, unsent)
	}
	if b := slow.Take(); len(b.Events) != 0 || !b.Ended {
		t.Errorf("a client that was cut gets %d events, ended: %v", len(b.Events), b.Ended)
	}
	if a.abort || s.hub.metrics.cut.Get() != 1 {
		t.Errorf("%d streams are cut", s.hub.metrics.cut.Get())
	}
}

// TestMinutes checks when a minute has to be paid.
func TestMinutes(t *testing.T) {
	f := func(seconds, want int) {
		t.Helper()
		s := newStage(t)
		s.begin()
		s.now = s.now.Add(700 * time.Millisecond)
		a := s.open("a", "positions=1-1", "")
		s.wait(seconds)
		if a.paid != want {
			t.Errorf("after %d s %d more minutes were paid; want %d", seconds, a.paid, want)
		}
	}

	f(59, 0)
	f(61, 1)
	f(119, 1)
	f(121, 2)
	f(601, 10)
}

// TestComments checks that every stream gets a comment every 15 seconds, however the
// streams are spread.
func TestComments(t *testing.T) {
	s := newStage(t)
	s.begin()
	for i := range 20 {
		s.open(fmt.Sprint(i), "positions=1-1", "")
		s.wait(1)
	}
	for _, f := range s.streams {
		f.text = nil
	}

	s.wait(45)
	for name, f := range s.streams {
		if got := bytes.Count(f.text, comment); got != 3 || len(f.text) != 3*len(comment) {
			t.Errorf("stream %s got %q; want 3 comments", name, f.text)
		}
	}
}

// TestStop checks that a stop ends the streams there are, and those that come.
func TestStop(t *testing.T) {
	s := newStage(t)
	s.begin()
	a := s.open("a", "positions=1-1", "")
	s.hub.Stop()
	a.read()
	b := s.open("b", "positions=1-1", "")
	for _, f := range []*follower{a, b} {
		if events := parse(t, f.text); !f.ended || events[len(events)-1].data != `{"reason":"stop"}` {
			t.Errorf("the stream ends with %q", f.text)
		}
	}
}

// TestMissedIsTaken checks that a stream with much to catch up gets it in parts, and
// what happens meanwhile behind it, and that every event is counted.
func TestMissedIsTaken(t *testing.T) {
	s := newStage(t)
	s.begin()
	s.at = s.scenes[1]
	a := s.open("a", "positions=1-1,1-2,1-3,1-4", "")
	first := parse(t, a.text)[0].id
	more := func() {
		s.happen("collect 1", "collect 2", "collect 3", "collect 4")
		s.publish()
	}
	for range 30 {
		more()
	}

	b := &follower{query: a.query}
	b.Stream = s.hub.Open(Request{Query: after(t, a.query, first), Now: s.now, Abort: func() { b.abort = true }})
	for b.backlog != nil {
		if part := bytes.Join(b.Take().Events, nil); len(part) > batchBytes+(8<<10) {
			t.Fatalf("a part has %d bytes; want at most about %d", len(part), batchBytes)
		} else {
			b.text = append(b.text, part...)
		}
		if len(b.text) < 3*batchBytes {
			more()
		}
	}
	more()
	b.read()
	if want := a.text[len(parse(t, a.text)[0].text):]; !bytes.Equal(b.text, want) {
		t.Errorf("%d bytes after coming back; want %d", len(b.text), len(want))
	}
	told := len(parse(t, a.text)) + len(parse(t, b.text))
	if got := int(s.hub.metrics.events.Get()); got != told {
		t.Errorf("%d events are counted; the streams got %d", got, told)
	}
}

// TestWindow checks that a stream that comes back too late is told so, also when it
// was catching up.
func TestWindow(t *testing.T) {
	s := newStage(t)
	s.board.SetWindow(time.Minute)
	s.begin()
	s.at = s.scenes[1]
	collect := func(seconds int) {
		s.now = s.now.Add(time.Duration(seconds) * time.Second)
		s.happen("collect 1")
		s.publish()
	}
	a := s.open("a", "positions=1-1", "")
	collect(1)
	f := func(wait int, want string) {
		t.Helper()
		id := a.lastID(t)
		collect(wait)
		again := s.open(fmt.Sprint("again", wait), "positions=1-1", id)
		if got := parse(t, again.text)[0].name; got != want {
			t.Errorf("after %d s the first event is %s; want %s", wait, got, want)
		}
	}
	f(59, "changed")
	f(60, "changed")
	f(61, "changed") // the log has this one alone
	collect(1)
	collect(61)
	late := parse(t, a.text)[2].id
	if got := parse(t, s.open("late", "positions=1-1", late).text)[0].name; got != "reset" {
		t.Errorf("behind the window the first event is %s; want reset", got)
	}

	slow := &follower{}
	id := a.lastID(t)
	collect(1)
	slow.Stream = s.hub.Open(Request{Query: after(t, a.query, id), Now: s.now, Abort: func() {}})
	for range 3 {
		collect(100)
	}
	before := s.hub.metrics.events.Get()
	slow.read()
	if told := s.hub.metrics.events.Get() - before; told != 1 {
		t.Errorf("%d events are counted of a stream that caught up too slowly; want its reset", told)
	}
	if got := strings.ReplaceAll(string(slow.text), render.Comment, ""); !strings.HasPrefix(got, "event: reset") {
		t.Errorf("a stream that caught up too slowly gets %s; want reset", got)
	}
	if resumed, reset := s.hub.metrics.resumed.Get(), s.hub.metrics.reset.Get(); resumed != 4 || reset != 1 {
		t.Errorf("%d streams are counted as continued and %d as reset; want 4 and 1", resumed, reset)
	}
}

// TestWindowPassesWhatIsKnown checks that a stream goes on when the log drops changes
// that it was told of, after it has come back and before it has caught up.
func TestWindowPassesWhatIsKnown(t *testing.T) {
	s := newStage(t)
	s.board.SetWindow(time.Minute)
	s.begin()
	s.at = s.scenes[1]
	collect := func(seconds int) {
		s.now = s.now.Add(time.Duration(seconds) * time.Second)
		s.happen("collect 1")
		s.publish()
	}
	a := s.open("a", "positions=1-1", "")
	collect(1)
	collect(50)

	f := func(wait int, want string) {
		t.Helper()
		id := a.lastID(t)
		b := &follower{query: a.query}
		b.Stream = s.hub.Open(Request{Query: after(t, a.query, id), Now: s.now, Abort: func() {}})
		collect(wait)
		b.read()
		if got := strings.TrimLeft(b.names(t), ", "); got != want {
			t.Errorf("behind %s came %q; want %q", id, got, want)
		}
	}
	f(15, "changed 1:4,42161:1/1, generation 1:4,42161:1/0")
	f(61, "changed 1:5,42161:1/1, generation 1:5,42161:1/0") // the log has this one alone
}

// TestIndexForgets checks that the hub rests when the last stream has been gone for
// the window, and not before.
func TestIndexForgets(t *testing.T) {
	s := newStage(t)
	s.begin()
	s.open("a", "positions=1-1,1-2", "")
	s.open("b", "positions=1-2", "")
	s.at = s.scenes[1]
	s.happen("collect 2")
	s.publish()
	s.close("a")
	s.close("b")

	s.now = time.Now()
	if !s.hub.Poll(s.now.Add(9 * time.Minute)) {
		t.Error("the hub rests although a stream may come back")
	}
	if s.hub.Poll(s.now.Add(10*time.Minute + time.Second)) {
		t.Errorf("the hub does not rest; %d keys are watched", len(s.hub.index.watches))
	}
	if n := len(s.hub.rendered.events); n != 0 {
		t.Errorf("%d events are kept while the hub rests", n)
	}
}
