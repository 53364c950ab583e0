package edge

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/gate"
	"tidemark/storage/accounts"
)

// TestRaw sends malformed requests. Each gets one error in JSON and an id, the connection
// is closed, and nothing is logged. A HEAD gets the same without the body.
func TestRaw(t *testing.T) {
	s := serve(t, nil)
	const host = "Host: api.example.com\r\n"
	key := gate.HeaderKey + ": " + s.key + "\r\n"
	f := func(request string, code int, want string) {
		t.Helper()
		a, closed := s.sendRaw(request)
		if a.code != code || !closed || !strings.Contains(a.body, want) ||
			!strings.HasPrefix(a.body, `{"error":"`) || a.header.Get("Content-Type") != "application/json" ||
			a.header.Get("X-Request-Id") == "" {
			t.Errorf("%.100q: got %d closed=%v %v %s; want %d %q", request, a.code, closed, a.header, a.body, code, want)
		}

		rest, isGet := strings.CutPrefix(request, "GET /")
		if !isGet || code == 405 {
			return
		}
		head := s.sendAndRead("HEAD /" + rest)
		if !strings.HasPrefix(head, "HTTP/1.1 "+strconv.Itoa(code)) || !strings.HasSuffix(head, "\r\n\r\n") ||
			!strings.Contains(head, "\r\nContent-Length: "+strconv.Itoa(len(a.body))+"\r\n") {
			t.Errorf("%.100q as HEAD: got %q", request, head)
		}
	}

	line := "GET /v1/positions HTTP/1.1\r\n" + host + key
	f("GET\r\n\r\n", 400, "not well-formed")
	f("GET /v1/positions\r\n"+host+key+"\r\n", 400, "not well-formed")
	f("G\x00T / HTTP/1.1\r\n"+host+"\r\n", 400, "not well-formed")
	f("GET /v1/pools?search=\x00 HTTP/1.1\r\n"+host+key+"\r\n", 400, "not well-formed")
	f("GET /v1/positions HTTP/1.1\r\n"+key+"\r\n", 400, "needs one Host header")
	f("GET /v1/positions HTTP/1.1\r\nHost: \r\n"+key+"\r\n", 400, "needs one Host header")
	f("GET /v1/positions HTTP/1.1\r\n"+host+host+key+"\r\n", 400, "needs one Host header")
	f("GET /v1/positions HTTP/3.0\r\n"+host+key+"\r\n", 505, "supported are HTTP/1.1")
	f("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "supported are HTTP/1.1")
	f(line+"X-A: "+strings.Repeat("a", maxHead)+"\r\n\r\n", 431, "headers are too large")
	f(line+"Content-Length: 5\r\n\r\nhello", 400, "must have no body")
	f("OPTIONS /v1/positions HTTP/1.1\r\n"+host+key+"Content-Length: 5\r\n\r\nhello", 400, "no body")
	f(line+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 400, "must have no body")
	f(line+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "both given")
	f("POST /v1/positions HTTP/1.1\r\n"+host+key+"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "both given")
	f("POST /v1/positions HTTP/1.1\r\n"+host+key+"Content-Length: 99999\r\n\r\n", 413, "too large")
	f("POST /v1/positions HTTP/1.1\r\n"+host+key+"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", 417, "not supported")
	f(line+"Content-Length: +1\r\n\r\n", 400, "not well-formed")
	f(line+"Content-Length: 0\r\nContent-Length: 1\r\n\r\n", 400, "not well-formed")
	f(line+"X-A: one\r\n two\r\n\r\n", 400, "continued on the next line")
	f(line+"X-A: one\r\n\ttwo\r\n\r\n", 400, "continued on the next line")
	f(line+"X-A: o\x00ne\r\n\r\n", 400, "not well-formed")
	f(line+"X A: one\r\n\r\n", 400, "contains a space")
	f(line+"X-A : one\r\n\r\n", 400, "contains a space")
	f(line+"X-A\t: one\r\n\r\n", 400, "not well-formed")
	f("GET http://other.example.com/v1/chains HTTP/1.1\r\n"+host+"\r\n", 400, "differs from the Host header")
	f("GET ftp:v1/chains HTTP/1.1\r\n"+host+"\r\n", 400, "")
	f("GET /"+strings.Repeat("a", maxTarget)+" HTTP/1.1\r\n"+host+"\r\n", 414, "target is too long")
	for code, want := range map[string]string{"413": "1", "431": "2"} { // which fasthttp refuses
		if got := s.metric(`tidemark_edge_request_seconds_count{route="none",status="` + code + `"}`); got != want {
			t.Errorf("%s answers with %s are counted; want %s", got, code, want)
		}
	}
	if log := s.log.String(); strings.Contains(log, s.key) || log != "" {
		t.Errorf("the log says: %s", log)
	}
}

// TestRawAlive sends requests after which the connection stays open.
func TestRawAlive(t *testing.T) {
	s := serve(t, nil)
	const host = "Host: api.example.com\r\n"
	key := gate.HeaderKey + ": " + s.key + "\r\n"
	f := func(request string, code int, want string) {
		t.Helper()
		if a, closed := s.sendRaw(request); a.code != code || closed || !strings.Contains(a.body, want) {
			t.Errorf("%.100q: got %d closed=%v %.200s; want %d %q", request, a.code, closed, a.body, code, want)
		}
	}

	f("GET /v1/positions?limit=1 HTTP/1.1\r\n"+host+key+"\r\n", 200, "positions")
	f("GET /v1/positions HTTP/1.1\r\n"+host+key+key+"\r\n", 401, "API key")
	f("GET /v1/positions HTTP/1.1\r\n"+host+"kc-apikey: "+s.key+"\r\n\r\n", 200, "positions")
	f("GET http://API.example.com/v1/chains?x=1 HTTP/1.1\r\n"+host+"\r\n", 200, "chainId")
	f("GET http://api.example.com/docs HTTP/1.1\r\n"+host+"\r\n", 200, "<!doctype html>")
	f("GET http://api.example.com HTTP/1.1\r\n"+host+browser+"\r\n\r\n", 200, "<!doctype html>")
	f("GET /v1/chains HTTP/1.1\r\n"+host+"X-Request-Id: bad id\r\n\r\n", 200, "chainId")
	f("OPTIONS * HTTP/1.1\r\n"+host+"\r\n", 204, "")
	f("GET /v1/pools?search=https://x%26y HTTP/1.1\r\n"+host+key+"\r\n", 200, "pools")
	if a, closed := s.sendRaw("GET /v1/plans HTTP/1.1\r\n" + host + "Connection: Close\r\n\r\n"); a.code != 200 || !closed {
		t.Errorf("Connection: Close: got %d closed=%v", a.code, closed)
	}

	f("BREW /v1/chains HTTP/1.1\r\n"+host+"\r\n", 405, "method not allowed")
}

func TestRequestID(t *testing.T) {
	s := serve(t, nil)
	if got := s.get("/v1/chains", "X-Request-Id: mine_1-A").header.Get("X-Request-Id"); got != "mine_1-A" {
		t.Errorf("own id: got %q", got)
	}
	if got := s.get("/v1/chains", "X-Request-Id: not mine").header.Get("X-Request-Id"); len(got) != 16 {
		t.Errorf("bad id: got %q", got)
	}
}

// TestPanic checks that a panic in a handler is a 500 and a line in the log, and
// that the server keeps serving.
func TestPanic(t *testing.T) {
	s := serve(t, nil)
	mend := s.breakPages()
	a := s.get("/v1/chains", "X-Request-Id: here")
	if a.code != 500 || !strings.HasPrefix(a.body, `{"error":"internal error`) {
		t.Errorf("got %d %s", a.code, a.body)
	}

	if log := s.log.String(); !strings.Contains(log, "panic while serving") || !strings.Contains(log, "request=here") {
		t.Errorf("log: %s", log)
	}
	mend()
	if a = s.get("/v1/protocols"); a.code != 200 {
		t.Errorf("afterwards: got %d", a.code)
	}
}

// TestPanicReleases checks that a panic on a metered route releases the units that
// the request held, and that no request is counted as in flight for ever.
func TestPanicReleases(t *testing.T) {
	const panics = 100
	s := serve(t, nil)
	key := s.issue("scale", accounts.Server)
	cell, month := s.findKey(key).Cell, s.book.Calendar().This.Month
	mend := s.breakPages()
	for n := range panics {
		path := []string{"/v1/pools", "/v1/positions/1/swapdex-v4/1/charts"}[n%2]
		a := s.get(path, gate.HeaderKey+": "+key)
		if a.code != 500 || a.header.Get("X-Units-Charged") != "0" {
			t.Errorf("%s: got %d, %s units; want 500 and 0", path, a.code, a.header.Get("X-Units-Charged"))
		}
	}

	tally, _ := cell.Tally(month)
	if tally.Lease != 0 || tally.Billed() != 0 {
		t.Errorf("%d units are held or spent, %d billed; want none", tally.Lease, tally.Billed())
	}
	mend()
	s.get("/v1/pools", gate.HeaderKey+": "+key)
	eventually(t, func() bool { return s.metric("tidemark_edge_requests_in_flight") == "0" })
	if n := s.metric("tidemark_edge_panics_total"); n != strconv.Itoa(panics) {
		t.Errorf("%s panics are counted; want %d", n, panics)
	}
	t.Logf("figure: %d panics in handlers, each a 500: %d units held, %d billed, %s requests in flight afterwards",
		panics, tally.Lease, tally.Billed(), s.metric("tidemark_edge_requests_in_flight"))
}

func TestConnectionsPerAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	bounds := DefaultConnections()
	bounds.ConnectionsPerAddress = 1
	bounded := newListener(l, bounds, metrics.NewSet())
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := bounded.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	first, err := net.Dial("tcp", l.Addr().String())
	must(err)
	defer first.Close()

	served := <-accepted
	s := &front{t: t, addr: l.Addr().String()}
	a, closed := s.sendRaw("")
	if a.code != 429 || !closed || !strings.Contains(a.body, "cannot exceed 1") || a.header.Get("Retry-After") != "1" {
		t.Errorf("second connection: got %d closed=%v %v %s", a.code, closed, a.header, a.body)
	}

	must(served.Close())
	_ = served.Close() // counted once
	second, err := net.Dial("tcp", l.Addr().String())
	must(err)
	defer second.Close()

	select {
	case c := <-accepted:
		must(c.Close())
	case <-time.After(5 * time.Second):
		t.Error("a connection after the first was closed: not accepted")
	}

	must(l.Close())
}
