package edge

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
)

// conn is a connection as one serving goroutine uses it. It tells its listener
// when it is closed, sends a body without copying it, and leaves deadlines as
// they are while they would hardly move.
type conn struct {
	net.Conn
	from    peer
	minRate int // bytes a second that a client must read of a long answer
	leave   func()
	// idleSince is since when the connection waits for a request, in
	// nanoseconds of the wall clock; 0 while it serves one.
	idleSince atomic.Int64

	frames  framer
	refused *render.Error // why no more is read

	read, write deadline
	body        outgoing
	after       []byte    // goes out with the next Write, and behind it
	both        [2][]byte // what that Write sends
	buffers     net.Buffers
}

// deadline is the one that is asked for and the one that is set. To set it
// takes a lock and a timer of the runtime; a busy connection is asked to three
// times a request, and needs to once a second.
type deadline struct{ wanted, set time.Time }

// overdue reports whether what is set is later than what is wanted, or
// earlier by more than a connection would notice.
func (d *deadline) overdue() bool {
	early := d.wanted.Sub(d.set)
	return early < 0 || early > deadlineSlack
}

// SetReadDeadline has its effect on the next Read.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.wanted = t
	return nil
}

// SetWriteDeadline has its effect on the next Write.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.wanted = t
	return nil
}

// SetDeadline has its effect on the next Read and Write.
func (c *conn) SetDeadline(t time.Time) error {
	c.read.wanted, c.write.wanted = t, t
	return nil
}

func (c *conn) Read(p []byte) (int, error) {
	if c.read.overdue() {
		if err := c.Conn.SetReadDeadline(c.read.wanted); err != nil {
			return 0, err
		}
		c.read.set = c.read.wanted
	}

	if c.refused != nil {
		return 0, c.refused
	}
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	if n, c.refused = c.frames.pass(p[:n]); c.refused != nil && n == 0 {
		return 0, c.refused
	}
	return n, err
}

// markIdle notes that the connection waits for a request from now on.
func (c *conn) markIdle(now time.Time) { c.idleSince.Store(now.UnixNano()) }

func (c *conn) Write(p []byte) (int, error) {
	if size := len(p) + len(c.after); size > longAnswer && c.minRate > 0 {
		c.limitSlowReader(size)
	}

	if c.write.overdue() {
		if err := c.Conn.SetWriteDeadline(c.write.wanted); err != nil {
			return 0, err
		}
		c.write.set = c.write.wanted
	}

	if c.after == nil {
		return c.Conn.Write(p)
	}
	c.both, c.after = [2][]byte{p, c.after}, nil
	c.buffers = c.both[:]
	n, err := c.buffers.WriteTo(c.Conn)
	return min(int(n), len(p)), err
}

// limitSlowReader ends a write of a long answer to a client that reads less
// than the minimum rate. Short answers fit the kernel's buffer.
func (c *conn) limitSlowReader(size int) {
	allowed := slowReaderGrace + time.Duration(size)*time.Second/time.Duration(c.minRate)
	if limit := time.Now().Add(allowed); c.write.wanted.IsZero() || limit.Before(c.write.wanted) {
		c.write.wanted = limit
	}
}

func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// setBody makes body, which must never change, the body of a response. A long
// one is not copied into the write buffer behind its head: both leave in one
// system call from where they are.
func setBody(ctx *fasthttp.RequestCtx, body []byte) {
	c, ok := ctx.Conn().(*conn)
	if !ok || len(body) < writeBuffer*3/4 {
		ctx.Response.SetBodyRaw(body)
		return
	}
	c.body.conn, c.body.body = c, body
	c.body.Reset(body)
	ctx.Response.SetBodyStream(&c.body, len(body))
}

// outgoing is the body of a connection's current response.
type outgoing struct {
	bytes.Reader // for a writer that is not the connection's
	conn         *conn
	body         []byte
}

// WriteTo sends what w, the connection's buffer, holds, and the body.
func (o *outgoing) WriteTo(w io.Writer) (int64, error) {
	head, ok := w.(*bufio.Writer)
	if !ok || head.Buffered() == 0 {
		return o.Reader.WriteTo(w)
	}
	o.conn.after = o.body
	return int64(len(o.body)), head.Flush()
}
