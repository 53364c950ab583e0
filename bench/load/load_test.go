package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/bench/process"
)

// startConstant starts the yardstick.
func startConstant(t testing.TB, size int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Constant(l, size) }()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func mustRun(t testing.TB, cfg Config) *Result {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func onePath(path string) Mix { return Mix{{Name: "one", Weight: 1, Path: Fixed(path), Units: 1}} }

// The generator is not what limits: over 32 connections it asks faster than an
// ordinary client with a goroutine for each (BenchmarkClient).
func BenchmarkAsk(b *testing.B) {
	cfg := Config{
		Addr: startConstant(b, benchSize), Connections: 32, Mix: onePath("/"), Length: 250 * time.Millisecond,
	}
	answers := 0.0
	for b.Loop() {
		answers = mustRun(b, cfg).PerSecond
	}
	b.ReportMetric(answers, "answers/s")
}

func BenchmarkClient(b *testing.B) {
	addr := startConstant(b, benchSize)
	client := fasthttp.HostClient{Addr: addr, MaxConns: 32}

	b.SetParallelism(32 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		q, a := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		q.SetRequestURI("http://" + addr + "/")
		for pb.Next() {
			if err := client.Do(q, a); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

const benchSize = 18 << 10 // of a body, as a page has

// What the generator counted is what the server served.
func TestCountsAgreeWithServer(t *testing.T) {
	var served, keyed, halves atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		served.Add(1)
		if q.Header.Get("KC-APIKey") == "k1" || q.Header.Get("KC-APIKey") == "k2" {
			keyed.Add(1)
		}
		w.Header().Set("Content-Length", "5000")
		w.Header().Set("X-Units-Charged", "3")
		switch q.URL.Path {
		case "/gone":
			w.Header().Set("X-Units-Charged", "7")
			w.WriteHeader(http.StatusNotFound)
		case "/full":
			w.Header().Set("X-Units-Charged", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/half":
			halves.Add(1)
			w.Header().Set("X-Units-Charged", "0")
		}
		w.Write(append([]byte(q.URL.Path), make([]byte, 5000-len(q.URL.Path))...))
	}))
	defer server.Close()

	var seen, servedBefore atomic.Int64
	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 8, Workers: 2, Keys: []string{"k1", "k2"},
		Mix: Mix{
			{Name: "well", Weight: 5, Path: Fixed("/well"), Units: 3},
			{Name: "gone", Weight: 2, Path: Fixed("/gone"), Units: 7, Accept: []int{404}},
			{Name: "full", Weight: 1, Path: Fixed("/full"), Units: 3},
			{Name: "half", Weight: 1, Path: Fixed("/half"), Units: 3},
		},
		Free:   func(body []byte) bool { return bytes.HasPrefix(body, []byte("/half")) },
		Warmup: 50 * time.Millisecond, Length: 250 * time.Millisecond,
		Check: func(_ int, _ string, body []byte) error {
			seen.Add(int64(len(body)))
			servedBefore.CompareAndSwap(0, served.Load())
			return nil
		},
	})

	all := r.Statuses[200] + r.Statuses[404] + r.Statuses[429]
	if all != uint64(served.Load()) || served.Load() != keyed.Load() || len(r.Statuses) != 3 {
		t.Errorf("answers have the statuses %v; the server gave %d, %d of them to a key",
			r.Statuses, served.Load(), keyed.Load())
	}
	if r.Free != uint64(halves.Load()) || r.Free == 0 {
		t.Errorf("%d answers said that they are free; the server gave %d", r.Free, halves.Load())
	}
	if r.Charged != r.Expected || r.Charged == 0 {
		t.Errorf("%d units were charged; want %d", r.Charged, r.Expected)
	}
	if r.Statuses[429] != r.Failures {
		t.Errorf("%d of the answers are failures, with the statuses %v", r.Failures, r.Statuses)
	}
	if r.Checked == 0 || seen.Load() != int64(5000*r.Checked) {
		t.Errorf("%d answers with %d bytes were looked at", r.Checked, seen.Load())
	}
	if servedBefore.Load() != served.Load() {
		t.Errorf("answers were looked at after %d of %d", servedBefore.Load(), served.Load())
	}
	if r.Unanswered != 0 || r.Wrong != 0 {
		t.Errorf("unanswered %d, wrong %d: %v", r.Unanswered, r.Wrong, r.Problems)
	}
}

