package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"time"

	"tidemark/bench/process"
)

// target is what is known of the node's content: where requests can go.
type target struct {
	chains    []int64
	positions []string // paths of details, the most valuable first
	pools     []string
	rows      map[string]int // rows of the default question by chain ("" all) and sort
	all       int            // rows when nothing is left out
	ids       []idRange      // of positions, by chain
	charts    bool           // charts are served
	aged      []string       // paths of details of open positions that are a year old
	longest   string         // the detail with the most transactions that was found
	entries   int            // of it
}

// idRange is where the ids of a chain's positions lie.
type idRange struct {
	chain       int64
	least, most uint64
}

// positionSorts and poolSorts are the orders of the lists.
var (
	positionSorts = []string{
		"apr", "fee_apr", "roi", "pnl", "underlying_value", "age", "nft_id_asc", "nft_id_desc",
	}
	poolSorts = []string{"tvl", "volume", "fees", "fee_apr", "age"}
)

const (
	// everything is the filter that leaves nothing out.
	everything = "status=all&minPoolTvl=0&includeRisky=true"
	// pageRows is the default size of a page, which the figures are about.
	pageRows = 20
	// Pages of 100 rows of each list that are looked through, and details of
	// the most valuable positions.
	discoverPages   = 5
	discoverDetails = 40
	// yearDays is how old a position must be for charts over a year.
	yearDays = 365
	// patience bounds how long a deep page may tell to come again.
	patience = time.Minute
)

// pages returns how many pages of 20 a question has at least.
func (t *target) pages(chain int64, sort string) int {
	return max(1, t.rows[chainFilter(chain)+sort]/pageRows)
}

func chainFilter(chain int64) string {
	if chain == 0 {
		return ""
	}
	return fmt.Sprintf("&chainId=%d", chain)
}

// listed is a list's answer as far as it is of interest.
type listed struct {
	Positions, Pools []row
	Pagination       struct {
		Total       int
		TotalCapped bool
	}
}

type row struct {
	ChainID                      int64
	Protocol, PositionID, PoolID string
	IsActive                     bool
	Metrics                      struct{ AgeSeconds int64 }
	Pricing                      struct{ NativePriceUsd float64 }
}

// detailPaths are where the details of positions or of pools are.
func detailPaths(rows []row) (all []string) {
	for i := range rows {
		r := &rows[i]
		if r.PositionID == "" {
			all = append(all, fmt.Sprintf("/v1/pools/%d/%s/%s", r.ChainID, r.Protocol, r.PoolID))
		} else {
			all = append(all, fmt.Sprintf("/v1/positions/%d/%s/%s", r.ChainID, r.Protocol,
				url.PathEscape(r.PositionID)))
		}
	}
	return all
}

// getUntil asks for a page until it comes, and reads it into l: the first visits
// of a deep one may be told to come again.
func (s *suite) getUntil(path string, l any) error {
	for end := time.Now().Add(patience); ; time.Sleep(process.PollEvery) {
		a, err := s.askOnce(path)
		if err == nil && a.Status == 503 && time.Now().Before(end) {
			continue
		}

		if err == nil && a.Status != 200 {
			err = fmt.Errorf("it is a %d: %.200s", a.Status, a.Body)
		}
		if err == nil {
			err = json.Unmarshal(a.Body, l)
		}
		if err != nil {
			return fmt.Errorf("cannot read the answer to %s: %w", path, err)
		}
		return nil
	}
}

// askList asks for a list.
func (s *suite) askList(format string, args ...any) (l listed, err error) {
	return l, s.getUntil(fmt.Sprintf(format, args...), &l)
}

