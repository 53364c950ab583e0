package torture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tidemark/bench/process"
)

// soakEnv is how long TestSoak lasts, instead of the default of the torture.
const soakEnv = "TIDEMARK_SOAK"

const (
	soakRate    = 200 // requests a second: low, so that the node has idle moments as most have
	soakClients = 16
	// The page cache is full before the first window, so that it does not grow
	// during the others: it holds 256 MB.
	fillClients = 8
	minFill     = 9 * time.Second
	maxFill     = time.Minute
	// quietShare is how much of one processor others may use in a quiet window.
	quietShare = 0.3
	// minQuiet is how many quiet windows of a sixth stand for it.
	minQuiet = 3

	// What a sixth may differ from the first one. Windows of seconds differ by whatever
	// else the machine does, so that they only find latencies that multiply.
	maxDrift        = 0.10
	maxDriftOfShort = 3.0
	longWindow      = time.Minute
	// memorySlack covers what differs between two collections: unfinished answers
	// and pages that Ristretto has not admitted yet.
	memorySlack = 12 << 20
)

// window is what was measured in a stretch of a soak.
type window struct {
	p50, p99           float64 // milliseconds
	cpu                float64 // milliseconds of the node's CPU per request
	others             float64 // processors that others used
	heap, resident     float64 // bytes; of the heap what is in use after a collection, resident without the block cache
	goroutines         float64
	sockets, files     float64
	requests, refusals int64
}

// TestSoak asks a node with the default market and a live feed the usual mix, for
// 45 s, two hours, or as long as TIDEMARK_SOAK says. Memory is flat, descriptors
// and goroutines do not become more, latencies and CPU per request do not drift,
// and every unit is charged.
func TestSoak(t *testing.T) {
	lasts := share(t, 45*time.Second, 2*time.Hour)
	if d, err := time.ParseDuration(os.Getenv(soakEnv)); err == nil {
		lasts = d
	}
	n := newNode(t, "")
	n.start()
	s := &soak{node: n, key: n.customer("soaker", "unlimited")}
	fill := max(minFill, min(lasts/30, maxFill))
	lasts -= fill
	length := max(min(lasts/18, time.Minute), time.Second)
	s.timeDrift = maxDriftOfShort
	if length >= longWindow {
		s.timeDrift = maxDrift
	}
	t.Logf("soak of %s in windows of %s at %d requests a second", lasts, length, soakRate)

	s.startWindow()
	end := make(chan struct{})
	time.AfterFunc(fill, func() { close(end) })
	s.ask(end, fillClients, 0).Wait()
	s.run(lasts, length)
	if s.wrong.Load() > 0 {
		t.Errorf("%d answers are wrong, first: %s", s.wrong.Load(), s.firstWrong)
	}
	if used := n.unitsUsed("soaker"); used != s.units.Load() {
		t.Errorf("%d units are charged; answers say %d", used, s.units.Load())
	}
	s.judge()
	n.stop()
}

// soak is a load on a node, counted in windows.
type soak struct {
	*node
	key        string
	mix        mix
	units      atomic.Int64
	wrong      atomic.Int64
	firstWrong string
	timeDrift  float64 // what latencies and CPU may differ

	mu                 sync.Mutex
	latency            *hdrhistogram.Histogram // of the present window, in microseconds
	requests, refusals int64

	windows []window
}

// ask starts clients that ask until the end, each with a pause from one request to
// the next.
func (s *soak) ask(end <-chan struct{}, clients int, pause time.Duration) *sync.WaitGroup {
	all, began := new(sync.WaitGroup), time.Now()
	for i := range clients {
		first := began.Add(pause * time.Duration(i) / time.Duration(clients))
		all.Go(func() { s.askUntil(end, first, pause, i) })
	}
	return all
}

// run asks for a while and closes a window at every length of it. The first
// windows are left out.
func (s *soak) run(lasts, length time.Duration) {
	s.startWindow()
	began, end := time.Now(), make(chan struct{})
	clients := s.ask(end, soakClients, soakClients*time.Second/soakRate)

	warmUp := max(1, int(lasts/length)/20)
	last := s.sample()
	for i := 0; time.Since(began) < lasts; i++ {
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * length)))
		next := s.sample()
		w := s.closeWindow(last, next)
		s.t.Log(&w)
		if i >= warmUp {
			s.windows = append(s.windows, w)
		}
		last = next
	}
	close(end)
	clients.Wait()
}

