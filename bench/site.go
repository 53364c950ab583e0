package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// site is what is known of the node's content: where requests can go.
type site struct {
	chains    []int64
	positions []string // paths of details, the most valuable first
	pools     []string
	owners    []string
	rows      map[string]int // rows of the default question by chain ("" all) and sort
	all       int            // rows when nothing is left out
	charts    bool           // charts are served
	aged      []string       // paths of details of open positions that are a year old
	ids       []idRange      // of positions, by chain
	longest   string         // the detail with the most transactions that was seen
	entries   int            // of it
}

// idRange is where the ids of a chain's positions lie.
type idRange struct {
	chain       int64
	least, most uint64
}

// positionSorts are the orders of the list of positions.
var positionSorts = []string{
	"apr", "fee_apr", "roi", "pnl", "underlying_value", "age", "nft_id_asc", "nft_id_desc",
}

// poolSorts are the orders of the list of pools.
var poolSorts = []string{"tvl", "volume", "fees", "fee_apr", "age"}

// everything is the filter that leaves nothing out.
const everything = "status=all&minPoolTvl=0&includeRisky=true"

const (
	discoverPages = 5 // of 100 rows, of each list and chain
	discoverLong  = 40
)

// listed is a list's answer as far as it is of interest.
type listed struct {
	Positions, Pools []row
	Pagination       struct {
		Total       int
		HasMore     bool
		TotalCapped bool
	}
}

type row struct {
	ChainID    int64
	Protocol   string
	PositionID string
	PoolID     string
	Owner      string
	IsActive   bool
	Metrics    struct{ AgeSeconds int64 }
}

// path is where the detail of a position is.
func (r *row) path() string {
	return fmt.Sprintf("/v1/positions/%d/%s/%s", r.ChainID, r.Protocol, url.PathEscape(r.PositionID))
}

// discover asks the node for everything that mixes need.
func discover(n *node, key string) (*site, error) {
	s := &site{rows: map[string]int{}}
	h, err := n.health()
	if err != nil {
		return nil, err
	}
	for _, c := range h.Chains {
		if c.Generation != nil {
			s.chains = append(s.chains, c.ChainID)
		}
	}
	if err := s.findRows(n, key); err != nil {
		return nil, err
	}
	for page := 1; page <= discoverPages; page++ {
		var l listed
		path := fmt.Sprintf("/v1/positions?sort=underlying_value&limit=100&page=%d", page)
		if _, err := s.list(n, key, path, &l); err != nil {
			return nil, err
		}
		for _, p := range l.Positions {
			s.positions = append(s.positions, p.path())
			s.owners = append(s.owners, p.Owner)
		}
		l = listed{}
		if _, err := s.list(n, key, fmt.Sprintf("/v1/pools?limit=100&page=%d", page), &l); err != nil {
			return nil, err
		}
		for _, p := range l.Pools {
			s.pools = append(s.pools, fmt.Sprintf("/v1/pools/%d/%s/%s", p.ChainID, p.Protocol, p.PoolID))
		}
	}
	if len(s.positions) == 0 || len(s.pools) == 0 {
		return nil, fmt.Errorf("the node lists %d positions and %d pools by default; "+
			"there is nothing to ask for", len(s.positions), len(s.pools))
	}
	if err := s.findIDs(n, key); err != nil {
		return nil, err
	}
	return s, s.findLong(n, key)
}

// findIDs asks for the least and the greatest id of every chain.
func (s *site) findIDs(n *node, key string) error {
	for _, chain := range s.chains {
		ends := [2]uint64{}
		for i, sort := range []string{"nft_id_asc", "nft_id_desc"} {
			var l listed
			path := "/v1/positions?limit=1&sort=" + sort + "&" + everything + chainFilter(chain)
			if _, err := s.list(n, key, path, &l); err != nil {
				return err
			}
			if len(l.Positions) == 0 {
				continue
			}
			id, err := strconv.ParseUint(l.Positions[0].PositionID, 10, 64)
			if err != nil {
				return fmt.Errorf("chain %d has the position %q: %w", chain, l.Positions[0].PositionID, err)
			}
			ends[i] = id
		}
		s.ids = append(s.ids, idRange{chain, ends[0], max(ends[0], ends[1])})
	}
	return nil
}

