package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

// crowd is clients of one account that ask the usual mix until they are stopped or
// their node is.
type crowd struct {
	mix mix

	mu         sync.Mutex
	answers    int64
	refused    int64 // answers with 503
	unmetered  int64 // of them, those that metering refused
	units      int64
	unanswered int // requests whose connection was closed before a byte of an answer
	cut        []error
	bad        []string
	announced  int // connections whose last answer said that it closes them
	closed     int // connections
	slowest    time.Duration
}

// ask has so many clients ask, until end is closed; without end, until their
// connection is. With one they connect again.
func (w *crowd) ask(address, key string, clients int, end <-chan struct{}) *sync.WaitGroup {
	all := new(sync.WaitGroup)

	for i := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
			for again := true; again; again = end != nil && !isClosed(end) {
				c, err := dial(address, key)
				if err != nil {
					w.note(func() { w.cut = append(w.cut, err) })
					return
				}
				w.askUntil(c, random, end)
				c.close()
			}
		})
	}
	return all
}

func isClosed(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

func (w *crowd) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

func (w *crowd) askUntil(c *client, r *rand.Rand, end <-chan struct{}) {
	for !isClosed(end) {
		path, from := w.mix.draw(r), time.Now()
		a, err := c.ask(path)
		if err != nil {
			w.note(func() { w.noteError(path, err) })
			return
		}
		w.note(func() { w.count(path, &a, time.Since(from)) })
		if a.closed {
			return
		}
	}
}

// noteError tells a connection that was closed between two requests from an
// answer that was cut.
func (w *crowd) noteError(path string, err error) {
	w.closed++
	none := errors.Is(err, io.ErrUnexpectedEOF) && err.Error() == io.ErrUnexpectedEOF.Error()
	if none || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		w.unanswered++
		return
	}
	w.cut = append(w.cut, fmt.Errorf("%s: %w", path, err))
}

func (w *crowd) count(path string, a *reply, took time.Duration) {
	w.answers++
	w.units += a.units
	w.slowest = max(w.slowest, took)
	if a.closed {
		w.closed++
		w.announced++
	}

	switch {
	case a.status == 503 && a.units == 0: // busy, or records are still loading
		w.refused++
		if !bytes.Contains(a.body, []byte("busy")) {
			w.unmetered++
		}
	case a.status != 200 && a.status != 404:
		w.bad = append(w.bad, fmt.Sprintf("%s: %d %s", path, a.status, a.body))
	}
}

// check reports what may never happen.
func (w *crowd) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.cut {
		t.Errorf("cut: %v", err)
	}
	for _, text := range w.bad {
		t.Errorf("wrong: %s", text)
	}
}

const (
	stopClients = 12
	// stopWithin bounds a stop under load, without its drain.
	stopWithin = 3 * time.Second
	stopDrain  = 150 * time.Millisecond
)

// TestStop stops a node with SIGTERM under load, again and again. No answer is
// cut; what was charged is what was answered. With a drain every connection ends
// with an answer that announces it.
func TestStop(t *testing.T) {
	stops := share(t, 10, 100)
	n := newNode(t, smallMarket)
	n.start()
	key := n.customer("acme", "unlimited")

	var answers, units int64
	var cut, unanswered, drained int
	var slowest time.Duration
	for i := range stops {
		drain := time.Duration(i%2) * stopDrain
		var w crowd
		w.mix.filters.Store(int64(i) << 20)
		clients := w.ask(n.address(), key, stopClients, nil)
		time.Sleep(time.Duration(rand.Int64N(int64(400 * time.Millisecond))))
		began := time.Now()
		n.stop()
		slowest = max(slowest, time.Since(began)-drain)
		clients.Wait()
		w.check(t)
		if drain > 0 && w.announced != stopClients {
			t.Errorf("%d of %d connections ended with an announcement; %d requests were not answered",
				w.announced, stopClients, w.unanswered)
		}

		answers, units, cut = answers+w.answers, units+w.units, cut+len(w.cut)
		unanswered, drained = unanswered+w.unanswered, drained+w.announced
		n.args = []string{"--drain", (time.Duration((i+1)%2) * stopDrain).String()}
		n.start()
		if used := n.unitsUsed("acme"); used != units {
			t.Fatalf("after %d stops %d units are charged; answers say %d", i+1, used, units)
		}
	}
	if slowest > stopWithin {
		t.Errorf("a stop took %s; cannot exceed %s", slowest, stopWithin)
	}
	figure(t, "%d SIGTERM under load: %d answers, %d cut; %d connections announced their end, %d were closed between "+
		"two requests; %d units charged and answered; the slowest stop took %s",
		stops, answers, cut, drained, unanswered, units, slowest)
}

// TestFreeze stops a process with SIGSTOP for a minute under load, in the short share for
// longer than leases last. Every request is answered afterwards and none refused, old
// data is flagged, and the feed goes on.
func TestFreeze(t *testing.T) {
	freezes, frozen := share(t, 2, 3), share(t, 4*time.Second, time.Minute)
	n := newNode(t, "")
	n.start()
	key, looker := n.customer("acme", "unlimited"), n.customer("looker", "unlimited")
	look, err := dial(n.address(), looker)
	if err != nil {
		t.Fatal(err)
	}
	defer look.close()

	var w crowd
	end := make(chan struct{})
	clients := w.ask(n.address(), key, stopClients, end)

	var slowest time.Duration
	flagged := 0
	for range freezes {
		time.Sleep(time.Second)
		before := lookAt(t, look)
		n.signal(syscall.SIGSTOP)
		time.Sleep(frozen)
		n.signal(syscall.SIGCONT)

		thawed := time.Now()
		for after := lookAt(t, look); after.generation == before.generation; after = lookAt(t, look) {
			stale := bytes.Contains(after.body, []byte(`"stale":true`))
			if stale {
				flagged++
			} else if frozen > freshness {
				t.Errorf("data of %s ago is not flagged stale", frozen)
			}
			if time.Since(thawed) > startTimeout {
				t.Fatalf("no new generation %s after the process went on", startTimeout)
			}
			time.Sleep(pollEvery)
		}
		slowest = max(slowest, time.Since(thawed))
	}
	close(end)
	clients.Wait()
	w.check(t)
	if w.unanswered > 0 || w.unmetered > 0 {
		t.Errorf("%d requests were not answered, %d were refused for another reason than overload",
			w.unanswered, w.unmetered)
	}
	if used := n.unitsUsed("acme"); used != w.units {
		t.Errorf("%d units are charged; answers say %d", used, w.units)
	}

	figure(t, "%d SIGSTOP of %s under load: %d answers, %d requests not answered, %d wrong, %d refused; %d answers "+
		"flagged stale until a new generation came, %s after the process went on", freezes, frozen, w.answers,
		w.unanswered, len(w.bad)+len(w.cut), w.refused, flagged, slowest)
	n.stop()
}

// freshness is the default limits.freshness.
const freshness = 45 * time.Second

// lookAt reads the first page.
func lookAt(t *testing.T, c *client) reply {
	t.Helper()
	r, err := c.ask("/v1/positions?limit=1")
	if err != nil || r.status != 200 {
		t.Fatalf("the first page: %d, %v: %s", r.status, err, r.body)
	}
	return r
}
