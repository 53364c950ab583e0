package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

// conn is one kept-alive connection, which asks one request after the other.
// Nothing of it is touched by anybody else until it has ended.
type conn struct {
	*run
	net    net.Conn // nil: broken
	in     *bufio.Reader
	random *rand.Rand
	out    []byte // the request
	head   fasthttp.ResponseHeader
	body   []byte // of a sampled response, and of one that has to say why
	broken int
}

const (
	// readBuffer takes a page of 20 rows in one read.
	readBuffer = 64 << 10
	// sleepAbove is how far away a request is when Go's timers are good enough:
	// they may fire a millisecond late.
	sleepAbove = 2 * time.Millisecond
	// maxBroken is how often a connection is made anew before the server is
	// believed to be gone.
	maxBroken = 20
	// connectTimeout bounds a connection's start.
	connectTimeout = 5 * time.Second
	// drainTime is how long answers may take that are under way at the end.
	drainTime = 10 * time.Second
)

// dial connects; the connection ends by itself when the run should be over.
func (c *conn) dial() error {
	to, err := net.DialTimeout("tcp", c.cfg.Addr, connectTimeout)
	if err != nil {
		return fmt.Errorf("cannot connect: %w", err)
	}
	c.net, c.in = to, bufio.NewReaderSize(to, readBuffer)
	return nil
}

func (c *conn) close() {
	if c.net != nil {
		c.net.Close()
	}
	c.net = nil
}

// askUntilEnd asks until the time is over, each request when it is due. Its number is
// drawn before it is due, so that every connection waits for another one.
func (c *conn) askUntilEnd() {
	c.net.SetDeadline(c.start.Add(c.end + drainTime))
	for c.broken < maxBroken && c.ctx.Err() == nil {
		due := c.now()
		if c.cfg.Rate > 0 {
			due = c.pace.At(c.asked.Add(1) - 1)
		}
		if due >= c.end || c.cfg.Rate > 0 && !c.waitUntil(due) {
			return
		}

		part := c.cfg.Mix.pick(c.random, c.weights)
		if err := c.ask(part, due); err != nil {
			c.reconnect(err)
		}
	}
}

// waitUntil waits for the moment of a request, to some tens of microseconds; false when
// the run ends before.
func (c *conn) waitUntil(due time.Duration) bool {
	for {
		wait := due - c.now()

		switch {
		case wait <= 0:
			return c.now() < c.end
		case wait > sleepAbove:
			time.Sleep(wait - sleepAbove/2)
		default:
			// Without slack, which is 50 µs for every thread. Interrupted or moved to
			// another thread in between, it looks at the clock again.
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
			ts := unix.NsecToTimespec(wait.Nanoseconds())
			_ = unix.Nanosleep(&ts, nil)
		}
	}
}

// ask sends one request and reads and counts the response.
func (c *conn) ask(part *Part, due time.Duration) error {
	c.out = part.Path(append(c.out[:0], "GET "...), c.random)
	path := len(c.out)
	c.out = append(c.out, c.opening...)
	if n := len(c.cfg.Keys); n > 0 {
		c.out = append(c.out, "\r\nKC-APIKey: "...)
		c.out = append(c.out, c.cfg.Keys[c.random.IntN(n)]...)
	}
	if _, err := c.net.Write(append(c.out, "\r\n\r\n"...)); err != nil {
		return fmt.Errorf("cannot send a request: %w", err)
	}

	if err := c.head.Read(c.in); err != nil {
		return fmt.Errorf("cannot read a response: %w", err)
	}
	status, length := c.head.StatusCode(), c.head.ContentLength()
	if length < 0 {
		return errors.New("response without Content-Length: chunked bodies are not read")
	}
	charged, _ := strconv.ParseInt(string(c.head.Peek("X-Units-Charged")), 10, 64) // none is 0
	uncharged := status == 200 && charged == 0 && part.Units > 0

	// Most bodies are only counted.
	sampled := c.cfg.Check != nil && c.takeSample()
	c.body = c.body[:0]
	if sampled || status >= refused || uncharged {
		c.body = append(c.body, make([]byte, length)...)
		if _, err := io.ReadFull(c.in, c.body); err != nil {
			return fmt.Errorf("cannot read a body: %w", err)
		}
	} else if _, err := c.in.Discard(length); err != nil {
		return fmt.Errorf("cannot read a body: %w", err)
	}

	c.countResponse(part, status, charged, length, due, uncharged && c.cfg.Free != nil && c.cfg.Free(c.body))
	if sampled {
		select {
		case c.checks <- answer{status, string(c.out[len("GET "):path]), c.body}:
			c.body = nil
		default: // whoever checks is behind
		}
	}
	return nil
}

// countResponse enters a complete response.
func (c *conn) countResponse(part *Part, status int, charged int64, length int, due time.Duration, free bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := c.now()
	c.countAnswer(part, status, charged, c.body)
	if now >= c.cfg.Warmup && now <= c.end {
		c.countLatency(status, length, now-due, now-c.cfg.Warmup)
	}
	if free {
		c.Free++
		c.Expected -= part.Units
	}
}

// reconnect replaces a connection that failed a request.
func (c *conn) reconnect(why error) {
	c.mu.Lock()
	c.Unanswered++
	c.note(why.Error())
	c.mu.Unlock()

	c.close()
	c.broken++
	if err := c.dial(); err != nil {
		c.broken = maxBroken
		return
	}
	c.net.SetDeadline(c.start.Add(c.end + drainTime))
}
