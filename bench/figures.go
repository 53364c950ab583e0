package bench

import (
	"fmt"
	"math"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// goal is a row of the table of figures to reach.
type goal struct {
	number     int
	what, goal string
	// sized: it is about chains of fullSize.
	sized   bool
	reached func(*report.Run, *corpus.Record) (text string, v report.Verdict)
}

// fullSize is the size of a chain that the goals are about. Smaller corpora
// give figures, but of another thing: the table says so.
const fullSize = 1_000_000

// nearly is how much of fullSize, times the chains, passes for it.
const nearly = 0.9

var goals = []goal{
	{1, "hot page of 20, authenticated, limited, metered, 20,000 keys", "at least 0.90 of the limit",
		false, ratio("hot", 0.90)},
	{2, "zipf mix of all routes", "at least 0.75", true, ratio("zipf", 0.75)},
	{3, "uncached page of 20, selection known", "at least 0.20, CPU at most 50 µs",
		true, uncachedGoal("uncached")},
	{4, "page 40,000 of all chains merged against page 1, both uncached", "at most 1.3 x",
		true, deepGoal},
	{5, "a filter never seen before, exact count included", "median 5 ms, p99 15 ms",
		true, filterGoal},
	{6, "its later pages", "as row 3", true, uncachedGoal("later")},
	{7, "refresh and publish of a chain", "at most 0.6 CPU-s",
		true, valueGoal("refresh", "CPU a refresh", 0.6, "%.3f CPU-s")},
	{8, "bytes written per refresh", "at most 2 / 15 MB", true, bytesGoal},
	{9, "p99 of row 1 at half its capacity while chains refresh", "at most 3 x without, 5 ms",
		true, liveGoal},
	{10, "resident memory under row 2", "at most 3 GiB",
		true, valueGoal("zipf", "resident at most", 3<<10, "%.0f MiB")},
	{11, "restart: first page / fresh generations", "1 s / 15 s", true, restartGoal},
	{12, "ledger: swaps in memory / mixed events durably", "200,000 / 60,000 a second",
		false, ledgerGoal},
	{13, "authentication, burst, reserve, settle", "400 ns, 0 allocations", false, admitGoal},
	{14, "rendering a position row", "2 µs, 0 allocations", false, rowGoal},
	{15, "detail of 1,000 transactions / charts 30d / of a year", "3 / 0.5 / 3 ms of CPU",
		true, detailGoal},
	{16, "first page from process start on an empty directory", "5 s",
		false, valueGoal("start", "first page", 5, "%.2f s")},
	{17, "against the peers on rows 1, 3, 4, 5 and refresh", "ahead of each", true, peersGoal},
}

// figures fills the table from a run.
func figures(run *report.Run, record *corpus.Record) (table []report.Figure) {
	full := float64(run.Corpus.Positions) >= nearly*fullSize*float64(len(corpus.Chains))
	for _, g := range goals {
		f := report.Figure{Number: g.number, What: g.what, Goal: g.goal}
		f.Reached, f.Verdict = g.reached(run, record)
		if f.Reached == "" {
			f.Reached, f.Verdict = "not in this run", report.NotMeasured
		}
		if f.Verdict == report.Met && g.sized && !full {
			f.Verdict = report.MetOnLess
		}
		table = append(table, f)
	}
	return table
}

// thousands spells a number with commas.
func thousands(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func judge(ok bool) report.Verdict {
	if ok {
		return report.Met
	}
	return report.Missed
}

// clientLimit is how busy a client may be before it is what limits.
const clientLimit = 0.95

// ratio is met by throughput. When the client was at its limit on both sides
// throughputs are alike whatever the servers do, and CPU decides.
func ratio(name string, least float64) func(*report.Run, *corpus.Record) (string, report.Verdict) {
	return func(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
		s := r.Scenario(name)
		if s == nil || s.Limit == nil {
			return "", report.NotMeasured
		}
		text := fmt.Sprintf("%.2f (by CPU %.2f), %.0f µs", s.Ratio, s.RatioCPU, s.Node.ServerMicros)
		if s.Node.ServerMicros == 0 {
			text = fmt.Sprintf("%.2f, CPU not known", s.Ratio)
		}
		switch {
		case s.Limit.ClientBusy > clientLimit && s.RatioCPU == 0:
			return text + ", the client was the limit", report.NotMeasured
		case s.Limit.ClientBusy > clientLimit:
			return text + ", the client was the limit", judge(s.RatioCPU >= least)
		}
		return text, judge(s.Ratio >= least)
	}
}

// maxCached is how many of the pages may come from the page cache in a figure
// about those that do not.
const maxCached = 0.05

func uncachedGoal(name string) func(*report.Run, *corpus.Record) (string, report.Verdict) {
	return func(r *report.Run, record *corpus.Record) (string, report.Verdict) {
		text, verdict := ratio(name, 0.20)(r, record)
		if text == "" {
			return "", verdict
		}
		s := r.Scenario(name)
		switch {
		case s.Node.ServerMicros == 0:
			return text + ", nor whether pages were cached", report.NotMeasured
		case s.CacheShare > maxCached:
			return fmt.Sprintf("%s; %.0f %% came from the page cache", text, 100*s.CacheShare),
				report.NotMeasured
		case s.Node.ServerMicros > 50:
			return text, report.Missed
		}
		return text, verdict
	}
}

func deepGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("deep")
	if s == nil || s.RatioCPU == 0 {
		return "", report.NotMeasured
	}
	page, _ := s.Value("page")
	return fmt.Sprintf("%.2f x CPU (%.0f and %.0f µs), page %.0f", 1/s.RatioCPU,
		s.Node.ServerMicros, s.Limit.ServerMicros, page), judge(1/s.RatioCPU <= 1.3)
}

func filterGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("filter")
	if s == nil {
		return "", report.NotMeasured
	}
	p50, p99 := s.Node.At(50), s.Node.At(99)
	return fmt.Sprintf("median %.1f ms, p99 %.1f ms", ms(p50), ms(p99)),
		judge(p50 <= 5000 && p99 <= 15000)
}

