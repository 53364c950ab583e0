package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

const aRow = `"positionId":"%","tokenId":"1","chainId":1,"protocol":"swapdex-v4","owner":"0x",
"poolId":"0x",
"token0":{},"token1":{},"tickLower":1,"tickUpper":2,"currentTick":1,"tickSpacing":1,"fee":1,
"liquidity":"1","isActive":true,"amounts":{},"poolStats":{},"pricing":{},"asOfBlock":1`

// page makes the body of a page from metrics of its rows, each with the rank
// before it.
func page(pagination string, rows ...string) []byte {
	var all []string
	for _, r := range rows {
		rank, metrics, _ := strings.Cut(r, " ")
		row := strings.Replace(aRow, "%", rank, 1)
		all = append(all, `{"rank":`+rank+`,"metrics":`+metrics+`,`+row+`}`)
	}
	return []byte(`{"positions":[` + strings.Join(all, ",") + `],"pagination":` + pagination + `}`)
}

func TestCheckAnswer(t *testing.T) {
	const two = `{"page":1,"limit":20,"total":2,"totalPages":1,"hasMore":false}`
	f := func(path string, status int, body []byte, complaint string) {
		t.Helper()
		err := checkAnswer(status, path, body)
		if complaint == "" && err != nil || complaint != "" && !strings.Contains(fmt.Sprint(err), complaint) {
			t.Errorf("%s: %v; want %q", path, err, complaint)
		}
	}

	f("/v1/positions", 200, page(two, `1 {"apr":5}`, `2 {"apr":5}`), "")
	f("/v1/positions?sort=pnl", 200, page(two, `1 {"pnlUsd":-1}`, `2 {"pnlUsd":null}`), "")
	f("/v1/positions", 200, page(two, `1 {"apr":4}`, `2 {"apr":5}`), "not in the order")
	f("/v1/positions?sort=pnl", 200, page(two, `1 {"pnlUsd":null}`, `2 {"pnlUsd":7}`), "the order")
	f("/v1/positions?sort=age", 200, page(two, `1 {"ageSeconds":9}`, `2 {"ageSeconds":8}`), "order")
	f("/v1/positions?sort=nft_id_desc", 200, page(two, `1 {}`, `2 {}`), "not in the order")
	f("/v1/positions", 200, page(two, `1 {"apr":5}`, `3 {"apr":4}`), "has rank 3")
	f("/v1/positions?page=2", 200, page(two, `21 {"apr":5}`), "want page 2")
	f("/v1/positions", 200, page(`{"page":1,"limit":20,"total":9,"hasMore":true}`, `1 {}`), "hasMore")
	f("/v1/positions", 200, []byte(`{"positions":[{"rank":1}],"pagination":`+two+`}`), "is missing")
	f("/v1/positions", 200, []byte(`{"pools":[]}`), "missing")
	f("/v1/positions", 200, []byte(`{"positions":[`), "not JSON")
	f("/v1/pools/1/swapdex-v4/0x", 200, []byte(`{}`), `"poolId" is missing`)
	f("/v1/pools/1/swapdex-v4/0x/charts", 200, []byte(`{"range":"30d"}`), "is missing")
	f("/v1/chains", 200, []byte(`[{"id":1}]`), "")
	f("/v1/chains", 200, []byte(`[{]`), "not JSON")
	f("/v1/positions", 429, []byte(`{"error":"slow down"}`), "")
	f("/v1/positions", 503, []byte(`busy`), "without an error")
}

// A packed body is looked at like any other.
func TestUnpack(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(`{"a":1}`)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}

	f := func(body []byte, want string) {
		t.Helper()
		got, err := unpack(body)
		if string(got) != want || want == "" && err == nil {
			t.Errorf("%q is %q, %v; want %q", body, got, err, want)
		}
	}
	f([]byte(`{"a":1}`), `{"a":1}`)
	f(b.Bytes(), `{"a":1}`)
	f(b.Bytes()[:8], "")
	f(e.EncodeAll([]byte(`{"a":1}`), nil), `{"a":1}`)
	f([]byte{0x28, 0xb5, 0x2f, 0xfd, 1}, "")
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
		pools: []string{"/v1/pools/1/swapdex-v4/0x1"}, rows: map[string]int{"apr": 5000},
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