// askUntil is one client of an open loop: the moment of each request follows from
// its number. A request that could not be sent then, because the answer before
// was late, counts from that moment.
func (s *soak) askUntil(end <-chan struct{}, due time.Time, pause time.Duration, number int) {
	r := rand.New(rand.NewPCG(uint64(number), 15))
	c, err := dial(s.address(), s.key)
	if err != nil {
		s.noteWrong("no connection: %v", err)
		return
	}
	defer c.close()

	for ; ; due = due.Add(pause) {
		from, wait := due, time.Until(due)
		select {
		case <-end:
			return
		case <-time.After(wait):
		}
		if wait > 0 {
			from = time.Now() // our timer's lateness is not the node's
		}
		path := s.mix.draw(r)
		a, err := c.ask(path)
		if err != nil {
			s.noteWrong("%s: %v", path, err)
			return
		}
		s.count(path, &a, time.Since(from))
	}
}

func (s *soak) count(path string, a *reply, took time.Duration) {
	s.units.Add(a.units)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.status == 503 && strings.Contains(string(a.body), "busy"):
		s.refusals++ // another process has the processors
	case a.status != 200 && a.status != 404:
		s.noteWrong("%s is answered %d %s", path, a.status, a.body)
	default:
		s.requests++
		s.latency.RecordValue(min(took.Microseconds(), int64(time.Minute/time.Microsecond)))
	}
}

func (s *soak) noteWrong(format string, args ...any) {
	if s.wrong.Add(1) == 1 {
		s.firstWrong = fmt.Sprintf(format, args...)
	}
}

// sample is what a process and its machine have used, and hold.
type sample struct {
	at             time.Time
	cpu            time.Duration // of the node
	others         time.Duration // CPU time that neither node nor test used
	heap, resident float64
	goroutines     float64
	sockets, files float64
}

var heapAlloc = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// sample collects garbage and reads the node. The live heap is what is in use
// directly after that.
func (s *soak) sample() (v sample) {
	s.t.Helper()
	_, text, err := get(s.ops+"/debug/pprof/heap?gc=1&debug=1", "")
	found := heapAlloc.FindStringSubmatch(text)
	if err != nil || found == nil {
		s.t.Fatalf("no heap profile: %v", err)
	}
	v.heap, _ = strconv.ParseFloat(found[1], 64)
	v.goroutines = s.counter("go_goroutines")

	pid := s.cmd.Process.Pid
	v.sockets, v.files = descriptors(s.t, pid)
	// The market store's cache of blocks fills as tables are written and read, for longer
	// than a soak lasts. Its size bounds it, so it is left out.
	v.resident = float64(process.Read(pid).Resident) - s.counter("tidemark_store_cache_bytes")
	v.at, v.cpu = time.Now(), process.CPU(pid)
	v.others = process.ReadMachine().Busy - v.cpu - process.Own()
	return v
}

// descriptors counts the open descriptors of a process. Files are those of the
// stores, which open and close tables as they write.
func descriptors(t *testing.T, pid int) (sockets, files float64) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		switch to, err := os.Readlink(dir + "/" + e.Name()); {
		case err != nil: // closed meanwhile
		case strings.HasPrefix(to, "socket:"):
			sockets++
		default: // files, and the pipes that long work pauses with
			files++
		}
	}

	return sockets, files
}

func (s *soak) startWindow() {
	s.latency = hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3)
	s.requests, s.refusals = 0, 0
}

// closeWindow ends a window and begins the next one.
func (s *soak) closeWindow(from, to sample) window {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := to.at.Sub(from.at).Seconds()
	w := window{
		p50: float64(s.latency.ValueAtQuantile(50)) / 1e3, p99: float64(s.latency.ValueAtQuantile(99)) / 1e3,
		cpu:    (to.cpu - from.cpu).Seconds() * 1e3 / float64(max(1, s.requests)),
		others: (to.others - from.others).Seconds() / took,
		heap:   to.heap, resident: to.resident, goroutines: to.goroutines,
		sockets: to.sockets, files: to.files, requests: s.requests, refusals: s.refusals,
	}

	s.startWindow()
	return w
}

