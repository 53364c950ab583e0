package edge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/edge/gate"
	"tidemark/edge/query"
	"tidemark/edge/stream"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

const streamPath = "/v1/stream"

// channel is a client of a stream.
type channel struct {
	t    *testing.T
	conn net.Conn
	http.Header
	body *bufio.Scanner
}

// message is an event of a stream.
type message struct{ name, id, data string }

// openStream opens a stream with the front's key, unless headers has another.
func (f *front) openStream(query string, headers ...string) *channel {
	f.t.Helper()
	c, err := net.Dial("tcp", f.addr)
	must(err)
	f.t.Cleanup(func() { c.Close() })
	must(c.SetDeadline(time.Now().Add(20 * time.Second)))
	key := gate.HeaderKey + ": " + f.key + "\r\n"
	if strings.HasPrefix(strings.Join(headers, ""), gate.HeaderKey) {
		key = ""
	}

	head := "GET /v1/stream?" + query + " HTTP/1.1\r\nHost: x\r\n" + key
	for _, h := range headers {
		head += h + "\r\n"
	}
	_, err = io.WriteString(c, head+"\r\n")
	must(err)
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	must(err)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		body, _ := io.ReadAll(res.Body)
		f.t.Fatalf("%s: got %d %s %s", query, res.StatusCode, kind, body)
	}
	cover(streamPath, 200)
	body := bufio.NewScanner(res.Body)
	body.Buffer(nil, 1<<20)
	return &channel{t: f.t, conn: c, Header: res.Header, body: body}
}

// next returns the next event. Its data is held against the document.
func (c *channel) next() (m message) {
	c.t.Helper()

	for c.body.Scan() {
		field, value, _ := strings.Cut(c.body.Text(), ": ")
		switch field {
		case "event":
			m.name = value
		case "id":
			m.id = value
		case "data":
			m.data = value
		case "":
			if m.name != "" {
				c.checkData(m)
				return m
			}
		}
	}
	c.t.Fatalf("the stream ended: %v", c.body.Err())
	return m
}

func (c *channel) checkData(m message) {
	c.t.Helper()
	var data any
	must(json.Unmarshal([]byte(m.data), &data))
	is, _ := lookup(rawDocument(), "paths", streamPath, "get", "responses", "200", "content",
		"text/event-stream", "x-event-data", m.name).(map[string]any)
	if is == nil {
		c.t.Fatalf("event %s is not documented", m.name)
	}
	of, ok := is["anyOf"].([]any)
	if !ok {
		of = []any{is}
	}

	var err error
	for _, one := range of {
		if err = schema(one.(map[string]any)).validate(data, m.name); err == nil {
			return
		}
	}
	c.t.Errorf("%s %s: %v", m.name, m.data, err)
}

// want reads an event and compares it, data that is a row by a part of it.
func (c *channel) want(name, id, data string) {
	c.t.Helper()
	if m := c.next(); m.name != name || m.id != id || !strings.Contains(m.data, data) {
		c.t.Fatalf("got %s %s %.200s; want %s %s %s", m.name, m.id, m.data, name, id, data)
	}
}

// newMarket returns a board of its own with the views of the shared node.
func newMarket() *rankings.Board { return boardOf(chainsWith()...) }

// happens publishes another generation of a chain, with changes.
func happens(b *rankings.Board, id market.ChainID, c rankings.Changes) {
	at, _ := b.Load().Chain(id)
	next := *at.View
	c.Since, c.At = next.Generation, time.Now().UnixMilli()
	next.Generation, next.Changes = next.Generation+1, &c
	next.Confirm(time.Now().UnixMilli())
	b.Publish(&next)
}

// ofPosition is a change of the i-th position of a chain.
func ofPosition(id market.ChainID, i uint32, kind rankings.ChangeKind) rankings.PositionChange {
	st := stateOf(id)
	p := st.Positions.At(i)
	owner := *st.Owners.At(p.Owner)
	return rankings.PositionChange{ID: p.ID, Owner: owner, Kind: kind}
}

