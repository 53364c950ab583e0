package torture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
)

// mix draws requests as users make them. Several goroutines may use one, each with
// its own randomness.
type mix struct {
	filters atomic.Int64 // how many new filters were made
}

// The chains of the simulated market, and how many ids each has at least.
var (
	chains = []struct{ id, positions int }{{1, 3000}, {42161, 2400}, {43114, 1500}}

	positionSorts = []string{
		"apr", "pnl", "underlying_value", "fee_apr", "roi", "age", "nft_id_desc", "nft_id_asc",
	}
	poolSorts = []string{"tvl", "volume", "fees", "fee_apr", "age"}
	searches  = []string{"eth", "usd", "link", "0xa", "btc", "dai", "zzz"}
)

// often draws from 0 to n-1, small numbers more often: the k-th about 1/k as often
// as the first.
func often(r *rand.Rand, n int) int {
	return min(n-1, int(math.Exp(r.Float64()*math.Log(float64(n)+1)))-1)
}

// draw returns the path of the next request.
func (m *mix) draw(r *rand.Rand) string {
	switch n := r.IntN(100); {
	case n < 50:
		return m.page(r)
	case n < 60:
		return fmt.Sprintf("/v1/pools?sort=%s&page=%d", poolSorts[often(r, len(poolSorts))], 1+often(r, 8))
	case n < 74:
		return position(r, "")
	case n < 79:
		return position(r, "/explain")
	case n < 83:
		return position(r, "/charts?range="+[]string{"30d", "90d", "all"}[r.IntN(3)])
	case n < 86:
		return "/v1/pools?search=" + searches[often(r, len(searches))]
	case n < 91:
		return m.newFilter(r)
	case n < 94:
		return "/v1/usage"
	}
	return []string{"/v1/chains", "/v1/stats", "/v1/plans", "/health"}[r.IntN(4)]
}

// page is a page of a default ranking.
func (m *mix) page(r *rand.Rand) string {
	path := fmt.Sprintf("/v1/positions?sort=%s&page=%d",
		positionSorts[often(r, len(positionSorts))], 1+often(r, 100))
	if c := r.IntN(4); c < len(chains) {
		path += fmt.Sprintf("&chainId=%d", chains[c].id)
	}
	return path
}

// newFilter is a list that nobody has asked for: its selection is work.
func (m *mix) newFilter(r *rand.Rand) string {
	n := m.filters.Add(1)
	return fmt.Sprintf("/v1/positions?sort=%s&status=all&includeRisky=true&minPoolTvl=0&minValueUsd=%d.%06d",
		positionSorts[r.IntN(len(positionSorts))], n%1000, n)
}

func position(r *rand.Rand, suffix string) string {
	c := chains[r.IntN(len(chains))]
	return fmt.Sprintf("/v1/positions/%d/swapdex-v4/%d%s", c.id, 1+often(r, c.positions), suffix)
}
