package edge

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
)

// TestPipelined sends requests without waiting for answers, so that short bodies,
// long bodies and answers to HEAD share the write buffer.
func TestPipelined(t *testing.T) {
	s := serve(t, nil)
	asked := []struct{ method, path string }{
		{"GET", "/v1/plans"}, {"GET", "/v1/positions"}, {"HEAD", "/v1/positions"},
		{"GET", "/v1/positions?limit=100&page=2"}, {"GET", "/v1/positions?limit=1"},
		{"GET", "/v1/positions"}, {"GET", "/v1/units"}, {"GET", "/v1/pools?limit=100"},
	}

	c, err := net.Dial("tcp", s.addr)
	must(err)
	defer c.Close()

	must(c.SetDeadline(time.Now().Add(10 * time.Second)))
	var text strings.Builder
	for _, a := range asked {
		text.WriteString(a.method + " " + a.path + " HTTP/1.1\r\nHost: x\r\n" + gate.HeaderKey + ": " + s.key + "\r\n\r\n")
	}

	_, err = io.WriteString(c, text.String())
	must(err)
	in := bufio.NewReader(c)
	for _, a := range asked {
		res, err := http.ReadResponse(in, &http.Request{Method: a.method})
		must(err)
		body, err := io.ReadAll(res.Body)
		must(err)
		want := s.get(a.path)
		if a.method == "HEAD" {
			want.body = ""
		}
		if string(body) != want.body || res.StatusCode != want.code ||
			res.Header.Get("Content-Length") != want.header.Get("Content-Length") {
			t.Errorf("%s %s: got %d, %d bytes; want %d, %d bytes", a.method, a.path,
				res.StatusCode, len(body), want.code, len(want.body))
		}
	}
}

