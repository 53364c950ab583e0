package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// conn is a connection to a front. It sends as the node's connections do
// (edge/conn.go): the head stands in a small buffer, and a long body leaves
// behind it in the same system call, from where it is. The node's also keep
// deadlines, of which a front has none.
type conn struct {
	net.Conn
	page    page      // of the current request
	stream  outgoing  // of that page
	after   []byte    // goes out with the next Write, and behind it
	both    [2][]byte // what that Write sends
	buffers net.Buffers
}

// listener makes conns.
type listener struct{ net.Listener }

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func (c *conn) Write(p []byte) (int, error) {
	if c.after == nil {
		return c.Conn.Write(p)
	}
	c.both, c.after = [2][]byte{p, c.after}, nil
	c.buffers = c.both[:]
	n, err := c.buffers.WriteTo(c.Conn)
	if err != nil {
		err = fmt.Errorf("cannot send an answer: %w", err)
	}
	return min(int(n), len(p)), err
}

// Buffers as the node has them.
const (
	readBuffer  = 8 << 10
	writeBuffer = 4 << 10
)

// send makes the page the body of a response. The page is the connection's,
// and is not written again before the next request.
func (c *conn) send(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json")
	if len(c.page.body) < writeBuffer*3/4 {
		ctx.Response.SetBodyRaw(c.page.body)
		return
	}
	c.stream.conn = c
	c.stream.Reset(c.page.body)
	ctx.Response.SetBodyStream(&c.stream, len(c.page.body))
}

// outgoing is the page of a connection as a stream.
type outgoing struct {
	bytes.Reader // for a writer that is not the connection's
	conn         *conn
}

// WriteTo sends what w, the connection's buffer, holds, and the body.
func (o *outgoing) WriteTo(w io.Writer) (int64, error) {
	head, ok := w.(*bufio.Writer)
	if !ok || head.Buffered() == 0 {
		return o.Reader.WriteTo(w)
	}
	o.conn.after = o.conn.page.body
	return int64(len(o.conn.page.body)), head.Flush()
}
