package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
	"tidemark/rankings"
)

// scenario is one thing to measure: a mix, or what Run does.
type scenario struct {
	Name, What string
	List       string // digest of the list of paths that it asks for; empty: there is none
	Mode       mode   // of the node
	Own        bool   // needs a node of our own
	Everybody  bool   // asks with every key of the run, else with one a connection
	// RateOf is the scenario whose rate this one takes. It has to be in the same run.
	RateOf string

	Mix     func(*target) load.Mix // nil of a target: it has nothing to ask for
	Header  string                 // of every request
	Rate    float64                // requests a second, without a comparison; 0: closed loop
	Numbers bool                   // strconv of the answers' numbers is measured too
	Run     func(context.Context, *suite, *report.Scenario) error
}

// table has the scenarios in the order in which they run: those on a market
// that stands still first, since one that went on does not go back.
var table = []scenario{
	{Name: "hot", What: "the first page of 20, any of many keys", Everybody: true,
		Mix: hotPage},
	{Name: "hot-gzip", What: "the same, asked with gzip", Everybody: true,
		Mix: hotPage, Header: "Accept-Encoding: gzip\r\n"},
	{Name: "hot-zstd", What: "the same, asked with zstd", Everybody: true,
		Mix: hotPage, Header: "Accept-Encoding: zstd\r\n"},
	{Name: "zipf", What: "all routes as users ask them: lists 70, details 20, charts 5, metadata 5",
		Everybody: true, Mix: zipfMix},
	{Name: "filter", What: "filters never seen before, one after the other", Run: runFilter},
	{Name: "half", What: "the hot page at half its capacity, open loop", Everybody: true, Run: runHalf},
	{Name: "storm", What: "accounts whose quota ends while they ask", Own: true, Run: runStorm},
	{Name: "half-two", What: "the hot page at half its capacity, two processors", Mode: two,
		Own: true, Everybody: true, Run: runHalf},

	{Name: "uncached", What: "any page of 20 of any order and chain; page cache off", Mode: bare,
		Mix: uncachedPages},
	{Name: "later", What: "deeper pages of filters that are known by then; page cache off", Mode: bare,
		Mix: laterPages},
	{Name: "deep", What: "the last pages of all chains merged, and the first; page cache off",
		Mode: bare, Run: runDeep},
	{Name: "detail-1000", What: "the position with the longest history; page cache off", Mode: bare,
		Mix: longestDetail, Numbers: true},
	{Name: "details", What: "any position, each as likely; page cache off", Mode: bare,
		Mix: anyDetail},
	{Name: "charts", What: "charts of any position over 30 days", Mode: bare, Mix: anyCharts,
		Numbers: true},
	{Name: "charts-year", What: "charts of positions older than a year, over all their days",
		Mode: bare, Mix: agedCharts, Numbers: true},
	{Name: "overload", What: "any page at three times the sustainable rate, open loop; page cache off",
		Mode: bare, Run: runOverload},

	{Name: "refresh-calm", What: "a market in which 1 % of the pools moves a refresh, and nobody asks",
		Mode: calm, Own: true, Run: runRefresh},
	{Name: "refresh", What: "a market in which every price moves, and nobody asks", Mode: live,
		Own: true, Run: runRefresh},
	{Name: "half-live", What: "the hot page at the rate of half while chains refresh", Mode: live,
		Own: true, Everybody: true, RateOf: "half", Run: askHotAtRate},
	{Name: "half-live-walks", What: "the same beside 100 pinned walks, a page a second each", Mode: live,
		Own: true, Everybody: true, RateOf: "half", Run: runHalfWalks},
	{Name: "restart", What: "a node that stops and starts again", Mode: live, Own: true, Run: runRestart},
	{Name: "half-live-two", What: "half-live with two processors, at the rate of half-two", Mode: liveTwo,
		Own: true, Everybody: true, RateOf: "half-two", Run: askHotAtRate},

	{Name: "start", What: "an empty directory to the first page", Mode: alone, Own: true, Run: runStart},
	{Name: "pieces", What: "what the Go benchmarks printed", Mode: alone, Own: true, Run: readPieces},
}

// Names lists the scenarios.
func Names() (names []string) {
	for i := range table {
		names = append(names, table[i].Name)
	}
	return names
}

// checkNames returns an error unless every name is of a scenario that can run on a node of
// ours or elsewhere, and has with it the one whose rate that takes. No name at all stands for
// all scenarios.
func checkNames(names []string, elsewhere bool) error {
	all := Names()
	for _, name := range names {
		i := slices.Index(all, name)
		if i < 0 {
			return fmt.Errorf("no scenario %q; there are %s", name, strings.Join(all, ", "))
		}
		if table[i].Own && elsewhere {
			return fmt.Errorf("scenario %s needs a node that the suite starts; it cannot run with --url", name)
		}

		if of := table[i].RateOf; of != "" && !slices.Contains(names, of) {
			return fmt.Errorf("scenario %s takes its rate from %s; run both", name, of)
		}
	}
	return nil
}

// measureMix measures a mix at its rate, or in comparison with the limit, and how long
// strconv takes for the numbers of its answers, where that is wanted.
func (s *suite) measureMix(ctx context.Context, sc *scenario, out *report.Scenario) error {
	mix := sc.Mix(s.target)
	if mix == nil {
		out.Note("the node has nothing that this could ask for")
		return nil
	}
	if out.Rate = sc.Rate; sc.Rate > 0 {
		_, err := s.askAlone(ctx, out, load.Config{Mix: alsoAccept(mix, refusals...), Rate: sc.Rate})
		return err
	}
	if err := s.compareWithLimit(ctx, mix, sc.Header, out); err != nil || !sc.Numbers {
		return err
	}

	micros, err := s.numbersMicros(mix[0].Path)
	out.Set("its numbers by strconv", micros, "µs")
	out.Set("transactions", float64(s.target.entries), "") // of the longest detail
	return err
}

