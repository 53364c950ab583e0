package edge

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"tidemark/storage/accounts"
)

// Why a long answer ended before it was complete. Write, Flush and Reason return
// them; a writer may quote them to the client.
var (
	errServerStops = errors.New("the server is stopping")
	errKeyRevoked  = errors.New("the API key was revoked or its account suspended")
	errTooLong     = errors.New("the answer took longer than is allowed")
	errSlowReader  = errors.New("the client reads too slowly")
	errClientGone  = errors.New("the connection is closed")
)

// longWriter sends an answer whose length is not known when its head is sent. It is
// used by one goroutine, which may block in Flush for as long as the client reads.
//
// Write collects bytes and sends them when a flush is due; Flush sends them now; End
// sends the last bytes and ends the answer. A client has to read at limits.reader-
// min-rate in the long run, see allowedFor. Between flushes the writer holds no
// buffer, so that a quiet answer costs a connection and a small goroutine.
//
// The server ends an answer when it stops, when the key is no longer valid and when
// the answer's time is over: it closes Ended, and Write and Flush return the reason.
// There is a short time left to say why with End. A write that is blocked then has
// as long.
type longWriter struct {
	conn    *conn
	key     *accounts.Key
	until   time.Time // when the answer has to be complete; zero: no limit
	chunked bool      // HTTP/1.1; otherwise the answer ends with the connection

	buf   []byte        // what was not sent yet, behind chunkRoom bytes; nil: nothing
	spare time.Duration // how much the client is ahead of the minimum rate
	step  int           // a write may wait as long as one of so many bytes
	sent  int64         // bytes of the body that the kernel took

	mu      sync.Mutex // guards reason and the connection's write deadline
	reason  error      // why the answer has to end; nil: it goes on
	closing time.Time  // when the connection is closed, once there is a reason
	ended   chan struct{}
	broken  error // nothing more can be sent
}

// longBuffers are the buffers of answers with unsent bytes.
var longBuffers = sync.Pool{New: func() any {
	b := make([]byte, chunkRoom, chunkRoom+longFlush+rowRoom)
	return &b
}}

const (
	// chunkRoom is the room for the size of a chunk before its bytes.
	chunkRoom = len("ffffffff\r\n")
	// rowRoom is what a buffer has beyond longFlush: the row that makes a flush due.
	rowRoom = 8 << 10
	crlf    = "\r\n"
)

// newLongWriter returns a writer to a connection for an answer that key pays for.
func newLongWriter(c *conn, key *accounts.Key, until time.Time, chunked bool) *longWriter {
	return &longWriter{
		conn: c, key: key, until: until, chunked: chunked,
		spare: slowReaderGrace, ended: make(chan struct{}),
	}
}

// Ended is closed when the answer has to end before it is complete.
func (w *longWriter) Ended() <-chan struct{} { return w.ended }

// Reason returns why the answer has to end, or nil.
func (w *longWriter) Reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// AvailableBuffer returns an empty slice with the room that is left in the buffer. Who
// appends to it and passes it to Write saves a copy.
func (w *longWriter) AvailableBuffer() []byte {
	w.collect(nil)
	return w.buf[len(w.buf):]
}

// Write adds p to the answer.
func (w *longWriter) Write(p []byte) (int, error) {
	w.collect(p)
	if len(w.buf) < chunkRoom+longFlush {
		return len(p), nil
	}
	return len(p), w.Flush()
}

// collect adds p to what is to be sent.
func (w *longWriter) collect(p []byte) {
	if w.buf == nil {
		w.buf = (*longBuffers.Get().(*[]byte))[:chunkRoom]
	}
	w.buf = append(w.buf, p...)
}

// Flush sends what was written, as one chunk, and returns when the kernel has taken
// it all. If the answer has to end, what was written is dropped.
func (w *longWriter) Flush() error {
	if len(w.buf) <= chunkRoom {
		return w.broken
	}
	w.check(time.Now())
	if err := w.Reason(); err != nil {
		w.buf = nil
		return err
	}
	return w.send("")
}

