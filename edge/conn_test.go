package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
	for _, wait := range []time.Duration{time.Hour, 20 * time.Millisecond, 10 * time.Millisecond} {
		must(c.SetReadDeadline(time.Now().Add(wait)))
		must(c.SetWriteDeadline(time.Now().Add(wait)))
	}

	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a read ended without a byte")
	}
	if _, err := c.Write([]byte{1}); err == nil {
		t.Error("a write ended without a reader")
	}
}
