package consistency

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// row is a position or a pool as a list has it.
type row = map[string]any

// snapshot is all rows of a chain in one generation.
type snapshot struct {
	chain      int64
	generation string
	positions  []row // ascending in id
	pools      []row
	position   map[string]row
	pool       map[string]row
	ends       map[string]rangeEnds // of the positions of a pool; see endsOf
	// now is the time of the generation's block, which the first answer that
	// has it tells.
	now float64
}

// Lists of everything: the filters let every row pass.
const (
	everyPosition = "status=all&minPoolTvl=0&minValueUsd=0&includeRisky=true"
	everyPool     = "minTvlUsd=0&includeRisky=true"
	pageLength    = 100 // the most that a page may have
)

// checker is one check on its way.
type checker struct {
	*client
	ctx       context.Context
	chains    []int64
	snapshots map[int64]*snapshot
	payments  map[int64]payments // of gas, by chain
	moving    bool               // the chains have new generations all the time
}

// Check compares the answers of a node with each other. The error is an
// *Unfinished, and the report says how far the check got.
func Check(ctx context.Context, cfg Config) (*Report, error) {
	report := newReport()
	c := &checker{
		client: newClient(cfg, report), ctx: ctx, snapshots: map[int64]*snapshot{},
		payments: map[int64]payments{},
	}
	return report, c.run()
}

func (c *checker) run() error {
	if err := c.findChains(); err != nil {
		return err
	}
	for _, chain := range c.chains {
		if err := c.renewSnapshot(chain); err != nil {
			return err
		}
		c.report.Positions += len(c.snapshots[chain].positions)
		c.report.Pools += len(c.snapshots[chain].pools)
		for _, step := range []struct {
			what string
			do   func(chain int64) error
		}{
			{"lists of positions", c.positionLists}, {"lists of pools", c.poolLists},
			{"batches", c.batches}, {"tokens", c.tokens},
			{"pools", c.poolDetails}, {"positions", c.positionDetails},
		} {
			c.progress("chain %d: %s", chain, step.what)
			if err := step.do(chain); err != nil {
				return err
			}
		}
	}

	c.progress("all chains in one list")
	return c.checkMerged()
}

// findChains asks which chains are served.
func (c *checker) findChains() error {
	a, err := c.get(c.ctx, "/v1/chains")
	if err != nil {
		return err
	}

	records, _ := a.body.([]any)
	for _, each := range records {
		record, _ := each.(row)
		if served, _ := record["protocols"].([]any); len(served) > 0 {
			c.chains = append(c.chains, int64(number(record, "chainId")))
		}
	}
	if len(c.chains) == 0 {
		return unfinished("no chain is served")
	}
	return nil
}

// renewSnapshot reads all rows of a chain in one generation, and checks each.
func (c *checker) renewSnapshot(chain int64) error {
	for range c.Tries {
		s := &snapshot{chain: chain, position: map[string]row{}, pool: map[string]row{}}

		same, err := c.readAll(s)
		if err != nil {
			return err
		}
		if same {
			c.snapshots[chain] = s
			c.checkRows(s)
			return nil
		}
	}
	return unfinished("chain %d has a new generation before all of its rows are read, %d times",
		chain, c.Tries)
}

// readAll reads both lists; false when the generation changed on the way.
func (c *checker) readAll(s *snapshot) (same bool, err error) {
	take := func(name, query string, add func(row)) (bool, error) {
		for page := 1; ; page++ {
			path := fmt.Sprintf("/v1/%s?chainId=%d&%s&limit=%d&page=%d",
				name, s.chain, query, pageLength, page)
			a, err := c.get(c.ctx, path)
			if err != nil {
				return false, err
			}
			if a.status != 200 {
				return false, unfinished("%s is answered %d", path, a.status)
			}
			if s.generation == "" {
				s.generation = a.generation
			}
			if a.generation != s.generation {
				return false, nil
			}

			for _, r := range list(a.object(), name) {
				add(r)
			}
			if !flag(a.object(), "pagination.hasMore") {
				return true, nil
			}
		}
	}

	same, err = take("pools", everyPool, func(r row) {
		s.pools = append(s.pools, r)
		s.pool[text(r, "poolId")] = r
	})
	if !same || err != nil {
		return same, err
	}
	return take("positions", everyPosition+"&sort=nft_id_asc", func(r row) {
		s.positions = append(s.positions, r)
		s.position[text(r, "positionId")] = r
	})
}

// checkRows checks every row of a snapshot by itself and against the others.
func (c *checker) checkRows(s *snapshot) {
	tokens := map[string]tokenSeen{}
	counts := s.countPositions()
	for _, r := range s.pools {
		j := c.judge("", fmt.Sprintf("pool %d/%s", s.chain, text(r, "poolId")))
		j.poolRow(r)
		j.poolTokens(r, tokens)
		j.poolCounts(r, counts[text(r, "poolId")])
	}

	for _, r := range s.positions {
		j := c.judge("", fmt.Sprintf("position %d/%s", s.chain, text(r, "positionId")))
		j.positionRow(r)
		j.positionInPool(r, s.pool[text(r, "poolId")])
	}
}

// with asks about a chain until the answer is of the generation of its
// snapshot, and passes both on. An answer other than 200 is a difference.
func (c *checker) with(chain int64, path string, compare func(s *snapshot, a *answer)) error {
	for range c.Tries {
		a, err := c.get(c.ctx, path)
		if err != nil {
			return err
		}
		s := c.snapshots[chain]
		if a.status == 200 && a.generation != s.generation {
			if err := c.renewSnapshot(chain); err != nil {
				return err
			}
			continue
		}

		c.judge("status", path).equal("status", a.status, 200)
		if a.status == 200 {
			compare(s, a)
		}
		return nil
	}
	return unfinished("%s is answered of another generation than all rows, %d times", path, c.Tries)
}

func (c *checker) judge(rule, route string) judge {
	return judge{report: c.report, rule: rule, route: route, totalCap: c.TotalCap}
}

// noteSkipped notes once what is not checked.
func (c *checker) noteSkipped(format string, args ...any) {
	if why := fmt.Sprintf(format, args...); !slices.Contains(c.report.Skipped, why) {
		c.report.Skipped = append(c.report.Skipped, why)
	}
}

// sampledIDs returns the positions to look at one by one, spread over all.
func (c *checker) sampledIDs(s *snapshot) (ids []string) {
	n := len(s.positions)
	if c.Sample > 0 {
		n = min(n, c.Sample)
	}
	for i := range n {
		ids = append(ids, text(s.positions[i*len(s.positions)/n], "positionId"))
	}
	return ids
}

// learnNow takes the time of the generation's block, or holds it against what
// an answer before has said.
func (s *snapshot) learnNow(j judge, field string, now float64) {
	if s.now == 0 && known(now) {
		s.now = now
	}
	j.by("now").same(field, now, s.now)
}

// ownersBySize returns the owners of positions, those with the most first.
func (s *snapshot) ownersBySize() []string {
	count := map[string]int{}
	for _, r := range s.positions {
		count[text(r, "owner")]++
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
}
