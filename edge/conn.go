package edge

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"tidemark/edge/pages"
	"tidemark/edge/render"
)

// conn is a connection, used by one serving goroutine at a time. It checks what
// it reads by a framer, sends long bodies without copying them, sets deadlines
// only when they change by much, and tells its listener when it is closed.
type conn struct {
	net.Conn
	socket  *socket // of Conn; nil: it has none
	peer    peer
	minRate int // bytes per second at which a client must read a long answer
	onClose func()
	// idleSince is when the connection began to wait for a request, in nanoseconds of
	// the wall clock, 0 from the first byte of a request until it is answered, or
	// closedIdle.
	idleSince atomic.Int64
	serving   atomic.Bool // fasthttp counts the connection as active
	handover  *handover   // the long answer that the connection is left to; nil: none

	framer  framer
	refused *render.Error // set when nothing more may be read
	lingers atomic.Bool   // the client may still be sending what is not read

	readDeadline, writeDeadline deadline
	limited                     bool // readDeadline is that of the request that has begun
	body                        connBody
	fresh                       bool      // it was read from since the last request began
	lines                       []byte    // to be added to the head before pending
	head                        []byte    // that head with them
	pending                     []byte    // to be sent behind the next Write
	parts                       [2][]byte // the buffers of that Write
	buffers                     net.Buffers
}

// deadline is a deadline as it should be and as it was last set. Setting one takes a lock
// and a runtime timer. Every request has other deadlines than the one before, but about once
// per second is enough.
type deadline struct{ wanted, set time.Time }

// needsUpdate reports whether the set deadline is too late, or more than
// deadlineSlack too early.
func (d *deadline) needsUpdate() bool {
	early := d.wanted.Sub(d.set)
	return early < 0 || early > deadlineSlack
}

// SetWriteDeadline takes effect on the next Write.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.wanted = t
	return nil
}

// SetDeadline takes effect on the next Write; Read has its own deadlines.
func (c *conn) SetDeadline(t time.Time) error { return c.SetWriteDeadline(t) }

// limitRead sets the deadline of a read. fasthttp has timeouts too, but reads the clock for
// each of them with every request.
func (c *conn) limitRead() error {
	d := &c.readDeadline
	switch since := c.idleSince.Load(); {
	case since > 0 && !c.serving.Load(): // it waits for the next request
		d.wanted = time.Unix(0, since).Add(idleTimeout)
	case !c.limited:
		c.limited = true
		d.wanted = time.Now().Add(readTimeout)
	}

	if !d.needsUpdate() {
		return nil
	}
	if err := c.Conn.SetReadDeadline(d.wanted); err != nil {
		return err
	}
	d.set = d.wanted
	return nil
}

func (c *conn) Read(p []byte) (int, error) {
	if err := c.limitRead(); err != nil {
		return 0, err
	}

	if c.refused != nil {
		return 0, c.refused
	}
	c.fresh = true
	n, err := c.receive(p)
	if n == 0 && c.leaveTLS(err) {
		p[0], c.refused = '?', errPlain // a byte, so that fasthttp answers: see framer.scan
		return 1, nil
	}
	if n == 0 {
		return n, err
	}

	// What came before a refused line is still read and answered.
	if n, c.refused = c.framer.scan(p[:n]); c.refused != nil && n == 0 {
		return 0, c.refused
	}
	if !c.claim() {
		return 0, net.ErrClosed
	}
	return n, err
}

// receive reads from the connection below.
func (c *conn) receive(p []byte) (int, error) {
	if c.socket != nil && len(p) > 0 {
		return c.socket.Read(p)
	}
	return c.Conn.Read(p)
}

// leaveTLS goes on without TLS if a client did not begin with it, as the error of the first
// read tells, so that the answer can be read. It reports whether it did.
func (c *conn) leaveTLS(err error) bool {
	var unknown tls.RecordHeaderError
	if !errors.As(err, &unknown) || unknown.Conn == nil || !c.claim() {
		return false
	}
	c.Conn = unknown.Conn
	return true
}

// closedIdle is the idleSince of a connection that was closed while it was idle.
const closedIdle = -1

// markIdle records that the connection waits for a request from now on.
func (c *conn) markIdle(now time.Time) { c.idleSince.CompareAndSwap(0, now.UnixNano()) }

// claim records that a request has come. It returns false if the connection was
// closed before: nobody would read the answer, so it must not be charged.
func (c *conn) claim() bool {
	for {
		switch since := c.idleSince.Load(); {
		case since == 0:
			return true
		case since == closedIdle:
			return false
		case c.idleSince.CompareAndSwap(since, 0):
			return true
		}
	}
}

// closeIdle closes the connection if it is idle, and reports whether it was. Its
// listener counts it until onClose is called.
func (c *conn) closeIdle() bool {
	since := c.idleSince.Load()
	if since <= 0 || !c.idleSince.CompareAndSwap(since, closedIdle) {
		return false
	}
	socketOf(c.Conn).Close() // its serving goroutine notices and cleans up
	return true
}

// socketOf returns the connection below TLS, if there is any. Closing it does not wait, while
// TLS takes up to five seconds to take leave of a client that does not read.
func socketOf(c net.Conn) net.Conn {
	if secure, ok := c.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return c
}

