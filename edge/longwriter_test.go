package edge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// longFront is a server that answers every request with one long answer.
type longFront struct {
	*front
	until  time.Time
	run    func(*longWriter)
	errors chan error // of the answers that ended
}

// serveLong starts a server whose answers run writes. Its error is kept.
func serveLong(t *testing.T, run func(*longWriter) error) *longFront {
	t.Helper()
	f := &longFront{front: &front{t: t}, errors: make(chan error, 1000)}
	f.run = func(w *longWriter) { f.errors <- run(w) }
	cfg := config(f.front, sharedNode())
	var err error
	f.server, err = New(cfg)
	must(err)
	f.key = f.issue("unlimited", accounts.Server)
	f.server.http.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/ready" {
			return
		}
		r := &request{ctx: ctx, now: ctx.Time()}
		f.server.sendLong(r, f.findKey(f.key), f.until, "X-End", f.run)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	f.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(l) }()
	f.sendRaw("GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") // it has begun to serve
	t.Cleanup(func() {
		must(f.server.Shutdown(context.Background()))
		must(<-served)
	})
	return f
}

// open sends a request and returns the connection.
func (f *longFront) open() net.Conn {
	c, err := net.Dial("tcp", f.addr)
	must(err)
	f.t.Cleanup(func() { c.Close() })
	must(c.SetDeadline(time.Now().Add(10 * time.Second)))
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	must(err)
	return c
}

// wait returns the error of the next answer that ends.
func (f *longFront) wait() error {
	f.t.Helper()
	select {
	case err := <-f.errors:
		return err
	case <-time.After(10 * time.Second):
		f.t.Fatal("the answer does not end")
		return nil
	}
}

// TestLongAnswer checks that a client gets every byte, in chunks with a trailer or,
// by HTTP/1.0, up to the connection's end.
func TestLongAnswer(t *testing.T) {
	var want strings.Builder
	for size := 1; size < 200_000; size = size*3 + 1 {
		want.WriteString(strings.Repeat(string(rune('a'+size%26)), size))
	}
	f := serveLong(t, func(w *longWriter) error {
		for left := want.String(); len(left) > 0; {
			n := min(len(left), 1+len(left)%997)
			if _, err := w.Write([]byte(left[:n])); err != nil {
				return err
			}
			left = left[n:]
		}
		return w.End([]byte("."), "X-End: all\r\n")
	})

	for _, version := range []string{"1.1", "1.0"} {
		c, err := net.Dial("tcp", f.addr)
		must(err)
		must(c.SetDeadline(time.Now().Add(10 * time.Second)))
		_, err = io.WriteString(c, "GET / HTTP/"+version+"\r\nHost: x\r\n\r\n")
		must(err)
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		must(err)
		body, err := io.ReadAll(res.Body)
		must(err)
		if string(body) != want.String()+"." {
			t.Errorf("HTTP/%s: got %d bytes; want %d", version, len(body), want.Len()+1)
		}
		if end := res.Trailer.Get("X-End"); (end == "all") != (version == "1.1") {
			t.Errorf("HTTP/%s: the trailer is %q", version, end)
		}
		if _, err := in.ReadByte(); err != io.EOF || !res.Close {
			t.Errorf("HTTP/%s: the connection stays open: %v", version, err)
		}
		must(f.wait())
		c.Close()
	}
	must(f.server.long.stop(context.Background()))
	if panics := f.metric("tidemark_edge_panics_total"); panics != "0" {
		t.Errorf("%s panics are counted", panics)
	}
}

// TestLongAnswerIsSentAtOnce checks that the head and what was flushed reach the
// client while the answer goes on.
func TestLongAnswerIsSentAtOnce(t *testing.T) {
	proceed := make(chan bool)
	f := serveLong(t, func(w *longWriter) error {
		<-proceed
		if _, err := w.Write([]byte("first\n")); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		<-proceed
		return w.End([]byte("last\n"), "")
	})

	res, err := http.ReadResponse(bufio.NewReader(f.open()), nil)
	must(err)
	in := bufio.NewReader(res.Body)
	for _, want := range []string{"first\n", "last\n"} {
		proceed <- true
		if line, err := in.ReadString('\n'); line != want {
			t.Errorf("got %q, %v; want %q", line, err, want)
		}
	}
	must(f.wait())
}

