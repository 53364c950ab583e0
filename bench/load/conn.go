package load

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// conn is one kept-alive connection with at most one request under way.
type conn struct {
	fd   int // -1: closed
	busy bool
	part *Part
	due  time.Duration // when the request should have been sent
	out  []byte        // the request

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
	if c.sampled || c.head.status >= refused || c.uncharged() {
		c.body = append(c.body, b...)
	}
	return c.missing == 0, nil
}

// uncharged reports whether a good response charged nothing although it might.
func (c *conn) uncharged() bool {
	return c.head.status == 200 && c.head.charged == 0 && c.part.Units > 0
}
