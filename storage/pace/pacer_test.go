package pace

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPaceLetsRequestsIn asks a server that shares one processor with work
// that never ends by itself, and compares the pacer with a work that yields by
// runtime.Gosched, which does not look at the network.
func TestPaceLetsRequestsIn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var requests atomic.Uint64
	address := echo(t, &requests, 0)

	f := func(pause func()) time.Duration {
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
					work(20 * time.Microsecond)
					pause()
				}
			}
		}()
		defer func() { close(stop); <-ended }()
		return medianAnswer(t, address)
	}

	last := time.Now()
	yielding := f(func() {
		if time.Since(last) >= busyStride {
			runtime.Gosched()
			last = time.Now()
		}
	})
	paced := f(New(requests.Load).Pause)
	t.Logf("median answer: %v yielding, %v paced", yielding, paced)
	if paced > yielding/2 {
		t.Errorf("an answer takes %v with pauses; %v with runtime.Gosched", paced, yielding)
	}
}

// TestPaceGetsOn checks that work ends although a server beside it has more requests
// than it can answer: it has its part of the one processor. The part of the requests is
// counted by their answers, not by the clock, which also runs while another process has
// the processor.
func TestPaceGetsOn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const length, clients, answer = 30 * time.Millisecond, 16, 2 * time.Millisecond
	var requests atomic.Uint64
	address := echo(t, &requests, answer)

	var asking sync.WaitGroup
	var enough atomic.Bool
	for range clients {
		asking.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for !enough.Load() && err == nil {
				_, err = ask(conn)
			}
		})
	}
	for requests.Load() < 2*clients {
		time.Sleep(time.Millisecond)
	}

	before, p := requests.Load(), New(requests.Load)
	worked := time.Duration(0)
	for worked < length {
		began := time.Now()
		work(busyStride)
		worked += time.Since(began) // its pause is by that, also where another process ran
		p.Pause()
	}
	took := worked + time.Duration(requests.Load()-before)*answer
	enough.Store(true)
	asking.Wait()

	// Were each stride as short as beside few requests, that would be 6 seconds.
	t.Logf("%s of work of %s: %.2f of the processor", worked, took, float64(worked)/float64(took))
	if most := 4 * (fairParts + 1) * worked; took > most {
		t.Errorf("%s of work and the answers to %d clients took %s; want at most %s", worked, clients, took, most)
	}
}

// TestEvery checks at which steps of a loop there is a pause.
func TestEvery(t *testing.T) {
	var paused []int
	for i := range 25 {
		Every(10, i, func() { paused = append(paused, i) })
		Every(10, i, nil)
	}
	if want := []int{0, 10, 20}; !slices.Equal(paused, want) {
		t.Errorf("pauses before the steps %v; want %v", paused, want)
	}
}

// TestPaceWaitsForRequests checks that a pause goes on while requests come, for as long
// as the work has to wait for its share of the time.
func TestPaceWaitsForRequests(t *testing.T) {
	looks := uint64(0)
	f := func(busy uint64, wantLooks uint64) {
		t.Helper()
		looks = 0
		p := New(func() uint64 { looks++; return min(looks, busy) })
		p.last = time.Now().Add(-maxStride)
		p.stride = maxStride
		p.Pause()
		if looks != wantLooks {
			t.Errorf("requests at %d looks: %d looks; want %d", busy, looks, wantLooks)
		}
	}

	// The first look is that of New, the second that at the beginning of the pause.
	f(1, 4)
	f(2, 4)
	f(5, 7)
	f(20, 22)

	p := New(func() uint64 { looks++; return looks })
	p.last = time.Now().Add(-maxStride)
	began := time.Now()
	p.Pause()
	if took := time.Since(began); took < fairParts*busyStride || p.stride < busyStride {
		t.Errorf("a pause of %s while requests come, then a stride of %s", took, p.stride)
	}
}

// TestPaceCountsWork checks that a pause is by what the work took since the last one, which
// may be much more than a stride.
func TestPaceCountsWork(t *testing.T) {
	const worked = 40 * busyStride
	looks := uint64(0)
	p := New(func() uint64 { looks++; return looks }) // requests at every look
	p.last = time.Now().Add(-worked)
	began := time.Now()
	p.Pause()
	if took := time.Since(began); took < fairParts*worked {
		t.Errorf("after %s of work a pause of %s while requests come; want %s", worked, took, fairParts*worked)
	}
}

