package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/bench/report"
)

// Config is one run.
type Config struct {
	Addr        string // host:port
	Connections int
	Workers     int // threads, at most one a connection to each target; 0: one
	Mix         Mix
	Keys        []string // one of them goes with every request; nil: none
	Others      []Target // asked in turn with Addr, a request each
	Header      string   // more lines of every request's head, each with its end
	Seed        uint64
	Warmup      time.Duration // asked, and not measured
	Length      time.Duration // measured
	Rate        float64       // of an open loop, requests a second; 0: closed loop
	// Frugal leaves the processor to the server between two requests of an open loop,
	// instead of spinning. They are sent, and counted, up to a millisecond late.
	Frugal bool
	// Polls looks for the answers of a closed loop again and again instead of sleeping,
	// where no server needs the processor. To wake a client is work of the server's
	// kernel, several percent of a request, which it has only beside a client on the same
	// machine, and only beside one that finds the time to sleep.
	Polls bool

	// ServerCPU reads the CPU time of the server's process; nil: not known.
	ServerCPU func() time.Duration
	// Check looks at complete answers, one of each worker every checkEvery, when all of
	// them are in. nil: nobody looks.
	Check func(status int, path string, body []byte) error
	// Free reports whether a 200 that charged nothing says why; nil: none does.
	Free func(body []byte) bool
}

// Target is what may be asked besides Addr; it may be Addr again.
type Target struct {
	Addr  string
	Keys  []string
	Aside bool // its answers have no part in rates and latencies
}

// MaxConnections bounds a run.
const MaxConnections = 4096

// Result is what was measured.
type Result struct {
	Counts
	Began   time.Time     // of the measured time
	Elapsed time.Duration // of it
}

// Quantile returns a latency; q is between 0 and 100.
func (r *Result) Quantile(q float64) time.Duration {
	return time.Duration(r.Histogram.ValueAtPercentile(q)) * time.Microsecond
}

// percents are the points of a latency distribution that are kept.
var percents = []float64{
	0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95,
	99.99, 100,
}

// latePercents are those of how late the client was.
var latePercents = []float64{99, 99.9, 100}

// measure derives rates and latencies from what was counted, and from the CPU times
// of so many threads that asked, without what they polled for nothing, and of the server.
func (r *Result) measure(workers int, client, server time.Duration) {
	seconds := r.Elapsed.Seconds()
	r.PerSecond, r.MBPerSecond = float64(r.Requests)/seconds, float64(r.bytes)/1e6/seconds
	r.BodyBytes = int(r.bytes / max(r.Requests, 1))
	if answers := float64(r.Requests + r.Refused); answers > 0 {
		r.ServerMicros, r.ClientMicros = server.Seconds()*1e6/answers, client.Seconds()*1e6/answers
	}
	r.ClientBusy = client.Seconds() / seconds / float64(workers)

	for _, p := range percents {
		r.Latency = append(r.Latency, report.Percentile{Percent: p, Micros: r.Quantile(p).Microseconds()})
	}
	for _, p := range latePercents {
		r.ClientLate = append(r.ClientLate, report.Percentile{Percent: p, Micros: r.Late.ValueAtPercentile(p)})
	}
}

// run is what the workers of a run share.
type run struct {
	cfg     *Config
	ctx     context.Context
	workers []*worker
	targets []Target
	weights int           // of the mix, their sum
	opening []byte        // of every request, after the path and up to the host
	end     time.Duration // of the measured time
	start   time.Time
}

// answer is a response that is to be looked at.
type answer struct {
	status int
	path   string
	body   []byte
}

// now returns the time since the start.
func (r *run) now() time.Duration { return time.Since(r.start) }

const (
	checkEvery = 20 * time.Millisecond
	// maxChecked bounds what a worker keeps to be looked at, which is done when the run
	// is over: to parse a large answer takes milliseconds, in which the worker would
	// find others late.
	maxChecked = 1000
)

// Run asks for Warmup and Length, or until ctx ends, and returns when every
// answer is in. With the error of ctx it returns what was measured until then.
// It starts its own goroutines and leaves none behind.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	switch {
	case cfg.Length <= 0:
		return nil, fmt.Errorf("cannot measure for %s", cfg.Length)
	case cfg.Connections <= len(cfg.Others) || cfg.Connections > MaxConnections:
		return nil, fmt.Errorf("cannot run %d connections; at least %d, at most %d",
			cfg.Connections, len(cfg.Others)+1, MaxConnections)
	}
	if cfg.ServerCPU == nil {
		cfg.ServerCPU = func() time.Duration { return 0 }
	}

	r := &run{
		cfg: &cfg, ctx: ctx, end: cfg.Warmup + cfg.Length,
		targets: append([]Target{{Addr: cfg.Addr, Keys: cfg.Keys}}, cfg.Others...),
		opening: []byte(" HTTP/1.1\r\n" + cfg.Header + "Host: "),
	}
	cfg.Workers = min(max(cfg.Workers, 1), cfg.Connections/len(r.targets)) // each asks all
	for i := range cfg.Mix {
		r.weights += cfg.Mix[i].Weight
	}
	defer func() {
		for _, w := range r.workers {
			w.close()
		}
	}()
	for i := range cfg.Workers {
		share := (cfg.Connections + i) / cfg.Workers // the shares add up to all
		if err := r.addWorker(i, share); err != nil {
			return nil, err
		}
	}
	return r.runAll()
}

// runAll runs the workers and reads clocks and CPU times around what is measured.
func (r *run) runAll() (*Result, error) {
	result := &Result{Counts: newCounts(r.cfg.Length)}
	var working sync.WaitGroup
	r.start = time.Now()
	for _, w := range r.workers {
		working.Go(w.askUntilEnd)
	}

	r.waitFor(r.cfg.Warmup)
	server := r.cfg.ServerCPU()
	result.Began = time.Now()
	r.waitFor(r.cfg.Length)
	result.Elapsed = time.Since(result.Began)
	server = r.cfg.ServerCPU() - server

	working.Wait()
	client, err := time.Duration(0), r.ctx.Err()
	for _, w := range r.workers {
		result.addCounts(&w.Counts)
		client += w.worked
		r.checkAnswers(w.checks, result)
		err = errors.Join(err, w.err)
	}
	ticks := int((result.Elapsed + tickLength - 1) / tickLength) // fewer where it was stopped
	result.Series = result.Series[:min(ticks, len(result.Series))]
	result.measure(len(r.workers), client, server)
	return result, err
}

// waitFor ends with the context at the latest. Only readings of clocks depend on it.
func (r *run) waitFor(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.ctx.Done():
	}
}

// checkAnswers looks at the answers that a worker has kept.
func (r *run) checkAnswers(kept []answer, result *Result) {
	for _, a := range kept {
		result.Checked++
		if err := r.cfg.Check(a.status, a.path, a.body); err != nil {
			result.Wrong++
			result.Note("%s: %v", a.path, err)
		}
	}
}
