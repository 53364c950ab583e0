package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	f("/v1/chains", 200, []byte(`{}`), "not JSON")
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
	s := &target{
		chains: []int64{1, 42161}, positions: []string{"/v1/positions/1/swapdex-v4/7"},
		pools: []string{"/v1/pools/1/swapdex-v4/0x1"}, rows: map[string]int{"apr": 5000},
		ids: []idRange{{1, 5, 9}}, all: 100_000, charts: true,
	}

	random := rand.New(rand.NewPCG(1, 2))
	mixes := map[string]load.Mix{
		"hot": hotPage(s), "zipf": zipfMix(s), "uncached": uncachedPages(s), "filter": newFilters(0),
		"later": laterPages(s), "front": pagesFrom("front", 2, 10), "storm": accepting(hotPage(s), 429),
		"details": anyDetail(s),
	}
	for name, mix := range mixes {
		seen := map[string]bool{}
		for _, part := range mix {
			for range 500 {
				p := string(part.Path(nil, random))
				odd := strings.ContainsAny(p, " \r\n") || strings.Contains(p, "NaN")
				if !strings.HasPrefix(p, "/v1/") || odd {
					t.Fatalf("%s asks %q", name, p)
				}
				if name == "filter" && seen[p] {
					t.Fatalf("%s asks %q twice", name, p)
				}
				seen[p] = true
			}
		}
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
		drawn[zipf(random, n)]++
	}
	for _, k := range []int{1, 3, 9} { // the k-th about 1/(k+1) as often as the first
		got, want := float64(drawn[k])/float64(drawn[0]), 1/float64(k+1)
		if got < want/2 || got > 1.5*want {
			t.Errorf("number %d is drawn %.3f times as often as the first; want about %.3f", k, got, want)
		}
	}
}

func someRun() *report.Run {
	values := func(pairs ...any) (values []report.Value) {
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, report.Value{Name: pairs[i].(string), Value: pairs[i+1].(float64)})
		}
		return values
	}
	latency := []report.Percentile{{Percent: 50, Micros: 70}, {Percent: 99, Micros: 400}}

	return &report.Run{
		Settings: report.Settings{Target: "x", Rounds: 3},
		Corpus:   report.Corpus{Positions: 12_000},
		Units:    report.Units{Expected: 5, Answered: 5, Billed: 5},
		Scenarios: []report.Scenario{
			{Name: "hot", Ratio: 0.82, RatioCPU: 0.92, Limit: &report.Measure{},
				Node: report.Measure{Requests: 9, ServerMicros: 10, BodyBytes: 1000, Latency: latency}},
			{Name: "uncached", Ratio: 0.5, RatioCPU: 0.5, Limit: &report.Measure{}, CacheShare: 0.4,
				Node: report.Measure{Requests: 9, ServerMicros: 10}},
			{Name: "filter", Node: report.Measure{Requests: 9, Latency: latency}, Values: values(columnsPass, 0.05)},
			{Name: "refresh", Values: values(refreshCPU, 0.7, sortCPU, 0.1, nativeMoved, 0.9, refreshes, 60.,
				refreshBytes, 4.)},
			{Name: "refresh-calm", Values: values(refreshCPU, 0.1, sortCPU, 0.1, nativeMoved, 0., refreshes, 60.,
				refreshBytes, 0.9)},
			{Name: "pieces", Values: values("Swaps ns/event", 300., "SwapStep ns/op", 100., "Events events/s", 900.,
				"Batches events/s", 3000., "Admit ns/op", 250., "Hash ns/op", 100., "Admit allocs/op", 0.)},
			{Name: "detail-1000", Node: report.Measure{Requests: 9, ServerMicros: 2900},
				Values: values(transactions, 1200., strconvMicros, 1000.)},
			{Name: "restart", Values: values(firstPage, 0.5, freshGenerations, 3., readAll, 2., residentPeak, 1.2)},
		},
	}
}