// Servers that are asked in turn are asked as often, each with its keys, and what one answers
// aside counts for no rate.
func TestAskedInTurn(t *testing.T) {
	var served [2]atomic.Int64
	var wrong atomic.Int64
	var addresses [2]string
	for i, key := range []string{"k1", "k2"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			served[i].Add(1)
			if q.Header.Get("KC-APIKey") != key || q.Host != addresses[i] {
				wrong.Add(1)
			}
			w.Header().Set("Content-Length", "0")
		}))
		addresses[i] = server.Listener.Addr().String()
		server.Start()
		defer server.Close()
	}

	r := mustRun(t, Config{
		Addr: addresses[0], Keys: []string{"k1"}, Connections: 6, Workers: 4, Rate: 900,
		Mix: Mix{{Name: "one", Weight: 1, Path: Fixed("/"), Units: AnyUnits}}, Length: 300 * time.Millisecond,
		Others: []Target{
			{Addr: addresses[1], Keys: []string{"k2"}, Aside: true},
			{Addr: addresses[0], Keys: []string{"k1"}},
		},
	})
	first, second := served[0].Load(), served[1].Load()
	if wrong.Load() > 0 || first < 2*second-2 || first > 2*second+2 || second == 0 {
		t.Errorf("%d and %d requests came, %d of them with another one's host or key", first, second, wrong.Load())
	}
	if r.Requests > uint64(first) || r.Statuses[200] != uint64(first+second) || r.Requests == 0 {
		t.Errorf("%d answers count, and %v are all; %d and %d were given", r.Requests, r.Statuses, first, second)
	}
}

// A server that stalls is seen by every request that was due meanwhile, not
// only by those that had a connection.
func TestStallIsNotOmitted(t *testing.T) {
	const stall = 400 * time.Millisecond
	var stalled atomic.Bool
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(began) > 300*time.Millisecond && stalled.CompareAndSwap(false, true) {
			time.Sleep(stall)
		}
		io.WriteString(w, "ok")
	}))
	defer server.Close()

	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 1, Mix: onePath("/"), Rate: 500,
		Length: time.Second,
	})
	if p50, p90 := r.Quantile(50), r.Quantile(90); p90 < stall/2 || r.Quantile(100) < stall {
		t.Errorf("with a stall of %s the quantiles are 50: %s, 90: %s, 100: %s",
			stall, p50, p90, r.Quantile(100))
	}
	if r.Requests+r.Unsent < 400 {
		t.Errorf("%d of 500 requests were asked, %d not", r.Requests, r.Unsent)
	}
}

// A stall that outlasts the measured time is no better than one within it: what was under way
// at the end counts with its latency, and not as throughput.
func TestStallAtTheEndIsNotOmitted(t *testing.T) {
	const stall = 600 * time.Millisecond
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(max(0, stall-time.Since(began)))
		io.WriteString(w, "ok")
	}))
	defer server.Close()

	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 32, Mix: onePath("/"), Rate: 50,
		Length: stall / 2,
	})
	if r.Requests != 0 || r.PerSecond != 0 || r.Statuses[200] == 0 {
		t.Errorf("%d answers count, of %v; want none", r.Requests, r.Statuses)
	}
	if p50 := r.Quantile(50); p50 < stall/2 {
		t.Errorf("the median is %s, and the stall %s", p50, stall)
	}
}

