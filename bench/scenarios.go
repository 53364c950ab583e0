package bench

import (
	"context"
	"fmt"
	"slices"

	"tidemark/bench/load"
	"tidemark/bench/report"
)

// scenario is one thing to measure.
type scenario struct {
	Name, What string
	Mode       mode // of the node
	Own        bool // needs a node of our own
	Everybody  bool // asks with every key of the run, else with one a connection
	Run        func(context.Context, *suite, *report.Scenario) error
}

// table has the scenarios in the order in which they run: those on a market
// that stands still first, since one that went on does not go back.
var table = []scenario{
	{Name: "hot", What: "the first page of 20, any of many keys", Everybody: true, Run: withLimit(hotPage)},
	{Name: "zipf", What: "all routes as users ask them: lists 70, details 20, charts 5, metadata 5",
		Everybody: true, Run: withLimit(zipfMix)},
	{Name: "filter", What: "filters never seen before, one after the other",
		Run: oneByOne(newFilters)},
	{Name: "half", What: "the hot page at half its capacity, open loop",
		Everybody: true, Run: runHalf},
	{Name: "storm", What: "accounts whose quota ends while they ask", Own: true, Run: runStorm},

	{Name: "uncached", What: "any page of 20 of any order and chain; page cache off",
		Mode: uncached, Run: withLimit(uncachedPages)},
	{Name: "later", What: "deeper pages of filters that are known by then; page cache off",
		Mode: uncached, Run: withLimit(laterPages)},
	{Name: "deep", What: "the last pages of all chains merged, beside the first; page cache off",
		Mode: uncached, Run: runDeep},
	{Name: "detail-1000", What: "the position with the longest history; page cache off",
		Mode: uncached, Run: runDetail},
	{Name: "details", What: "any position, each as likely; page cache off",
		Mode: uncached, Run: withLimit(anyDetail)},
	{Name: "charts", What: "charts of any position over 30 days", Mode: uncached, Run: runCharts},
	{Name: "charts-year", What: "charts of positions older than a year, over all their days",
		Mode: uncached, Run: runYears},
	{Name: "overload", What: "any page at three times the sustainable rate, open loop; page cache off",
		Mode: uncached, Run: runOverload},

	{Name: "refresh-calm", What: "a market in which 1 % of the pools moves a refresh, and nobody asks",
		Mode: calm, Own: true, Run: runRefresh},
	{Name: "refresh", What: "a market that goes on, the native price too, and nobody asks",
		Mode: live, Own: true, Run: runRefresh},
	{Name: "half-live", What: "the hot page at half its capacity while chains refresh",
		Mode: live, Own: true, Everybody: true, Run: runHalf},
	{Name: "restart", What: "a node that stops and starts again",
		Mode: live, Own: true, Run: runRestart},

	{Name: "start", What: "an empty directory to the first page",
		Mode: alone, Own: true, Run: runStart},
	{Name: "ledger", What: "events into the ledger, and into the store",
		Mode: alone, Own: true, Run: runLedger},
	{Name: "admit", What: "authentication, burst, reserve and settle",
		Mode: alone, Own: true, Run: runAdmit},
	{Name: "row", What: "rendering a position's row", Mode: alone, Own: true, Run: runRow},
}

// Names lists the scenarios.
func Names() (names []string) {
	for i := range table {
		names = append(names, table[i].Name)
	}
	return names
}

func (s *suite) wanted(sc *scenario) bool {
	if sc.Own && s.URL != "" {
		return false
	}
	return len(s.Only) == 0 || slices.Contains(s.Only, sc.Name)
}

// withLimit measures a mix beside the yardstick.
func withLimit(mix func(*site) load.Mix) func(context.Context, *suite, *report.Scenario) error {
	return func(ctx context.Context, s *suite, out *report.Scenario) error {
		return s.besideLimit(ctx, mix(s.site), out)
	}
}

// oneByOne measures latencies of one connection that waits for every answer.
func oneByOne(mix func(*site) load.Mix) func(context.Context, *suite, *report.Scenario) error {
	return func(ctx context.Context, s *suite, out *report.Scenario) error {
		out.Connections = 1
		r, err := s.askProfiled(ctx, out.Name, load.Config{Mix: mix(s.site), Connections: 1})
		if err == nil {
			enter(out, []*load.Result{r}, nil)
		}
		return err
	}
}

// deepPage is the page that the table of goals is about.
const deepPage = 40_000

// runDeep compares the last pages with the first ones; of a corpus that has no
// page 40,000, those that it has.
func runDeep(ctx context.Context, s *suite, out *report.Scenario) error {
	const span = 400 // pages on each side, none of them twice in a round
	last := min(deepPage, s.site.all/pageRows-1)
	many := max(1, min(span, last/4))
	front := pagesFrom("front", 2, many, unitsList)
	deep := pagesFrom("deep", last-many, many, unitsList)
	for _, sort := range positionSorts[3:] { // once, so that the first visits are over
		path := fmt.Sprintf("/v1/positions?sort=%s&%s&page=%d", sort, everything, last)
		if err := s.site.reachPage(s.node, s.keys[0], path, new(listed)); err != nil {
			return err
		}
	}
	one := func(mix load.Mix) side {
		return func(ctx context.Context) (*load.Result, error) {
			return s.askProfiled(ctx, mix[0].Name, load.Config{Mix: mix})
		}
	}
	before := s.node.counters()
	deeps, fronts, err := s.inTurns(ctx, one(deep), one(front))
	if err != nil {
		return err
	}
	out.CacheShare = cacheShare(before, s.node.counters())
	out.Values = append(out.Values, report.Value{Name: "page", Value: float64(last), Unit: ""})
	compare(out, deeps, fronts, nil)
	out.Beside = "front pages"
	return nil
}

