package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/bench/process"
)

// worker owns a thread, an epoll and its share of the connections. No other
// goroutine touches it until it has ended.
type worker struct {
	*run
	Counts
	epoll  int
	conns  []conn
	idle   [][]int // connections to each target
	events []unix.EpollEvent
	buf    []byte
	checks []answer      // to be looked at when the run is over
	works  bool          // it does what is counted as work
	since  time.Duration // CPU time of the thread when that began
	worked time.Duration // CPU time of the measured time in which something was found
	random *rand.Rand

	pace     Pace
	looked   time.Duration // until then, what was due was sent and what had come was read
	sent     uint64
	inFlight int
	sample   time.Duration // when the next response is looked at
	open     int           // connections
	until    time.Duration // when it ends to ask
	err      error         // why it ended early
}

const (
	// readBuffer takes a page of 100 rows and a long history in one read.
	readBuffer = 256 << 10
	// spinBelow is how near the next request is when sleeping stops.
	spinBelow = 2 * time.Millisecond
	// drainTime is how long answers may take that are under way at the end.
	drainTime = 10 * time.Second
	// stopTime is how long they may take when the run is stopped: somebody waits for that.
	stopTime = time.Second
)

// addWorker makes a worker with its connections.
func (r *run) addWorker(number, connections int) error {
	w := &worker{
		run: r, Counts: newCounts(r.cfg.Length),
		conns: make([]conn, 0, connections), events: make([]unix.EpollEvent, connections),
		buf:    make([]byte, readBuffer),
		idle:   make([][]int, len(r.targets)),
		random: rand.New(rand.NewPCG(r.cfg.Seed, uint64(number))),
		pace:   Pace(r.cfg.Rate) / Pace(r.cfg.Workers),
		until:  r.end,
	}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("cannot make an epoll: %w", err)
	}
	r.workers = append(r.workers, w)

	for i := range connections {
		target := i % len(r.targets)
		fd, err := dial(r.targets[target].Addr, w.epoll, i)
		if err != nil {
			return err
		}
		w.conns = append(w.conns, conn{fd: fd, target: target})
		w.idle[target] = append(w.idle[target], i)
	}
	w.open = connections
	return nil
}

func (w *worker) close() {
	for i := range w.conns {
		w.conns[i].close()
	}
	unix.Close(w.epoll)
}

// askUntilEnd asks until the time is over and what is under way is answered.
func (w *worker) askUntilEnd() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	last := w.end + drainTime
	for {
		now := w.now()
		if w.ctx.Err() != nil {
			w.until = min(w.until, now)
			last = min(last, w.until+stopTime)
		}
		asking := now < w.until && w.open > 0
		if !asking && (w.inFlight == 0 || now > last) {
			break
		}
		sent := w.sent
		if asking {
			w.sendDue(now)
		}

		if w.err = w.awaitAnswers(now, asking, w.sent > sent); w.err != nil {
			return
		}
	}
	w.countRest()
}

// awaitAnswers waits for answers until the next request is due, and reads those that came. The
// round began at now, and may have sent a request.
func (w *worker) awaitAnswers(now time.Duration, asking, sent bool) error {
	wait := w.waitMillis(asking)
	n, err := unix.EpollWait(w.epoll, w.events, wait)
	if wait != 0 {
		w.looked = w.now()
	}
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("cannot wait for answers: %w", err)
	}

	found := n > 0 || wait != 0 || sent
	w.countWork(found && now >= w.cfg.Warmup && now < w.end, now)
	for _, e := range w.events[:max(n, 0)] {
		w.readAnswer(int(e.Fd))
	}
	w.looked = now
	return nil
}

// countRest counts what was not answered, and what was not even sent.
func (w *worker) countRest() {
	w.countWork(false, w.now())
	if w.inFlight > 0 && w.ctx.Err() == nil { // nobody waited for more where it was stopped
		w.Note("no answer came within %s of the end", drainTime)
		w.Unanswered += uint64(w.inFlight)
	}
	if w.pace > 0 { // what was due and was not sent
		due := uint64(w.until.Seconds() * float64(w.pace))
		w.countUnsent(max(due, w.sent) - w.sent)
	}
}

// countUnsent enters what was not sent: while every connection was busy the server is too
// slow, and without one there was no server to ask.
func (w *worker) countUnsent(requests uint64) {
	if w.open == 0 {
		w.Unanswered += requests
	} else {
		w.Unsent = requests
	}
}

// countWork notes whether the thread works from now on, or only looks for what is not
// there or is not measured. Work is CPU time: the wall clock would count what other
// threads had of the core. The look that ends work began at a time and was none.
func (w *worker) countWork(works bool, began time.Duration) {
	if works == w.works {
		return
	}
	w.works = works
	if t := process.Thread(); works {
		w.since = t
	} else {
		w.worked += max(0, t-w.since-(w.now()-began))
	}
}

