package consistency

import (
	"slices"
	"strings"
)

// checkMerged asks for all chains in one list, and the free routes that sum them up.
func (c *checker) checkMerged() error {
	for _, o := range positionOrders {
		for _, f := range []filter{{everyPosition, anyRow}, standardPositions} {
			if err := c.mergedList(positionQuestion(f, o)); err != nil {
				return err
			}
		}
	}

	for _, o := range poolOrders {
		if err := c.mergedList(poolQuestion(filter{everyPool, anyRow}, o)); err != nil {
			return err
		}
	}
	if err := c.owners(); err != nil {
		return err
	}
	return c.freeRoutes()
}

// mergedList asks for the first page of all chains, and for deeper ones as long
// as the chains stand still for it.
func (c *checker) mergedList(q question) error {
	if err := c.firstMerged(q); err != nil {
		return err
	}

	const limit = 50
	rows := 0
	for _, s := range c.snapshots {
		rows += len(q.expectedRows(s))
	}
	pages := max((rows+limit-1)/limit, 1)
	for _, page := range []int{1, (1 + pages) / 2, pages, pages + 1} {
		if err := c.deepMerged(q, page, limit); err != nil {
			return err
		}
	}
	return nil
}

// firstMerged holds the first page of all chains against the first page of
// each, which needs no more than one generation for a few requests.
func (c *checker) firstMerged(q question) error {
	for range c.Tries {
		all, err := c.get(c.ctx, q.path(0, 1, pageLength))
		if err != nil {
			return err
		}
		var rows []row
		var generations []string
		total := 0.0
		for _, chain := range c.chains {
			a, err := c.get(c.ctx, q.path(chain, 1, pageLength))
			if err != nil {
				return err
			}
			rows = append(rows, list(a.object(), q.list)...)
			generations = append(generations, a.generation)
			total += number(a.object(), "pagination.total")
		}
		if all.generation != strings.Join(generations, ",") || flag(all.object(), "partial") {
			continue
		}

		q.order.sort(rows)
		j := c.judge("list", all.path)
		j.checkRows(&q, list(all.object(), q.list), rows[:min(len(rows), pageLength)], 0)
		if total <= float64(c.TotalCap) {
			j.by("pagination").equal("pagination.total", number(all.object(), "pagination.total"), total)
		}
		return nil
	}
	c.noteSkipped("lists of all chains: one of them moved on %d times", c.Tries)
	return nil
}

// mergedTries is how often all rows are read again for an answer of all chains.
const mergedTries = 3

// withAll asks for an answer of all chains until it is of the generations that were
// read, and checks it. It returns false when the chains do not stand still for it.
func (c *checker) withAll(path string, check func(*answer)) (still bool, err error) {
	for range mergedTries {
		a, err := c.get(c.ctx, path)
		if err != nil {
			return false, err
		}
		if a.status == 200 && (flag(a.object(), "partial") || !c.isOf(a.generation)) {
			if err := c.renewOthers(a.generation); err != nil {
				return false, err
			}
			continue
		}

		c.judge("status", path).equal("status", a.status, 200)
		if a.status == 200 {
			check(a)
		}
		return true, nil
	}
	return false, nil
}

// deepMerged checks a page of all chains against all rows of each.
func (c *checker) deepMerged(q question, page, limit int) error {
	if !c.moving {
		path := q.path(0, page, limit)
		still, err := c.withAll(path, func(a *answer) {
			rows := q.expectedRows(c.allSnapshots()...)
			c.judge("list", path).checkPage(a, &q, rows, page, limit)
		})
		if still || err != nil {
			return err
		}
	}

	c.moving = true
	c.noteSkipped("deep pages of all chains: they do not stand still for it")
	return nil
}

func (c *checker) allSnapshots() (all []*snapshot) {
	for _, chain := range c.chains {
		all = append(all, c.snapshots[chain])
	}
	return all
}

// isOf reports whether a header names the generations of all snapshots.
func (c *checker) isOf(generations string) bool {
	parts := splitGenerations(generations)
	for _, chain := range c.chains {
		if !slices.Contains(parts, c.snapshots[chain].generation) {
			return false
		}
	}
	return len(parts) == len(c.chains)
}

// splitGenerations returns the generations of a header, one a chain.
func splitGenerations(header string) []string {
	return strings.Split(strings.ReplaceAll(header, " ", ""), ",")
}

// renewOthers reads the chains again of which a header names another generation.
func (c *checker) renewOthers(generations string) error {
	parts := splitGenerations(generations)
	for _, chain := range c.chains {
		if slices.Contains(parts, c.snapshots[chain].generation) {
			continue
		}
		if err := c.renewSnapshot(chain); err != nil {
			return err
		}
	}
	return nil
}

// freeRoutes checks the counts of /v1/stats and the blocks of /health, when no
// chain moved on around the question.
func (c *checker) freeRoutes() error {
	for range mergedTries {
		stats, err := c.get(c.ctx, "/v1/stats")
		if err != nil {
			return err
		}
		health, err := c.get(c.ctx, "/health")
		if err != nil {
			return err
		}

		after, err := c.get(c.ctx, "/v1/pools?limit=1")
		if err != nil {
			return err
		}
		if after.status == 200 && c.isOf(after.generation) && c.healthIsOf(health) {
			c.checkStats(stats)
			c.checkHealth(health)
			return nil
		}
		if err := c.renewOthers(after.generation); err != nil {
			return err
		}
	}
	c.noteSkipped("/v1/stats and /health: a chain moved on every time")
	return nil
}

// checkStats checks what there is of every chain, and the sums.
func (c *checker) checkStats(a *answer) {
	j := c.judge("stats", a.path)
	var positions, active, pools float64
	records := map[float64]row{}
	for _, r := range list(a.object(), "chains") {
		records[number(r, "chainId")] = r
	}

	for _, s := range c.allSnapshots() {
		open := 0.0
		for _, r := range s.positions {
			if flag(r, "isActive") {
				open++
			}
		}
		r := records[float64(s.chain)]
		j.equal("positions", number(r, "positions"), float64(len(s.positions)))
		j.equal("activePositions", number(r, "activePositions"), open)
		j.equal("pools", number(r, "pools"), float64(len(s.pools)))
		positions += float64(len(s.positions))
		active += open
		pools += float64(len(s.pools))
	}

	j.equal("positions.total", number(a.object(), "positions.total"), positions)
	j.equal("positions.active", number(a.object(), "positions.active"), active)
	j.equal("positions.inactive", number(a.object(), "positions.inactive"), positions-active)
	j.equal("pools.total", number(a.object(), "pools.total"), pools)
}

func (c *checker) healthIsOf(a *answer) bool {
	for _, r := range list(a.object(), "chains") {
		s := c.snapshots[int64(number(r, "chainId"))]
		if s != nil && s.generation != integer(number(r, "chainId"))+":"+integer(number(r, "generation")) {
			return false
		}
	}
	return true
}

// checkHealth checks the block that every chain's rows are of.
func (c *checker) checkHealth(a *answer) {
	j := c.judge("health", a.path)
	for _, r := range list(a.object(), "chains") {
		s := c.snapshots[int64(number(r, "chainId"))]
		if s != nil && len(s.pools) > 0 {
			j.equal("asOfBlock", r["asOfBlock"], s.pools[0]["asOfBlock"])
		}
	}
}
