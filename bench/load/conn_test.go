package load

import (
	"strings"
	"testing"
)

func TestParseHead(t *testing.T) {
	f := func(text string, want head, rest string) {
		t.Helper()
		h, n, err := parseHead([]byte(text))
		if err != nil || h != want || text[n:] != rest {
			t.Errorf("parseHead(%q) = %+v, rest %q, %v; want %+v, %q", text, h, text[n:], err, want, rest)
		}
		for i := range n { // every shorter piece is not all of it
			if _, n, err := parseHead([]byte(text[:i])); n != 0 || err != nil {
				t.Errorf("parseHead(%q) = %d, %v; want 0", text[:i], n, err)
			}
		}
	}

	f("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", head{200, 5, 0, false}, "hello")
	f("HTTP/1.1 429 Slow\r\nx-units-charged: 12\r\ncontent-length:0\r\n\r\n", head{429, 0, 12, false}, "")
	f("HTTP/1.1 204 No Content\r\nVary: Origin\r\n\r\n", head{204, 0, 0, false}, "")
	f("HTTP/1.1 200 OK\r\nconnection: Close\r\nContent-Length: 0\r\n\r\n", head{200, 0, 0, true}, "")
	f("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", head{200, 0, 0, true}, "")
	f("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", head{200, 0, 0, false}, "")

	bad := func(text string) {
		t.Helper()
		if h, n, err := parseHead([]byte(text)); err == nil {
			t.Errorf("parseHead(%q) = %+v, %d; want an error", text, h, n)
		}
	}
	bad("HTTP/2 200\r\n\r\n")
	bad("HTTP/1.1 abc\r\nContent-Length: 5\r\n\r\n")
	bad("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")
	bad("HTTP/1.1 200 OK\r\nX-Units-Charged: many\r\nContent-Length: 5\r\n\r\n")
	bad("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	bad("HTTP/1.1 200 OK\r\n\r\n")
	bad("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")
	bad(strings.Repeat("x", maxResponseHead+1))
}

// A response may come in any pieces.
func TestTakeBytes(t *testing.T) {
	const text = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-Units-Charged: 2\r\n\r\nhello world"
	for cut := range len(text) {
		c := conn{busy: true, sampled: true}
		first, err := c.takeBytes([]byte(text[:cut]))
		second, err2 := c.takeBytes([]byte(text[cut:]))
		if first || !second || err != nil || err2 != nil || string(c.body) != "hello world" ||
			c.head.charged != 2 {
			t.Errorf("cut at %d: done %v, %v, body %q, %v, %v", cut, first, second, c.body, err, err2)
		}
	}

	c := conn{busy: true, part: new(Part)}
	if _, err := c.takeBytes([]byte(text + "!")); err == nil {
		t.Error("bytes after the end were taken")
	}
	if _, err := new(conn).takeBytes([]byte("x")); err == nil {
		t.Error("bytes that nobody asked for were taken")
	}
}
