package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"tidemark/edge/gate"
)

// TestBuffersWhileSending: without a page cache bodies are sent from buffers that
// are used again. One that a client has not read yet must not be rendered into.
func TestBuffersWhileSending(t *testing.T) {
	s, cached := serve(t, uncached), serve(t, nil)
	path := func(n int) string { return fmt.Sprintf("/v1/positions?limit=%d", 20+n) }
	f := func(who string, n int, got string) {
		t.Helper()
		if want := cached.get(path(n)).body; got != want {
			t.Errorf("%s, answer %d: got %d bytes; the page has %d others", who, n, len(got), len(want))
		}
	}

	// A client that takes the head of an answer and then waits, with nothing between it
	// and the server that could hold the body.
	ours, theirs := net.Pipe()
	defer theirs.Close()
	must(theirs.SetDeadline(time.Now().Add(20 * time.Second)))
	go s.server.http.ServeConn(&conn{Conn: ours, onClose: func() {}})
	_, err := fmt.Fprintf(theirs, "GET %s HTTP/1.1\r\nHost: x\r\n%s: %s\r\n\r\n", path(0), gate.HeaderKey, s.key)
	must(err)
	in := bufio.NewReaderSize(theirs, 16)
	_, err = in.Peek(1)
	must(err)

	for n := 1; n < 8; n++ {
		f("a client that reads", n, s.get(path(n)).body)
		f("a client that unpacks", n, unpack(t, "gzip", s.get(path(n), "Accept-Encoding: gzip").body))
	}

	res, err := http.ReadResponse(in, nil)
	must(err)
	body, err := io.ReadAll(res.Body)
	must(err)
	f("a client that waits", 0, string(body))
}
