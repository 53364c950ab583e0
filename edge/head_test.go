package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
)

// TestAddedHead: the headers of a long answer are added to the head by the connection. They
// are the same, each once, as where fasthttp writes them: for HEAD, and for requests that come
// together, so that its buffer has other answers.
func TestAddedHead(t *testing.T) {
	s := serve(t, nil)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	must(theirs.SetDeadline(time.Now().Add(20 * time.Second)))
	c := &conn{Conn: ours, onClose: func() {}}
	go s.server.http.ServeConn(c)
	in := bufio.NewReader(theirs)

	request := func(method, path, more string) string {
		return method + " " + path + " HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n" + gate.HeaderKey + ": " +
			s.key + "\r\n" + more + "\r\n"
	}
	// ask returns the sorted headers of the answers to requests that are sent together.
	ask := func(requests ...string) (heads []string) {
		go func() { _, _ = io.WriteString(theirs, strings.Join(requests, "")) }()
		for _, q := range requests {
			method, _, _ := strings.Cut(q, " ")
			res, err := http.ReadResponse(in, &http.Request{Method: method})
			must(err)
			_, err = io.Copy(io.Discard, res.Body)
			must(err)

			var lines []string
			for name, values := range res.Header {
				if len(values) != 1 {
					t.Errorf("%s: %q is there %d times", q, name, len(values))
				}
				if name != "Date" && !strings.HasPrefix(name, "X-Quota-Rem") && name != "Ratelimit" {
					lines = append(lines, name+": "+values[0])
				}
			}
			slices.Sort(lines)
			heads = append(heads, strings.Join(lines, "\n"))
		}
		return heads
	}

	for _, more := range []string{"", "Accept-Encoding: gzip\r\n"} {
		get, head := request("GET", "/v1/positions", more), request("HEAD", "/v1/positions", more)
		added := ask(get)[0]
		if !strings.Contains(added, "X-Request-Id: mine") || !strings.Contains(added, "X-Units-Charged: 1") ||
			len(c.head) == 0 {
			t.Fatalf("%d bytes of a head were added to; the headers are\n%s", len(c.head), added)
		}

		c.head = c.head[:0]
		for i, got := range ask(head, request("GET", "/v1/chains", ""), get, get) {
			if i != 1 && got != added {
				t.Errorf("answer %d has the headers\n%s\nwant\n%s", i, got, added)
			}
		}
		if len(c.head) != 0 {
			t.Error("lines were added to the head of an answer behind others")
		}
	}
}

// TestSendingIsBounded: every answer has a time within which it must be sent, also that to a
// request which cannot be read.
func TestSendingIsBounded(t *testing.T) {
	s := serve(t, nil)
	f := func(request string) {
		t.Helper()
		ours, theirs := net.Pipe()
		defer theirs.Close()
		must(theirs.SetDeadline(time.Now().Add(20 * time.Second)))
		c := &conn{Conn: ours, onClose: func() {}}
		go s.server.http.ServeConn(c)

		_, err := io.WriteString(theirs, request)
		must(err)
		_, err = http.ReadResponse(bufio.NewReader(theirs), nil)
		must(err)
		if left := time.Until(c.writeDeadline.set); left < writeTimeout-time.Minute/2 || left > writeTimeout {
			t.Errorf("%q: the answer has %s; want %s", request, left, writeTimeout)
		}
	}

	f("GET /v1/chains HTTP/1.1\r\nHost: x\r\n\r\n")
	f("GET /v1/positions HTTP/1.1\r\nHost: x\r\n" + gate.HeaderKey + ": " + s.key + "\r\n\r\n")
	f("GET /v1/chains HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n")
}
