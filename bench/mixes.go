package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// path appends the path of a request.
type path = func(dst []byte, r *rand.Rand) []byte

// Units of the routes.
const (
	unitsList   = 1
	unitsPools  = 2
	unitsDetail = 1
	unitsCharts = 10
)

// drawZipf draws from 0 to n-1, small numbers more often: the k-th about 1/k as
// often as the first. It inverts the integral of 1/x, and needs no state.
func drawZipf(r *rand.Rand, n int) int {
	return min(n-1, int(math.Exp(r.Float64()*math.Log(float64(n)+1)))-1)
}

// single is a mix of one kind of request.
func single(name string, units int64, path path, accept ...int) load.Mix {
	return load.Mix{{Name: name, Weight: 1, Path: path, Units: units, Accept: accept}}
}

// hotPage is the first page that everybody asks for.
func hotPage(*target) load.Mix { return single("page 1", unitsList, load.Fixed("/v1/positions")) }

// listPage asks for any chain or all, any order, and a page that draw picks among so many.
func listPage(t *target, draw func(r *rand.Rand, pages int) int) path {
	chains := append([]int64{0}, t.chains...)

	return func(dst []byte, r *rand.Rand) []byte {
		chain, sort := chains[r.IntN(len(chains))], r.IntN(len(rankings.PositionSorts))
		dst = append(append(dst, "/v1/positions?sort="...), rankings.PositionSorts[sort]...)
		dst = append(dst, "&page="...)
		dst = strconv.AppendInt(dst, int64(1+draw(r, t.pages(chain, sort))), 10)
		if chain != 0 {
			dst = strconv.AppendInt(append(dst, "&chainId="...), chain, 10)
		}
		return dst
	}
}

// zipfMix is what users do: first pages mostly, popular rows mostly.
func zipfMix(t *target) load.Mix {
	const deepest = 200 // pages that people go to
	near := func(r *rand.Rand, pages int) int { return drawZipf(r, min(pages, deepest)) }

	pools := func(dst []byte, r *rand.Rand) []byte {
		order := rankings.PoolSorts[drawZipf(r, len(rankings.PoolSorts))]
		dst = append(append(dst, "/v1/pools?sort="...), order...)
		return strconv.AppendInt(append(dst, "&page="...), int64(1+drawZipf(r, 10)), 10)
	}

	m := load.Mix{
		{Name: "positions", Weight: 60, Path: listPage(t, near), Units: unitsList},
		{Name: "pools", Weight: 10, Path: pools, Units: unitsPools},
		{Name: "position", Weight: 14, Path: oneOf(t.positions, ""), Units: unitsDetail},
		{Name: "pool", Weight: 6, Path: oneOf(t.pools, ""), Units: unitsDetail},
		{Name: "chains", Weight: 3, Path: load.Fixed("/v1/chains")},
		{Name: "stats", Weight: 2, Path: load.Fixed("/v1/stats")},
	}

	if t.charts {
		m = append(m,
			load.Part{
				Name: "position charts", Weight: 3, Path: oneOf(t.positions, "/charts"), Units: unitsCharts,
			},
			load.Part{Name: "pool charts", Weight: 2, Path: oneOf(t.pools, "/charts"), Units: unitsCharts})
	}
	return m
}

// oneOf draws by popularity.
func oneOf(paths []string, suffix string) path {
	return func(dst []byte, r *rand.Rand) []byte {
		return append(append(dst, paths[drawZipf(r, len(paths))]...), suffix...)
	}
}

// anyPosition asks about any id of any chain, each as likely; some were never minted.
func anyPosition(t *target, suffix string) path {
	return func(dst []byte, r *rand.Rand) []byte {
		ids := &t.ids[r.IntN(len(t.ids))]
		return fmt.Appendf(dst, "/v1/positions/%d/%s/%d%s", ids.chain, market.Protocol,
			ids.least+r.Uint64N(ids.most-ids.least+1), suffix)
	}
}

// longestDetail asks for the longest history: of a corpus, over a thousand transactions.
func longestDetail(t *target) load.Mix {
	return single("detail", unitsDetail, load.Fixed(t.longest))
}

func anyDetail(t *target) load.Mix { return single("detail", unitsDetail, anyPosition(t, ""), 404) }

func anyCharts(t *target) load.Mix { return chartsMix(t, anyPosition(t, "/charts")) }

// agedCharts are charts over a year and more, of positions that are as old.
func agedCharts(t *target) load.Mix {
	if len(t.aged) == 0 {
		return nil
	}
	return chartsMix(t, oneOf(t.aged, "/charts?range=all"))
}

func chartsMix(t *target, path path) load.Mix {
	if !t.charts {
		return nil
	}
	return single("charts", unitsCharts, path, 404)
}

// uncachedPages are pages of the default questions, all of them as likely.
func uncachedPages(t *target) load.Mix {
	uniform := func(r *rand.Rand, pages int) int { return r.IntN(pages) }
	return single("any page", unitsList, listPage(t, uniform))
}

// pagesFrom walks pages of all chains merged, from one on, and never asks for
// the same page twice within so many.
func pagesFrom(name string, first, many int) load.Mix {
	var next atomic.Uint64
	return single(name, unitsList, func(dst []byte, _ *rand.Rand) []byte {
		n := next.Add(1)
		sort := rankings.PositionSorts[valuedSorts:][n%5] // the others leave out rows
		page := uint64(first) + n/5%uint64(max(1, many))
		return fmt.Appendf(dst, "/v1/positions?sort=%s&%s&page=%d", sort, everything, page)
	})
}

// newFilters never repeats a filter; the first is the one after number from.
func newFilters(from uint64) load.Mix {
	var next atomic.Uint64
	next.Store(from)
	return single("new filter", unitsList, func(dst []byte, _ *rand.Rand) []byte {
		return corpus.AppendFilter(append(dst, "/v1/positions"...), next.Add(1))
	})
}

// laterPages are deeper pages of a few filters that are known by then.
func laterPages(*target) load.Mix {
	const filters, pages = 24, 500 // fewer than the selections that are kept
	return single("known filter", unitsList, func(dst []byte, r *rand.Rand) []byte {
		return fmt.Appendf(dst, "/v1/positions?sort=%s&minPoolTvl=%d&minValueUsd=1&page=%d",
			rankings.PositionSorts[r.IntN(6)], 2000+1000*r.IntN(filters/6), 2+r.IntN(pages))
	})
}

// refusals are what a node answers that is asked for too much.
var refusals = []int{429, 503}

// alsoAccept returns a mix whose parts may also be answered with these statuses.
func alsoAccept(m load.Mix, statuses ...int) load.Mix {
	for i := range m {
		m[i].Accept = append(m[i].Accept, statuses...)
	}
	return m
}