// What a client adds to latencies by itself is known, and a slow server is not mistaken
// for it.
func TestClientLateIsItsOwn(t *testing.T) {
	const stall = 100 * time.Millisecond
	f := func(inClient, inServer time.Duration, least, most time.Duration) {
		t.Helper()
		var asked, served atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if served.Add(1) == 50 {
				time.Sleep(inServer)
			}
			w.Header().Set("Content-Length", "0")
		}))
		defer server.Close()
		path := func(dst []byte, _ *rand.Rand) []byte {
			if asked.Add(1) == 50 {
				time.Sleep(inClient)
			}
			return append(dst, '/')
		}

		r := mustRun(t, Config{
			Addr: server.Listener.Addr().String(), Connections: 4, Rate: 500,
			Mix: Mix{{Name: "one", Weight: 1, Path: path, Units: AnyUnits}}, Length: 500 * time.Millisecond,
		})
		if late := r.ClientLate[len(r.ClientLate)-1]; late.Percent != 100 ||
			late.Micros < least.Microseconds() || late.Micros > most.Microseconds() {
			t.Errorf("a client that stalls for %s beside a server that stalls for %s was up to %d µs late; want %s to %s",
				inClient, inServer, late.Micros, least, most)
		}
		if r.Quantile(100) < stall {
			t.Errorf("the slowest answer took %s; want at least %s", r.Quantile(100), stall)
		}
	}

	f(stall, 0, stall, 10*stall)
	f(0, 2*stall, 0, stall)
}

// An open loop asks at its rate and no faster, from the warm-up on, which is not measured. On a
// busy machine some of what is due is not sent in time.
func TestRate(t *testing.T) {
	r := mustRun(t, Config{
		Addr: startConstant(t, 200), Connections: 4, Workers: 2, Mix: onePath("/"), Rate: 2000,
		Warmup: 250 * time.Millisecond, Length: 250 * time.Millisecond,
	})
	if n := r.Statuses[200]; n == 0 || n+r.Unsent != 1000 {
		t.Errorf("%d requests were answered and %d not sent; want 1000 together", n, r.Unsent)
	}
	if r.Requests >= r.Statuses[200] || uint64(r.Histogram.TotalCount()) >= r.Statuses[200] {
		t.Errorf("%d answers are throughput and %d have a latency, of %d with those of the warm-up",
			r.Requests, r.Histogram.TotalCount(), r.Statuses[200])
	}
}

// A client that polls is not counted as busy while it waits.
func TestPollingIsNotWork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		w.Header().Set("Content-Length", "0")
	}))
	defer server.Close()

	before := process.Own()
	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 1, Mix: onePath("/"), Polls: true,
		Length: 300 * time.Millisecond,
	})
	// What others leave of the machine is not known: what is counted is compared with what
	// was spent.
	spent := (process.Own() - before).Seconds()
	if counted := r.ClientBusy * r.Elapsed.Seconds(); counted <= 0 || counted > spent/3 {
		t.Errorf("%.4f s of work in %.4f s of CPU; want most of it spent on polling, and little counted", counted, spent)
	}
}

// The moments of a pace depend on nothing but their number, and do not drift.
func TestPace(t *testing.T) {
	f := func(p Pace, hit uint64, want time.Duration) {
		t.Helper()
		if got := p.At(hit); got != want {
			t.Errorf("At(%d) of %v/s = %s; want %s", hit, float64(p), got, want)
		}
	}

	f(1000, 0, 0)
	f(1000, 1, time.Millisecond)
	f(1000, 1_000_000, 1000*time.Second)
	f(3, 3_000_000, 1_000_000*time.Second)
	f(0.5, 1, 2*time.Second)
}

// A server that goes away ends the run.
func TestServerGone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler) // closes the connection
	}))
	defer server.Close()

	started := time.Now()
	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 4, Mix: onePath("/"), Length: 2 * time.Second,
	})
	if r.Unanswered == 0 || len(r.Problems) == 0 || time.Since(started) > 5*time.Second {
		t.Errorf("after %s: unanswered %d, problems %v", time.Since(started), r.Unanswered, r.Problems)
	}
}

