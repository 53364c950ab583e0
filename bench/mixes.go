package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"tidemark/bench/load"
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

// zipf draws from 0 to n-1, small numbers more often: the k-th about 1/k as
// often as the first. It inverts the integral of 1/x, so that it needs no
// state.
func zipf(r *rand.Rand, n int) int {
	return min(n-1, int(math.Exp(r.Float64()*math.Log(float64(n)+1)))-1)
}

// hotPage is the first page that everybody asks for.
func hotPage(*site) load.Mix {
	return load.Mix{{Name: "page 1", Weight: 1, Path: load.Fixed("/v1/positions"), Units: unitsList}}
}

// listPage asks a default question: any chain or all, any order, and a page
// that draw picks among so many.
func listPage(s *site, draw func(r *rand.Rand, pages int) int) path {
	chains := append([]int64{0}, s.chains...)
	return func(dst []byte, r *rand.Rand) []byte {
		chain, sort := chains[r.IntN(len(chains))], positionSorts[r.IntN(len(positionSorts))]
		dst = append(append(dst, "/v1/positions?sort="...), sort...)
		dst = append(dst, "&page="...)
		dst = strconv.AppendInt(dst, int64(1+draw(r, s.pages(chain, sort))), 10)
		if chain != 0 {
			dst = strconv.AppendInt(append(dst, "&chainId="...), chain, 10)
		}
		return dst
	}
}

// zipfMix is what users do: first pages mostly, popular rows mostly.
func zipfMix(s *site) load.Mix {
	const deepest = 200 // pages that people go to
	near := func(r *rand.Rand, pages int) int { return zipf(r, min(pages, deepest)) }
	pools := func(dst []byte, r *rand.Rand) []byte {
		dst = append(append(dst, "/v1/pools?sort="...), poolSorts[zipf(r, len(poolSorts))]...)
		return strconv.AppendInt(append(dst, "&page="...), int64(1+zipf(r, 10)), 10)
	}
	m := load.Mix{
		{Name: "positions", Weight: 60, Path: listPage(s, near), Units: unitsList},
		{Name: "pools", Weight: 10, Path: pools, Units: unitsPools},
		{Name: "position", Weight: 14, Path: oneOf(s.positions, ""), Units: unitsDetail},
		{Name: "pool", Weight: 6, Path: oneOf(s.pools, ""), Units: unitsDetail},
		{Name: "chains", Weight: 3, Path: load.Fixed("/v1/chains")},
		{Name: "stats", Weight: 2, Path: load.Fixed("/v1/stats")},
	}
	if s.charts {
		m = append(m,
			load.Part{
				Name: "position charts", Weight: 3, Path: oneOf(s.positions, "/charts"), Units: unitsCharts,
			},
			load.Part{Name: "pool charts", Weight: 2, Path: oneOf(s.pools, "/charts"), Units: unitsCharts})
	}
	return m
}

// oneOf draws by popularity.
func oneOf(paths []string, suffix string) path {
	return func(dst []byte, r *rand.Rand) []byte {
		return append(append(dst, paths[zipf(r, len(paths))]...), suffix...)
	}
}

// anyPosition asks about any position of any chain, each as likely; ids that
// were never minted are 404s.
func anyPosition(s *site, suffix string) path {
	return func(dst []byte, r *rand.Rand) []byte {
		ids := &s.ids[r.IntN(len(s.ids))]
		dst = strconv.AppendInt(append(dst, "/v1/positions/"...), ids.chain, 10)
		dst = append(dst, "/swapdex-v4/"...)
		dst = strconv.AppendUint(dst, ids.least+r.Uint64N(ids.most-ids.least+1), 10)
		return append(dst, suffix...)
	}
}

// uncachedPages are pages of the default questions, all of them as likely.
func uncachedPages(s *site) load.Mix {
	uniform := func(r *rand.Rand, pages int) int { return r.IntN(pages) }
	return load.Mix{{Name: "any page", Weight: 1, Path: listPage(s, uniform), Units: unitsList}}
}

// pagesFrom walks pages of all chains merged, from one on, and never asks for
// the same page twice within so many.
func pagesFrom(name string, first, many int, units int64) load.Mix {
	var next atomic.Uint64
	walk := func(dst []byte, _ *rand.Rand) []byte {
		n := next.Add(1)
		sort := positionSorts[3:][n%5] // those without exclusions have every row
		dst = append(append(dst, "/v1/positions?sort="...), sort...)
		dst = append(append(dst, '&'), everything...)
		page := int64(first) + int64(n/5)%int64(max(1, many))
		return strconv.AppendInt(append(dst, "&page="...), page, 10)
	}
	return load.Mix{{Name: name, Weight: 1, Path: walk, Units: units}}
}

// newFilters never repeats a filter.
func newFilters(s *site) load.Mix {
	return load.Mix{{
		Name: "new filter", Weight: 1, Path: filterPath(s, new(atomic.Uint64), 1), Units: unitsList,
	}}
}

// filterPath makes filters that differ in two floors, and in range and status.
func filterPath(s *site, next *atomic.Uint64, page int) path {
	ranges := []string{"", "&range=in", "&range=out"}
	sorts := positionSorts[:6]
	return func(dst []byte, _ *rand.Rand) []byte {
		n := next.Add(1)
		mixed := n * 0x9e3779b97f4a7c15 // so that neighbours differ in everything
		dst = append(append(dst, "/v1/positions?sort="...), sorts[mixed>>8%6]...)
		dst = append(dst, ranges[mixed>>16%3]...)
		value := math.Exp(float64(mixed>>40) / float64(1<<24) * math.Log(20_000))
		dst = append(dst, "&minValueUsd="...)
		dst = strconv.AppendFloat(dst, value, 'f', 3, 64)
		dst = append(dst, "&minPoolTvl="...)
		dst = strconv.AppendUint(dst, mixed>>20%50_000, 10)
		dst = strconv.AppendUint(append(dst, '.'), n, 10) // never the same
		return strconv.AppendInt(append(dst, "&page="...), int64(page), 10)
	}
}

// laterPages are deeper pages of a few filters that are known by then.
func laterPages(s *site) load.Mix {
	const filters, pages = 24, 500 // fewer than the selections that are kept
	return load.Mix{{Name: "known filter", Weight: 1, Units: unitsList,
		Path: func(dst []byte, r *rand.Rand) []byte {
			dst = fmt.Appendf(dst, "/v1/positions?sort=%s&minPoolTvl=%d&minValueUsd=1",
				positionSorts[r.IntN(6)], 2000+1000*r.IntN(filters/6))
			return strconv.AppendInt(append(dst, "&page="...), int64(2+r.IntN(pages)), 10)
		}}}
}

// storm accepts that a quota is used up.
func storm(s *site) load.Mix {
	m := hotPage(s)
	m[0].Accept = []int{429}
	return m
}

// overload accepts that a server says it is busy.
func overload(s *site) load.Mix {
	m := uncachedPages(s)
	m[0].Accept = []int{429, 503}
	return m
}