// fill writes without end.
func fill(w *longWriter) error {
	for row := make([]byte, 4<<10); ; {
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
}

// TestSlowReaderOfLongAnswer checks that a client that does not read is cut soon, that one that
// reads fast enough is not, and that neither keeps a buffer's worth of rows waiting
// for the other.
func TestSlowReaderOfLongAnswer(t *testing.T) {
	const total = 8 << 20
	begun := make(chan *longWriter, 2)
	f := serveLong(t, func(w *longWriter) error {
		w.conn.minRate, w.spare = 1<<20, 100*time.Millisecond
		begun <- w
		for row := make([]byte, 4<<10); w.sent < total; {
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
		return w.End(nil, "")
	})

	silent := f.open()
	stuck := <-begun
	reading := f.open()
	<-begun
	if n, err := io.Copy(io.Discard, reading); err != nil || n < total {
		t.Errorf("a client that reads got %d bytes: %v", n, err)
	}

	var got []error
	for range 2 {
		got = append(got, f.wait())
	}
	if !(got[0] == nil && got[1] == errSlowReader || got[1] == nil && got[0] == errSlowReader) {
		t.Errorf("the answers ended by %v; want one by %v", got, errSlowReader)
	}
	if stuck.sent >= total || stuck.buf != nil {
		t.Errorf("%d bytes were sent to a client that does not read; %d wait", stuck.sent, len(stuck.buf))
	}
	silent.Close()
}

// TestMinimumRate checks how long a client may take: the rate counts over the whole
// answer, and only the time that it lets the server wait.
func TestMinimumRate(t *testing.T) {
	w := newLongWriter(&conn{minRate: 1000}, nil, time.Time{}, true)
	f := func(bytes int, spare, want time.Duration) {
		t.Helper()
		w.spare = spare
		if got := w.allowedFor(bytes); got != want {
			t.Errorf("%d bytes, %s ahead: got %s; want %s", bytes, spare, got, want)
		}
	}

	f(0, slowReaderGrace, slowReaderGrace)
	f(1000, slowReaderGrace, slowReaderGrace+time.Second)
	f(2000, 0, 2*time.Second)
	f(2000, -time.Second, 2*time.Second)

	// Few bytes may wait like many, but not again and again.
	w.step = 3000
	f(2000, time.Second, 4*time.Second)
	f(4000, time.Second, 5*time.Second)
	f(500, -time.Second, 2*time.Second)
	f(500, -5*time.Second, 500*time.Millisecond)
	w.conn.minRate = 0
	f(1000, 0, writeTimeout)
}

// TestWhyWritesFail checks what an answer ends by whose write came to nothing: what had it
// end, if that is why the write had no more time.
func TestWhyWritesFail(t *testing.T) {
	s := serve(t, nil)
	f := func(want error, cause error, change func(w *longWriter)) {
		t.Helper()
		ours, theirs := net.Pipe()
		defer theirs.Close()
		w := newLongWriter(&conn{Conn: ours}, s.findKey(s.issue("unlimited", accounts.Server)), time.Time{}, true)
		change(w)
		if got := w.fail(cause); got != want || w.Reason() != want || w.Flush() != want {
			t.Errorf("%v is answered by %v, then %v; want %v", cause, got, w.Reason(), want)
		}
		select {
		case <-w.Ended():
		default:
			t.Errorf("after %v the answer goes on", cause)
		}
	}

	late := &net.OpError{Op: "write", Err: os.ErrDeadlineExceeded}
	f(errSlowReader, late, func(*longWriter) {})
	f(errSlowReader, late, func(w *longWriter) { w.until = time.Now().Add(time.Hour) })
	f(errTooLong, late, func(w *longWriter) { w.until = time.Now().Add(-time.Second) })
	f(errKeyRevoked, late, func(w *longWriter) { s.book.Revoke(w.key, 1) })
	f(errServerStops, late, func(w *longWriter) { w.interrupt(errServerStops) })
	f(errClientGone, net.ErrClosed, func(w *longWriter) { w.until = time.Now().Add(-time.Second) })
}

// TestFlushIsDue checks that what was written is sent when it is longFlush bytes, and not
// before.
func TestFlushIsDue(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	defer theirs.Close()
	s := serve(t, nil)
	w := newLongWriter(&conn{Conn: ours}, s.findKey(s.key), time.Time{}, true)

	for _, sent := range []int64{0, longFlush, longFlush, 2 * longFlush} {
		size := longFlush - 1
		if sent > w.sent {
			size = 1
		}
		if _, err := w.Write(make([]byte, size)); err != nil || w.sent != sent {
			t.Errorf("%d bytes are sent, %v; want %d", w.sent, err, sent)
		}
	}
}

// devours is a connection that takes everything.
type devours struct{ net.Conn }

func (devours) Write(p []byte) (int, error)      { return len(p), nil }
func (devours) SetWriteDeadline(time.Time) error { return nil }

// TestFlushesNeedNoMemory checks that flushes use the same buffers again.
func TestFlushesNeedNoMemory(t *testing.T) {
	s := serve(t, nil)
	w := newLongWriter(&conn{Conn: devours{}}, s.findKey(s.key), time.Time{}, true)
	const flushes = 200
	row := make([]byte, longFlush)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range flushes {
		_, err := w.Write(row)
		must(err)
	}

	runtime.ReadMemStats(&after)
	// The race detector has a pool drop some.
	if each := (after.TotalAlloc - before.TotalAlloc) / flushes; w.sent != flushes*longFlush || each > longFlush/2 {
		t.Errorf("%d bytes were sent; each flush took %d bytes of memory", w.sent, each)
	}
}

// TestLongAnswerEnds checks what ends an answer early, and that its last words come
// behind what was written.
func TestLongAnswerEnds(t *testing.T) {
	begun := make(chan bool, 1)
	farewell := func(w *longWriter) error {
		_, _ = w.Write([]byte("row\n"))
		if err := w.Flush(); err != nil {
			return err
		}
		begun <- true
		<-w.Ended()
		if _, err := w.Write([]byte("lost\n")); err != nil {
			return err
		}
		if err := w.Flush(); err != w.Reason() {
			return errors.New("Flush does not say why the answer ends")
		}
		reason := w.Reason()
		if err := w.End([]byte(reason.Error()), "X-End: early\r\n"); err != nil {
			return err
		}
		return reason
	}

	check := func(name string, f *longFront, want error, end func()) {
		t.Helper()
		res, err := http.ReadResponse(bufio.NewReader(f.open()), nil)
		must(err)
		<-begun
		end()
		body, err := io.ReadAll(res.Body)
		if got := f.wait(); got != want {
			t.Errorf("%s: the answer ended by %v; want %v", name, got, want)
		}
		if err != nil || string(body) != "row\n"+want.Error() || res.Trailer.Get("X-End") != "early" {
			t.Errorf("%s: got %q, %v", name, body, err)
		}
	}

	f := serveLong(t, farewell)
	k := f.findKey(f.key)
	check("suspended", f, errKeyRevoked, func() {
		f.book.SetTerms(k.Cell, accounts.NewTerms(&k.Cell.Terms().Plan, true))
	})
	f.book.SetTerms(k.Cell, accounts.NewTerms(&k.Cell.Terms().Plan, false))
	check("revoked", f, errKeyRevoked, func() { f.book.Revoke(k, 1) })
	f.key = f.issue("unlimited", accounts.Server)
	f.until = time.Now().Add(500 * time.Millisecond)
	check("time", f, errTooLong, func() {})
	f.until = time.Time{}
	check("stop", f, errServerStops, func() { f.server.long.interrupt() })
}

// TestBlockedAnswerEnds checks that a stop does not wait for a client that does not
// read, and that an answer that begins during a stop ends at once.
func TestBlockedAnswerEnds(t *testing.T) {
	begun := make(chan bool, 2)
	f := serveLong(t, func(w *longWriter) error {
		begun <- true
		return fill(w)
	})
	f.open()
	<-begun
	time.Sleep(50 * time.Millisecond) // its buffers are full

	from := time.Now()
	must(f.server.long.stop(context.Background()))
	if took := time.Since(from); took < closeTime/2 || took > 3*closeTime {
		t.Errorf("a stop waited %s for a client that does not read; want %s", took, closeTime)
	}
	if err := f.wait(); err != errServerStops {
		t.Errorf("the answer ended by %v; want %v", err, errServerStops)
	}

	f.open()
	if err := f.wait(); err != errServerStops {
		t.Errorf("an answer that began during a stop ended by %v; want %v", err, errServerStops)
	}
}

// TestStuckAnswers checks that a stop says when an answer does not end in time.
func TestStuckAnswers(t *testing.T) {
	l := newLongAnswers(metrics.NewSet())
	w := newLongWriter(&conn{Conn: fakeConn{}}, nil, time.Time{}, true)
	w.reason = errServerStops // it was told
	l.add(w)
	late, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.stop(late); !errors.Is(err, context.Canceled) {
		t.Errorf("with an answer that does not end, a stop is answered %v", err)
	}
	l.remove(w)
	must(l.stop(context.Background()))
}

// TestChecksOfAnswers checks that open answers are looked at again, that nothing is when
// none is open, and that the next one is looked at.
func TestChecksOfAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLongAnswers(metrics.NewSet())
		key := &accounts.Key{Issued: accounts.Issued{
			Cell: accounts.NewCell(1, "acme", 0, accounts.NewTerms(&accounts.DefaultPlans()[0], false)),
		}}
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		f := func(what string, want bool) {
			t.Helper()
			l.mu.Lock()
			defer l.mu.Unlock()
			if got := l.timer != nil; got != want {
				t.Errorf("%s: a check is due: %t; want %t", what, got, want)
			}
		}

		f("at the start", false)
		for range 2 {
			w := newLongWriter(&conn{Conn: near}, key, time.Now().Add(5*longCheck/2), true)
			l.add(w)
			f("with an answer", true)
			time.Sleep(2 * longCheck)
			synctest.Wait()
			if f("after two checks", true); w.Reason() != nil {
				t.Errorf("the answer ends too soon: %v", w.Reason())
			}

			time.Sleep(longCheck)
			synctest.Wait()
			if w.Reason() != errTooLong {
				t.Errorf("after its time an answer ends by %v; want %v", w.Reason(), errTooLong)
			}
			l.remove(w)
			time.Sleep(longCheck)
			synctest.Wait()
			f("without answers", false)
		}
	})
}

