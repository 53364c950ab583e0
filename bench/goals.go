package bench

import (
	"fmt"
	"strings"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// Names of what is measured: scenarios set values by them, and goals find them
// by the same.
const (
	// What every scenario under load has.
	ofLimit      = "of the limit by CPU"
	serverMicros = "server CPU an answer"
	p50          = "p50"
	p99          = "p99"
	p999         = "p99.9"
	cached       = "share from the page cache"
	bodyBytes    = "body"

	// What scenarios measure besides.
	resident         = "resident"
	residentPeak     = "resident at most"
	columnsPass      = "one pass over three columns"
	timesFront       = "CPU of page 1"
	transactions     = "transactions"
	strconvMicros    = "its numbers by strconv"
	refreshes        = "refreshes"
	nativeMoved      = "native prices moved a refresh"
	refreshCPU       = "CPU a refresh"
	refreshBytes     = "written a refresh"
	sortCPU          = "slices.Sort of a float for every position"
	firstPage        = "first page"
	freshGenerations = "fresh generations"
	readAll          = "reading every record"
)

// reading is something that a scenario measured; without a scenario, the most
// that any did.
type reading struct{ scenario, metric string }

// part is a condition: a value, or its ratio to another one, and a bound.
type part struct {
	reading
	over  reading // zero: the value itself counts
	least bool    // the bound is the least; else it is the most
	bound float64
	unit  string
}

// goal is a row of the table of figures to reach.
type goal struct {
	number, what, yardstick string
	sized                   bool   // it is about chains of fullSize
	parts                   []part // that have to hold
	needs                   []part // without which nothing is said
}

// fullSize is the size of a chain that the goals are about. Smaller corpora
// give figures, but of another thing: the table says so.
const fullSize = 1_000_000

// nearly is how much of fullSize, times the chains, passes for it.
const nearly = 0.9

// fewAllocations passes for none: the runtime's own are counted too.
const fewAllocations = 0.01

const limitText = "a constant body of the same size, by CPU"

var goals = []goal{
	{number: "1", what: "hot page of 20, authenticated, limited, metered, 20,000 keys",
		yardstick: limitText, parts: []part{atLeast("hot", ofLimit, 0.90, "")}},
	{number: "1z", what: "the same asked with gzip / zstd", yardstick: limitText,
		parts: []part{atLeast("hot-gzip", ofLimit, 0.85, ""), atLeast("hot-zstd", ofLimit, 0.85, "")},
		needs: []part{ratio("hot-gzip", bodyBytes, reading{"hot", bodyBytes}, 0.5),
			ratio("hot-zstd", bodyBytes, reading{"hot", bodyBytes}, 0.5)}},
	{number: "2", what: "zipf mix of all routes", yardstick: limitText, sized: true,
		parts: []part{atLeast("zipf", ofLimit, 0.75, "")}},
	{number: "3", what: "uncached page of 20, selection known", yardstick: limitText, sized: true,
		parts: []part{atLeast("uncached", ofLimit, 0.20, "")},
		needs: []part{atMost("uncached", cached, 0.05, "")}},
	{number: "4", what: "page 40,000 of all chains merged, uncached", yardstick: "page 1, uncached",
		sized: true, parts: []part{atMost("deep", timesFront, 1.1, "x")},
		needs: []part{atMost("deep", cached, 0.05, "")}},
	{number: "5", what: "a filter never seen before, exact count included: median / p99",
		yardstick: "one pass of a plain loop over three float64 columns of as many rows", sized: true,
		parts: []part{ratio("filter", p50, reading{"filter", columnsPass}, 2),
			ratio("filter", p99, reading{"filter", columnsPass}, 4)}},
	{number: "6", what: "its later pages", yardstick: limitText, sized: true,
		parts: []part{atLeast("later", ofLimit, 0.20, "")},
		needs: []part{atMost("later", cached, 0.05, "")}},
	{number: "7", what: "refresh and publish of a chain: every price moved / 1 % of the pools",
		yardstick: "slices.Sort of as many random float64 as there are positions", sized: true,
		parts: []part{ratio("refresh", refreshCPU, reading{"refresh", sortCPU}, 4),
			ratio("refresh-calm", refreshCPU, reading{"refresh-calm", sortCPU}, 1.5)},
		needs: markets},
	{number: "8", what: "bytes written by one such refresh", yardstick: "bytes", sized: true,
		parts: []part{atMost("refresh", refreshBytes, 5, "MB"), atMost("refresh-calm", refreshBytes, 1, "MB")},
		needs: append(markets, atLeast("refresh", refreshes, 50, ""), atLeast("refresh-calm", refreshes, 50, ""))},
	{number: "9", what: "row 1 at half its capacity while chains refresh: p99 and p99.9, one processor / two",
		yardstick: "the same without refreshes", sized: true,
		parts: []part{ratio("half-live", p99, reading{"half", p99}, 2),
			ratio("half-live", p999, reading{"half", p999}, 4),
			ratio("half-live-two", p99, reading{"half-two", p99}, 2),
			ratio("half-live-two", p999, reading{"half-two", p999}, 4)}},
	{number: "10", what: "resident memory, the most in any scenario", yardstick: "bytes", sized: true,
		parts: []part{atMost("", residentPeak, 2.5, "GiB")}},
	{number: "11", what: "restart: first page / fresh generations",
		yardstick: "seconds / reading every record of the store once", sized: true,
		parts: []part{atMost("restart", firstPage, 1, "s"),
			ratio("restart", freshGenerations, reading{"restart", readAll}, 2)}},
	{number: "12", what: "ledger: swaps without a crossing in memory / mixed events durably",
		yardstick: "one swap step / Pebble committing batches of the same bytes",
		parts: []part{ratio("pieces", "Swaps ns/event", reading{"pieces", "SwapStep ns/op"}, 4),
			{reading{"pieces", "Events events/s"}, reading{"pieces", "Batches events/s"}, true, 0.5, "x"}}},
	{number: "13", what: "authentication, burst, reserve, settle; 20,000 keys",
		yardstick: "one SHA-256 of 43 bytes",
		parts: []part{ratio("pieces", "Admit ns/op", reading{"pieces", "Hash ns/op"}, 3),
			atMost("pieces", "Admit allocs/op", fewAllocations, "allocations")}},
	{number: "14", what: "a position row: with its values computed / known",
		yardstick: "the same numbers by strconv and the fixed bytes by append",
		parts: []part{ratio("pieces", "PositionWithMetrics ns/op", reading{"pieces", "PositionPlain ns/op"}, 1.5),
			ratio("pieces", "Position ns/op", reading{"pieces", "PositionPlain ns/op"}, 0.8),
			atMost("pieces", "Position allocs/op", fewAllocations, "allocations")}},
	{number: "15", what: "detail of 1,000 transactions / charts of 30 days / of a year",
		yardstick: "the same numbers by strconv", sized: true,
		parts: []part{ratio("detail-1000", serverMicros, reading{"detail-1000", strconvMicros}, 3),
			ratio("charts", serverMicros, reading{"charts", strconvMicros}, 3),
			ratio("charts-year", serverMicros, reading{"charts-year", strconvMicros}, 3)},
		needs: []part{atLeast("detail-1000", transactions, 1000, "")}},
	{number: "16", what: "first page from process start on an empty directory", yardstick: "seconds",
		parts: []part{atMost("start", firstPage, 2, "s")}},
}

// markets are what rows 7 and 8 need: one market in which no native price
// moves, and one in which nearly every refresh moves it.
var markets = []part{
	atMost("refresh-calm", nativeMoved, 0, ""), atLeast("refresh", nativeMoved, 0.5, ""),
}

func atLeast(scenario, metric string, bound float64, unit string) part {
	return part{reading{scenario, metric}, reading{}, true, bound, unit}
}

func atMost(scenario, metric string, bound float64, unit string) part {
	return part{reading{scenario, metric}, reading{}, false, bound, unit}
}

func ratio(scenario, metric string, over reading, bound float64) part {
	return part{reading{scenario, metric}, over, false, bound, "x"}
}

// of finds a value in a run; false when it was not measured.
func (v reading) of(run *report.Run) (most float64, ok bool) {
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		if v.scenario != "" && v.scenario != s.Name {
			continue
		}
		if x, has := metricOf(s, v.metric); has {
			most, ok = max(most, x), true
		}
	}
	return most, ok
}

