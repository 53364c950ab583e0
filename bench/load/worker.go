package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// worker owns a thread, an epoll and its share of the connections. Nothing of
// it is touched by anybody else until it has ended.
type worker struct {
	*run
	tally
	epoll  int
	conns  []conn
	idle   []int
	events []unix.EpollEvent
	buf    []byte
	random *rand.Rand
	weight int // of all parts

	pace     Pace
	quota    uint64 // requests that may be sent
	sent     uint64
	inFlight int
	sample   time.Duration // when the next response is looked at
	broken   int
}

const (
	// readBuffer takes a page of 100 rows and a long history in one read.
	readBuffer = 256 << 10
	// spinBelow is how near the next request is when sleeping stops.
	spinBelow = 2 * time.Millisecond
	// maxBroken is how many broken connections end a worker: the server is gone.
	maxBroken = 1000
	// drainTime is how long answers may take that are under way at the end.
	drainTime = 10 * time.Second
)

func (r *run) newWorker(number, connections int) (*worker, error) {
	w := &worker{
		run: r, tally: tally{newCounts(r.cfg.Length), r.cfg.Warmup, r.cfg.Warmup + r.cfg.Length},
		conns: make([]conn, connections), events: make([]unix.EpollEvent, connections),
		buf:    make([]byte, readBuffer),
		random: rand.New(rand.NewPCG(r.cfg.Seed, uint64(number))),
		pace:   Pace(r.cfg.Rate).split(r.cfg.Workers),
		quota:  r.cfg.Requests / uint64(r.cfg.Workers),
	}

	for i := range r.cfg.Mix {
		w.weight += r.cfg.Mix[i].Weight
	}
	var err error
	if w.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot make an epoll: %w", err)
	}
	for i := range w.conns {
		w.conns[i].fd = -1
	}

	for i := range w.conns {
		if err := w.conns[i].dial(r.addr, w.epoll, i); err != nil {
			w.close()
			return nil, err
		}
		w.idle = append(w.idle, i)
	}
	return w, nil
}

func (w *worker) close() {
	for i := range w.conns {
		if w.conns[i].fd >= 0 {
			unix.Close(w.conns[i].fd)
		}
	}
	unix.Close(w.epoll)
}

// work asks until the time is over and what is under way is answered.
func (w *worker) work() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	for {
		now := w.now()
		asking := now < w.end && w.sent < w.quota && w.broken < maxBroken && !w.stopped.Load()
		if !asking && (w.inFlight == 0 || now > w.end+drainTime || w.broken >= maxBroken) {
			break
		}
		if asking {
			w.sendDue(now)
		}

		n, err := unix.EpollWait(w.epoll, w.events, w.patience(asking))
		if err != nil && !errors.Is(err, unix.EINTR) {
			w.fail(fmt.Errorf("cannot wait for answers: %w", err))
			return
		}
		for _, e := range w.events[:max(n, 0)] {
			w.receive(int(e.Fd))
		}
	}

	w.Unanswered += uint64(w.inFlight)
	if w.pace > 0 {
		w.Unsent = w.overdue(min(w.now(), w.end))
	}
}

// overdue counts the requests that were due by a time and were not sent.
func (w *worker) overdue(by time.Duration) (n uint64) {
	due := uint64(by.Seconds() * float64(w.pace))
	return max(min(due, w.quota), w.sent) - w.sent
}

// patience returns how many milliseconds to wait for answers; 0 spins.
func (w *worker) patience(asking bool) int {
	const look = 10 // to see the end of the time
	if !asking || w.pace == 0 || len(w.idle) == 0 {
		return look
	}
	wait := w.pace.Wait(w.now(), w.sent)
	if wait < spinBelow {
		return 0
	}
	return min(look, int((wait-spinBelow/2)/time.Millisecond))
}

// sendDue sends what is due and has a connection.
func (w *worker) sendDue(now time.Duration) {
	for len(w.idle) > 0 && w.sent < w.quota {
		due := now
		if w.pace > 0 {
			if due = w.pace.At(w.sent); due > now {
				return
			}
		}

		index := w.idle[len(w.idle)-1]
		w.idle = w.idle[:len(w.idle)-1]
		w.ask(index, due, now)
	}
}

// ask sends one request.
func (w *worker) ask(index int, due, now time.Duration) {
	c := &w.conns[index]
	c.part, c.due = w.cfg.Mix.pick(w.random, w.weight), due
	c.cost = w.cfg.Mix[c.part].Units
	c.sampled = w.cfg.Check != nil && now >= w.sample
	if c.sampled {
		w.sample = now + w.cfg.CheckEvery
	}

	c.out = append(c.out[:0], "GET "...)
	c.out = w.cfg.Mix[c.part].Path(c.out, w.random)
	c.out = append(c.out, w.opening...)
	if n := len(w.cfg.Keys); n > 0 {
		c.out = append(c.out, "\r\nKC-APIKey: "...)
		c.out = append(c.out, w.cfg.Keys[w.random.IntN(n)]...)
	}
	c.out = append(c.out, headEnd...)

	w.sent++
	w.inFlight++
	if w.pace == 0 {
		c.due = w.now()
	}
	if err := c.send(); err != nil {
		w.renew(index, err)
	}
}

// receive reads what a connection has.
func (w *worker) receive(index int) {
	c := &w.conns[index]
	n, err := unix.Read(c.fd, w.buf)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err == nil && n == 0:
		err = errors.New("the server closed a connection")
	}

	done := false
	if err == nil {
		done, err = c.take(w.buf[:n])
	}
	if err != nil {
		w.renew(index, err)
		return
	}
	if !done {
		return
	}

	w.answered(c, w.now())
	c.busy = false
	w.inFlight--
	w.idle = append(w.idle, index)
}

// answered counts a complete response.
func (w *worker) answered(c *conn, now time.Duration) {
	w.count(&w.cfg.Mix[c.part], c, now)
	if c.unpaid() && w.cfg.Free != nil && w.cfg.Free(c.body) {
		w.Free++
		w.Expected -= c.cost
	}
	if c.sampled {
		select {
		case w.checks <- answer{part: c.part, head: c.head, path: target(c.out), body: c.body}:
			c.body = nil
		default: // whoever checks is behind
		}
	}
}

// target cuts the path out of a request.
func target(request []byte) string {
	from := len("GET ")
	to := from
	for request[to] != ' ' {
		to++
	}
	return string(request[from:to])
}

// renew replaces a broken connection.
func (w *worker) renew(index int, why error) {
	c := &w.conns[index]
	w.broken++
	if c.busy {
		w.inFlight--
		w.Unanswered++
	}
	w.note(why.Error())

	unix.Close(c.fd)
	c.fd = -1
	if err := c.dial(w.addr, w.epoll, index); err != nil {
		w.note(err.Error())
		w.broken = maxBroken
		return
	}
	w.idle = append(w.idle, index)
}