// runFilter measures latencies of one connection that waits for every answer.
func runFilter(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 1
	if _, err := s.askAlone(ctx, out, load.Config{Mix: newFilters(0), Connections: 1}); err != nil {
		return err
	}

	if s.record == nil {
		return nil
	}
	pass, err := s.columnsPass(int(s.record.Corpus.Positions))
	out.Set("one pass over three columns", pass, "ms")
	return err
}

// deepPage is the page that the table of goals is about.
const deepPage = 40_000

// runDeep compares the last pages with the first ones; of a corpus that has no
// page 40,000, those that it has.
func runDeep(ctx context.Context, s *suite, out *report.Scenario) error {
	const span = 400 // pages on each side, none of them twice in a round
	last := min(deepPage, s.target.all/pageRows-1)
	many := max(1, min(span, last/4))
	for _, sort := range rankings.PositionSorts[valuedSorts:] { // once, so that the first visits are over
		_, err := getUntil[json.RawMessage](s, "/v1/positions?sort=%s&%s&page=%d", sort, everything, last)
		if err != nil {
			return err
		}
	}

	_, turn := s.turns()
	side := func(mix load.Mix) load.Side {
		return func(ctx context.Context) (*load.Result, error) {
			return s.ask(ctx, load.Config{Mix: mix, Length: turn})
		}
	}
	err := s.compare(ctx, out, side(pagesFrom("deep", last-many, many)), side(pagesFrom("front", 2, many)))
	if err != nil {
		return err
	}
	out.Comparison = "front pages"
	out.Set("page", float64(last), "")
	if out.RatioCPU > 0 {
		out.Set("CPU of page 1", 1/out.RatioCPU, "x")
	}
	return nil
}

// runHalf asks for the hot page at half the rate that the node reaches.
func runHalf(ctx context.Context, s *suite, out *report.Scenario) error {
	full, err := s.hotCapacity(ctx)
	if err != nil {
		return err
	}
	out.Rate = full / 2
	return askHotAtRate(ctx, s, out)
}

// hotCapacity returns how many hot pages a second the node reaches: with one processor what
// the scenario of that page has found, if it ran, else the median of the turns of a round.
// Within a few seconds a machine that others use may be a third faster than it is.
func (s *suite) hotCapacity(ctx context.Context) (perSecond float64, err error) {
	if hot := s.run.Scenario("hot"); hot != nil && s.mode.cores == 0 {
		return hot.Node.PerSecond, nil
	}

	turns, length := s.turns()
	sides, err := load.InTurns(ctx, turns, func(ctx context.Context) (*load.Result, error) {
		return s.ask(ctx, load.Config{Mix: hotPage(s.target), Length: length})
	})
	if err != nil {
		return 0, err
	}
	return load.Middle(sides[0], load.Throughput).PerSecond, nil
}

// rateWarmup is how long the hot page is asked for at a rate before it is measured. The first
// request of every account waits for units, which is over by then.
const rateWarmup = 2 * time.Second

// tailRounds is in how many rounds the hot page is asked for at a rate, at most. Each is as long
// as it takes every chain to publish a generation.
const tailRounds = 3

// askHotAtRate asks for the hot page at the scenario's rate, and tells what made answers late.
// Beside refreshes the rate is that of the scenario without: a capacity measured beside them
// is any part of the node's, and a lower rate has shorter delays.
func askHotAtRate(ctx context.Context, s *suite, out *report.Scenario) error {
	before := s.readDelays()
	r, err := s.askInRounds(ctx, out, min(tailRounds, s.Rounds), load.Config{
		Mix: hotPage(s.target), Rate: out.Rate, Length: max(s.Length, s.Refresh), Warmup: rateWarmup,
	})
	if err != nil {
		return err
	}
	after := s.readDelays()
	after.setSince(&before, r, out)
	return nil
}

// runOverload asks three times as much as the node can answer, and looks at
// what the answers say and how the node is afterwards.
func runOverload(ctx context.Context, s *suite, out *report.Scenario) error {
	const times = 3
	mix := alsoAccept(uncachedPages(s.target), refusals...)
	full, err := s.ask(ctx, load.Config{Mix: mix, Length: s.Length / 2})
	if err != nil {
		return err
	}

	out.Rate = times * full.PerSecond
	r, err := s.askAlone(ctx, out, load.Config{Mix: mix, Rate: out.Rate})
	if err != nil {
		return err
	}
	after, err := s.ask(ctx, load.Config{Mix: hotPage(s.target), Connections: 1, Length: s.Length / 4})
	if err != nil {
		return err
	}
	out.Set("of capacity", r.PerSecond/max(full.PerSecond, 1), "")
	out.Set("hot page afterwards, p99", float64(after.Quantile(99).Microseconds()), "µs")
	return nil
}

// runStorm asks with accounts whose quota ends meanwhile: every unit that they
// have is used, and none besides.
func runStorm(ctx context.Context, s *suite, out *report.Scenario) error {
	r, err := s.askAlone(ctx, out, load.Config{Mix: alsoAccept(hotPage(s.target), 429), Keys: s.limited})
	if err != nil {
		return err
	}

	out.Set("units admitted", float64(r.Charged), "")
	out.Set("units of the quotas", limitedQuota, "")
	if r.Charged > limitedQuota {
		out.Wrong++
		out.Note("%d units were admitted; the quotas have %d", r.Charged, limitedQuota)
	}
	return nil
}

// limitedQuota is what the accounts of the limited plan have together.
const limitedQuota = limitedAccounts * corpus.LimitedUnits