// Requests of an open loop that were due when the server had closed every connection, and took
// no other, were not answered, also if nothing was under way when it did.
func TestServerGoneBetweenRequests(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		server.Listener.Close()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			conn.Close() // without a word of it
		}
	})
	server.Start()
	defer server.Close()

	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 2, Mix: onePath("/"), Rate: 50,
		Length: 400 * time.Millisecond,
	})
	if r.Statuses[200] != 2 || r.Unanswered != 18 || r.Unsent != 0 || len(r.Problems) == 0 {
		t.Errorf("answers %v, unanswered %d, unsent %d, problems %v; want 2, 18, 0 and why",
			r.Statuses, r.Unanswered, r.Unsent, r.Problems)
	}
}

// A connection that a server closes while nothing is asked is opened again when it is needed:
// servers do so after some time, with a farewell or without a word.
func TestServerClosesIdle(t *testing.T) {
	f := func(farewell string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			time.Sleep(10 * time.Millisecond)
			io.WriteString(conn, farewell)
		}))
		defer server.Close()

		r := mustRun(t, Config{
			Addr: server.Listener.Addr().String(), Connections: 2, Mix: onePath("/"), Rate: 5, Length: 2 * time.Second,
		})
		if r.Statuses[200] != 10 || r.Reopened != 9 || r.Bad() > 0 || r.Unsent > 0 || len(r.Problems) > 0 {
			t.Errorf("after %q: answers %v, %d reopened, %d bad, %d unsent, problems %v; want 10, 9, 0, 0 and none",
				farewell, r.Statuses, r.Reopened, r.Bad(), r.Unsent, r.Problems)
		}
	}

	f("")
	f("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlate")
}

// A connection that a server closes in order, as its answer says, is opened again: a proxy does
// so after some requests.
func TestServerClosesInOrder(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%3 == 0 {
			w.Header().Set("Connection", "close")
		}
		io.WriteString(w, "ok")
	}))
	defer server.Close()

	r := mustRun(t, Config{
		Addr: server.Listener.Addr().String(), Connections: 2, Mix: onePath("/"), Length: 200 * time.Millisecond,
	})
	if n := r.Statuses[200]; r.Bad() > 0 || n < 30 || n != uint64(served.Load()) || r.Reopened != n/3 {
		t.Errorf("answers %v, %d reopened, problems %v; the server gave %d and closed after each third",
			r.Statuses, r.Reopened, r.Problems, served.Load())
	}
}

// Where paths have nothing in common, a problem names the one that was asked.
func TestProblemNamesPath(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	f := func(name, want string) {
		t.Helper()
		r := mustRun(t, Config{
			Addr: server.Listener.Addr().String(), Connections: 1, Rate: 50, Length: 100 * time.Millisecond,
			Mix: Mix{{Name: name, Weight: 1, Path: Fixed("/v1/a?b=1")}},
		})
		if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], want) {
			t.Errorf("the problems of part %q are %q; want one of %s", name, r.Problems, want)
		}
	}

	f("list", "list was answered 404: 404 page not found")
	f(ByPath, "/v1/a?b=1 was answered 404: 404 page not found")
}

// A run that is stopped does not wait for a server that hangs.
func TestStopOfHangingServer(t *testing.T) {
	hanging := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	defer server.Close()
	defer close(hanging)

	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	started := time.Now()
	_, err := Run(ctx, Config{
		Addr: server.Listener.Addr().String(), Connections: 4, Mix: onePath("/"), Length: time.Minute,
	})
	if took := time.Since(started); err == nil || took > 2*stopTime {
		t.Errorf("it ended after %s with %v", took, err)
	}
}

