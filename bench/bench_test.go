package bench

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

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
		err := checkAnswer(0, status, path, body)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if complaint == "" && said != "" || complaint != "" && !strings.Contains(said, complaint) {
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
	f("/v1/positions", 429, []byte(`{"error":"slow down"}`), "")
	f("/v1/positions", 503, []byte(`busy`), "without an error")
}

// Every path of every mix is one that a node knows, and new filters are new.
func TestMixes(t *testing.T) {
	s := &site{
		chains: []int64{1, 42161}, positions: []string{"/v1/positions/1/swapdex-v4/7"},
		pools: []string{"/v1/pools/1/swapdex-v4/0x1"}, rows: map[string]int{"apr": 5000},
		ids: []idRange{{1, 5, 9}}, all: 100_000, charts: true,
	}
	random := rand.New(rand.NewPCG(1, 2))
	mixes := map[string]load.Mix{
		"hot": hotPage(s), "zipf": zipfMix(s), "uncached": uncachedPages(s), "filter": newFilters(s),
		"later": laterPages(s), "front": pagesFrom("front", 2, 10, 1), "storm": storm(s),
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
	return &report.Run{
		Settings: report.Settings{Target: "x", Rounds: 3},
		Corpus:   report.Corpus{Positions: 12_000},
		Units:    report.Units{Expected: 5, Answered: 5, Billed: 5},
		Scenarios: []report.Scenario{
			{Name: "hot", Ratio: 0.92, RatioCPU: 0.8, Limit: &report.Measure{},
				Node: report.Measure{
					Requests: 9, ServerMicros: 10,
					Latency: []report.Percentile{{Percent: 50, Micros: 70}},
				}},
			{Name: "uncached", Ratio: 0.5, RatioCPU: 0.5, Limit: &report.Measure{}, CacheShare: 0.4},
			{Name: "refresh", Values: []report.Value{{Name: "CPU a refresh", Value: 0.7}}},
			{Name: "ledger", Values: []report.Value{
				{Name: "swaps in memory", Value: 300_000}, {Name: "mixed events durably", Value: 59_000}}},
			{Name: "admit", Values: []report.Value{{Name: "a request", Value: 300}}},
			{Name: "detail-1000", Node: report.Measure{Requests: 9, ServerMicros: 2900},
				Values: []report.Value{{Name: "transactions", Value: 1200}}},
			{Name: "restart", Values: []report.Value{
				{Name: "first page", Value: 0.5}, {Name: "fresh generations", Value: 3}}},
		},
	}
}

func TestNDJSON(t *testing.T) {
	run := someRun()
	run.Figures = figures(run, nil)
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

func TestFigures(t *testing.T) {
	want := map[int]report.Verdict{
		1: report.Met, 2: report.NotMeasured, 3: report.NotMeasured, 7: report.Missed,
		8: report.NotMeasured, 11: report.MetOnLess,
		12: report.Missed, 13: report.Met, 14: report.NotMeasured, 15: report.NotMeasured,
	}
	table := figures(someRun(), &corpus.Record{Events: 1000, Seconds: 1})
	if len(table) != 17 {
		t.Errorf("%d rows; want 17", len(table))
	}
	for _, f := range table {
		if v, ok := want[f.Number]; ok && v != f.Verdict {
			t.Errorf("row %d is %q (%s); want %q", f.Number, f.Verdict, f.Reached, v)
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
	for _, f := range figures(run, nil) {
		switch f.Number {
		case 1:
			if f.Verdict != report.Met || f.Reached != "0.92, CPU not known" {
				t.Errorf("row 1 is %q, %s", f.Reached, f.Verdict)
			}
		case 3, 15:
			if f.Verdict != report.NotMeasured || !strings.Contains(f.Reached, "CPU not known") {
				t.Errorf("row %d is %q, %s", f.Number, f.Reached, f.Verdict)
			}
		}
	}
}

// What row 8 is about has to have happened.
func TestBytesGoal(t *testing.T) {
	f := func(calmMoves, moves, calm, moved float64, want report.Verdict) {
		t.Helper()
		values := func(moves, megabytes float64) []report.Value {
			return []report.Value{
				{Name: "native prices moved", Value: moves}, {Name: "refreshes", Value: 18},
				{Name: "written a refresh", Value: megabytes},
			}
		}
		run := &report.Run{Scenarios: []report.Scenario{
			{Name: "refresh-calm", Values: values(calmMoves, calm)},
			{Name: "refresh", Values: values(moves, moved)},
		}}
		if text, got := bytesGoal(run, nil); got != want {
			t.Errorf("%s is %q; want %q", text, got, want)
		}
	}
	f(0, 15, 1.9, 14, report.Met)
	f(0, 15, 2.1, 14, report.Missed)
	f(0, 15, 1.9, 16, report.Missed)
	f(1, 15, 1.9, 14, report.NotMeasured)
	f(0, 8, 1.9, 14, report.NotMeasured)
}

func TestMarkdown(t *testing.T) {
	run := someRun()
	run.Figures = []report.Figure{
		{Number: 1, What: "a|b", Goal: "0.90", Reached: "0.92", Verdict: report.Met},
	}
	var b bytes.Buffer
	if err := Markdown(&b, run); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"|---|---|---|---|---|\n", "\n| 1 | a\\|b | 0.90 | 0.92 | met |\n", "12000 positions",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it has no %q:\n%s", want, &b)
		}
	}
}

func TestChanges(t *testing.T) {
	old, now := someRun(), someRun()
	now.Scenarios[0].RatioCPU = 0.6
	changes := Changes(old, now)
	var b bytes.Buffer
	f := func(failOver float64, want int) {
		t.Helper()
		if n, err := PrintChanges(&b, changes, failOver); err != nil || n != want {
			t.Errorf("%d regressions over %v; want %d: %v\n%s", n, failOver, want, err, &b)
		}
	}
	f(0, 0)
	f(0.1, 1)
	f(0.5, 0)
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

// What /proc says of this process is near what it does.
func TestOwnProcess(t *testing.T) {
	before := processCPU(os.Getpid())
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}
	if used := processCPU(os.Getpid()) - before; used < 5*time.Millisecond || used > 5*time.Second {
		t.Errorf("100 ms of work are %s of CPU", used)
	}
	if now, peak := resident(os.Getpid()); now < 1<<20 || peak < now {
		t.Errorf("resident %d, at most %d", now, peak)
	}
	if machineCPU() <= 0 {
		t.Error("the machine has used no CPU")
	}
	if _, _, err := net.SplitHostPort(must(sparePort())); err != nil {
		t.Error(err)
	}
}

func must(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}
