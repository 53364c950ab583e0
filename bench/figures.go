package bench

import (
	"fmt"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// goal is a row of the table of figures to reach.
type goal struct {
	number     int
	what, goal string
	// reached says what a run reached; ok is whether that is enough. An empty
	// text means that the run did not measure it.
	reached func(*report.Run, *corpus.Record) (text string, ok bool)
}

// fullSize is the size of a chain that the goals are about. Smaller corpora
// give figures, but of another thing: the table says of which.
const fullSize = 1_000_000

var goals = []goal{
	{1, "hot page of 20, authenticated, limited, metered, 20,000 keys", "at least 0.90 of the limit",
		ratio("hot", 0.90)},
	{2, "zipf mix of all routes", "at least 0.75", ratio("zipf", 0.75)},
	{3, "uncached page of 20, selection known", "at least 0.20, CPU at most 50 µs",
		uncachedGoal("uncached")},
	{4, "page 40,000 of all chains merged against page 1, both uncached", "at most 1.3 x",
		deepGoal},
	{5, "a filter never seen before, exact count included", "median 5 ms, p99 15 ms", filterGoal},
	{6, "its later pages", "as row 3", uncachedGoal("later")},
	{7, "refresh and publish of a chain", "at most 0.6 CPU-s",
		valueGoal("refresh", "CPU a refresh", 0.6, "%.3f CPU-s")},
	{8, "bytes written per refresh", "at most 2 / 15 MB", bytesGoal},
	{9, "p99 of row 1 at half its capacity while chains refresh", "at most 3 x without, 5 ms",
		liveGoal},
	{10, "resident memory under row 2", "at most 3 GiB",
		valueGoal("zipf", "resident at most", 3<<10, "%.0f MiB")},
	{11, "restart: first page / fresh generations", "1 s / 15 s", restartGoal},
	{12, "ledger: swaps in memory / mixed events durably", "200,000 / 60,000 a second",
		ledgerGoal},
	{13, "authentication, burst, reserve, settle", "400 ns, 0 allocations", goBench},
	{14, "rendering a position row", "2 µs, 0 allocations", goBench},
	{15, "detail of 1,000 transactions / charts 30d / of a year", "3 / 0.5 / 3 ms of CPU",
		detailGoal},
	{16, "first page from process start on an empty directory", "5 s",
		valueGoal("start", "first page", 5, "%.2f s")},
	{17, "against the peers on rows 1, 3, 4, 5 and refresh", "ahead of each", nothing},
}

// figures fills the table from a run.
func figures(run *report.Run, record *corpus.Record) (table []report.Figure) {
	for _, g := range goals {
		f := report.Figure{Number: g.number, What: g.what, Goal: g.goal}
		text, ok := g.reached(run, record)
		switch f.Reached = text; {
		case text == "" || g.number == 13 || g.number == 14 || g.number == 17:
			f.Verdict = report.NotMeasured
		case ok:
			f.Verdict = report.Met
		default:
			f.Verdict = report.Missed
		}
		if f.Reached == "" {
			f.Reached = "not in this run"
		}
		table = append(table, f)
	}
	return table
}

// clientLimit is how busy a client may be before it is what limits.
const clientLimit = 0.95

// ratio is met by throughput. When the client was at its limit on both sides
// throughputs are alike whatever the servers do, and CPU decides.
func ratio(name string, least float64) func(*report.Run, *corpus.Record) (string, bool) {
	return func(r *report.Run, _ *corpus.Record) (string, bool) {
		s := r.Scenario(name)
		if s == nil || s.Limit == nil {
			return "", false
		}
		text := fmt.Sprintf("%.2f (by CPU %.2f), %.0f µs", s.Ratio, s.RatioCPU, s.Node.ServerMicros)
		if s.Limit.ClientBusy > clientLimit {
			return text + ", the client was the limit", s.RatioCPU >= least
		}
		return text, s.Ratio >= least
	}
}

// maxCached is how many of the pages may come from the page cache in a figure
// about those that do not.
const maxCached = 0.05

func uncachedGoal(name string) func(*report.Run, *corpus.Record) (string, bool) {
	return func(r *report.Run, record *corpus.Record) (string, bool) {
		text, ok := ratio(name, 0.20)(r, record)
		if text == "" {
			return "", false
		}
		s := r.Scenario(name)
		if s.CacheShare > maxCached {
			return fmt.Sprintf("%s; %.0f %% came from the page cache: the corpus is too small",
				text, 100*s.CacheShare), false
		}
		return text, ok && s.Node.ServerMicros <= 50
	}
}

func deepGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	s := r.Scenario("deep")
	if s == nil || s.RatioCPU == 0 {
		return "", false
	}
	page, _ := s.Value("page")
	text := fmt.Sprintf("%.2f x CPU (%.0f and %.0f µs), page %.0f", 1/s.RatioCPU,
		s.Node.ServerMicros, s.Limit.ServerMicros, page)
	return text, 1/s.RatioCPU <= 1.3 && page >= deepPage
}

func filterGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	s := r.Scenario("filter")
	if s == nil {
		return "", false
	}
	p50, p99 := s.Node.At(50), s.Node.At(99)
	return fmt.Sprintf("median %.1f ms, p99 %.1f ms", ms(p50), ms(p99)), p50 <= 5000 && p99 <= 15000
}

func valueGoal(name, value string, most float64, format string) func(*report.Run, *corpus.Record) (string, bool) {
	return func(r *report.Run, _ *corpus.Record) (string, bool) {
		s := r.Scenario(name)
		if s == nil {
			return "", false
		}
		v, ok := s.Value(value)
		if !ok {
			return "", false
		}
		return fmt.Sprintf(format, v), v <= most
	}
}

// bytesGoal has the market's own refreshes, in which prices move and fewer
// pools than one in a hundred: the stricter goal is beside the point then.
func bytesGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	s := r.Scenario("refresh")
	if s == nil {
		return "", false
	}
	v, _ := s.Value("written a refresh")
	events, _ := s.Value("events a refresh")
	return fmt.Sprintf("%.2f MB, with %.0f events and prices moved", v, events), v <= 15
}

func liveGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	still, live := r.Scenario("half"), r.Scenario("half-live")
	if still == nil || live == nil {
		return "", false
	}
	a, b := ms(still.Node.At(99)), ms(live.Node.At(99))
	return fmt.Sprintf("%.2f ms, %.1f x without (%.2f ms)", b, b/max(a, 1e-3), a), b <= 3*a && b <= 5
}

func restartGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	s := r.Scenario("restart")
	if s == nil {
		return "", false
	}
	page, _ := s.Value("first page")
	fresh, _ := s.Value("fresh generations")
	return fmt.Sprintf("%.2f s / %.1f s", page, fresh), page <= 1 && fresh <= 15
}

func ledgerGoal(_ *report.Run, record *corpus.Record) (string, bool) {
	if record == nil || record.Seconds == 0 {
		return "", false
	}
	rate := float64(record.Events) / record.Seconds
	return fmt.Sprintf("make gobench / %.0f, with the market's own work", rate), rate >= 60_000
}

func goBench(*report.Run, *corpus.Record) (string, bool) { return "make gobench", false }

func nothing(*report.Run, *corpus.Record) (string, bool) { return "", false }

func detailGoal(r *report.Run, _ *corpus.Record) (string, bool) {
	detail, month, all := r.Scenario("detail"), r.Scenario("charts"), r.Scenario("charts-all")
	if detail == nil {
		return "", false
	}
	entries, _ := detail.Value("transactions")
	text := fmt.Sprintf("%.2f ms (%.0f transactions)", detail.Node.ServerMicros/1e3, entries)
	if month == nil || all == nil || month.Node.Requests == 0 || all.Node.Requests == 0 {
		return text + " / no charts", false
	}
	text += fmt.Sprintf(" / %.2f ms / %.2f ms", month.Node.ServerMicros/1e3, all.Node.ServerMicros/1e3)
	return text, entries >= 1000 && detail.Node.ServerMicros <= 3000 &&
		month.Node.ServerMicros <= 500 && all.Node.ServerMicros <= 3000
}