// waitMillis returns how many milliseconds to wait for answers; 0 polls.
func (w *worker) waitMillis(asking bool) int {
	const look = 10 // to see the end of the time
	switch {
	case asking && w.pace == 0 && w.cfg.Polls:
		return 0
	case !asking || w.pace == 0 || len(*w.ready()) == 0:
		return look
	}

	wait := w.pace.At(w.sent) - w.now()
	if w.cfg.Frugal {
		return min(look, int(max(0, wait)/time.Millisecond)+1)
	}
	if wait < spinBelow {
		return 0
	}
	return min(look, int((wait-spinBelow/2)/time.Millisecond))
}

// ready are the idle connections to the target whose turn it is.
func (w *worker) ready() *[]int { return &w.idle[w.sent%uint64(len(w.idle))] }

// sendDue sends what is due and has a connection.
func (w *worker) sendDue(now time.Duration) {
	for idle := w.ready(); len(*idle) > 0; idle = w.ready() {
		due := now
		if w.pace > 0 {
			if due = w.pace.At(w.sent); due > now {
				return
			}
		}

		index := (*idle)[len(*idle)-1]
		*idle = (*idle)[:len(*idle)-1]
		c := &w.conns[index]
		if c.ended {
			w.reopen(index)
		}
		if c.fd >= 0 { // nor did it break while it was idle
			w.ask(index, due, now)
		}
	}
}

// ask sends one request.
func (w *worker) ask(index int, due, now time.Duration) {
	c := &w.conns[index]
	c.part, c.due = w.cfg.Mix.pick(w.random, w.weights), due
	c.sampled = w.cfg.Check != nil && now >= w.sample
	if c.sampled {
		w.sample = now + checkEvery
	}

	c.out = append(c.out[:0], "GET "...)
	c.out = c.part.Path(c.out, w.random)
	c.out = append(c.out, w.opening...)
	target := &w.targets[c.target]
	c.out = append(c.out, target.Addr...)
	if n := len(target.Keys); n > 0 {
		c.out = append(c.out, "\r\nKC-APIKey: "...)
		c.out = append(c.out, target.Keys[w.random.IntN(n)]...)
	}
	c.out = append(c.out, headEnd...)

	w.sent++
	w.inFlight++
	sent := w.now()
	if w.pace == 0 {
		c.due = sent
	}
	c.late = sent - max(c.due, w.looked)
	if err := c.sendRequest(); err != nil {
		w.drop(index, err)
	}
}

// readAnswer reads what a connection has.
func (w *worker) readAnswer(index int) {
	c := &w.conns[index]
	n, err := unix.Read(c.fd, w.buf)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if !c.busy && (err != nil || n == 0 || isFarewell(w.buf[:n])) {
		c.close() // it is opened when it is needed: a server that is gone is not asked all the time
		c.ended = true
		return
	}
	if err == nil && n == 0 {
		err = errors.New("the server closed a connection")
	}

	done := false
	if err == nil {
		done, err = c.takeBytes(w.buf[:n])
	}
	if err != nil {
		w.drop(index, err)
		return
	}
	if done {
		w.finishRequest(c, w.now())
		if c.head.closes {
			w.reopen(index)
		}
		w.idle[c.target] = append(w.idle[c.target], index)
	}
}

// reopen replaces a connection that the server closes in order, as a proxy does after so many
// requests, or has closed between two of them, as most do after some time. Other answers are
// read late meanwhile, which is counted.
func (w *worker) reopen(index int) {
	c := &w.conns[index]
	c.close()
	c.ended = false
	fd, err := dial(w.targets[c.target].Addr, w.epoll, index)
	if err != nil {
		w.drop(index, err)
		return
	}
	c.fd = fd
	w.Reopened++
}

// finishRequest counts a complete response.
func (w *worker) finishRequest(c *conn, now time.Duration) {
	c.busy = false
	w.inFlight--
	expected := w.countAnswer(c)
	if now >= w.cfg.Warmup && !w.targets[c.target].Aside {
		// What was under way at the end has been late for as long as any other: without it a
		// server that stalls until then would have no late answer at all.
		w.countLatency(c.head.status, now-c.due)
		w.countLate(c.late + now - w.looked)
		if now <= w.until {
			w.countThroughput(c.head.status, c.head.length, now-c.due, now-w.cfg.Warmup)
		}
	}
	if c.uncharged() && w.cfg.Free != nil && w.cfg.Free(c.body) {
		w.Free++
		w.Expected -= c.part.Units
	}

	if c.sampled && expected && len(w.checks) < maxChecked { // a failure is one already
		w.checks = append(w.checks, answer{c.head.status, c.path(), c.body})
		c.body = nil
	}
}

// drop gives a broken connection up. It is not replaced: with every one of them
// something is wrong, and without any the server is gone.
func (w *worker) drop(index int, why error) {
	c := &w.conns[index]
	if c.busy {
		w.inFlight--
		w.Unanswered++
	}
	w.Note("%v", why)
	w.open--
	c.close()
}