func changesOf(kind rankings.ChangeKind, positions ...uint32) (c rankings.Changes) {
	for _, i := range positions {
		c.Positions = append(c.Positions, ofPosition(1, i, kind))
	}
	return c
}

// TestStreamEvents follows an owner, positions and pools. The rows are those of the
// batches.
func TestStreamEvents(t *testing.T) {
	board := newMarket()
	s := serve(t, func(c *Config) { c.Board = board })
	st := stateOf(1)
	p, pool := st.Positions.At(3), st.Pools.At(2).ID
	owner := s.openStream("owner=" + st.Owners.At(p.Owner).String())
	positions := s.openStream(fmt.Sprintf("positions=1-%d,1-%d", p.ID, st.Positions.At(4).ID))
	pools := s.openStream("pools=1-" + pool.String())
	other := s.openStream("positions=42161-1")
	for _, c := range []*channel{owner, positions, pools, other} {
		c.want("generation", "1:1,42161:1,43114:1/0", `{"generation":"1:1,42161:1,43114:1"}`)
	}

	c := changesOf(rankings.EnteredRange, 3)
	c.Pools = []rankings.PoolChange{{ID: pool, Kind: rankings.Changed}}
	happens(board, 1, c)
	row := s.get(fmt.Sprintf("/v1/positions/batch?ids=1-%d", p.ID)).body
	row, _, _ = strings.Cut(strings.TrimPrefix(row, `{"positions":[`), `],"missing"`)
	for _, c := range []*channel{owner, positions} {
		c.want("in_range", "1:2,42161:1,43114:1/1", row)
		c.want("generation", "1:2,42161:1,43114:1/0", "")
	}
	row = s.get("/v1/pools/batch?ids=1-" + pool.String()).body
	row, _, _ = strings.Cut(strings.TrimPrefix(row, `{"pools":[`), `],"missing"`)
	pools.want("changed", "1:2,42161:1,43114:1/2", row)
	pools.want("generation", "1:2,42161:1,43114:1/0", "")

	c = changesOf(rankings.Closed, 3, 4)
	c.Reverted = true
	happens(board, 1, c)
	positions.want("reorg", "1:3,42161:1,43114:1/2",
		fmt.Sprintf(`{"chainId":1,"ids":["1-%d","1-%d"]}`, p.ID, st.Positions.At(4).ID))
	happens(board, 42161, rankings.Changes{Positions: []rankings.PositionChange{{ID: 1, Kind: rankings.Changed}}})
	other.want("changed", "1:3,42161:2,43114:1/1", `"positionId":"1"`)
	if other.Get("X-Units-Charged") != "1" || !strings.HasPrefix(other.Get("X-Generation"), "1:1,") {
		t.Errorf("the headers of a stream are %v", other.Header)
	}
}

// TestStreamExample holds the example of the document against what a stream says.
// With -update it writes it.
func TestStreamExample(t *testing.T) {
	board := newMarket()
	s := serve(t, func(c *Config) { c.Board = board })
	pool := stateOf(1).Pools.At(0).ID
	c := s.openStream("pools=1-" + pool.String())
	told := ""
	for n := range 3 {
		m := c.next()
		told += fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", m.name, m.id, m.data)
		if n == 0 { // the stream is open once it has told its generations
			happens(board, 1, rankings.Changes{Pools: []rankings.PoolChange{{ID: pool, Kind: rankings.Changed}}})
		}
	}

	checkTextExample(t, streamPath, "text/event-stream", told)
}

// checkTextExample holds the example of an answer that is no JSON against what was
// answered. With -update it writes it.
func checkTextExample(t *testing.T, path, contentType, answered string) {
	t.Helper()
	text, err := os.ReadFile("openapi.json") // which an example before this one may have changed
	must(err)
	var example string
	from, to := locate(text, "paths", path, "get", "responses", "200", "content", contentType, "example")
	must(json.Unmarshal(text[from:to], &example))

	if *update {
		var quoted bytes.Buffer
		out := json.NewEncoder(&quoted)
		out.SetEscapeHTML(false)
		must(out.Encode(answered))
		must(os.WriteFile("openapi.json", slices.Concat(text[:from], bytes.TrimSpace(quoted.Bytes()), text[to:]), 0o644))
		return
	}
	if example != answered {
		t.Errorf("the example of %s is\n%s\nthe answer was\n%s; write it anew with -update", path, example, answered)
	}
}

