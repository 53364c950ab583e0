package bench

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tidemark/bench/report"
)

// Threshold is a condition under which a run fails.
type Threshold struct {
	thresholdMetric
	above bool // it fails above the bound, else below
	bound float64
}

type thresholdMetric struct {
	name, unit string
	of         func(*report.Scenario) float64
}

const milliseconds = "ms"

// thresholdMetrics are what a threshold can be about.
var thresholdMetrics = []thresholdMetric{
	{"p50", milliseconds, func(s *report.Scenario) float64 { return latencyAt(s, 50) }},
	{"p90", milliseconds, func(s *report.Scenario) float64 { return latencyAt(s, 90) }},
	{"p99", milliseconds, func(s *report.Scenario) float64 { return latencyAt(s, 99) }},
	{"p99.9", milliseconds, func(s *report.Scenario) float64 { return latencyAt(s, 99.9) }},
	{"requests", "/s", func(s *report.Scenario) float64 { return s.Node.PerSecond }},
	{"failed", "", func(s *report.Scenario) float64 { return float64(s.Bad()) }},
	{"refused", "%", func(s *report.Scenario) float64 {
		return 100 * float64(s.Node.Refused) / float64(max(1, s.Node.Refused+s.Node.Requests))
	}},
}

var thresholdForm = regexp.MustCompile(`^([a-z0-9.]+)([<>])([0-9.]+)(ms|/s|%|)$`)

// ParseThreshold reads a threshold such as p99>20ms, requests<1000/s or refused>1%.
func ParseThreshold(text string) (t Threshold, err error) {
	var known []string
	parts := thresholdForm.FindStringSubmatch(text)
	for _, m := range thresholdMetrics {
		known = append(known, m.name+">N"+m.unit)
		if parts == nil || parts[1] != m.name || parts[4] != m.unit {
			continue
		}
		if t.bound, err = strconv.ParseFloat(parts[3], 64); err == nil {
			return Threshold{m, parts[2] == ">", t.bound}, nil
		}
	}
	return t, fmt.Errorf("bad threshold %q; it is one of %s, or with <", text, strings.Join(known, ", "))
}

// Passed returns an error that names scenario, metric and bound of every failed threshold. A run
// in which no scenario asks anything passes none.
func Passed(run *report.Run, thresholds []Threshold) error {
	var errs []error
	for _, t := range thresholds {
		asked := false
		for i := range run.Scenarios {
			if s := &run.Scenarios[i]; s.Asked() {
				asked = true
				errs = append(errs, t.check(s))
			}
		}

		if !asked {
			errs = append(errs, fmt.Errorf("%s is not known: no scenario of the run asked anything", t.name))
		}
	}
	return errors.Join(errs...)
}

func (t Threshold) check(s *report.Scenario) error {
	switch x := t.of(s); {
	case t.unit == milliseconds && s.Node.At(100) == 0:
		return fmt.Errorf("scenario %s: %s is not known: there was no good answer", s.Name, t.name)
	case t.unit == milliseconds && math.IsInf(x, 1):
		return fmt.Errorf("scenario %s: %s is not known: %d requests were due and never sent", s.Name, t.name, s.Unsent)
	case t.above && x > t.bound:
		return fmt.Errorf("scenario %s: %s is %s; at most %s is allowed", s.Name, t.name, t.spell(x),
			t.spell(t.bound))
	case !t.above && x < t.bound:
		return fmt.Errorf("scenario %s: %s is %s; at least %s is wanted", s.Name, t.name, t.spell(x),
			t.spell(t.bound))
	}
	return nil
}

// latencyAt returns the latency at a percentile, in milliseconds, of all requests that were due.
// Those that were never sent are later than any other: where they are at the percentile it is
// infinite.
func latencyAt(s *report.Scenario, percent float64) float64 {
	if s.Unsent == 0 {
		return s.Node.At(percent)
	}
	var good float64
	for status, n := range s.Statuses {
		if status/100 == 2 {
			good += float64(n)
		}
	}

	ofGood := percent * (good + float64(s.Unsent)) / good
	if good == 0 || ofGood > 100 {
		return math.Inf(1)
	}
	return s.Node.At(ofGood)
}

func (t Threshold) spell(x float64) string {
	return strings.TrimSpace(fmt.Sprintf("%.6g %s", x, t.unit))
}