func valueGoal(name, value string, most float64, format string,
) func(*report.Run, *corpus.Record) (string, report.Verdict) {
	return func(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
		if s := r.Scenario(name); s != nil {
			if v, ok := s.Value(value); ok {
				return fmt.Sprintf(format, v), judge(v <= most)
			}
		}
		return "", report.NotMeasured
	}
}

// bytesGoal has two markets: one in which few pools move, and the usual one, in
// which the native price does and everything with it.
func bytesGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	still, moved := r.Scenario("refresh-calm"), r.Scenario("refresh")
	if still == nil || moved == nil {
		return "", report.NotMeasured
	}
	few, _ := still.Value("written a refresh")
	all, _ := moved.Value("written a refresh")
	text := fmt.Sprintf("%.2f / %.2f MB", few, all)
	calm, _ := still.Value("native prices moved")
	live, _ := moved.Value("native prices moved")
	refreshes, _ := moved.Value("refreshes")
	if calm > 0 || live < refreshes/2 {
		return fmt.Sprintf("%s, but native prices moved %.0f times, and %.0f times in %.0f refreshes",
			text, calm, live, refreshes), report.NotMeasured
	}
	return text, judge(few <= 2 && all <= 15)
}

func liveGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	still, live := r.Scenario("half"), r.Scenario("half-live")
	if still == nil || live == nil {
		return "", report.NotMeasured
	}
	a, b := ms(still.Node.At(99)), ms(live.Node.At(99))
	return fmt.Sprintf("%.2f ms, %.1f x without (%.2f ms)", b, b/max(a, 1e-3), a),
		judge(b <= 3*a && b <= 5)
}

func restartGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("restart")
	if s == nil {
		return "", report.NotMeasured
	}
	page, _ := s.Value("first page")
	fresh, _ := s.Value("fresh generations")
	return fmt.Sprintf("%.2f s / %.1f s", page, fresh), judge(page <= 1 && fresh <= 15)
}

func ledgerGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("ledger")
	if s == nil {
		return "", report.NotMeasured
	}
	swaps, _ := s.Value("swaps in memory")
	mixed, _ := s.Value("mixed events durably")
	return fmt.Sprintf("%s / %s a second", thousands(swaps), thousands(mixed)),
		judge(swaps >= 200_000 && mixed >= 60_000)
}

// fewAllocations passes for none: the runtime's own are counted too.
const fewAllocations = 0.01

func admitGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("admit")
	if s == nil {
		return "", report.NotMeasured
	}
	nanos, _ := s.Value("a request")
	allocs, _ := s.Value("a request, allocations")
	return fmt.Sprintf("%.0f ns, %.2g allocations", nanos, math.Round(allocs*100)/100),
		judge(nanos <= 400 && allocs < fewAllocations)
}

func rowGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	s := r.Scenario("row")
	if s == nil {
		return "", report.NotMeasured
	}
	nanos, _ := s.Value("a row")
	allocs, _ := s.Value("a row, allocations")
	whole, _ := s.Value("a row with its values")
	return fmt.Sprintf("%.2f µs, %.2g allocations (%.2f µs with its values computed)",
			nanos/1e3, math.Round(allocs*100)/100, whole/1e3),
		judge(nanos <= 2000 && allocs < fewAllocations)
}

// detailGoal takes what of its three parts was measured; without any of them
// it is not met.
func detailGoal(r *report.Run, _ *corpus.Record) (string, report.Verdict) {
	detail := r.Scenario("detail-1000")
	if detail == nil {
		return "", report.NotMeasured
	}
	entries, _ := detail.Value("transactions")
	switch {
	case detail.Node.Requests == 0:
		return "no answer within the measured time", report.NotMeasured
	case detail.Node.ServerMicros == 0:
		return fmt.Sprintf("CPU not known (%.0f transactions)", entries), report.NotMeasured
	}
	text, met, whole := "", true, entries >= manyEntries
	for _, part := range []struct {
		name string
		most float64 // ms of CPU
	}{{"detail-1000", 3}, {"charts", 0.5}, {"charts-year", 3}} {
		s := r.Scenario(part.name)
		if text != "" {
			text += " / "
		}
		if s == nil || s.Node.ServerMicros == 0 {
			text, whole = text+"-", false
			continue
		}
		text += fmt.Sprintf("%.2f", s.Node.ServerMicros/1e3)
		met = met && s.Node.ServerMicros <= part.most*1e3
	}
	text += fmt.Sprintf(" ms (%.0f transactions)", entries)
	switch {
	case !met:
		return text, report.Missed
	case !whole:
		return text, report.NotMeasured
	}
	return text, report.Met
}

// manyEntries is the length of the history that the figure is about.
const manyEntries = 1000