// metricOf finds a metric of a scenario. Of a load without a good answer there
// is none, nor a CPU time of a node that is not ours.
func metricOf(s *report.Scenario, metric string) (float64, bool) {
	under := s.Node.Requests > 0
	known := under && s.Node.ServerMicros > 0
	switch metric {
	case ofLimit:
		return s.RatioCPU, s.RatioCPU > 0
	case serverMicros:
		return s.Node.ServerMicros, known
	case p50:
		return s.Node.At(50), under
	case p99:
		return s.Node.At(99), under
	case p999:
		return s.Node.At(99.9), under
	case cached:
		return s.CacheShare, known
	case bodyBytes:
		return float64(s.Node.BodyBytes), under
	}

	return s.Value(metric)
}

func (p *part) of(run *report.Run) (float64, bool) {
	x, ok := p.reading.of(run)
	if ok && p.over != (reading{}) {
		var y float64
		y, ok = p.over.of(run)
		x /= max(y, 1e-9)
	}
	return x, ok
}

func (p *part) holds(x float64) bool {
	if p.least {
		return x >= p.bound
	}
	return x <= p.bound
}

func (p *part) text(x float64) string { return strings.TrimSpace(fmt.Sprintf("%.3g %s", x, p.unit)) }

// limit spells the bound.
func (p *part) limit() string {
	if p.least {
		return "at least " + p.text(p.bound)
	}
	return "at most " + p.text(p.bound)
}

