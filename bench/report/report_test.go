package report

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

func someRun() *Run {
	m := Measure{PerSecond: 12345, Requests: 1000, ServerMicros: 12.5, BodyBytes: 48_000}
	for _, p := range []float64{0, 50, 90, 99, 99.9, 100} {
		m.Latency = append(m.Latency, Percentile{p, int64(100 + 20*p)})
	}
	limit := m

	return &Run{
		Settings: Settings{Began: "2026-01-02T03:04:05Z", Target: "<corpus>"},
		Corpus:   Corpus{Positions: 1_234_567, Chains: []Chain{{ID: 1, Positions: 1_234_567, Pools: 89}}},
		Scenarios: []Scenario{
			{
				Name: "hot", What: "a & b", Connections: 64, Node: m, Limit: &limit, Ratio: 0.9, RatioCPU: 0.8,
				Series:    []Point{{0, 10_000, 900}, {0.1, 12_000, 1500}, {0.2, 0, 0}},
				Refreshes: []Moment{{0.15, 42161}}, Answers: Answers{Problems: []string{"<script>"}},
			},
			{Name: "restart", Values: []Value{{"first page", 0.5, "s"}}},
			{Name: "empty series", Node: Measure{Requests: 1}},
		},
		Figures: []Figure{
			{"1", "hot", "limit", "0.9", "0.91", Met}, {"2", "zipf", "limit", "0.75", "-", NotMeasured},
		},
	}
}

var script = regexp.MustCompile(`(?s)<script>.*?</script>`)

// A client that may have made a good part of a p99 is said to.
func TestLateClientIsFlagged(t *testing.T) {
	f := func(rate float64, late, p99 int64, want bool) {
		t.Helper()
		s := Scenario{Rate: rate}
		s.Node.Latency = []Percentile{{99, p99}}
		s.Node.ClientLate = []Percentile{{99, late}, {100, 10 * late}}
		if flags := s.Flags(); (len(flags) > 0) != want {
			t.Errorf("rate %v, late %d µs of %d: flags %q; want some: %t", rate, late, p99, flags, want)
		}
	}

	f(1000, 100, 1000, false)
	f(1000, 300, 1000, true)
	f(0, 300, 1000, false)
}

// The report is whole in itself, and says nothing unescaped.
func TestHTML(t *testing.T) {
	f := func(run, base *Run, wants ...string) {
		t.Helper()
		var b bytes.Buffer
		if err := HTML(&b, run, base); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("it has no %q", want)
			}
		}

		text := script.ReplaceAll(b.Bytes(), nil)
		for _, bad := range []string{"<script", "<corpus>", "http://", "https://", "NaN", "+Inf", "%!", "ZgotmplZ"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("it has %q", bad)
			}
		}
	}

	run := someRun()
	f(run, nil, "a &amp; b", "1\u202f234\u202f567", `"seconds":0.15,"chainId":42161`, "first page: 0.5 s",
		"prefers-color-scheme: dark", `"percent":99.9,"micros":2098`, "}], []);</script>")
	f(run, someRun(), "Against the baseline", "0 % worse")
	f(new(Run), nil)
	f(new(Run), someRun(), "unlike corpora", ", []);</script>")

	// A ratio is known to nothing where none was measured twice.
	run.Settings.Rounds = 3
	f(run, nil, "<dd>other processes used at most")
	run.Scenarios[0].Rounds, run.Scenarios[0].Spread = 3, 0.07
	f(run, nil, "ratios are known to ±7 % or better")
}