func TestNDJSON(t *testing.T) {
	run := someRun()
	run.Figures = figures(run)
	var b bytes.Buffer
	if err := Write(&b, run); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}

	var again bytes.Buffer
	if err := Write(&again, back); err != nil || again.String() != b.String() {
		t.Errorf("read again, a run is\n%s\nwant\n%s\n%v", again.String(), b.String(), err)
	}
	for _, bad := range []string{"", "{", `{"kind":"scenario","scenario":{}}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// The text of a row and its verdict follow from the same bounds.
func TestFigures(t *testing.T) {
	f := func(run *report.Run, number, goal, reached string, verdict report.Verdict) {
		t.Helper()
		for _, got := range figures(run) {
			if got.Number != number {
				continue
			}
			if got.Goal != goal || got.Reached != reached || got.Verdict != verdict {
				t.Errorf("row %s is %q, %q, %s; want %q, %q, %s",
					number, got.Goal, got.Reached, got.Verdict, goal, reached, verdict)
			}
			return
		}
		t.Errorf("there is no row %s", number)
	}
	run := someRun()
	if n := len(figures(run)); n != 18 {
		t.Errorf("%d rows; want 18", n)
	}

	f(run, "1", "at least 0.9", "0.92", report.Met)
	f(run, "1z", "at least 0.85 / 0.85", "not in this run", report.NotMeasured)
	f(run, "3", "at least 0.2", "0.5, not comparable: share from the page cache of uncached is 0.4, and has to be at most 0.05", report.NotMeasured)
	f(run, "5", "at most 2 x / 4 x", "1.4 x / 8 x", report.Missed)
	f(run, "7", "at most 4 x / 1.5 x", "7 x / 1 x", report.Missed)
	f(run, "8", "at most 5 MB / 1 MB", "4 MB / 0.9 MB", report.MetOnLess)
	f(run, "10", "at most 2.5 GiB", "1.2 GiB", report.MetOnLess)
	f(run, "11", "at most 1 s / 2 x", "0.5 s / 1.5 x", report.MetOnLess)
	f(run, "12", "at most 4 x / at least 0.5 x", "3 x / 0.3 x", report.Missed)
	f(run, "13", "at most 3 x / 0.01 allocations", "2.5 x / 0 allocations", report.Met)
	f(run, "15", "at most 3 x / 3 x / 3 x", "2.9 x / - / -", report.NotMeasured)
	f(run, "17", "ahead on every question that it can answer", "not in this run", report.NotMeasured)
	run.Corpus.Positions = 3_000_000
	f(run, "8", "at most 5 MB / 1 MB", "4 MB / 0.9 MB", report.Met)

	// What a row is about has to have happened.
	set := func(scenario, metric string, v float64) {
		values := run.Scenario(scenario).Values
		for i := range values {
			if values[i].Name == metric {
				values[i].Value = v
			}
		}
	}
	set("refresh-calm", nativeMoved, 0.1)
	f(run, "8", "at most 5 MB / 1 MB",
		"4 MB / 0.9 MB, not comparable: native prices moved a refresh of refresh-calm is 0.1, "+
			"and has to be at most 0", report.NotMeasured)
	set("refresh-calm", nativeMoved, 0)
	set("refresh", refreshes, 20)
	f(run, "8", "at most 5 MB / 1 MB", "4 MB / 0.9 MB, not comparable: refreshes of refresh is 20, and has to be at least 50", report.NotMeasured)
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
	run := someRun()
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
	f := func(want string, verdict report.Verdict, results ...report.Peer) {
		t.Helper()
		got := peersFigure(&report.Peers{Results: results})
		if got.Reached != want || got.Verdict != verdict {
			t.Errorf("%q, %s; want %q, %s", got.Reached, got.Verdict, want, verdict)
		}
	}
	fast := report.Peer{Peer: "Redis", Question: "page 1", RatioCPU: 1.5}
	slow := report.Peer{Peer: "SQLite", Question: "any page", RatioCPU: 0.625}

	f("ahead on 1 of 1", report.Met, fast, report.Peer{Peer: "Redis", Why: report.Cannot})
	f("ahead on 1 of 2, behind SQLite on any page (0.62 x)", report.Missed, fast, slow)
	f("ahead on 1 of 1; 1 not measured", report.NotMeasured, fast, report.Peer{Why: "it is not installed"})
	f("ahead on 0 of 0; 0 not measured", report.NotMeasured)
}

// A file about another corpus is none.
func TestReadPeers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	text := `{"positions":9,"genesis":"g","results":[{"peer":"Redis","question":"page 1","ratioCpu":2}]}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	record := &corpus.Record{
		Spec: corpus.Spec{Genesis: "g"}, Corpus: report.Corpus{Positions: 9},
	}

	p, err := readPeers(path, record)
	if err != nil || p == nil || len(p.Results) != 1 || p.Results[0].RatioCPU != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := readPeers(path+".none", record); err != nil || p != nil {
		t.Errorf("no file: %+v, %v", p, err)
	}
	record.Corpus.Positions = 10
	if p, err := readPeers(path, record); err != nil || p != nil {
		t.Errorf("of another corpus: %+v, %v", p, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readPeers(path, record); err == nil {
		t.Error("half a file was read")
	}
}

func TestMarkdown(t *testing.T) {
	run := someRun()
	run.Figures = []report.Figure{
		{Number: "1", What: "a|b", Yardstick: "y", Goal: "0.90", Reached: "0.92", Verdict: report.Met},
	}
	var b bytes.Buffer
	if err := Markdown(&b, run); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"|---|---|---|---|---|---|\n", "\n| 1 | a\\|b | y | 0.90 | 0.92 | met |\n", "12000 positions",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it has no %q:\n%s", want, &b)
		}
	}
}

func TestChanges(t *testing.T) {
	old, now := someRun(), someRun()
	now.Scenarios[0].RatioCPU = 0.7
	var b bytes.Buffer
	f := func(failOver float64, want int) {
		t.Helper()
		if n, err := PrintChanges(&b, old, now, failOver); err != nil || n != want {
			t.Errorf("%d regressions over %v; want %d: %v\n%s", n, failOver, want, err, &b)
		}
	}

	f(0, 0)
	f(0.1, 1)
	f(0.5, 0)
	now.Corpus.Pools++
	if _, err := PrintChanges(&b, old, now, 0); err == nil {
		t.Error("runs of unlike corpora were compared")
	}
}

func TestFaults(t *testing.T) {
	if err := Faults(someRun()); err != nil {
		t.Error(err)
	}
	f := func(change func(*report.Run)) {
		t.Helper()
		run := someRun()
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