// TestClientLeaves checks that an answer ends when its client closes the connection.
func TestClientLeaves(t *testing.T) {
	f := serveLong(t, fill)
	c := f.open()
	_, err := io.ReadFull(c, make([]byte, 1000))
	must(err)
	c.Close()
	if err := f.wait(); err != errClientGone {
		t.Errorf("the answer ended by %v; want %v", err, errClientGone)
	}
}

// TestLongAnswerWithoutConnection checks that an answer whose connection is closed
// before it begins is run once, and finds the connection closed.
func TestLongAnswerWithoutConnection(t *testing.T) {
	f := serveLong(t, fill)
	ours, theirs := net.Pipe()
	theirs.Close()
	c := &conn{Conn: ours, onClose: func() {}}
	c.serving.Store(true)
	ctx := new(fasthttp.RequestCtx)
	ctx.Init2(c, nil, false)
	f.server.sendLong(&request{ctx: ctx}, f.findKey(f.key), time.Time{}, "", f.run)

	must(c.Close())
	if err := f.wait(); err != errClientGone {
		t.Errorf("the answer ended by %v; want %v", err, errClientGone)
	}
	c.handover.begin()
	must(f.server.long.stop(context.Background()))
	if len(f.errors) != 0 {
		t.Error("the answer ran twice")
	}
}