// A scenario that was asked has its row in the table and in the page, also if there was no
// good answer: without latencies, which are not known.
func TestRowWithoutGoodAnswers(t *testing.T) {
	f := func(s Scenario) {
		t.Helper()
		s.Name = "none-good"
		run := &Run{Scenarios: []Scenario{s}}
		var table, page bytes.Buffer
		if err := errors.Join(Table(&table, run), HTML(&page, run, nil)); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^ *none-good +-.* 7 *$`).Match(table.Bytes()) {
			t.Errorf("%+v has no row in %s", s.Answers, &table)
		}
		if !strings.Contains(page.String(), "<tr><td>none-good</td>") {
			t.Errorf("%+v has no row in the page", s.Answers)
		}
		unknown := regexp.MustCompile(`(?m)>0\.00<|^ *none-good .* 0\.00|p\d+ 0\.00`)
		for _, text := range []string{table.String(), page.String(), s.Summary()} {
			if shown := unknown.FindString(text); shown != "" {
				t.Errorf("%+v has figures that are not known: %q", s.Answers, shown)
			}
		}
	}

	f(Scenario{Node: Measure{Refused: 7}, Answers: Answers{Statuses: map[int]uint64{429: 7}, Failures: 7}})
	f(Scenario{Answers: Answers{Unanswered: 7}})
	f(Scenario{Answers: Answers{Statuses: map[int]uint64{200: 7}, Wrong: 7}}) // all when the time was over
}

// A rate of less than one a second is not shown as none.
func TestLowRate(t *testing.T) {
	f := func(perSecond float64, want string) {
		t.Helper()
		s := Scenario{Name: "low", Rate: perSecond, Node: Measure{Requests: 9, PerSecond: perSecond}}
		run := &Run{Scenarios: []Scenario{s}}
		var table, page bytes.Buffer
		if err := errors.Join(Table(&table, run), HTML(&page, run, nil)); err != nil {
			t.Fatal(err)
		}
		row := strings.Fields(table.String()[strings.Index(table.String(), "low"):])
		if row[4] != want || !strings.HasPrefix(s.Summary(), want+"/s") ||
			!strings.Contains(page.String(), "open loop at "+want+" requests a second") {
			t.Errorf("%v a second is %s in the table, and %s; want %s", perSecond, row[4], s.Summary(), want)
		}
	}

	f(0.3, "0.3")
	f(1.0/3, "0.333")
	f(99.5, "99.5")
	f(29_363.4, "29363")
}

// A scenario that has no good answer any more is worse than any bound, and runs without a
// common scenario are not compared: neither passes as no change.
func TestChangesNeedAnswers(t *testing.T) {
	f := func(now Scenario, regressions int, refused string) {
		t.Helper()
		run := someRun()
		run.Scenarios = []Scenario{now}
		n, err := PrintChanges(io.Discard, someRun(), run, 10)
		if n != regressions || (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%+v: %d regressions, %v; want %d, %q", now, n, err, regressions, refused)
		}
	}

	f(someRun().Scenarios[0], 0, "")
	f(Scenario{Name: "hot", Node: Measure{Refused: 9}, Answers: Answers{Failures: 9}}, 1, "")
	f(Scenario{Name: "hot", Answers: Answers{Unanswered: 9}}, 1, "")
	f(Scenario{Name: "other", Node: Measure{Requests: 9}}, 0, "no scenario has good answers in both")

	// Where an older run did not keep a median, nothing is better or worse.
	old, now := someRun(), someRun()
	for _, run := range []*Run{old, now} {
		run.Scenarios[0].RatioCPU = 0
	}
	old.Scenarios[0].Node.Latency = nil
	for _, pair := range [][2]*Run{{old, now}, {now, old}} {
		changes, err := Changes(pair[0], pair[1])
		if err != nil || changes[0].Text() != "not comparable: a median is not known" || changes[0].Worse != 0 {
			t.Errorf("without a median it is %+v, %v", changes, err)
		}
	}
}

// Loads of other connections, or of other lists of paths, are not compared, and both are named.
func TestUnlikeLoads(t *testing.T) {
	f := func(old, now Scenario, want string) {
		t.Helper()
		was, is := someRun(), someRun()
		old.Node, now.Node = was.Scenarios[0].Node, was.Scenarios[0].Node
		was.Scenarios, is.Scenarios = []Scenario{old}, []Scenario{now}
		changes, err := Changes(was, is)
		if err != nil || len(changes) != 1 || changes[0].Text() != want || changes[0].Worse != 0 {
			t.Errorf("%+v, %v; want %s", changes, err, want)
		}
	}

	own := Scenario{Name: "own", What: "any of 9 paths", Connections: 8}
	more, other := own, own
	more.Connections, other.What = 64, "any of 7 paths"
	listed, relisted := own, own
	listed.List, relisted.List = "1234", "5678"
	f(own, own, "0 % worse")
	f(listed, listed, "0 % worse")
	f(listed, relisted, "not comparable: the lists have other paths")
	f(own, listed, "0 % worse") // an older run does not know its list
	f(own, more, "not comparable: 8 connections, and 64")
	f(other, own, "not comparable: any of 7 paths, and any of 9 paths")
	f(Scenario{Name: "hot", What: "a"}, Scenario{Name: "hot", What: "b", Connections: 8}, "0 % worse")
}

// A node that runs elsewhere goes on between two runs; a corpus is of one size.
func TestAlike(t *testing.T) {
	f := func(genesis string, a, b int64, alike bool) {
		t.Helper()
		corpus := func(n int64) *Corpus {
			return &Corpus{Genesis: genesis, Positions: n, Pools: 10, Chains: []Chain{{ID: 1, Positions: n, Pools: 10}}}
		}
		if err := checkAlike(corpus(a), corpus(b)); (err == nil) != alike {
			t.Errorf("genesis %q, %d and %d positions: %v", genesis, a, b, err)
		}
	}

	f("", 6938, 6941, true)
	f("", 6941, 6938, true)
	f("", 6938, 12_000, false)
	f("2026-01-01T00:00:00Z", 12_000, 12_000, true)
	f("2026-01-01T00:00:00Z", 12_000, 12_001, false)
}
