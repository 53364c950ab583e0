package edge

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage/accounts"
)

// longAnswers are the answers that are written outside fasthttp: exports and event
// streams. Each has its own goroutine, with a small stack, and its connection; the
// buffers and the context of fasthttp are given back when it begins. A list of them
// and one timer end those that have to end.
type longAnswers struct {
	mu      sync.Mutex
	open    map[*longWriter]struct{}
	timer   *time.Timer // of the next check; nil: none is open
	stopped bool

	running sync.WaitGroup
}

func newLongAnswers(set *metrics.Set) *longAnswers {
	l := &longAnswers{open: map[*longWriter]struct{}{}}
	set.NewGauge(`tidemark_edge_long_answers`, func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(len(l.open))
	})
	return l
}

// add lists an answer that begins.
func (l *longAnswers) add(w *longWriter) {
	l.running.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[w] = struct{}{}
	if l.stopped {
		w.interrupt(errServerStops)
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(longCheck, l.check)
	}
}

// remove takes an answer that ended off the list.
func (l *longAnswers) remove(w *longWriter) {
	l.mu.Lock()
	delete(l.open, w)
	l.mu.Unlock()
	l.running.Done()
}

// check ends the answers whose time is over or whose key is not valid any more.
func (l *longAnswers) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for w := range l.open {
		w.check(now)
	}

	if len(l.open) == 0 {
		l.timer = nil
		return
	}
	l.timer.Reset(longCheck)
}

// interrupt has all answers end, those to come too. It does not wait for them.
func (l *longAnswers) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for w := range l.open {
		w.interrupt(errServerStops)
	}
}

// stop has all answers end and waits for them until ctx ends. None takes longer than
// closeTime and what it computes between two writes.
func (l *longAnswers) stop(ctx context.Context) error {
	l.interrupt()
	ended := make(chan struct{})
	go func() {
		l.running.Wait()
		close(ended)
	}()

	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot end long answers in time: %w", ctx.Err())
	}
}

// handover is a long answer between the handler of its request and its own
// goroutine. If fasthttp closes the connection before, the answer is run all the
// same and finds it closed, so that whoever began it can clean up in one place.
type handover struct {
	begun atomic.Bool
	run   func()
}

// begin starts the answer's goroutine, once.
func (h *handover) begin() {
	if h.begun.CompareAndSwap(false, true) {
		go h.run()
	}
}

// sendLong sends the status and headers of r's response and lets run write the body.
// run is called once, in its own goroutine, whatever happens; it must not use r or
// anything that belongs to it, and must end soon after the writer's Ended is closed.
// trailers names the fields that run passes to End. The connection closes behind a
// long answer.
func (s *Server) sendLong(
	r *request, key *accounts.Key, until time.Time, trailers string, run func(*longWriter),
) {
	c, ok := r.ctx.Conn().(*conn)
	if !ok {
		c = &conn{Conn: r.ctx.Conn(), onClose: func() {}}
	}
	chunked := r.takesChunks()
	h := &r.ctx.Response.Header
	h.SetConnectionClose()
	if chunked {
		h.SetContentLength(-1)
		if trailers != "" {
			h.SetCanonical([]byte("Trailer"), []byte(trailers))
		}
	}
	head := append([]byte(nil), h.Header()...)

	w := newLongWriter(c, key, until, chunked)
	s.long.add(w)
	begin := &handover{run: func() { s.runLong(w, head, run) }}
	c.handover = begin
	r.ctx.HijackSetNoResponse(true)
	r.ctx.Hijack(func(net.Conn) { begin.begin() })
}

// runLong writes a long answer.
func (s *Server) runLong(w *longWriter, head []byte, run func(*longWriter)) {
	defer s.long.remove(w)
	defer w.conn.Close()
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Log.Error("panic while writing a long answer",
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			s.metrics.panics.Inc()
		}
	}()

	// The head goes out at once: a stream may have nothing to say for long.
	_ = w.sendAll(head) // an error is kept for run
	run(w)
}
