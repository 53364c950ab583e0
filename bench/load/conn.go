package load

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// conn is one kept-alive connection with at most one request under way.
type conn struct {
	fd     int // -1: closed
	target int // which one it asks
	busy   bool
	ended  bool // by the server, between two requests
	part   *Part
	due    time.Duration // when the request should have been sent
	late   time.Duration // how long after that it was at most, by fault of the client
	out    []byte        // the request

	started []byte // of a head that came in pieces
	inBody  bool
	head    head
	missing int // bytes of the body

	sampled bool
	body    []byte // of a sampled response, and of one that has to say why
}

// connectTimeout bounds one connection's start.
const connectTimeout = 5 * time.Second

// dial connects and registers with an epoll; index comes back with its events.
// The descriptor is a duplicate, so that Go's own poller does not know it.
func dial(addr string, epoll, index int) (int, error) {
	to, err := net.DialTimeout("tcp", addr, connectTimeout)
	if err != nil {
		return -1, fmt.Errorf("cannot connect: %w", err)
	}
	defer to.Close()
	raw, err := to.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("cannot connect to %s: %w", addr, err)
	}

	fd, dupErr := -1, error(nil)
	err = raw.Control(func(original uintptr) {
		fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, dupErr); err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)})
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("cannot register a connection to %s: %w", addr, err)
	}
	return fd, nil
}

func (c *conn) close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	c.fd = -1
}

// sendRequest writes the request. It is far smaller than any socket's buffer, so
// that a short write means a broken connection.
func (c *conn) sendRequest() error {
	n, err := unix.Write(c.fd, c.out)
	if err == nil && n < len(c.out) {
		err = fmt.Errorf("only %d of %d bytes of a request were taken", n, len(c.out))
	}
	c.busy, c.inBody = true, false
	c.started, c.body = c.started[:0], c.body[:0]
	return err
}

// path is what the request asks for.
func (c *conn) path() string { return string(bytes.Fields(c.out)[1]) }

// takeBytes takes bytes of a response and reports whether they complete it.
func (c *conn) takeBytes(b []byte) (done bool, err error) {
	if !c.busy {
		return false, fmt.Errorf("%d bytes that nobody asked for", len(b))
	}

	if !c.inBody { // the head may come in pieces
		if len(c.started) > 0 {
			c.started = append(c.started, b...)
			b = c.started
		}
		var n int
		if c.head, n, err = parseHead(b); err != nil {
			return false, err
		}
		if n == 0 {
			if len(c.started) == 0 {
				c.started = append(c.started, b...)
			}
			return false, nil
		}
		c.inBody, c.missing, b = true, c.head.length, b[n:]
	}

	if len(b) > c.missing {
		return false, fmt.Errorf("%d bytes after the end of a response", len(b)-c.missing)
	}
	c.missing -= len(b)
	if c.sampled || !good(c.head.status) || c.uncharged() {
		c.body = append(c.body, b...)
	}
	return c.missing == 0, nil
}

// uncharged reports whether a good response charged nothing although it might.
func (c *conn) uncharged() bool {
	return c.head.status == 200 && c.head.charged == 0 && c.part.Units > 0
}

// head is what matters of a response's head.
type head struct {
	status  int
	length  int   // of the body
	charged int64 // units, as the response says
	closes  bool  // the server closes the connection after it
}

// isFarewell reports whether a server that was asked nothing says that it closes the connection,
// as with a 408 after the time in which a request should have come.
func isFarewell(b []byte) bool {
	h, n, err := parseHead(b)
	return err == nil && n > 0 && h.closes
}

// maxResponseHead bounds a response's head: no server of ours sends more.
const maxResponseHead = 16 << 10

var (
	headEnd = []byte("\r\n\r\n")
	lineEnd = []byte("\r\n")
)

// parseHead reads the head at the start of b and returns its length with the
// empty line; 0 when b does not hold all of it yet.
func parseHead(b []byte) (h head, n int, err error) {
	whole, _, found := bytes.Cut(b, headEnd)
	if !found && len(b) > maxResponseHead {
		return h, 0, fmt.Errorf("response head of more than %d bytes", maxResponseHead)
	}
	if !found {
		return h, 0, nil
	}

	line, rest, _ := bytes.Cut(whole, lineEnd)
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return h, 0, fmt.Errorf("not a response: %.40q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, 0, fmt.Errorf("bad status in %.40q", line)
	}

	h.length, h.closes = -1, line[7] == '0'
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		if err := h.parseField(line); err != nil {
			return h, 0, fmt.Errorf("bad header line %.40q: %w", line, err)
		}
	}
	if h.status == 204 {
		h.length = 0
	}
	if h.length < 0 {
		return h, 0, errors.New("response without Content-Length: chunked bodies are not read")
	}
	return h, len(whole) + len(headEnd), nil
}

// parseField reads one line; of most nothing is wanted.
func (h *head) parseField(line []byte) (err error) {
	name, value, ok := bytes.Cut(line, []byte{':'})
	value = bytes.TrimSpace(value)

	switch {
	case !ok:
		return errors.New("no colon")
	case bytes.EqualFold(name, []byte("Content-Length")):
		h.length, err = strconv.Atoi(string(value))
	case bytes.EqualFold(name, []byte("X-Units-Charged")):
		h.charged, err = strconv.ParseInt(string(value), 10, 64)
	case bytes.EqualFold(name, []byte("Connection")):
		keeps := bytes.EqualFold(value, []byte("keep-alive"))
		h.closes = !keeps && (h.closes || bytes.EqualFold(value, []byte("close")))
	}

	return err
}