// TestStreamRefusals checks what is refused before a stream begins, and the methods.
func TestStreamRefusals(t *testing.T) {
	s := serve(t, func(c *Config) { offline(c, chainsWith(1)...) })
	f := func(method, query string, code int, want string, headers ...string) answer {
		t.Helper()
		a := s.ask(method, "/v1/stream"+query, headers...)
		if a.code != code || !strings.Contains(a.body, want) {
			t.Errorf("%s %s: got %d %s; want %d %s", method, query, a.code, a.body, code, want)
		}
		return a
	}

	f("GET", "", 400, "one of the parameters owner, positions and pools")
	f("GET", "?positions=1-7&owner=0x0000000000000000000000000000000000000001", 400, "only one")
	f("GET", "?positions=1-7", 400, "Last-Event-ID", "Last-Event-ID: x")
	f("GET", "?positions=1-7", 400, "more than one Last-Event-ID", "Last-Event-ID: 1:1", "Last-Event-ID: 1:2")
	f("GET", "?positions=42161-7", 503, "chain 42161 is temporarily unavailable")
	a := f("HEAD", "?positions=1-7", 405, "")
	if a.header.Get("Allow") != "GET, OPTIONS" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("a HEAD of a stream: %v", a.header)
	}
	if a := f("OPTIONS", "", 204, ""); a.header.Get("Allow") != "GET, OPTIONS" {
		t.Errorf("a plain OPTIONS allows %q", a.header.Get("Allow"))
	}

	s.server.Drain()
	f("GET", "?positions=1-7", 503, "stopping")
}