// TestPaceStrides checks that strides are short while requests come only, and longer
// when their answers take long.
func TestPaceStrides(t *testing.T) {
	f := func(look time.Duration, asked, late bool, want time.Duration) {
		t.Helper()
		if got := strideAfter(look, asked, late); got != want {
			t.Errorf("after a look of %s, asked %t, late %t: a stride of %s, want %s", look, asked, late, got, want)
		}
	}

	f(0, false, false, calmStride)
	f(time.Second, false, true, calmStride)
	f(0, true, true, busyStride)
	f(fairParts*busyStride, true, true, busyStride)
	f(80*time.Millisecond, true, true, 16*time.Millisecond)
	f(1300*time.Microsecond, true, true, 260*time.Microsecond) // many such looks in a pause do not make it longer
	f(time.Hour, true, true, maxStride)
	f(80*time.Millisecond, true, false, busyStride)
}

// TestBackgroundIsPatient checks that work in the background waits for requests longer than
// its share of the time, until it has waited for its patience in all. Looks that find what
// is soon answered leave its strides short then too.
func TestBackgroundIsPatient(t *testing.T) {
	looks := uint64(0)
	var p *Pacer
	pause := func(worked time.Duration) (took time.Duration) {
		p.last = time.Now().Add(-worked)
		began := time.Now()
		p.Pause()
		return time.Since(began)
	}

	for tries := 10; ; tries-- { // a busy machine may sleep during a look
		p = Background(func() uint64 { looks++; return looks }) // requests at every look
		first := pause(busyStride)
		stride := p.stride
		second := pause(busyStride)
		if first < backgroundPatience {
			t.Fatalf("a pause of %s; want %s at least", first, backgroundPatience)
		}
		if stride <= backgroundPatience/fairParts/2 && second <= backgroundPatience/2 && p.stride >= busyStride {
			break
		}
		if tries == 0 {
			t.Fatalf("a stride of %s, and without patience left a pause of %s", stride, second)
		}
	}

	// What work does without a pause pays for it.
	p.requests = func() uint64 { return looks }
	pause(backgroundPatience)
	if p.owed != 0 {
		t.Errorf("it waited %s too long, after work of %s", p.owed, backgroundPatience)
	}
	if someone := New(p.requests); someone.patience != 0 {
		t.Errorf("work that somebody waits for has a patience of %s", someone.patience)
	}
}

// TestPaceKnowsRequests checks that a pause looks whether requests came since the last
// one, and that there is none before the stride has passed.
func TestPaceKnowsRequests(t *testing.T) {
	var requests uint64
	p := New(func() uint64 { return requests })
	f := func(came uint64, calm bool) {
		t.Helper()
		requests += came
		p.last = time.Now().Add(-maxStride)
		p.Pause()
		if calm != (p.stride == calmStride) {
			t.Errorf("%d requests in a stride: the next is %s; want it calm: %t", came, p.stride, calm)
		}
	}

	f(0, true)
	f(1, false)
	f(100, false)
	f(0, true)

	before := p.last
	if p.Pause(); p.last != before {
		t.Error("a pause before the stride has passed")
	}
}

func work(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// echo starts a server that works for a while and then answers a byte with a byte.
func echo(t *testing.T, requests *atomic.Uint64, takes time.Duration) (address string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })

	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var b [1]byte
				for {
					if _, err := conn.Read(b[:]); err != nil {
						return
					}
					requests.Add(1)
					work(takes)
					conn.Write(b[:])
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// medianAnswer asks 50 times, one after the other.
func medianAnswer(t *testing.T, address string) time.Duration {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	var all []time.Duration
	for range 50 {
		took, err := ask(conn)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, took)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// ask sends a byte and waits for the answer.
func ask(conn net.Conn) (took time.Duration, err error) {
	var b [1]byte
	began := time.Now()
	if _, err := conn.Write(b[:]); err != nil {
		return 0, err
	}
	_, err = conn.Read(b[:])
	return time.Since(began), err
}