func (w *window) String() string {
	return fmt.Sprintf("%d requests, %d refused: p50 %.2f ms, p99 %.2f ms, CPU %.3f ms each; heap %.1f MB, "+
		"resident %.1f MB, %.0f goroutines, %.0f sockets, %.0f files; others use %.2f processors",
		w.requests, w.refusals, w.p50, w.p99, w.cpu, w.heap/1e6, w.resident/1e6, w.goroutines, w.sockets,
		w.files, w.others)
}

// judge compares the last sixth of the windows with the first one.
func (s *soak) judge() {
	t := s.t
	sixth := max(1, len(s.windows)/6)
	first, last := s.windows[:sixth], s.windows[len(s.windows)-sixth:]
	kind := "all"
	if a, b := quiet(first), quiet(last); len(a) >= minQuiet && len(b) >= minQuiet {
		kind = fmt.Sprintf("%d and %d quiet", len(a), len(b))
	}

	f := func(name, unit string, scale, slack float64, timed bool, of func(window) float64) string {
		from, to := first, last
		if timed && kind != "all" {
			from, to = quiet(first), quiet(last)
		}
		was, noise := medianOf(from, of)
		is, more := medianOf(to, of)
		drift := s.timeDrift
		if !timed {
			noise, more, drift = 0, 0, maxDrift
		}
		if limit := was*(1+drift) + slack + math.Hypot(noise, more); is > limit {
			t.Errorf("%s rose from %.3f to %.3f %s; cannot exceed %.3f", name, was/scale, is/scale, unit, limit/scale)
		}
		return fmt.Sprintf("%s %.2f -> %.2f %s (±%.2f)", name, was/scale, is/scale, unit, math.Hypot(noise, more)/scale)
	}

	lines := []string{
		f("p99", "ms", 1, 0, true, func(w window) float64 { return w.p99 }),
		f("p50", "ms", 1, 0, true, func(w window) float64 { return w.p50 }),
		f("CPU per request", "ms", 1, 0, true, func(w window) float64 { return w.cpu }),
		f("live heap", "MB", 1e6, memorySlack, false, func(w window) float64 { return w.heap }),
		f("resident without the block cache", "MB", 1e6, memorySlack, false, func(w window) float64 { return w.resident }),
		s.compareCounts("goroutines", first, last, func(w window) float64 { return w.goroutines }),
		s.compareCounts("sockets", first, last, func(w window) float64 { return w.sockets }),
	}
	all, refused := int64(0), int64(0)
	for _, w := range s.windows {
		all, refused = all+w.requests, refused+w.refusals
	}
	if refused*100 > all {
		t.Errorf("%d of %d requests were refused; cannot exceed one in a hundred", refused, all)
	}
	figure(t, "soak, %d windows, the last sixth after the first (%s windows): %s; %d answers, %d refused, %d wrong",
		len(s.windows), kind, strings.Join(lines, ", "), all, refused, s.wrong.Load())
}

// compareCounts compares what must not become more at all. The least of several
// readings leaves out what comes and goes, such as a compaction.
func (s *soak) compareCounts(name string, first, last []window, of func(window) float64) string {
	least := func(list []window) float64 {
		values := make([]float64, len(list))
		for i, w := range list {
			values[i] = of(w)
		}
		return slices.Min(values)
	}
	was, is := least(first), least(last)
	if is > was {
		s.t.Errorf("%s became more: %.0f, then %.0f", name, was, is)
	}
	return fmt.Sprintf("%s %.0f -> %.0f", name, was, is)
}

// quiet returns the windows in which others hardly used the processors.
func quiet(windows []window) (list []window) {
	for _, w := range windows {
		if w.others < quietShare {
			list = append(list, w)
		}
	}
	return list
}

// medianOf returns the median of a measure and how far off it is likely to be: the
// standard error of a median, from the median absolute deviation.
func medianOf(windows []window, of func(window) float64) (median, noise float64) {
	middle := func(values []float64) float64 {
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	values, off := make([]float64, len(windows)), make([]float64, len(windows))
	for i, w := range windows {
		values[i] = of(w)
	}

	median = middle(values)
	for i, v := range values {
		off[i] = math.Abs(v - median)
	}
	// 1.4826 makes the deviation comparable with a standard deviation, 1.2533 is the
	// standard error of a median of normal values.
	return median, 1.4826 * 1.2533 * middle(off) / math.Sqrt(float64(len(windows)))
}
