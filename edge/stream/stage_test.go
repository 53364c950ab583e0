package stream

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
)

// stage plays a market script on one or more chains and has streams follow it.
type stage struct {
	t     testing.TB
	board *rankings.Board
	hub   *Hub
	now   time.Time

	scenes map[market.ChainID]*scene
	at     *scene

	names   []string
	streams map[string]*follower
}

// scene is one chain.
type scene struct {
	id         market.ChainID
	market     *script.Market
	ledger     *ledger.Ledger
	view       *rankings.View
	generation uint64
	reverted   bool
}

// follower is a client of a stream.
type follower struct {
	*Stream
	query  query.Stream
	text   []byte // everything it got
	shown  int    // of it
	paid   int    // minutes
	ended  bool
	abort  bool
	closed bool
}

var chains = query.Chains{{ID: 1, Enabled: true}, {ID: 42161, Enabled: true}}

func newStage(t testing.TB) *stage {
	s := &stage{
		t: t, board: new(rankings.Board), now: time.Unix(script.Start+1000, 0),
		scenes: map[market.ChainID]*scene{}, streams: map[string]*follower{},
	}

	s.hub = New(Config{Board: s.board, Metrics: metrics.NewSet()})
	s.hub.SetBounds(10*time.Minute, 256<<10)
	s.hub.start = func(func(context.Context)) context.CancelFunc { return func() {} }
	s.toChain(1)
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) toChain(id market.ChainID) {
	if s.scenes[id] == nil {
		s.scenes[id] = &scene{
			id: id, market: script.New(),
			ledger: ledger.New(ledger.Config{Chain: id, PositionManager: script.Manager}),
		}
		s.board.SetStatus(id, rankings.ChainStatus{Enabled: true})
	}
	s.at = s.scenes[id]
}

// happen applies lines of events, as a block each.
func (s *stage) happen(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		if known, err := s.at.market.Set(strings.Fields(line)); known {
			s.must(err)
			continue
		}
		span, err := s.at.market.Span(s.at.ledger.Freeze(), line)
		s.must(err)
		_, err = s.at.ledger.Apply(span)
		s.must(err)
	}
}

// revert takes back the newest block.
func (s *stage) revert() {
	s.must(s.at.ledger.Revert())
	s.at.reverted = true
}

// publish makes the next generation of the chain, as package chain does, and has the
// hub poll it.
func (s *stage) publish() {
	sc := s.at
	st := sc.ledger.Freeze()
	params := value.DefaultParams()
	var prices market.Table[market.Price]
	for _, p := range value.Prices(st, &params, nil, func() {}) {
		prices.Append(p)
	}
	st.Prices = prices.Freeze()
	var stats market.Table[market.PoolStats]
	for i := range st.Pools.Len() {
		stats.Append(value.Stats(st, i))
	}
	st.Stats = stats.Freeze()

	sc.generation++
	view, _ := rankings.Build(sc.view, st, sc.generation)
	view.Changes = view.ChangesSince(sc.view, sc.reverted, s.now.UnixMilli(), func() {})
	sc.view, sc.reverted = view, false
	s.board.Publish(view)
	s.poll()
}

func (s *stage) poll() {
	s.hub.Poll(s.now)
	for _, f := range s.streams {
		f.read()
	}
}

// wait lets seconds pass.
func (s *stage) wait(seconds int) {
	for range seconds {
		s.now = s.now.Add(time.Second)
		s.poll()
	}
}

// open opens a stream with a query, after an event if id is not empty.
func (s *stage) open(name, raw, id string) *follower {
	s.t.Helper()
	q, err := chains.Stream([]byte(raw))
	s.must(err)
	if id != "" {
		q.After, err = query.ParseEventID([]byte(id))
		s.must(err)
	}

	f := &follower{query: q}
	f.Stream = s.hub.Open(Request{Query: q, Now: s.now, Abort: func() { f.abort = true }})
	f.read()
	s.streams[name], s.names = f, append(s.names, name)
	return f
}