// TestStreamResumes checks that a client goes on where it was, and behind a page that
// it asked for, and begins anew when it missed too much.
func TestStreamResumes(t *testing.T) {
	board := newMarket()
	s := serve(t, func(c *Config) { c.Board = board })
	query := fmt.Sprintf("positions=1-%d", stateOf(1).Positions.At(0).ID)
	page := s.get("/v1/positions?limit=1").header.Get("X-Generation")
	c := s.openStream(query)
	c.next()
	happens(board, 1, changesOf(rankings.Changed, 0, 1))
	c.want("changed", "1:2,42161:1,43114:1/1", "")
	must(c.conn.Close())

	happens(board, 1, changesOf(rankings.LeftRange, 1, 0))
	c = s.openStream(query, "Last-Event-ID: 1:2,42161:1,43114:1/1")
	c.want("generation", "1:2,42161:1,43114:1/0", "")
	c.want("out_of_range", "1:3,42161:1,43114:1/2", "")
	c = s.openStream(query, "Last-Event-ID: "+page)
	c.want("changed", "1:2,42161:1,43114:1/1", "")

	// Behind the window: the changes since are not kept.
	happens(board, 1, changesOf(rankings.Changed, 5))
	s.limitWindow(time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	happens(board, 1, changesOf(rankings.Changed, 5))
	c = s.openStream(query, "Last-Event-ID: 1:2,42161:1,43114:1/1")
	c.want("reset", "1:5,42161:1,43114:1/0", `{"generation":"1:5,42161:1,43114:1"}`)
	happens(board, 1, changesOf(rankings.Changed, 0))
	c.want("changed", "1:6,42161:1,43114:1/1", "")
}

// limitWindow changes limits.stream-window of a server that runs.
func (f *front) limitWindow(window time.Duration) {
	l := *f.server.pages.Limits()
	l.StreamWindow = window
	f.server.Apply(Settings{Limits: l, Connections: f.server.cfg.Connections, Plans: f.server.cfg.Plans})
}

// TestStreamEnds checks that the last event says why a stream ends.
func TestStreamEnds(t *testing.T) {
	f := func(reason string, plan string, cause func(*front, *accounts.Key)) {
		t.Helper()
		s := serve(t, nil)
		key := s.issue(plan, accounts.Server)
		c := s.openStream("positions=1-1", gate.HeaderKey+": "+key)
		c.next()
		cause(s, s.findKey(key))
		c.want("end", "", `{"reason":"`+reason+`"}`)
		if c.body.Scan() {
			t.Errorf("%s: %q comes behind the end", reason, c.body.Text())
		}
	}

	f("revoked", "free", func(s *front, k *accounts.Key) { s.book.Revoke(k, 1) })
	f("suspended", "free", func(s *front, k *accounts.Key) {
		s.book.SetTerms(k.Cell, accounts.NewTerms(&k.Cell.Terms().Plan, true))
	})
	f("stop", "free", func(s *front, _ *accounts.Key) { s.server.Drain() })
	f("stop", "free", func(s *front, _ *accounts.Key) { s.server.long.interrupt() })
	f("quota", "free", func(s *front, k *accounts.Key) {
		ticket := s.book.Admit(k, time.Now().UnixNano())
		s.book.Reserve(&ticket, ticket.Quota().Left)
		s.server.hub.Poll(time.Now().Add(61 * time.Second))
	})
}

// TestStreamPays checks that a stream is one request and a unit for each minute.
func TestStreamPays(t *testing.T) {
	s := serve(t, nil)
	c := s.openStream("positions=1-1")
	c.next()
	k := s.findKey(s.key)

	for minutes := int64(1); minutes < 4; minutes++ {
		var got accounts.Count
		for range 200 {
			tally, _ := k.Cell.Tally(s.book.Calendar().This.Month)
			if got = tally.Routes[accounts.RouteStream]; got.Units >= minutes {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if want := (accounts.Count{Requests: 1, Units: minutes}); got != want {
			t.Fatalf("in minute %d the account has %+v; want %+v", minutes, got, want)
		}
		s.server.hub.Poll(time.Now().Add(time.Duration(minutes) * 61 * time.Second))
	}
}

// TestStreamCut checks that a client that does not read is cut, and no other.
func TestStreamCut(t *testing.T) {
	board := newMarket()
	s := serve(t, func(c *Config) { c.Board = board })
	var ids []string
	var rows []uint32
	for i := range uint32(60) {
		ids, rows = append(ids, fmt.Sprintf("1-%d", stateOf(1).Positions.At(i).ID)), append(rows, i)
	}

	query := "positions=" + strings.Join(ids, ",")
	slow, reads := s.openStream(query), s.openStream(query)
	slow.next() // the generation that a stream begins with: what comes later is told
	reads.next()
	must(slow.conn.(*net.TCPConn).SetReadBuffer(64 << 10))
	must(reads.conn.SetDeadline(time.Time{})) // a busy machine takes longer than that of one answer
	var read atomic.Int64                     // rows that the other client has
	var last atomic.Value                     // the event that it got last
	go func() {
		for reads.body.Scan() {
			switch line := reads.body.Text(); {
			case strings.HasPrefix(line, "data: "):
				read.Add(1)
			case line != "":
				last.Store(line)
			}
		}
		last.Store(fmt.Sprintf("the end of the stream: %v", reads.body.Err()))
	}()
	const cut = `tidemark_edge_streams_cut_total`
	for i := 0; s.metric(cut) == "0"; i++ {
		if i > 2000 {
			t.Fatal("a client that does not read is not cut")
		}
		happens(board, 1, changesOf(rankings.Changed, rows...))
		s.server.hub.Poll(time.Now())

		// On a busy machine the client that reads gets its turn late.
		want, end := int64((i+1)*len(rows)), time.Now().Add(20*time.Second)
		for read.Load() < want && s.metric(cut) == "0" {
			if time.Sleep(time.Millisecond); time.Now().After(end) {
				t.Fatalf("a client that reads has %d rows; want %d; the last is %v", read.Load(), want, last.Load())
			}
		}
	}

	const open = `tidemark_edge_streams_open`
	for i := 0; i < 500 && s.metric(open) != "1"; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if s.metric(cut) != "1" || s.metric(open) != "1" {
		t.Errorf("%s streams are cut, %s are open; want 1 and 1", s.metric(cut), s.metric(open))
	}
}

// TestQuietStreams measures the memory of streams that nothing concerns, and the
// time that a generation takes with them. TIDEMARK_STREAMS says how many.
func TestQuietStreams(t *testing.T) {
	quiet, most := 1000, int64(24<<10)
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_STREAMS")); err == nil {
		quiet = n
	}
	quiet = min(quiet, (descriptors()-1000)/2) // the clients are in this process, too
	board := newMarket()
	s := serve(t, func(c *Config) {
		c.Board = board
		c.Connections.Connections, c.Connections.ConnectionsPerAddress = quiet+100, quiet+100
		c.Connections.ConnectionsPerSubnet = quiet + 100
	})

	before := memoryInUse()
	conns := make([]net.Conn, quiet)
	for i := range conns {
		var err error
		conns[i], err = net.Dial("tcp", s.addr)
		must(err)
		defer conns[i].Close()
		_, err = fmt.Fprintf(conns[i], "GET /v1/stream?owner=0x%040x HTTP/1.1\r\nHost: x\r\n%s: %s\r\n\r\n",
			i+1, gate.HeaderKey, s.key)
		must(err)
	}
	for s.metric(`tidemark_edge_streams_open`) != fmt.Sprint(quiet) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	each := (memoryInUse() - before) / int64(quiet)

	var rows []uint32
	for i := range uint32(300) {
		rows = append(rows, i)
	}
	happens(board, 1, changesOf(rankings.Changed, rows...))
	begun := time.Now()
	s.server.hub.Poll(begun)
	took := time.Since(begun)
	if each > most {
		t.Errorf("a quiet stream takes %d bytes; cannot exceed %d", each, most)
	}
	t.Logf("%d quiet streams: %d bytes each, both ends; a generation of %d changes takes %s",
		quiet, each, len(rows), took)
}

// descriptors raises the limit of open files as far as it can, and returns it.
func descriptors() int {
	var limit unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	limit.Cur = limit.Max
	must(unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	return int(min(limit.Cur, 1<<20))
}

// TestStreamWithoutMetering checks that a stream whose minutes cannot be paid for goes on
// for some seconds, and that one which has to end anyway is not held up.
func TestStreamWithoutMetering(t *testing.T) {
	n := sharedNode()
	synctest.Test(t, func(t *testing.T) {
		f := &front{t: t}
		cfg := config(f, n)
		key := f.findKey(f.issue("unlimited", accounts.Server))
		s := &Server{gate: gate.New(cfg.Book, cfg.Clock, cfg.Metrics), metrics: newServerMetrics(cfg.Metrics)}
		hub := stream.New(stream.Config{Board: new(rankings.Board), Metrics: cfg.Metrics})
		hub.SetBounds(time.Minute, 1<<20)
		defer hub.Stop()
		query, err := query.Chains{{ID: 1, Enabled: true}}.Stream([]byte("positions=1-1"))
		must(err)

		pay := func(w *longWriter, took time.Duration, says string) {
			t.Helper()
			events := hub.Open(stream.Request{Query: query, Now: time.Now(), Abort: func() {}})
			defer events.Close()
			events.Take()
			begun := time.Now()
			s.payMinute(w, events, &gate.Ticket{Key: key})
			b := events.Take()
			if time.Since(begun) != took || b.Ended != (says != "") || !strings.Contains(fmt.Sprintf("%s", b.Events), says) {
				t.Errorf("after %s the stream has ended: %t, with %s; want %q after %s", time.Since(begun), b.Ended, b.Events, says, took)
			}
		}

		ours, _ := net.Pipe()
		w := newLongWriter(&conn{Conn: ours}, key, time.Time{}, true)
		pay(w, 0, "")
		f.book.SetAlive(0)
		pay(w, payTries*time.Second, `"metering"`)
		w.interrupt(errServerStops)
		pay(w, 0, "")
		if got := f.metric(`tidemark_edge_units_charged_total{route="stream"}`); got != "1" {
			t.Errorf("%s units are charged; want 1", got)
		}
	})
}