// discover asks the node for everything that mixes need.
func (s *suite) discover() (*target, error) {
	t := &target{rows: map[string]int{}}
	h, err := s.node.Health()
	if err != nil {
		return nil, err
	}
	for _, c := range h.Chains {
		if c.Generation != nil {
			t.chains = append(t.chains, c.ChainID)
		}
	}

	for _, find := range []func(*target) error{s.findRows, s.findPopular, s.findIDs, s.findLong} {
		if err := find(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// findRows asks how long the lists are.
func (s *suite) findRows(t *target) error {
	stats, err := s.askStats()
	if err != nil {
		return err
	}
	t.all = int(stats.Positions)

	for _, chain := range append([]int64{0}, t.chains...) {
		for _, order := range positionSorts {
			where := chainFilter(chain)
			if t.rows[where+order], err = s.countRows("/v1/positions?sort="+order+where, t.all); err != nil {
				return err
			}
		}
	}
	return nil
}

// countRows finds how many rows a list has. Where its count stops at a cap, the
// last of its full pages of 100 is looked for by halving.
func (s *suite) countRows(path string, atMost int) (int, error) {
	const limit = 100
	l, err := s.askList("%s&limit=1", path)
	if err != nil || !l.Pagination.TotalCapped {
		return l.Pagination.Total, err
	}
	full := sort.Search(atMost/limit+1, func(page int) bool {
		l, pageErr := s.askList("%s&limit=%d&page=%d", path, limit, page+1)
		err = errors.Join(err, pageErr)
		return len(l.Positions) < limit
	})
	return full * limit, err
}

// findPopular looks for what most people ask for.
func (s *suite) findPopular(t *target) error {
	for page := 1; page <= discoverPages; page++ {
		positions, err := s.askList("/v1/positions?sort=underlying_value&limit=100&page=%d", page)
		if err != nil {
			return err
		}
		pools, err := s.askList("/v1/pools?limit=100&page=%d", page)
		if err != nil {
			return err
		}
		t.positions = append(t.positions, detailPaths(positions.Positions)...)
		t.pools = append(t.pools, detailPaths(pools.Pools)...)
	}

	if len(t.positions) == 0 || len(t.pools) == 0 {
		return fmt.Errorf("the node lists %d positions and %d pools by default; "+
			"there is nothing to ask for", len(t.positions), len(t.pools))
	}
	return nil
}

// findIDs asks for the least and the greatest id of every chain.
func (s *suite) findIDs(t *target) error {
	for _, chain := range t.chains {
		var ends [2]uint64

		for i, order := range []string{"nft_id_asc", "nft_id_desc"} {
			l, err := s.askList("/v1/positions?limit=1&sort=%s&%s%s", order, everything, chainFilter(chain))
			if err == nil && len(l.Positions) > 0 {
				ends[i], err = strconv.ParseUint(l.Positions[0].PositionID, 10, 64)
			}
			if err != nil {
				return fmt.Errorf("cannot find the ids of chain %d: %w", chain, err)
			}
		}
		t.ids = append(t.ids, idRange{chain, ends[0], max(ends[0], ends[1])})
	}
	return nil
}

// findLong looks for long histories: transactions among the first positions of
// all and the most valuable ones, years among the first; and whether charts are
// served.
func (s *suite) findLong(t *target) error {
	var candidates []string
	for page := 1; page <= discoverPages; page++ {
		l, err := s.askList("/v1/positions?sort=nft_id_asc&limit=100&page=%d&%s", page, everything)
		if err != nil {
			return err
		}
		if page == 1 {
			candidates = detailPaths(l.Positions)
		}
		t.aged = append(t.aged, detailPaths(slices.DeleteFunc(l.Positions, func(p row) bool {
			return !p.IsActive || p.Metrics.AgeSeconds < yearDays*24*3600
		}))...)
	}
	for i := 0; i < len(t.positions); i += max(1, len(t.positions)/discoverDetails) {
		candidates = append(candidates, t.positions[i])
	}

	for _, path := range candidates {
		a, err := s.askOnce(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(a.Body, []byte(`"txHash"`)); n > t.entries {
			t.longest, t.entries = path, n
		}
	}
	a, err := s.askOnce(t.positions[0] + "/charts")
	t.charts = err == nil && a.Status == 200
	return err
}