// someRun is a run in which some rows of the table are met, some are missed, and
// some say nothing.
func someRun(t *testing.T) *report.Run {
	t.Helper()
	f, err := os.Open("testdata/run.ndjson")
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

// A run is read as it was written, and its table of goals is that of the file.
func TestNDJSON(t *testing.T) {
	run := someRun(t)
	run.Figures = figures(run)
	var b, table bytes.Buffer
	if err := Write(&b, run); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&b)
	if err != nil || !reflect.DeepEqual(back, run) {
		t.Fatalf("read again, a run is %+v, %v; want %+v", back, err, run)
	}

	want, err := os.ReadFile("testdata/figures.md")
	if bad := report.Markdown(&table, back); err != nil || bad != nil || table.String() != string(want) {
		t.Errorf("the table is\n%s\n%v, %v; want\n%s", &table, err, bad, want)
	}
	for _, bad := range []string{"", "{", `{"kind":"scenario","scenario":{}}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// What a row is about has to have happened.
func TestNeeds(t *testing.T) {
	f := func(scenario, metric string, v float64, want string) {
		t.Helper()
		run := someRun(t)
		values := run.Scenario(scenario).Values
		for i := range values {
			if values[i].Name == metric {
				values[i].Value = v
			}
		}
		got := figures(run)[8]
		if want == "" && got.Verdict != report.MetOnLess || want != "" &&
			(got.Verdict != report.NotMeasured || !strings.HasSuffix(got.Reached, ", not comparable: "+want)) {
			t.Errorf("row %s is %q, %s; want %q", got.Number, got.Reached, got.Verdict, want)
		}
	}

	f("refresh-calm", nativeMoved, 0, "")
	f("refresh-calm", nativeMoved, 0.1,
		"native prices moved a refresh of refresh-calm is 0.1, and has to be at most 0")
	f("refresh", refreshes, 20, "refreshes of refresh is 20, and has to be at least 50")
}

// Every goal is about a scenario of the table, and has one bound a condition.
func TestGoalsAreWellFormed(t *testing.T) {
	if n := len(goals); n != 17 {
		t.Errorf("%d goals; want 17", n)
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

// Of a node elsewhere, what is about CPU or its page cache has no verdict.
func TestFiguresFromOutside(t *testing.T) {
	run := someRun(t)
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		s.RatioCPU, s.CacheShare, s.Node.ServerMicros = 0, 0, 0
	}

	for _, f := range figures(run) {
		if n := f.Number; (n == "1" || n == "3" || n == "15") && f.Verdict != report.NotMeasured {
			t.Errorf("row %s is %q, %s", n, f.Reached, f.Verdict)
		}
	}
}

func TestPeersFigure(t *testing.T) {
	f := func(want string, verdict report.Verdict, all ...report.Scenario) {
		t.Helper()
		got := peersFigure(all)
		if got.Reached != want || got.Verdict != verdict {
			t.Errorf("%q, %s; want %q, %s", got.Reached, got.Verdict, want, verdict)
		}
	}
	problem := func(text string) report.Scenario {
		return report.Scenario{Peer: "Redis", Answers: report.Answers{Problems: []string{text}}}
	}
	fast := report.Scenario{Peer: "Redis", RatioCPU: 1.5}
	slow := report.Scenario{Peer: "SQLite", Name: "SQLite: any page", RatioCPU: 0.625}

	f("ahead on 1 of 1", report.Met, fast, problem(report.Cannot), report.Scenario{RatioCPU: 0.5})
	f("ahead on 1 of 2, behind SQLite: any page (0.62 x)", report.Missed, fast, slow)
	f("ahead on 1 of 1; 1 not measured", report.NotMeasured, fast, problem("it is not installed"))
	f("not in this run", report.NotMeasured, problem(report.Cannot))
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

func TestFaults(t *testing.T) {
	if err := Faults(someRun(t)); err != nil {
		t.Error(err)
	}
	f := func(change func(*report.Run)) {
		t.Helper()
		run := someRun(t)
		change(run)
		if Faults(run) == nil {
			t.Error("a fault was not seen")
		}
	}

	f(func(r *report.Run) { r.Units.Billed++ })
	f(func(r *report.Run) { r.Units.Answered-- })
	f(func(r *report.Run) { r.Scenarios[1].Wrong = 1 })
	f(func(r *report.Run) { r.Scenarios[1].Unanswered = 1 })
}

func TestLoopback(t *testing.T) {
	f := func(target string, want bool) {
		t.Helper()
		if got := Loopback(target); got != want {
			t.Errorf("Loopback(%q) = %v", target, got)
		}
	}

	f("http://127.0.0.1:8080", true)
	f("http://localhost", true)
	f("http://[::1]:80/", true)
	f("http://10.0.0.1", false)
	f("http://127.0.0.1.example.com", false)
	f("http://example.com", false)
	f("::", false)
}
