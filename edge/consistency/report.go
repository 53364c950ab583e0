package consistency

import (
	"fmt"
	"math"
	"strconv"
)

// Difference is one value that is not what other answers make it.
type Difference struct {
	Rule  string `json:"rule"`
	Route string `json:"route"`
	Field string `json:"field"`
	Got   string `json:"got"`
	Want  string `json:"want"`
}

func (d *Difference) String() string {
	return fmt.Sprintf("%s: %s: %s is %s; want %s", d.Rule, d.Route, d.Field, d.Got, d.Want)
}

// keptDifferences bounds how many differences of a rule a report lists: one that
// is broken everywhere differs in every row.
const keptDifferences = 50

// Report says what was compared.
type Report struct {
	Values    int64            `json:"values"`    // compared
	Different int64            `json:"different"` // of those
	Requests  int              `json:"requests"`
	Positions int              `json:"positions"`
	Pools     int              `json:"pools"`
	Rules     map[string]int64 `json:"rules"`   // values by rule
	Broken    map[string]int64 `json:"broken"`  // differences by rule
	Skipped   []string         `json:"skipped"` // what was not asked, and why
	Listed    []Difference     `json:"differences"`
}

func newReport() *Report {
	return &Report{
		Rules: map[string]int64{}, Broken: map[string]int64{},
		Skipped: []string{}, Listed: []Difference{},
	}
}

// compared counts a value, and keeps it when it differs.
func (r *Report) compared(same bool, rule, route, field string, got, want any) {
	r.Values++
	r.Rules[rule]++
	if same {
		return
	}
	r.Different++
	r.Broken[rule]++
	if r.Broken[rule] <= keptDifferences {
		r.Listed = append(r.Listed, Difference{rule, route, field, show(got), show(want)})
	}
}

// shownLength bounds a value in a difference.
const shownLength = 300

func show(v any) string {
	text := ""
	switch v := v.(type) {
	case nil:
		text = "null"
	case float64:
		if math.IsNaN(v) {
			return "null"
		}
		text = strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		text = v
	default:
		text = fmt.Sprint(v)
	}

	if len(text) > shownLength {
		text = text[:shownLength] + "..."
	}
	return text
}

// judge compares values of one answer by one rule.
type judge struct {
	report      *Report
	rule, route string
	totalCap    int // where counts of lists stop
}

func (j judge) by(rule string) judge {
	j.rule = rule
	return j
}

// uncapped is for what is always counted to its end: tokens and ticks.
func (j judge) uncapped() judge {
	j.totalCap = math.MaxInt
	return j
}

// equal compares values that are the same to the last digit.
func (j judge) equal(field string, got, want any) {
	j.report.compared(got == want, j.rule, j.route, field, got, want)
}

// same is equal of floats that are integers, such as times. NaN is null.
func (j judge) same(field string, got, want float64) {
	same := got == want || math.IsNaN(got) && math.IsNaN(want)
	j.report.compared(same, j.rule, j.route, field, got, want)
}

// holds is a comparison that is more than an equality; want says which.
func (j judge) holds(field string, is bool, got any, want string) {
	j.report.compared(is, j.rule, j.route, field, got, want)
}

// roundingError is how far floats may be apart: relative to the largest number
// that went into them.
const roundingError = 1e-9

// near compares floats, NaN standing for null. scale is the largest number that
// went into them, where that is more than they are themselves.
func (j judge) near(field string, got, want, scale float64) {
	j.report.compared(isNear(got, want, scale), j.rule, j.route, field, got, want)
}

func isNear(got, want, scale float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= roundingError*max(math.Abs(want), math.Abs(scale))
}

// leaves compares two values and everything in them, but for the fields of the
// outermost object that are named in without.
func (j judge) leaves(field string, got, want any, without ...string) {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			j.equal(field, show(got), "an object")
			return
		}
		j.objects(field, object, want, without)

	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			j.holds(field, false, got, fmt.Sprintf("%d elements", len(want)))
			return
		}
		for i := range want {
			j.leaves(field+"["+strconv.Itoa(i)+"]", list[i], want[i])
		}

	default:
		j.equal(field, got, want)
	}
}

func (j judge) objects(field string, got, want map[string]any, without []string) {
	left := map[string]bool{}
	for _, name := range without {
		left[name] = true
	}

	prefix := field
	if prefix != "" {
		prefix += "."
	}
	for name, value := range want {
		if left[name] {
			continue
		}
		if _, ok := got[name]; !ok {
			j.holds(prefix+name, false, "missing", show(value))
			continue
		}
		j.leaves(prefix+name, got[name], value)
	}
	for name := range got {
		if _, ok := want[name]; !ok && !left[name] {
			j.holds(prefix+name, false, "there", "missing")
		}
	}
}