// What was measured until a run is stopped is right for that time: rate, series, and what was
// due, of which nothing that is under way counts as a fault.
func TestStoppedRunIsMeasured(t *testing.T) {
	var asked atomic.Int64
	hanging := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 20 {
			<-hanging
		}
		io.WriteString(w, "ok")
	}))
	defer server.Close()
	defer close(hanging)

	const rate = 100
	ctx, stop := context.WithTimeout(t.Context(), 800*time.Millisecond)
	defer stop()
	r, err := Run(ctx, Config{
		Addr: server.Listener.Addr().String(), Connections: 4, Mix: onePath("/"), Rate: rate, Length: time.Minute,
	})
	if !errors.Is(err, context.DeadlineExceeded) || r == nil {
		t.Fatalf("it ended with %+v, %v", r, err)
	}
	if r.Elapsed > 5*time.Second || r.PerSecond < rate*0.8 || r.PerSecond > rate*1.2 {
		t.Errorf("%.1f answers a second in %s; want %d", r.PerSecond, r.Elapsed, rate)
	}
	if seconds := float64(len(r.Series)) * tickLength.Seconds(); seconds > r.Elapsed.Seconds()+0.1 {
		t.Errorf("a series of %v s; want that of %s", seconds, r.Elapsed)
	}
	if r.Unsent > 0 || r.Bad() > 0 || len(r.Problems) > 0 {
		t.Errorf("unsent %d, bad %d, problems %v; want none", r.Unsent, r.Bad(), r.Problems)
	}
}

// Only 2xx is throughput, and an answer that failed is one failure, whatever else is wrong
// with it.
func TestFailuresAreCountedOnce(t *testing.T) {
	f := func(status int) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		defer server.Close()

		r := mustRun(t, Config{
			Addr: server.Listener.Addr().String(), Connections: 2, Mix: onePath("/"), Rate: 100,
			Length: 200 * time.Millisecond,
			Check:  func(int, string, []byte) error { return errors.New("not a page") },
		})
		if r.Requests != 0 || r.Refused == 0 || r.Histogram.TotalCount() != 0 {
			t.Errorf("%d answers are throughput, %d are not, %d have a latency; want none, all, none",
				r.Requests, r.Refused, r.Histogram.TotalCount())
		}
		if r.Bad() != r.Statuses[status] {
			t.Errorf("%d answers of %v are bad, %d of them wrong", r.Bad(), r.Statuses, r.Wrong)
		}
	}
	f(http.StatusFound)
	f(http.StatusUnauthorized)
	f(http.StatusBadGateway)
}

func TestRefusals(t *testing.T) {
	f := func(change func(*Config)) {
		t.Helper()
		cfg := Config{Addr: "127.0.0.1:1", Connections: 1, Mix: onePath("/"), Length: time.Second}
		change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil {
			t.Errorf("%+v was run", cfg)
		}
	}

	f(func(*Config) {}) // nobody listens
	f(func(c *Config) { c.Connections = 0 })
	f(func(c *Config) { c.Others = []Target{{Addr: c.Addr}} }) // without a connection
	f(func(c *Config) { c.Connections = MaxConnections + 1 })
	f(func(c *Config) { c.Length = 0 })
}

// The numbers of a body are those of JSON and exact decimals, and nothing else.
func TestNumbersOf(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		got := ""
		for _, n := range NumbersOf([]byte(body)) {
			got += string(n.Append(nil)) + " "
		}
		if got != want {
			t.Errorf("%s has %q; want %q", body, got, want)
		}
	}

	f(`{"a1":12,"b":[-0.5,3e2],"c":null}`, "12 0.5 300 ")
	f(`{"id":"0x12","hash":"9ab","a":"12.5","b":"-7","text":"1 of 2","t\"7":8}`, "125 7 8 ")
	f(`["123456789012345678954321"]`, "123456789012345678954321 ")
	f(`[7]`, "7 ")
	f(``, "")
}
