package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// A round of a comparison has turns of about a second.
func TestTurns(t *testing.T) {
	f := func(round time.Duration, many int, length time.Duration) {
		t.Helper()
		s := newSuite(Settings{Length: round})
		if n, each := s.turns(); n != many || each != length {
			t.Errorf("a round of %s has %d turns of %s; want %d of %s", round, n, each, many, length)
		}
	}
	f(5*time.Second, 5, time.Second)
	f(time.Second, 1, time.Second)
	f(1500*time.Millisecond, 1, 1500*time.Millisecond)
	f(2500*time.Millisecond, 2, 1250*time.Millisecond)
	f(300*time.Millisecond, 1, 300*time.Millisecond)
}

// What Go prints is read by name and unit, and repeated runs by their median.
func TestPieces(t *testing.T) {
	values := parsePieces("goos: linux\nBenchmarkSwaps-2 \t 100\t 12.5 ns/event\t 3 allocs/op\n" +
		"BenchmarkSwaps-2 100 10 ns/event 3 allocs/op\nBenchmarkSwaps-2 9 99 ns/event 3 allocs/op\nPASS\n")
	want := []report.Value{{Name: "Swaps allocs/op", Value: 3, Unit: "allocs/op"},
		{Name: "Swaps ns/event", Value: 12.5, Unit: "ns/event"}}
	if !slices.Equal(values, want) {
		t.Errorf("%+v", values)
	}
}

// Every path of every mix is one that a node knows, and new filters are new.
func TestMixes(t *testing.T) {
	target := &target{
		chains: []int64{1, 42161}, positions: []string{"/v1/positions/1/swapdex-v4/7"},
		pools: []string{"/v1/pools/1/swapdex-v4/0x1"}, rows: map[int64]listRows{0: {5000, 0}},
		ids: []idRange{{1, 5, 9}}, all: 100_000, charts: true,
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	f := func(mix load.Mix, alwaysNew bool) {
		t.Helper()
		for i := range 500 * len(mix) {
			p := string(mix[i%len(mix)].Path(nil, random))
			if !strings.HasPrefix(p, "/v1/") || strings.ContainsAny(p, " \r\n%") || strings.Contains(p, "NaN") ||
				alwaysNew && seen[p] {
				t.Fatalf("it asks %q", p)
			}
			seen[p] = true
		}
	}

	f(hotPage(target), false)
	f(zipfMix(target), false)
	f(uncachedPages(target), false)
	f(newFilters(0), true)
	f(laterPages(target), false)
	f(pagesFrom("front", 2, 10), false)
	f(anyDetail(target), false)
}

// The bound that so many of the waits since the first reading were below.
func TestWaitedToRun(t *testing.T) {
	f := func(before, after [3]float64, quantile, want float64) {
		t.Helper()
		name := func(bound string) string { return waitsToRun + `{le="` + bound + `"}` }
		counters := func(n [3]float64) map[string]float64 {
			return map[string]float64{
				name("1e-05"): n[0], name("0.001"): n[1], name("+Inf"): n[2], "go_gc_duration_seconds_count": 7,
			}
		}
		if got := waitedToRun(counters(before), counters(after), quantile); got != want {
			t.Errorf("%v of those between %v and %v waited up to %v s; want %v", quantile, before, after, got, want)
		}
	}

	f([3]float64{}, [3]float64{}, 0.99, 1e-5)
	f([3]float64{}, [3]float64{98, 99, 100}, 0.98, 1e-5)
	f([3]float64{}, [3]float64{98, 99, 100}, 0.99, 1e-3)
	f([3]float64{98, 98, 98}, [3]float64{98, 198, 198}, 0.5, 1e-3)
	f([3]float64{}, [3]float64{0, 0, 1}, 0.5, math.Inf(1))
	if got := waitedToRun(nil, nil, 0.99); got != 0 {
		t.Errorf("without a histogram they waited %v s", got)
	}
}

// An answer that is not whole says so, and is free.
func TestIsFree(t *testing.T) {
	f := func(body string, want bool) {
		t.Helper()
		if isFree([]byte(body)) != want {
			t.Errorf("%s: want %v", body, want)
		}
	}
	f(`{"transactions":[],"transactionsDegraded":true}`, true)
	f(`{"positions":[],"partial":true,"missingChains":[1]}`, true)
	f(`{"positions":[],"pagination":{}}`, false)
}

func TestZipf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const draws, n = 100_000, 1000
	var drawn [n]int
	for range draws {
		drawn[drawZipf(random, n)]++
	}
	for _, k := range []int{1, 3, 9} { // the k-th about 1/(k+1) as often as the first
		got, want := float64(drawn[k])/float64(drawn[0]), 1/float64(k+1)
		if got < want/2 || got > 1.5*want {
			t.Errorf("number %d is drawn %.3f times as often as the first; want about %.3f", k, got, want)
		}
	}
}