// End sends what was written and last, ends the body and sends the trailer, whose
// lines end in CRLF. It is allowed once after a reason, too, and has closeTime then.
func (w *longWriter) End(last []byte, trailer string) error {
	w.collect(last)
	if !w.chunked {
		return w.send("")
	}
	return w.send("0" + crlf + trailer + crlf)
}

// send sends what was collected as a chunk, and end behind it.
func (w *longWriter) send(end string) error {
	buf := w.buf
	w.buf = nil
	if buf == nil {
		return w.broken
	}

	out, body := buf[chunkRoom:], len(buf)-chunkRoom
	if w.chunked && body > 0 {
		buf = append(buf, crlf...)
		out = frameChunk(buf, body)
	}
	out = append(out, end...)
	if cap(buf) <= 2*longFlush { // a longer one is not worth keeping
		defer longBuffers.Put(&buf)
	}

	if err := w.sendAll(out); err != nil {
		return err
	}
	w.sent += int64(body)
	return nil
}

// frameChunk writes the size of a chunk into the room before its bytes, and returns
// where it begins.
func frameChunk(buf []byte, body int) []byte {
	var digits [chunkRoom]byte
	size := append(strconv.AppendInt(digits[:0], int64(body), 16), crlf...)
	at := chunkRoom - len(size)
	copy(buf[at:], size)
	return buf[at:]
}

// sendAll writes bytes to the connection, which has to take them in time.
func (w *longWriter) sendAll(p []byte) error {
	if w.broken != nil {
		return w.broken
	}
	begun := time.Now()
	if err := w.setDeadline(begun.Add(w.allowedFor(len(p)))); err != nil {
		return w.fail(err)
	}

	if _, err := w.conn.Conn.Write(p); err != nil {
		return w.fail(err)
	}

	// What a client is ahead of the minimum rate is kept, up to the grace.
	w.spare = min(w.spare+w.timeOf(len(p))-time.Since(begun), slowReaderGrace)
	return nil
}

// allowedFor returns how long a client may take to read n bytes: as long as the
// minimum rate allows, and slowReaderGrace once. Only the time of blocked writes
// counts. The kernel tells of room only when a third of limits.unsent-bytes is free,
// so the few bytes of a compressed answer may wait for as long as a whole flush; what
// a client is ahead counts bytes on the wire all the same.
func (w *longWriter) allowedFor(n int) time.Duration {
	if w.conn.minRate <= 0 {
		return writeTimeout
	}
	return max(w.spare+w.timeOf(max(n, w.step)), w.timeOf(n))
}

// timeOf returns how long n bytes take at the minimum rate.
func (w *longWriter) timeOf(n int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(max(w.conn.minRate, 1))
}

// setDeadline sets the deadline of the next write: the given time, the end of the
// answer's time or the end of the connection, whichever comes first.
func (w *longWriter) setDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if limit := w.until; !limit.IsZero() && limit.Add(closeTime).Before(t) {
		t = limit.Add(closeTime)
	}
	if w.reason != nil && w.closing.Before(t) {
		t = w.closing
	}
	return w.conn.Conn.SetWriteDeadline(t)
}

// fail notes that nothing more can be sent, and returns why.
func (w *longWriter) fail(cause error) error {
	w.broken = errClientGone
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		// The write may have been cut because the answer had to end.
		w.check(time.Now())
		if w.broken = w.Reason(); w.broken == nil {
			w.broken = errSlowReader
		}
	}

	w.interrupt(w.broken)
	return w.broken
}

// interrupt has the answer end for a reason, of which the first one counts. A write that
// is blocked gets closeTime to finish.
func (w *longWriter) interrupt(reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reason != nil {
		return
	}
	w.reason, w.closing = reason, time.Now().Add(closeTime)
	close(w.ended)
	// If it fails, so will the next write.
	_ = w.conn.Conn.SetWriteDeadline(w.closing)
}

// check interrupts an answer whose key is not valid any more or whose time is over.
func (w *longWriter) check(now time.Time) {
	switch {
	case w.key.RevokedAt() != 0 || w.key.Cell.Terms().Suspended:
		w.interrupt(errKeyRevoked)
	case !w.until.IsZero() && now.After(w.until):
		w.interrupt(errTooLong)
	}
}
