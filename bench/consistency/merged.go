package consistency

import (
	"strings"
)

// merged asks for all chains in one list, and the free routes that sum them up.
func (c *checker) merged() error {
	for _, o := range positionOrders {
		for _, f := range []filter{{everyPosition, everything}, statuses[0].both(risks[0]).both(poolFloors[0])} {
			if err := c.mergedList(positionQuestion(f, o)); err != nil {
				return err
			}
		}
	}
	for _, o := range poolOrders {
		q := question{"pools", everyPool + "&sort=" + o.name, o, everything}
		if err := c.mergedList(q); err != nil {
			return err
		}
	}
	return c.freeRoutes()
}

// mergedList asks for the first, a middle and the last page of all chains.
func (c *checker) mergedList(q question) error {
	const limit = 50
	pages, err := 3, error(nil)
	for _, part := range []int{0, 1, 2} {
		page := 1 + part*(pages-1)/2
		err = c.withAll(q.path(0, page, limit), func(all []*snapshot, a *answer) {
			rows := q.expected(all...)
			pages = max((len(rows)+limit-1)/limit, 1)
			c.judge("list", a.path).page(a, &q, rows, page, limit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withAll is with of all chains at once.
func (c *checker) withAll(path string, compare func(all []*snapshot, a *answer)) error {
	for range c.Tries {
		a, err := c.get(c.ctx, path)
		if err != nil {
			return err
		}
		if a.status == 200 && (flag(a.object(), "partial") || !c.isOf(a.generation)) {
			if err := c.renewOthers(a.generation); err != nil {
				return err
			}
			continue
		}

		c.judge("status", path).equal("status", a.status, 200)
		if a.status == 200 {
			compare(c.all(), a)
		}
		return nil
	}
	return unfinished("%s is answered of other generations than all rows, %d times", path, c.Tries)
}

func (c *checker) all() (all []*snapshot) {
	for _, chain := range c.chains {
		all = append(all, c.snapshots[chain])
	}
	return all
}

// isOf reports whether a header names the generations of all snapshots.
func (c *checker) isOf(generations string) bool {
	parts := strings.Split(strings.ReplaceAll(generations, " ", ""), ",")
	for _, chain := range c.chains {
		if !contains(parts, c.snapshots[chain].generation) {
			return false
		}
	}
	return len(parts) == len(c.chains)
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}

// renewOthers reads the chains again of which a header names another generation.
func (c *checker) renewOthers(generations string) error {
	parts := strings.Split(strings.ReplaceAll(generations, " ", ""), ",")
	for _, chain := range c.chains {
		if contains(parts, c.snapshots[chain].generation) {
			continue
		}
		if err := c.renew(chain); err != nil {
			return err
		}
	}
	return nil
}

// freeRoutes checks the counts of /v1/stats and the blocks of /health, when no
// chain moved on around the question.
func (c *checker) freeRoutes() error {
	for range c.Tries {
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
			c.stats(stats)
			c.health(health)
			return nil
		}
		if err := c.renewOthers(after.generation); err != nil {
			return err
		}
	}
	c.skip("/v1/stats and /health: a chain moved on every time")
	return nil
}

// stats checks what there is of every chain, and the sums.
func (c *checker) stats(a *answer) {
	j := c.judge("stats", a.path)
	var positions, active, pools float64
	records := map[float64]row{}
	for _, r := range list(a.object(), "chains") {
		records[number(r, "chainId")] = r
	}
	for _, s := range c.all() {
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
		positions, active, pools = positions+float64(len(s.positions)), active+open, pools+float64(len(s.pools))
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

// health checks the block that every chain's rows are of.
func (c *checker) health(a *answer) {
	j := c.judge("health", a.path)
	for _, r := range list(a.object(), "chains") {
		s := c.snapshots[int64(number(r, "chainId"))]
		if s != nil && len(s.pools) > 0 {
			j.equal("asOfBlock", r["asOfBlock"], s.pools[0]["asOfBlock"])
		}
	}
}
