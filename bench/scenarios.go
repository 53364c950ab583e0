package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

// scenario is one thing to measure.
type scenario struct {
	Name, What string
	Mode       mode // of the node
	Own        bool // needs a node of our own
	Run        func(context.Context, *suite, *report.Scenario) error
}

// table has the scenarios in the order in which they run: those on a market
// that stands still first, since one that went on does not go back.
var table = []scenario{
	{Name: "hot", What: "the first page of 20, any of many keys", Run: withLimit(hotPage)},
	{Name: "zipf", What: "all routes as users ask them: lists 70, details 20, charts 5, metadata 5",
		Run: withLimit(zipfMix)},
	{Name: "uncached", What: "any page of 20 of any order and chain", Run: withLimit(uncachedPages)},
	{Name: "deep", What: "pages at the end of all chains merged, beside pages at the front", Run: runDeep},
	{Name: "filter", What: "filters never seen before, one after the other", Run: oneByOne(newFilters)},
	{Name: "later", What: "deeper pages of filters that are known by then", Run: withLimit(laterPages)},
	{Name: "detail", What: "the position with the longest history", Run: runDetail},
	{Name: "details", What: "any position, each as likely", Run: withLimit(anyDetail)},
	{Name: "charts", What: "charts of positions over 30 days", Run: runCharts("")},
	{Name: "charts-all", What: "charts of positions over all their days", Run: runCharts("?range=all")},
	{Name: "half", What: "the hot page at half its capacity, open loop", Run: runHalf},
	{Name: "overload", What: "any page at three times the sustainable rate, open loop", Run: runOverload},
	{Name: "storm", What: "accounts whose quota ends while they ask", Own: true, Run: runStorm},
	{Name: "refresh", What: "a market that goes on, and nobody asks", Mode: live, Own: true, Run: runRefresh},
	{Name: "half-live", What: "the hot page at half its capacity while chains refresh",
		Mode: live, Own: true, Run: runHalf},
	{Name: "restart", What: "a node that stops and starts again", Mode: live, Own: true, Run: runRestart},
	{Name: "start", What: "an empty directory to the first page",
		Mode: live, Own: true, Run: runStart},
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

// runCharts measures charts, unless the node serves none.
func runCharts(query string) func(context.Context, *suite, *report.Scenario) error {
	return func(ctx context.Context, s *suite, out *report.Scenario) error {
		if !s.site.charts {
			out.Problems = append(out.Problems, "the node serves no charts")
			return nil
		}
		return s.besideLimit(ctx, load.Mix{{
			Name: "charts", Weight: 1, Path: anyPosition(s.site, "/charts"+query), Units: unitsCharts,
			Accept: []int{404},
		}}, out)
	}
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
		report.Value{Name: "hot page afterwards, p99", Value: float64(after.Quantile(99).Microseconds()), Unit: "µs"})
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
		out.Problems = append(out.Problems, fmt.Sprintf("%d units were admitted; the quotas have %d", r.Charged, quota))
	}
	return nil
}

// runRefresh looks at what refreshing costs when nobody asks.
func runRefresh(ctx context.Context, s *suite, out *report.Scenario) error {
	const generations = 4
	out.Connections = 0
	if err := s.node.generations(ctx, 1); err != nil {
		return err
	}
	was, before := s.node.counters(), s.node.child.CPU()
	disk, from := written(s.node.Pid()), time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(generations * s.Refresh):
	}
	now := s.node.counters()
	var count, seconds, events float64
	for _, c := range s.site.chains {
		name := func(metric string) string { return metric + `{chain="` + strconv.FormatInt(c, 10) + `"}` }
		one := now[name("tidemark_chain_refresh_seconds_count")] - was[name("tidemark_chain_refresh_seconds_count")]
		took := now[name("tidemark_chain_refresh_seconds_sum")] - was[name("tidemark_chain_refresh_seconds_sum")]
		count, seconds = count+one, seconds+took
		events += now[name("tidemark_chain_events_total")] - was[name("tidemark_chain_events_total")]
		if one > 0 {
			out.Values = append(out.Values, report.Value{
				Name: fmt.Sprintf("refresh of chain %d", c), Value: took / one, Unit: "s"})
		}
	}
	if count == 0 {
		return fmt.Errorf("no chain refreshed within %s", time.Since(from))
	}
	out.Values = append(out.Values,
		report.Value{Name: "refreshes", Value: count},
		report.Value{Name: "CPU a refresh", Value: (s.node.child.CPU() - before).Seconds() / count, Unit: "s"},
		report.Value{Name: "time a refresh", Value: seconds / count, Unit: "s"},
		report.Value{Name: "written a refresh", Value: float64(written(s.node.Pid())-disk) / count / 1e6, Unit: "MB"},
		report.Value{Name: "events a refresh", Value: events / count})
	return nil
}

// generations waits until every chain has published so many more.
func (n *node) generations(ctx context.Context, more uint64) error {
	first, err := n.health()
	if err != nil {
		return err
	}
	was := map[int64]uint64{}
	for _, c := range first.Chains {
		if c.Generation != nil {
			was[c.ChainID] = *c.Generation
		}
	}
	for {
		h, err := n.health()
		if err != nil {
			return err
		}
		waiting := false
		for _, c := range h.Chains {
			waiting = waiting || c.Generation == nil || *c.Generation < was[c.ChainID]+more
		}
		if !waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// runRestart times a stop and a start up to the first page and up to fresh
// generations of all chains.
func runRestart(ctx context.Context, s *suite, out *report.Scenario) error {
	before := time.Now()
	if err := s.stopNode(); err != nil {
		return err
	}
	stopped := time.Since(before)
	if err := s.startNode(ctx, live); err != nil {
		return err
	}
	page, err := s.node.firstPage(ctx, s.keys[0])
	if err != nil {
		return err
	}
	if err := s.node.generations(ctx, 1); err != nil {
		return err
	}
	out.Connections = 0
	out.Values = append(out.Values,
		report.Value{Name: "stop", Value: stopped.Seconds(), Unit: "s"},
		report.Value{Name: "first page", Value: page.Seconds(), Unit: "s"},
		report.Value{Name: "fresh generations", Value: time.Since(s.node.Began).Seconds(), Unit: "s"})
	return nil
}

// firstPage asks until a page comes and returns how long after the process
// began that was.
func (n *node) firstPage(ctx context.Context, key string) (time.Duration, error) {
	for {
		status, _, _, err := n.ask("/v1/positions", key)
		if err == nil && status == 200 {
			return time.Since(n.Began), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pollEvery / 10):
		}
	}
}

// runStart times a node with the default configuration on an empty directory.
func runStart(ctx context.Context, s *suite, out *report.Scenario) error {
	dir := filepath.Join(s.scratch, "empty")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	keys, err := corpus.AddKeys(filepath.Join(dir, "data"),
		[]corpus.Grant{{Plan: "unlimited", Accounts: 1, Keys: 1}})
	if err != nil {
		return err
	}
	var units report.Units // of other accounts
	n, err := startNode(ctx, &s.cores, launch{
		exe: s.Exe, data: filepath.Join(dir, "data"), scratch: dir,
	}, &units)
	if err != nil {
		return err
	}
	page, err := n.firstPage(ctx, keys[0][0])
	if stopErr := n.Stop(); err == nil {
		err = stopErr
	}
	out.Connections = 0
	out.Values = append(out.Values, report.Value{Name: "first page", Value: page.Seconds(), Unit: "s"})
	return err
}
