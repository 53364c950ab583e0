package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"tidemark/bench/process"
	tidemark "tidemark/edge/client/go"
	"tidemark/rankings"
)

// target is what is known of the node's content: where requests can go.
type target struct {
	chains    []int64
	positions []string // paths of details, the most valuable first
	pools     []string
	rows      map[int64]listRows // of the default question by chain; 0: all of them
	all       int                // rows when nothing is left out
	ids       []idRange          // of positions, by chain
	charts    bool               // charts are served
	aged      []string           // paths of details of open positions that are a year old
	longest   string             // the detail with the most transactions that was found
	entries   int                // of it
}

// listRows are the lengths of a chain's lists.
type listRows struct{ valued, open int }

// idRange is where the ids of a chain's positions lie.
type idRange struct {
	chain       int64
	least, most uint64
}

const (
	// valuedSorts is how many orders, the first ones, leave out rows without value.
	valuedSorts = int(rankings.ByROI) + 1
	// everything is the filter that leaves nothing out.
	everything = "status=all&minPoolTvl=0&includeRisky=true"
	// pageRows is the default size of a page, which the figures are about.
	pageRows = rankings.DefaultLimit
	// Pages of 100 rows of each list, and details of valuable positions, to look through.
	discoverPages   = 5
	discoverDetails = 40
	// yearSeconds is how old a position must be for charts over a year.
	yearSeconds = 365 * 24 * 3600
	// patience bounds how long a deep page may tell to come again.
	patience = time.Minute
)

// pages returns how many pages of 20 a question has at least.
func (t *target) pages(chain int64, sort int) int {
	if sort < valuedSorts {
		return max(1, t.rows[chain].valued/pageRows)
	}
	return max(1, t.rows[chain].open/pageRows)
}

func chainFilter(chain int64) string {
	if chain == 0 {
		return ""
	}
	return fmt.Sprintf("&chainId=%d", chain)
}

func positionPaths(rows []tidemark.Position) (all []string) {
	for i := range rows {
		all = append(all, fmt.Sprintf("/v1/positions/%d/%s/%s", rows[i].ChainID, rows[i].Protocol,
			rows[i].PositionID))
	}
	return all
}

// getUntil asks for a page until it comes: a deep one may first be told to come again.
func getUntil[T any](s *suite, format string, args ...any) (answer T, err error) {
	path := fmt.Sprintf(format, args...)
	for end := time.Now().Add(patience); ; time.Sleep(process.PollEvery) {
		a, err := s.askOnce(path)
		if err == nil && a.Status == 503 && time.Now().Before(end) && s.ctx.Err() == nil {
			continue
		}

		if err == nil && a.Status != 200 {
			err = fmt.Errorf("it is a %d: %.200s", a.Status, a.Body)
		}
		if err == nil {
			err = json.Unmarshal(a.Body, &answer)
		}
		if err != nil {
			err = fmt.Errorf("cannot read the answer to %s: %w", path, err)
		}
		return answer, err
	}
}

// discover asks the node for everything that mixes need.
func (s *suite) discover() (*target, error) {
	t := &target{rows: map[int64]listRows{}}
	h, err := s.node.Health()
	if err != nil {
		return nil, err
	}
	t.chains = slices.Sorted(maps.Keys(generations(&h)))

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
		valued, err := s.countRows(rankings.PositionSorts[0], chain, t.all)
		open, openErr := s.countRows(rankings.PositionSorts[valuedSorts], chain, t.all)
		if err := errors.Join(err, openErr); err != nil {
			return err
		}
		t.rows[chain] = listRows{valued, open}
	}
	return nil
}

// countRows finds how many rows a list has. Where its count stops at a cap, the
// last of its full pages of 100 is looked for by halving.
func (s *suite) countRows(order string, chain int64, atMost int) (int, error) {
	const limit = 100
	ask := func(limit, page int) (tidemark.PositionList, error) {
		return getUntil[tidemark.PositionList](s, "/v1/positions?sort=%s%s&limit=%d&page=%d", order,
			chainFilter(chain), limit, page)
	}
	l, err := ask(1, 1)
	if err != nil || !l.Pagination.TotalCapped {
		return int(l.Pagination.Total), err
	}

	full := sort.Search(atMost/limit+1, func(page int) bool {
		l, pageErr := ask(limit, page+1)
		err = errors.Join(err, pageErr)
		return len(l.Positions) < limit
	})
	return full * limit, err
}

// findPopular looks for what most people ask for.
func (s *suite) findPopular(t *target) error {
	for page := range discoverPages {
		positions, err := getUntil[tidemark.PositionList](s,
			"/v1/positions?sort=underlying_value&limit=100&page=%d", page+1)
		if err != nil {
			return err
		}
		pools, err := getUntil[tidemark.PoolList](s, "/v1/pools?limit=100&page=%d", page+1)
		if err != nil {
			return err
		}
		t.positions = append(t.positions, positionPaths(positions.Positions)...)
		for i := range pools.Pools {
			p := &pools.Pools[i]
			t.pools = append(t.pools, fmt.Sprintf("/v1/pools/%d/%s/%s", p.ChainID, p.Protocol, p.PoolID))
		}
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
			l, err := getUntil[tidemark.PositionList](s, "/v1/positions?limit=1&sort=%s&%s%s", order,
				everything, chainFilter(chain))
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
// all and the most valuable ones, years among the first; and for charts.
func (s *suite) findLong(t *target) error {
	var candidates []string
	for page := range discoverPages {
		l, err := getUntil[tidemark.PositionList](s,
			"/v1/positions?sort=nft_id_asc&limit=100&page=%d&%s", page+1, everything)
		if err != nil {
			return err
		}
		if page == 0 {
			candidates = positionPaths(l.Positions)
		}
		t.aged = append(t.aged, positionPaths(slices.DeleteFunc(l.Positions, func(p tidemark.Position) bool {
			return !p.IsActive || p.Metrics.AgeSeconds < yearSeconds
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