func (c *conn) Write(p []byte) (int, error) {
	if size := len(p) + len(c.pending); size > longAnswer && c.minRate > 0 {
		c.limitSlowReader(size)
	}

	if c.writeDeadline.needsUpdate() {
		if err := c.Conn.SetWriteDeadline(c.writeDeadline.wanted); err != nil {
			return 0, err
		}
		c.writeDeadline.set = c.writeDeadline.wanted
	}

	// Send p and the pending body by one system call. Only p counts as written:
	// the caller does not know of the body.
	body, head := c.pending, p
	c.pending = nil
	if len(body) > 0 && len(c.lines) > 0 {
		head = c.addLines(p)
	}
	n, err := c.send(head, body)
	return min(n, len(p)), err
}

// addLines returns a head, which ends with an empty line, with the lines in front of that.
func (c *conn) addLines(head []byte) []byte {
	if !bytes.HasSuffix(head, headEnd) {
		panic("BUG: lines are added to what is not the end of a head")
	}

	c.head = append(c.head[:0], head[:len(head)-len(crlf)]...)
	c.head = append(append(c.head, c.lines...), crlf...)
	c.lines = c.lines[:0]
	return c.head
}

var headEnd = []byte(crlf + crlf)

// takeFresh reports whether the connection was read from since the last call. fasthttp reads
// only when it has sent all that it wrote, so that its buffer is then empty.
func (c *conn) takeFresh() bool {
	fresh := c.fresh
	c.fresh, c.lines = false, c.lines[:0]
	return fresh
}

// send sends what is written and the body behind it, which may be empty.
func (c *conn) send(p, body []byte) (int, error) {
	switch {
	case c.socket != nil && len(p)+len(body) <= maxRaw:
		return c.socket.Write(p, body)
	case len(body) == 0:
		return c.Conn.Write(p)
	}

	c.parts = [2][]byte{p, body}
	c.buffers = c.parts[:]
	n, err := c.buffers.WriteTo(c.Conn)
	return int(n), err
}

// limitSlowReader moves the write deadline forward to when a client has read a
// long answer at the minimum rate.
func (c *conn) limitSlowReader(size int) {
	allowed := slowReaderGrace + time.Duration(size)*time.Second/time.Duration(c.minRate)
	limit := time.Now().Add(allowed)
	if d := &c.writeDeadline; d.wanted.IsZero() || limit.Before(d.wanted) {
		d.wanted = limit
	}
}

// Close closes the connection. At a shutdown fasthttp closes those that it takes for
// idle. If a request has come to one meanwhile, that is answered first.
func (c *conn) Close() error {
	if c.handover != nil {
		c.handover.begin()
	}
	if !c.serving.Load() && c.idleSince.Load() == 0 {
		return nil
	}
	defer c.onClose()
	if c.closeIdle() {
		return nil
	}

	if c.lingers.Load() || c.hasUnread() {
		c.linger()
	}
	return c.Conn.Close()
}

// hasUnread reports whether bytes have come that were not read, as those of requests that were
// sent behind the last one that is answered.
func (c *conn) hasUnread() bool {
	socket, ok := socketOf(c.Conn).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}

	var next [1]byte
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), next[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}

// linger ends the sending and drops what still comes. A connection that is closed with
// unread bytes is reset, and a client that is still sending or reads slowly may lose the answer.
func (c *conn) linger() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(lingerTime)); err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // whatever ends it: the connection is closed
}

// limitSending bounds the time to send a response, which is ready now.
func limitSending(ctx *fasthttp.RequestCtx, now time.Time) {
	if c, ok := ctx.Conn().(*conn); ok {
		c.writeDeadline.wanted = now.Add(writeTimeout)
	}
}

// sendBody sets the body of a response; body must not change until it is sent, when
// buffer is given back: the one that holds body, or nil if body never changes. A long
// body is not copied into the write buffer: head and body are sent by one system call.
func sendBody(ctx *fasthttp.RequestCtx, body []byte, buffer *pages.Buffer) {
	c, ok := ctx.Conn().(*conn)
	switch {
	case ok && isLongBody(len(body)):
		c.body.set(c, body, buffer)
		ctx.Response.SetBodyStream(&c.body, len(body))
	case buffer == nil:
		ctx.Response.SetBodyRaw(body)
	default:
		ctx.Response.SetBody(body) // a copy
		buffer.Release()
	}
}

// isLongBody reports whether a body of so many bytes is sent without a copy.
func isLongBody(length int) bool { return length >= writeBuffer*3/4 }

// connBody is the body of a connection's current response, as a stream.
type connBody struct {
	bytes.Reader // used when WriteTo gets another writer than fasthttp's buffer
	conn         *conn
	body         []byte
	buffer       *pages.Buffer // that holds body; nil: nothing is to be given back
}

func (o *connBody) set(c *conn, body []byte, buffer *pages.Buffer) {
	o.conn, o.body, o.buffer = c, body, buffer
	o.Reset(body)
}

// Close is called by fasthttp when the body has been sent or never will be.
func (o *connBody) Close() error {
	o.buffer.Release()
	o.buffer, o.body = nil, nil
	return nil
}

// WriteTo flushes w, which is fasthttp's buffer with the head in it, and has the
// connection send the body behind it.
func (o *connBody) WriteTo(w io.Writer) (int64, error) {
	head, ok := w.(*bufio.Writer)
	if !ok || head.Buffered() == 0 {
		return o.Reader.WriteTo(w)
	}
	o.conn.pending = o.body
	return int64(len(o.body)), head.Flush()
}
