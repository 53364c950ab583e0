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
	fd   int
	busy bool
	part int
	cost int64         // units of a 200
	due  time.Duration // when the request should have been sent
	out  []byte        // the request

	started []byte // of a head that came in pieces
	inBody  bool
	head    head
	missing int // bytes of the body

	sampled bool
	body    []byte // of a sampled response, and of one that has to say why
}

// refused is the least status of a response that says what went wrong.
const refused = 400

// unpaid reports whether a good response charged nothing although it might.
func (c *conn) unpaid() bool {
	return c.head.status == 200 && c.head.charged == 0 && c.cost > 0
}

// connectTimeout bounds one connection's start.
const connectTimeout = 5 // seconds

// dial connects and registers with an epoll; index comes back with its events.
func (c *conn) dial(addr *net.TCPAddr, epoll, index int) error {
	family, to := sockaddr(addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open a socket: %w", err)
	}

	wait := unix.Timeval{Sec: connectTimeout}
	err = errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
	)
	if err == nil {
		err = unix.Connect(fd, to)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)})
	}

	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("cannot connect to %s: %w", addr, err)
	}
	*c = conn{fd: fd, out: c.out[:0], started: c.started[:0], body: c.body[:0]}
	return nil
}

func sockaddr(a *net.TCPAddr) (family int, to unix.Sockaddr) {
	if ip := a.IP.To4(); ip != nil {
		return unix.AF_INET, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
}

// send writes the request. It is far smaller than any socket's buffer, so that
// a short write means a broken connection.
func (c *conn) send() error {
	n, err := unix.Write(c.fd, c.out)
	if err == nil && n < len(c.out) {
		err = fmt.Errorf("only %d of %d bytes of a request were taken", n, len(c.out))
	}
	c.busy, c.inBody = true, false
	c.started, c.body = c.started[:0], c.body[:0]
	return err
}

// take reads what has come and reports whether it completes the response.
func (c *conn) take(b []byte) (done bool, err error) {
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
	if c.sampled || c.head.status >= refused || c.unpaid() {
		c.body = append(c.body, b...)
	}
	return c.missing == 0, nil
}