// list asks for a list and returns how many rows the whole of it has.
func (s *site) list(n *node, key, path string, l *listed) (total int, err error) {
	if err := s.reachPage(n, key, path, l); err != nil {
		return 0, err
	}
	return l.Pagination.Total, nil
}

// findRows asks how long the lists are.
func (s *site) findRows(n *node, key string) error {
	if err := s.findAll(n); err != nil {
		return err
	}
	for _, chain := range append([]int64{0}, s.chains...) {
		for _, sort := range positionSorts {
			where := chainFilter(chain)
			var l listed
			path := "/v1/positions?sort=" + sort + where
			total, err := s.list(n, key, path+"&limit=1", &l)
			if err == nil && l.Pagination.TotalCapped {
				total, err = s.measureList(n, key, path, total)
			}
			if err != nil {
				return err
			}
			s.rows[where+sort] = total
		}
	}
	return nil
}

// measureList finds how many rows a list has whose count stops at a cap, by
// halving the pages of 100 that may be its last.
func (s *site) measureList(n *node, key, path string, atLeast int) (int, error) {
	const limit = 100
	full, empty := atLeast/limit, s.all/limit+2
	for empty-full > 1 {
		middle := (full + empty) / 2
		var l listed
		asked := fmt.Sprintf("%s&limit=%d&page=%d", path, limit, middle)
		if err := s.reachPage(n, key, asked, &l); err != nil {
			return 0, err
		}
		if len(l.Positions) == limit {
			full = middle
		} else {
			empty = middle
		}
	}
	return full * limit, nil
}

// reachPage asks for a deep page until it is reached: its first visits may be
// told to come again. l is what the answer is read into.
func (s *site) reachPage(n *node, key, path string, l any) error {
	for end := time.Now().Add(reachTimeout); ; time.Sleep(pollEvery) {
		status, _, body, err := n.ask(path, key)
		if err != nil {
			return err
		}
		if status == 200 {
			if err := json.Unmarshal(body, l); err != nil {
				return fmt.Errorf("cannot read the answer to %s: %w", path, err)
			}
			return nil
		}
		if status != 503 || time.Now().After(end) {
			return fmt.Errorf("%s was answered %d: %.200s", path, status, body)
		}
	}
}

// reachTimeout bounds how long a deep page may tell to come again.
const reachTimeout = time.Minute

// findAll asks how many positions there are.
func (s *site) findAll(n *node) error {
	var stats struct{ Positions struct{ Total int } }
	status, _, body, err := n.ask("/v1/stats", "")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &stats); err != nil || status != 200 {
		return fmt.Errorf("cannot read the answer %d to /v1/stats: %.200s", status, body)
	}
	s.all = stats.Positions.Total
	return nil
}

func chainFilter(chain int64) string {
	if chain == 0 {
		return ""
	}
	return fmt.Sprintf("&chainId=%d", chain)
}

// yearDays is how old a position must be for charts over a year.
const yearDays = 365

// findLong looks for long histories: transactions among the first positions of
// all and the most valuable ones, years among the first; and whether charts are
// served.
func (s *site) findLong(n *node, key string) error {
	var look []string
	for page := 1; page <= discoverPages; page++ {
		var l listed
		path := fmt.Sprintf("/v1/positions?sort=nft_id_asc&limit=100&page=%d&%s", page, everything)
		if _, err := s.list(n, key, path, &l); err != nil {
			return err
		}
		for i := range l.Positions {
			p := &l.Positions[i]
			if p.IsActive && p.Metrics.AgeSeconds >= yearDays*24*3600 {
				s.aged = append(s.aged, p.path())
			}
			if page == 1 {
				look = append(look, p.path())
			}
		}
	}
	for i := 0; i < len(s.positions); i += max(1, len(s.positions)/discoverLong) {
		look = append(look, s.positions[i])
	}
	for _, path := range look {
		_, _, body, err := n.ask(path, key)
		if err != nil {
			return err
		}
		if entries := bytes.Count(body, []byte(`"txHash"`)); entries > s.entries {
			s.longest, s.entries = path, entries
		}
	}
	status, _, _, err := n.ask(s.positions[0]+"/charts", key)
	s.charts = status == 200
	return err
}

// pages returns how many pages of 20 a question has at least.
func (s *site) pages(chain int64, sort string) int {
	return max(1, s.rows[chainFilter(chain)+sort]/pageRows)
}

// pageRows is the default size of a page, which the figures are about.
const pageRows = 20