// text spells the bounds; parts that follow a like one leave out the comparison.
func (g *goal) text() string {
	text := g.parts[0].limit()
	for i := range g.parts[1:] {
		if p := &g.parts[i+1]; p.least == g.parts[i].least {
			text += " / " + p.text(p.bound)
		} else {
			text += " / " + p.limit()
		}
	}
	return text
}

// reached says what a run has of a goal, and whether that is enough. A part that
// fails is enough for a miss, whatever else was not measured.
func (g *goal) reached(run *report.Run) (string, report.Verdict) {
	var texts []string
	met, missing := true, 0
	for i := range g.parts {
		p := &g.parts[i]
		x, ok := p.of(run)
		if !ok {
			texts = append(texts, "-")
			missing++
			continue
		}
		texts = append(texts, p.text(x))
		met = met && p.holds(x)
	}
	text := strings.Join(texts, " / ")

	for i := range g.needs {
		p := &g.needs[i]
		x, ok := p.of(run)
		if missing == len(g.parts) || ok && p.holds(x) {
			continue
		}
		have := "not known"
		if ok {
			have = p.text(x)
		}
		return fmt.Sprintf("%s, not comparable: %s of %s is %s, and has to be %s", text, p.metric,
			p.scenario, have, p.limit()), report.NotMeasured
	}
	switch {
	case missing == len(g.parts):
		return "not in this run", report.NotMeasured
	case !met:
		return text, report.Missed
	case missing > 0:
		return text, report.NotMeasured
	}
	return text, report.Met
}

// figures fills the table from a run.
func figures(run *report.Run) (rows []report.Figure) {
	full := float64(run.Corpus.Positions) >= nearly*fullSize*float64(len(corpus.Chains))
	for i := range goals {
		g := &goals[i]
		f := report.Figure{Number: g.number, What: g.what, Yardstick: g.yardstick, Goal: g.text()}
		f.Reached, f.Verdict = g.reached(run)
		if f.Verdict == report.Met && g.sized && !full {
			f.Verdict = report.MetOnLess
		}
		rows = append(rows, f)
	}
	return append(rows, peersFigure(run.Peers))
}