var update = flag.Bool("update", false, "write golden files anew")

func readRun(t *testing.T, path string) *report.Run {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A run is read as it was written, and everything that is printed of it is what
// the golden file has: rows of the table of goals that are met, missed or not
// measured, of a smaller corpus, of a node elsewhere and of peers; scenarios with
// what to keep in mind; what changed; and faults.
func TestGoldenRuns(t *testing.T) {
	base := readRun(t, "testdata/goals.ndjson")
	for _, name := range []string{"goals", "outside", "unlike"} {
		run := readRun(t, "testdata/"+name+".ndjson")
		run.Figures = figures(run)
		var b, text bytes.Buffer
		if err := Write(&b, run); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&b)
		if err != nil || !reflect.DeepEqual(back, run) {
			t.Fatalf("read again, a run is %+v, %v; want %+v", back, err, run)
		}

		err = errors.Join(report.Markdown(&text, back), report.Goals(&text, back), report.Table(&text, back))
		worse, refused := report.PrintChanges(&text, base, back, 0.1)
		fmt.Fprintf(&text, "%d regressions, %v\nfaults: %v\n", worse, refused, Faults(back))
		golden := "testdata/" + name + ".txt"
		if *update {
			err = errors.Join(err, os.WriteFile(golden, text.Bytes(), 0o644))
		}
		want, readErr := os.ReadFile(golden)
		if err != nil || readErr != nil || text.String() != string(want) {
			t.Errorf("%s is\n%s\n%v, %v; want\n%s", name, &text, err, readErr, want)
		}
	}

	// The first builds numbered rows without letters, and kept less.
	old, err := Read(strings.NewReader(`{"run":{"settings":{"target":"x"}}}{"scenario":{"name":"hot","beside":"",` +
		`"statuses":[{"status":200,"count":9}],"node":{"requests":9}}}{"figure":{"number":1,"verdict":"met"}}`))
	if err != nil || len(old.Figures) != 1 || old.Figures[0].Number != "1" {
		t.Errorf("an old run is %+v, %v", old, err)
	}
	for _, bad := range []string{"", "{", `{"kind":"scenario","scenario":{}}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// Every goal is about a scenario of the table, and has one bound a condition.
func TestGoalsAreWellFormed(t *testing.T) {
	if n := len(goals); n != 18 {
		t.Errorf("%d goals; want 18", n)
	}
	names := append(Names(), "")
	for _, g := range goals {
		for _, c := range slices.Concat(g.Parts, g.Needs) {
			if !slices.Contains(names, c.Of) || !slices.Contains(names, c.OverOf) || c.Metric == "" ||
				(c.Least == nil) == (c.Most == nil) {
				t.Errorf("row %s has the condition %+v", g.Number, c)
			}
		}
	}
}

func TestReadPaths(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		paths, err := ReadPaths(strings.NewReader(text))
		if !slices.Equal(paths, want) || (err == nil) != (want != nil) {
			t.Errorf("%q is %q, %v; want %q", text, paths, err, want)
		}
	}

	f("/v1/pools\n\n# charts\n  /v1/pools?page=2 \n", "/v1/pools", "/v1/pools?page=2")
	f("")
	f("# nothing")
	f("v1/pools")
	f("/v1/pools HTTP/1.1")
}

// A report tells a list of paths from others of its length, in whatever order it is.
func TestListDigest(t *testing.T) {
	lists := func(paths ...string) (all []string) {
		for _, rates := range [][]float64{nil, {10}} {
			s := newSuite(Settings{Paths: paths, Rates: rates})
			sc := s.ownLoad()[0]
			sc.Mix, sc.Run = nil, func(context.Context, *suite, *report.Scenario) error { return nil }
			out, err := s.measureScenario(t.Context(), &sc)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, out.List)
		}
		return all
	}

	both := lists("/v1/pools", "/v1/stats")
	if both[0] == "" || both[0] != both[1] || !slices.Equal(both, lists("/v1/stats", "/v1/pools")) {
		t.Errorf("the digests of a list are %q, and in another order %q", both, lists("/v1/stats", "/v1/pools"))
	}
	if other := lists("/v1/pools", "/v1/chains"); other[0] == both[0] {
		t.Errorf("another list has the digest %s too", other[0])
	}
	if none := lists(); none[0] != "" {
		t.Errorf("without a list it is %q", none[0])
	}
}

// The hot page beside refreshes is asked for at the rate of the scenario without them, which
// has to be in the run, before it and on as many processors.
func TestHalfRate(t *testing.T) {
	for live, want := range map[string]string{
		"half-live": "half", "half-live-walks": "half", "half-live-two": "half-two",
	} {
		names := Names()
		i, j := slices.Index(names, live), slices.Index(names, want)
		if table[i].RateOf != want || j > i || table[i].Mode.cores != table[j].Mode.cores {
			t.Errorf("scenario %d, %s, takes its rate from %q; want %s, which is scenario %d", i, live, table[i].RateOf, want, j)
		}
		if err := checkNames([]string{live}, false); err == nil || !strings.Contains(err.Error(), want+";") {
			t.Errorf("%s alone: %v", live, err)
		}
		if err := checkNames([]string{live, want}, false); err != nil {
			t.Error(err)
		}
	}

	if err := checkNames(nil, false); err != nil {
		t.Error(err)
	}
	if err := checkNames([]string{"half", "third"}, false); err == nil || !strings.Contains(err.Error(), `"third"`) {
		t.Errorf("an unknown one: %v", err)
	}

	s := newSuite(Settings{})
	s.run.Scenarios = []report.Scenario{{Name: "half", Rate: 700}}
	read := func(_ context.Context, _ *suite, out *report.Scenario) error {
		out.Set("asked", out.Rate, "")
		return nil
	}
	for _, sc := range []scenario{{RateOf: "half", Run: read}, {Run: read}} {
		out, err := s.measureScenario(t.Context(), &sc)
		if err != nil {
			t.Fatal(err)
		}
		if rate, _ := out.Value("asked"); (rate == 700) != (sc.RateOf != "") {
			t.Errorf("with the rate of %q it asks %v times a second", sc.RateOf, rate)
		}
	}

	s.run.Scenarios = []report.Scenario{{Name: "hot", Node: report.Measure{PerSecond: 900}}}
	if full, err := s.hotCapacity(t.Context()); err != nil || full != 900 {
		t.Errorf("the capacity is %v, %v; want that of the hot page", full, err)
	}
}

// A run fails by the thresholds that it breaks, in every scenario under load.
func TestThresholds(t *testing.T) {
	measure := report.Measure{PerSecond: 900, Requests: 99, Refused: 1,
		Latency: []report.Percentile{{Percent: 50, Micros: 400}, {Percent: 99, Micros: 21_000},
			{Percent: 100, Micros: 22_000}}}
	run := &report.Run{Scenarios: []report.Scenario{{Name: "rate-900", Node: measure}, {Name: "idle"}}}
	f := func(text string, broken bool) {
		t.Helper()
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Passed(run, []Threshold{threshold}); (err != nil) != broken {
			t.Errorf("%s: %v", text, err)
		}
	}
	bad := func(text string) {
		t.Helper()
		if _, err := ParseThreshold(text); err == nil {
			t.Errorf("%q is a threshold", text)
		}
	}

	f("p50>0.4ms", false)
	f("p99>20ms", true)
	f("p99>21ms", false)
	f("requests<1000/s", true)
	f("requests<900/s", false)
	f("refused>0.9%", true)
	f("refused>1%", false)
	f("failed>0", false)

	// Of answers that are all refused, or never came, no latency is known: none is low enough.
	run.Scenarios[0] = report.Scenario{Name: "refused", Node: report.Measure{Refused: 100}}
	f("p99>20ms", true)
	f("p99<20ms", true)
	f("requests<1/s", true)
	f("refused>99%", true)
	run.Scenarios[0] = report.Scenario{Name: "gone", Answers: report.Answers{Unsent: 1}}
	f("p50>20ms", true)
	f("requests<1/s", true)

	// What was due and never sent is later than any answer.
	sent := func(good, unsent uint64) {
		run.Scenarios[0] = report.Scenario{Name: "rate-900", Node: measure,
			Answers: report.Answers{Unsent: unsent, Statuses: map[int]uint64{200: good, 429: 5000}}}
	}
	sent(999, 1)
	f("p50>0.4ms", true) // the next that is known is p99
	f("p99>21.9ms", true)
	f("p99>22ms", false)
	sent(900, 100)
	f("p99>1000ms", true)
	f("p99<20ms", true)
	f("p50>21ms", false)
	sent(400, 600)
	f("p50>1000ms", true)
	sent(0, 600)
	f("p50>1000ms", true)

	// Nor is anything known of a run without load.
	run.Scenarios = []report.Scenario{{Name: "restart", Values: []report.Value{{Name: "first page", Value: 1}}}}
	f("p99>20ms", true)
	f("failed>0", true)
	if err := Passed(run, nil); err != nil {
		t.Errorf("without thresholds: %v", err)
	}

	bad("p99>20")
	bad("p99=20ms")
	bad("p98>20ms")
	bad("p99>1.2.3ms")
	bad("")
}

// What was measured about another corpus is left out, and no file is nothing.
func TestAddPeers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.ndjson")
	f := func(text string, positions int64, found int, ok bool) {
		t.Helper()
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := suite{Settings: Settings{Peers: path}, record: &corpus.Record{
			Spec: corpus.Spec{Genesis: "g"}, Corpus: report.Corpus{Positions: positions},
		}}
		if err := s.addPeers(); len(s.run.Scenarios) != found || (err == nil) != ok {
			t.Errorf("%q for %d positions is %+v, %v", text, positions, s.run.Scenarios, err)
		}
	}

	f("", 9, 0, true)
	f(`{"run":{"corpus":{"positions":9,"genesis":"g"}}}{"scenario":{"peer":"Redis","ratioCpu":2}}`, 9, 1, true)
	f("", 10, 0, true)
	f("{", 9, 0, false)
}

// What is no URL of a node is refused as that, and load on others without leave.
func TestCheckURL(t *testing.T) {
	f := func(target string, own bool, want string) {
		t.Helper()
		if got := fmt.Sprint(CheckURL(target, own)); !strings.Contains(got, want) {
			t.Errorf("%q is %s; want %s", target, got, want)
		}
	}

	f("http://127.0.0.1:8080", false, "nil")
	f("http://localhost", false, "nil")
	f("http://[::1]:80/", false, "nil")
	for _, elsewhere := range []string{"http://10.0.0.1", "http://127.0.0.1.example.com", "http://example.com"} {
		f(elsewhere, false, "is not this machine")
		f(elsewhere, true, "nil")
	}
	for _, bad := range []string{"::", "localhost:8080", "127.0.0.1:8080", "https://127.0.0.1", "http://127.0.0.1/v1"} {
		f(bad, false, "it is http://HOST:PORT")
		f(bad, true, "it is http://HOST:PORT")
	}
}

// A scenario that is stopped in the middle keeps what it measured, with the mark of that, and
// meets no goal.
func TestStoppedScenarioIsKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "{}")
	}))
	defer server.Close()
	f := func(sc scenario) {
		t.Helper()
		s := newSuite(Settings{URL: server.URL, Unpinned: true, Length: 3 * time.Second, Progress: io.Discard,
			Settings: report.Settings{Connections: 2, Rounds: 1}})
		s.node, s.keys, s.scratch = &process.Node{API: server.Listener.Addr().String()}, []string{"k"}, t.TempDir()
		var err error
		if s.cores, err = process.Split(false); err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer stop()
		sc.Mix = pathsMix([]string{"/v1/pools"})
		out, err := s.measureScenario(ctx, &sc)
		if !errors.Is(err, context.DeadlineExceeded) || !out.Cut || out.Node.Requests == 0 || out.Unsent > 0 {
			t.Errorf("%s is %+v, %v", sc.Name, out, err)
		}
		if _, known := valueOf(&report.Run{Scenarios: []report.Scenario{*out}}, sc.Name, "p99"); known {
			t.Errorf("%s passes for a whole one", sc.Name)
		}
	}

	f(scenario{Name: "rate-100", Rate: 100})
	f(scenario{Name: "rate-20", Rate: 20})
}

// Of a node that is asked for paths alone, nothing is read that these do not need: it may have
// no position yet, and every question costs units.
func TestOwnPathsNeedNoMarket(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.URL.Path] = true
		io.WriteString(w, "{}")
	}))
	defer server.Close()

	_, err := Run(t.Context(), Settings{
		URL: server.URL, Key: "k", Unpinned: true, Length: 200 * time.Millisecond, Refreshes: 1, Refresh: time.Second,
		Paths: []string{"/v1/plans"}, Rates: []float64{50}, Progress: io.Discard,
		Settings: report.Settings{Connections: 1, Rounds: 1, Keys: 1},
	})
	want := []string{"/health", "/v1/plans", "/v1/stats", "/v1/usage"}
	if got := slices.Sorted(maps.Keys(asked)); err != nil || !slices.Equal(got, want) {
		t.Errorf("it asked for %q, %v; want %q", got, err, want)
	}
}

// What the suite cannot do with a node that it has not started is refused first.
func TestProfilesNeedOwnNode(t *testing.T) {
	settings := Settings{Length: time.Second, Refreshes: 1, Refresh: time.Second, Profiles: "p",
		Settings: report.Settings{Connections: 1, Rounds: 1, Keys: 1}}
	if err := settings.check(1); err != nil {
		t.Errorf("profiles of an own node: %v", err)
	}
	settings.URL = "http://127.0.0.1:1"
	if err := settings.check(1); err == nil || !strings.Contains(err.Error(), "cannot keep profiles") {
		t.Errorf("profiles of another node: %v", err)
	}
}

// A run that is stopped while it learns what a node has does not wait for one that hangs, and
// does not ask it once more.
func TestStopBeforeLoad(t *testing.T) {
	hanging := make(chan struct{})
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-hanging
	}))
	defer server.Close()
	defer close(hanging)

	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	started := time.Now()
	_, err := Run(ctx, Settings{
		URL: server.URL, Key: "k", Unpinned: true, Length: time.Second, Refreshes: 1, Refresh: time.Second,
		Progress: io.Discard,
		Settings: report.Settings{Connections: 1, Rounds: 1, Keys: 1},
	})
	if took := time.Since(started); err == nil || took > 5*time.Second || asked.Load() != 1 {
		t.Errorf("it ended after %s and %d questions with %v", took, asked.Load(), err)
	}
}
