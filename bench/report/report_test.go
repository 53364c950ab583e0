package report

import (
	"bytes"
	"encoding/xml"
	"io"
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
				Refreshes: []Moment{{0.15, 42161}}, Problems: []string{"<script>"},
			},
			{Name: "restart", Values: []Value{{"first page", 0.5, "s"}}},
			{Name: "empty series", Node: Measure{Requests: 1}},
		},
		Figures: []Figure{{1, "hot", "0.9", "0.91", Met}, {2, "zipf", "0.75", "-", NotMeasured}},
	}
}

// The report is well-formed, whole in itself, and says nothing unescaped.
func TestHTML(t *testing.T) {
	f := func(run, base *Run, wants ...string) {
		t.Helper()
		got := AppendHTML([]byte("before"), run, base)
		if !bytes.HasPrefix(got, []byte("before<!doctype html>")) {
			t.Errorf("it begins with %.40q", got)
		}
		for _, want := range wants {
			if !strings.Contains(string(got), want) {
				t.Errorf("it has no %q", want)
			}
		}
		for _, bad := range []string{"<script>", "<corpus>", "http://", "https://", "NaN", "+Inf", "%!"} {
			if strings.Contains(string(got), bad) {
				t.Errorf("it has %q", bad)
			}
		}
		wellFormed(t, got[len("before"):])
	}
	run := someRun()
	f(run, nil, "a &amp; b", "1\u202f234\u202f567", "chain 42161 published", "first page: 0.5 s",
		"prefers-color-scheme: dark")
	f(run, someRun(), "Against the baseline", "l-base")
	f(new(Run), nil)
	f(new(Run), someRun())
}

// wellFormed reads the report as XML with HTML's void elements.
func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
		case xml.EndElement:
			if n := len(open); n == 0 || open[n-1] != e.Name.Local {
				t.Fatalf("</%s> closes %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v is never closed", open)
	}
}

func TestSteps(t *testing.T) {
	f := func(most, want float64) {
		t.Helper()
		if got := step(most); got != want {
			t.Errorf("step(%v) = %v; want %v", most, got, want)
		}
	}
	f(0, 1)
	f(1, 0.2)
	f(3, 1)
	f(5, 1)
	f(19_000, 5000)
	f(36_095, 10_000)
}

func TestScale(t *testing.T) {
	y := upright(1, 1000, true)
	if a, b := y.of(1), y.of(1000); a != plotHeight-plotBottom || b != plotTop || y.of(0) != a {
		t.Errorf("1 stands at %v, 1000 at %v, 0 at %v", a, b, y.of(0))
	}
	if tail(0) != 0 || tail(90) < 0.99 || tail(100) != deepestTail {
		t.Errorf("percentiles stand at %v, %v, %v", tail(0), tail(90), tail(100))
	}
}
