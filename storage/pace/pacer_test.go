package pace

import (
	"net"
	"runtime"
	"slices"
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
	address := echo(t, &requests)

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

// TestPaceStrides checks that strides are short while requests come only.
func TestPaceStrides(t *testing.T) {
	var requests uint64
	p := New(func() uint64 { return requests })
	f := func(came uint64, want time.Duration) {
		t.Helper()
		requests += came
		p.last = time.Now().Add(-calmStride)
		p.Pause()
		if p.stride != want {
			t.Errorf("%d requests in a stride: the next is %v, want %v", came, p.stride, want)
		}
	}

	f(0, calmStride)
	f(1, busyStride)
	f(100, busyStride)
	f(0, calmStride)

	before := p.last
	if p.Pause(); p.last != before {
		t.Error("a pause before the stride has passed")
	}
}

func work(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// echo starts a server that answers a byte with a byte.
func echo(t *testing.T, requests *atomic.Uint64) (address string) {
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

	var took []time.Duration
	var b [1]byte
	for range 50 {
		start := time.Now()
		if _, err := conn.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