// TestRefusedWhileSending checks that a client that sends more than is read of a refused
// request gets the whole answer, and then the end of the connection and no reset.
func TestRefusedWhileSending(t *testing.T) {
	s := serve(t, nil)
	long := strings.Repeat("a", 20*maxHead)
	f := func(code int, request string) {
		t.Helper()
		c, err := net.Dial("tcp", s.addr)
		must(err)
		defer c.Close()
		must(c.SetDeadline(time.Now().Add(10 * time.Second)))

		_, err = io.WriteString(c, request)
		if err != nil {
			t.Errorf("%d: the request is not taken: %v", code, err)
		}
		answer, err := io.ReadAll(c)
		head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		if err != nil || !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", code)) || !strings.HasSuffix(body, `"}`) {
			t.Errorf("the answer ends by %v: %s", err, answer)
		}
	}

	f(414, "GET /"+long+" HTTP/1.1\r\nHost: x\r\n\r\n")
	f(431, "GET /v1/plans HTTP/1.1\r\nHost: x\r\nX-Long: "+long+"\r\n\r\n")
	f(431, "GET /v1/plans HTTP/1.1\r\nHost: x\r\nX-Long: "+long) // and waits
	f(413, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(long))+long)
}

func TestDeadline(t *testing.T) {
	now := time.Now()
	f := func(wanted, set time.Time, want bool) {
		t.Helper()
		if d := (deadline{wanted, set}); d.needsUpdate() != want {
			t.Errorf("%v is wanted, %v is set: got overdue %v", wanted, set, !want)
		}
	}

	f(time.Time{}, time.Time{}, false)
	f(now, time.Time{}, true)
	f(time.Time{}, now, true)
	f(now, now, false)
	f(now.Add(deadlineSlack), now, false)
	f(now.Add(deadlineSlack+1), now, true)
	f(now.Add(-1), now, true)
}

// TestSilence checks that a connection ends at its deadline when an earlier one
// was still set.
func TestSilence(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &conn{Conn: ours, onClose: func() {}}
	defer c.Close()
	c.readDeadline.set = time.Now().Add(time.Hour)
	for _, wait := range []time.Duration{time.Hour, 20 * time.Millisecond, 10 * time.Millisecond} {
		c.idleSince.Store(time.Now().Add(wait - idleTimeout).UnixNano())
		must(c.SetWriteDeadline(time.Now().Add(wait)))
	}

	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a read ended without a byte")
	}
	if _, err := c.Write([]byte{1}); err == nil {
		t.Error("a write ended without a reader")
	}
}

// sink is a connection that takes everything and counts how often its deadlines
// are set.
type sink struct {
	net.Conn
	reads, writes int
	read          time.Time // the deadline of reads
	refuses       error     // deadlines of writes
}

func (s *sink) Read(p []byte) (int, error)       { return 0, nil }
func (s *sink) Write(p []byte) (int, error)      { return len(p), nil }
func (s *sink) SetWriteDeadline(time.Time) error { s.writes++; return s.refuses }
func (s *sink) SetReadDeadline(t time.Time) error {
	s.reads, s.read = s.reads+1, t
	return nil
}

// TestReadDeadlines: a connection may wait for its next request for long, and no request may
// take long to come, however many reads it takes.
func TestReadDeadlines(t *testing.T) {
	under := new(sink)
	c := &conn{Conn: under, onClose: func() {}}
	began := time.Now()
	f := func(what string, from time.Time, limit time.Duration) {
		t.Helper()
		_, err := c.Read(make([]byte, 1))
		must(err)
		if d := under.read.Sub(from.Add(limit)); d.Abs() > deadlineSlack {
			t.Errorf("%s: the deadline is %s off", what, d)
		}
	}

	// fasthttp takes a new connection for active before its first byte.
	c.markIdle(began)
	trackIdle(c, fasthttp.StateActive)
	f("the first byte", began, readTimeout)

	trackIdle(c, fasthttp.StateIdle)
	f("the next request", began, idleTimeout)
	since := began.Add(-idleTimeout / 2)
	c.idleSince.Store(since.UnixNano())
	f("the next request, after a while", since, idleTimeout)

	trackIdle(c, fasthttp.StateActive)
	f("the rest of a request", began, readTimeout)
	c.readDeadline.wanted = began.Add(-time.Hour) // an hour later, as it were
	f("the rest of it, again", began.Add(-time.Hour), 0)

	trackIdle(c, fasthttp.StateIdle)
	trackIdle(c, fasthttp.StateActive)
	f("a request of which a part came with the one before", began, readTimeout)
}

// TestDeadlinesAreSetRarely checks that deadlines which hardly differ are set once,
// and that only a long answer brings the write deadline forward.
func TestDeadlinesAreSetRarely(t *testing.T) {
	under := new(sink)
	c := &conn{Conn: under, minRate: 1 << 20, onClose: func() {}}
	from := time.Now()
	f := func(length, writes int, within time.Duration) {
		t.Helper()
		trackIdle(c, fasthttp.StateIdle)
		must(c.SetDeadline(from.Add(time.Hour)))
		_, err := c.Read(make([]byte, 1))
		must(err)
		_, err = c.Write(make([]byte, length))
		must(err)
		if under.reads != 1 || under.writes != writes {
			t.Errorf("%d bytes: deadlines were set %d and %d times; want 1 and %d", length,
				under.reads, under.writes, writes)
		}
		if left := c.writeDeadline.wanted.Sub(from); left > within {
			t.Errorf("%d bytes may take %s; want at most %s", length, left, within)
		}
	}

	f(100, 1, time.Hour)
	f(100, 1, time.Hour)
	f(longAnswer, 1, time.Hour)
	f(longAnswer+1, 2, time.Minute)

	// Nothing is written without a deadline, which would not end.
	under.refuses = net.ErrClosed
	must(c.SetDeadline(from.Add(2 * time.Hour)))
	if n, err := c.Write([]byte{1}); n != 0 || err != net.ErrClosed {
		t.Errorf("%d bytes are written without a deadline, %v", n, err)
	}
}

// TestWithoutTLS checks that a client which does not speak TLS to a server that does is told
// so, also when more of its request comes than is read.
func TestWithoutTLS(t *testing.T) {
	https := httptest.NewTLSServer(nil) // has a certificate
	defer https.Close()
	s := serve(t, nil)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s.addr = tcp.Addr().String()
	secure := newListener(tls.NewListener(tcp, https.TLS), DefaultConnections(), metrics.NewSet())
	go func() { _ = s.server.http.Serve(secure) }() // until the server is shut down

	for _, request := range []string{
		"GET /v1/chains HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/chains HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n",
		"SSH-2.0-client\r\n",
	} {
		a, closed := s.sendRaw(request)
		if a.code != 400 || !closed || !strings.Contains(a.body, "takes https only") {
			t.Errorf("%.40q: got %d closed=%v %s; want a 400", request, a.code, closed, a.body)
		}
	}

	c, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true})
	must(err)
	defer c.Close()
	_, err = io.WriteString(c, "GET /v1/chains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	must(err)
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("with TLS: got %v, %v", res, err)
	}
}

// TestUnreadRequests checks that the last answer of a connection arrives whole although its
// client has sent more requests than were read, and reads slowly.
func TestUnreadRequests(t *testing.T) {
	s := serve(t, nil)
	key := gate.HeaderKey + ": " + s.key + "\r\n"
	behind := strings.Repeat("GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n", 4*maxHead/40)
	f := func(request, want string) {
		t.Helper()
		c := s.dial("", 10*time.Second)
		defer c.Close()
		must(c.(*net.TCPConn).SetReadBuffer(64 << 10))
		_, err := io.WriteString(c, request+" HTTP/1.1\r\nHost: x\r\n"+key+"Connection: close\r\n\r\n"+behind)
		must(err)

		time.Sleep(300 * time.Millisecond) // the answer is sent, and waits in the kernel
		all, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(all[max(0, len(all)-200):]), want) {
			t.Errorf("%s: got %d bytes, which end with %.40q, %v; want %q",
				request, len(all), all[max(0, len(all)-40):], err, want)
		}
	}

	f("GET /v1/positions?limit=100", `"hasMore":true}}`)
	f("GET /v1/positions/export?fields=rank,positionId,owner,poolId", "X-Units-Charged")
}
