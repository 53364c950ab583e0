package report

import (
	"bytes"
	"errors"
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
	f(new(Run), someRun(), "unlike corpora")
}

// What limits a figure is said with it; one round says nothing of noise.
func TestFlags(t *testing.T) {
	f := func(s Scenario, want string) {
		t.Helper()
		if got := strings.Join(s.Flags(), "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%+v: %q; want %q", s, got, want)
		}
	}

	f(Scenario{Other: 0.05}, "")
	f(Scenario{Limit: &Measure{ClientBusy: 0.97}}, "the client was at its limit")
	f(Scenario{Other: 0.5}, "other processes used 0.50 cores")
	f(Scenario{CacheShare: 0.25}, "25 % of the pages")
	f(Scenario{Node: Measure{Refused: 7}}, "7 answers were refused")
	one, three := Scenario{Limit: new(Measure), Rounds: 1}, Scenario{Limit: new(Measure), Rounds: 3, Spread: 0.04}
	if one.PlusMinus() != "-" || three.PlusMinus() != "4 %" {
		t.Errorf("one round is ± %s, three are ± %s", one.PlusMinus(), three.PlusMinus())
	}
}

func TestChanges(t *testing.T) {
	old, now := someRun(), someRun()
	now.Scenarios[0].RatioCPU = 0.6
	changes, err := Changes(old, now)
	if err != nil || len(changes) != 2 || changes[0].Worse < 0.3 || changes[0].Text() != "33 % worse" {
		t.Errorf("%+v, %v", changes, err)
	}

	f := func(change func(*Corpus)) {
		t.Helper()
		other := someRun()
		change(&other.Corpus)
		if _, err := Changes(old, other); err == nil || !strings.Contains(err.Error(), "unlike corpora") {
			t.Errorf("%+v was compared: %v", other.Corpus, err)
		}
	}
	f(func(c *Corpus) { c.Positions++ })
	f(func(c *Corpus) { c.Pools++ })
	f(func(c *Corpus) { c.Chains[0].Pools++ })
	f(func(c *Corpus) { c.Chains = nil })
}

// The tables have a line a row, with what is not known left out.
func TestTables(t *testing.T) {
	run, old := someRun(), someRun()
	run.Scenarios[0].Rounds, old.Scenarios[0].RatioCPU, run.Settings.Unknown = 3, 0.9, []string{"its machine"}
	var b bytes.Buffer
	regressions, err := PrintChanges(&b, old, run, 0.1)
	if err = errors.Join(err, Table(&b, run), Goals(&b, run)); err != nil || regressions != 1 {
		t.Errorf("%d regressions, %v", regressions, err)
	}

	for _, want := range []string{
		`hot +of the limit by CPU +0.9 +0.8 +12 % worse +regression\n`,
		`hot +0.90 +0.80 +0 % +12345 +0.0 +12.5 +12345 +12.5 +0.0 +48000 +1.10 +2.08 +2.10 +0\n`,
		`empty series +- +- +- +0 `, `restart +first page: 0.5 s\n`, `hot +problem: <script>\n`,
		`not known of <corpus>: its machine\nunits: 0 expected`, `\n1 +hot +limit +0.9 +0.91 +met\n2 `,
	} {
		if !regexp.MustCompile(want).Match(b.Bytes()) {
			t.Errorf("there is no %q in\n%s", want, &b)
		}
	}
}