// runDetail asks for the longest history that discovery saw: of a corpus, more
// than a thousand transactions.
func runDetail(ctx context.Context, s *suite, out *report.Scenario) error {
	mix := load.Mix{{Name: "detail", Weight: 1, Path: load.Fixed(s.site.longest), Units: unitsDetail}}
	out.Values = append(out.Values, report.Value{Name: "transactions", Value: float64(s.site.entries)})
	return s.besideLimit(ctx, mix, out)
}

func anyDetail(s *site) load.Mix {
	return load.Mix{{
		Name: "detail", Weight: 1, Path: anyPosition(s, ""), Units: unitsDetail, Accept: []int{404},
	}}
}

// runCharts asks for the charts of any position.
func runCharts(ctx context.Context, s *suite, out *report.Scenario) error {
	return s.charts(ctx, out, anyPosition(s.site, "/charts"))
}

// runYears asks for charts over a year and more, of positions that are as old.
func runYears(ctx context.Context, s *suite, out *report.Scenario) error {
	if len(s.site.aged) == 0 {
		out.Problems = append(out.Problems, "no position that was found is a year old")
		return nil
	}
	out.Values = append(out.Values, report.Value{Name: "days at least", Value: yearDays, Unit: ""})
	return s.charts(ctx, out, oneOf(s.site.aged, "/charts?range=all"))
}

// charts measures charts, unless the node serves none.
func (s *suite) charts(ctx context.Context, out *report.Scenario, path path) error {
	if !s.site.charts {
		out.Problems = append(out.Problems, "the node serves no charts")
		return nil
	}
	return s.besideLimit(ctx, load.Mix{{
		Name: "charts", Weight: 1, Path: path, Units: unitsCharts, Accept: []int{404},
	}}, out)
}

// capacity returns what a scenario reached, measuring it when it did not run.
func (s *suite) capacity(ctx context.Context, name string, mix load.Mix) (float64, error) {
	if sc := s.run.Scenario(name); sc != nil {
		return sc.Node.PerSecond, nil
	}
	r, err := s.ask(ctx, load.Config{Mix: mix, Length: s.Length / 2})
	if err != nil {
		return 0, err
	}
	return r.PerSecond(), nil
}

// runHalf asks for the hot page at half the rate that it can be asked for. On
// a live node it takes long enough to see three generations of every chain.
func runHalf(ctx context.Context, s *suite, out *report.Scenario) error {
	const generations = 3
	mix := hotPage(s.site)
	full, err := s.capacity(ctx, "hot", mix)
	if err != nil {
		return err
	}
	out.Rate = full / 2
	length := s.Length
	if s.mode.moves() {
		length = max(length, generations*s.Refresh)
	}
	watch := s.watch()
	r, err := s.ask(ctx, load.Config{Mix: mix, Rate: out.Rate, Length: length})
	seen := watch()
	if err == nil {
		enter(out, []*load.Result{r}, seen)
	}
	return err
}

// runOverload asks three times as much as the node can answer, and looks at
// what the answers say and how it is afterwards.
func runOverload(ctx context.Context, s *suite, out *report.Scenario) error {
	const times = 3
	mix := overload(s.site)
	full, err := s.capacity(ctx, "uncached", mix)
	if err != nil {
		return err
	}
	out.Rate = times * full
	r, err := s.ask(ctx, load.Config{Mix: mix, Rate: out.Rate})
	if err != nil {
		return err
	}
	enter(out, []*load.Result{r}, nil)
	after, err := s.ask(ctx, load.Config{Mix: hotPage(s.site), Connections: 1, Length: s.Length / 4})
	if err != nil {
		return err
	}
	out.Values = append(out.Values,
		report.Value{Name: "of capacity", Value: r.PerSecond() / full},
		report.Value{
			Name: "hot page afterwards, p99", Value: float64(after.Quantile(99).Microseconds()), Unit: "µs",
		})
	return nil
}

// runStorm asks with accounts whose quota ends meanwhile: every unit that they
// have is used, and none besides.
func runStorm(ctx context.Context, s *suite, out *report.Scenario) error {
	r, err := s.ask(ctx, load.Config{Mix: storm(s.site), Keys: s.poor})
	if err != nil {
		return err
	}
	enter(out, []*load.Result{r}, nil)
	const quota = poorAccounts * poorUnits
	out.Values = append(out.Values,
		report.Value{Name: "units admitted", Value: float64(r.Charged)},
		report.Value{Name: "units of the quotas", Value: quota})
	if r.Charged > quota {
		out.Wrong++
		out.Problems = append(out.Problems,
			fmt.Sprintf("%d units were admitted; the quotas have %d", r.Charged, quota))
	}
	return nil
}