// TestLongAnswerPanics checks that a panic ends one answer, and is logged.
func TestLongAnswerPanics(t *testing.T) {
	f := serveLong(t, func(w *longWriter) error { panic("oops") })
	_, err := io.ReadAll(f.open())
	must(err)
	must(f.server.long.stop(context.Background()))
	if !strings.Contains(f.log.String(), "oops") || f.metric("tidemark_edge_panics_total") != "1" {
		t.Errorf("a panic is not reported: %s", f.log)
	}
	if open := f.metric("tidemark_edge_long_answers"); open != "0" {
		t.Errorf("%s answers are open", open)
	}
}

// TestQuietAnswersAreSmall checks what an answer with nothing to say costs, so that
// ten thousand of them fit. The figure has both ends of the connection.
func TestQuietAnswersAreSmall(t *testing.T) {
	const quiet, most = 500, 24 << 10
	begun := make(chan bool, quiet)
	f := serveLong(t, func(w *longWriter) error {
		_, _ = w.Write(make([]byte, 2000))
		if err := w.Flush(); err != nil {
			return err
		}
		begun <- true
		<-w.Ended()
		return w.Reason()
	})

	before := memoryInUse()
	for range quiet {
		f.open()
		<-begun
	}
	if each := (memoryInUse() - before) / quiet; each > most {
		t.Errorf("a quiet answer takes %d bytes; cannot exceed %d", each, most)
	} else {
		t.Logf("a quiet answer takes %d bytes", each)
	}
}

// memoryInUse returns the bytes of the heap and of stacks that are in use.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held after the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