// read takes what there is.
func (f *follower) read() {
	for !f.ended && !f.closed {
		select {
		case <-f.Ready():
		default:
			return
		}
		b := f.Take()
		f.text = append(f.text, bytes.Join(b.Events, nil)...)
		f.paid += b.Due
		f.ended = b.Ended
	}
}

func (s *stage) close(name string) {
	f := s.streams[name]
	f.Close()
	f.closed = true
}

// event is an event as a client reads it.
type event struct{ name, id, data, text string }

// parse splits a stream into its events and comments, and checks their form.
func parse(t testing.TB, text []byte) (events []event) {
	t.Helper()
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n\n")) {
		t.Fatalf("the stream ends within an event: %q", text[max(0, len(text)-100):])
	}

	if len(text) == 0 {
		return nil
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		e := event{text: block + "\n\n"}
		for line := range strings.SplitSeq(block, "\n") {
			field, value, ok := strings.Cut(line, ": ")
			switch {
			case !ok:
				t.Fatalf("line %q of an event has no field", line)
			case field == "event":
				e.name = value
			case field == "id":
				e.id = value
			case field == "data":
				e.data = value
			case field != "":
				t.Fatalf("unknown field %q", field)
			}
		}
		events = append(events, e)
	}
	return events
}

// show writes what a stream got since the last time, a line an event.
func (s *stage) show(name string) (lines []string) {
	f := s.streams[name]
	for _, e := range parse(s.t, f.text[f.shown:]) {
		lines = append(lines, e.line())
	}
	f.shown = len(f.text)
	return lines
}

// line describes an event. Of a row it has what the events are about.
func (e event) line() string {
	if e.name == "" {
		return "comment"
	}

	data := e.data
	if strings.HasPrefix(data, `{"rank"`) || strings.HasPrefix(data, `{"poolId"`) {
		data = ""
		for _, name := range []string{"positionId", "owner", "liquidity", "isActive", "inRange", "asOfBlock"} {
			if _, rest, ok := strings.Cut(e.data, `"`+name+`":`); ok {
				end := strings.IndexAny(rest, ",}")
				data += " " + name + "=" + strings.Trim(rest[:end], `"`)
			}
		}
		data = data[1:]
	}
	return fmt.Sprintf("%s %s %s", e.name, cmp.Or(e.id, "-"), data)
}

// play runs a script. A line of the script is a command or an event; lines with ">"
// are what the command before them shows. It returns the script as it should be.
func (s *stage) play(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out = append(out, line)
		for _, shown := range s.run(strings.TrimSpace(line)) {
			out = append(out, "> "+shown)
		}
	}
	return strings.Join(out, "\n")
}

func (s *stage) run(line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return nil
	}

	switch words[0] {
	case "chain":
		n, err := query.ParseEventID([]byte(words[1] + ":0"))
		s.must(err)
		s.toChain(n.Generations[0].Chain)
	case "publish":
		s.publish()
	case "revert":
		s.revert()
	case "seconds":
		var n int
		fmt.Sscan(words[1], &n)
		s.wait(n)
	case "open":
		owner, isOwner := strings.CutPrefix(words[2], "owner=$")
		if isOwner {
			words[2] = "owner=" + script.Person(owner).String()
		}
		pool, isPool := strings.CutPrefix(words[2], "pools=1-$")
		if isPool {
			words[2] = "pools=1-" + script.Pool(pool).String()
		}
		s.open(words[1], words[2], strings.Join(words[3:], ""))
		return s.show(words[1])
	case "close":
		s.close(words[1])
	case "show":
		return s.show(words[1])
	default:
		s.happen(line)
	}
	return nil
}

var update = flag.Bool("update", false, "write the golden files again")

// golden compares got with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now\n%s", path, got)
	}
}

// after returns a query that goes on after an event.
func after(t *testing.T, q query.Stream, id string) query.Stream {
	t.Helper()
	var err error
	if q.After, err = query.ParseEventID([]byte(id)); err != nil {
		t.Fatal(err)
	}
	return q
}

// lastID returns the id that a client would come back with.
func (f *follower) lastID(t *testing.T) (id string) {
	t.Helper()
	for _, e := range parse(t, f.text) {
		id = cmp.Or(e.id, id)
	}
	return id
}
