package consistency

import (
	"fmt"
	"math"
)

// owners asks what owners hold on all chains, and adds up their rows.
func (c *checker) owners() error {
	var all []string
	for _, chain := range c.chains {
		all = append(all, spread(c.snapshots[chain].ownersBySize(), manyOwners)...)
	}
	all = append(all, "0x"+fmt.Sprintf("%040x", 1))

	for _, owner := range all {
		if err := c.owner(owner); err != nil {
			return err
		}
	}
	return nil
}

// owner asks about one owner until the chains stand still for it.
func (c *checker) owner(owner string) error {
	path := "/v1/owners/" + owner
	still, err := c.withAll(path, func(a *answer) {
		c.judge("owner sums", path).checkOwner(a, owner, c.allSnapshots())
	})
	if !still && err == nil {
		c.noteSkipped("what owners hold: the chains do not stand still for it")
	}
	return err
}

// checkOwner adds up the rows of an owner.
func (j judge) checkOwner(a *answer, owner string, snapshots []*snapshot) {
	j.equal("owner", a.object()["owner"], owner)
	chains := list(a.object(), "chains")
	j.equal("chains", len(chains), len(snapshots))

	var total holdings
	for i := range min(len(chains), len(snapshots)) {
		s, at := snapshots[i], fmt.Sprintf("chains[%d]", i)
		j.equal(at+".chainId", chains[i]["chainId"], float64(s.chain))
		h := s.holdingsOf(owner)
		j.checkHoldings(at, chains[i], &h)
		total.add(&h)
	}
	j.checkHoldings("total", group(a.object(), "total"), &total)
}

// sums are the fields that are added up, with their place in the rows.
var sums = []string{"underlyingValueUsd", "pendingFeesUsd", "pnlUsd"}

// holdings is what rows come to.
type holdings struct {
	open, closed, unknown float64
	usd, scale            [3]float64
	known, missing        [3]bool
}

func (s *snapshot) holdingsOf(owner string) (h holdings) {
	for _, r := range s.positions {
		if text(r, "owner") != owner {
			continue
		}
		if h.closed++; flag(r, "isActive") {
			h.open, h.closed = h.open+1, h.closed-1
		}

		complete := true
		for k, name := range sums {
			usd := number(r, "metrics."+name)
			if !known(usd) {
				complete, h.missing[k] = false, true
				continue
			}
			h.known[k] = true
			h.usd[k] += usd
			h.scale[k] += math.Abs(usd)
		}
		if !complete {
			h.unknown++
		}
	}
	return h
}

func (h *holdings) add(other *holdings) {
	h.open += other.open
	h.closed += other.closed
	h.unknown += other.unknown
	for k := range sums {
		h.usd[k] += other.usd[k]
		h.scale[k] += other.scale[k]
		h.known[k] = h.known[k] || other.known[k]
		h.missing[k] = h.missing[k] || other.missing[k]
	}
}

// checkHoldings compares sums. One of nothing but unknown values is null.
func (j judge) checkHoldings(at string, m map[string]any, h *holdings) {
	j.equal(at+".openPositions", m["openPositions"], h.open)
	j.equal(at+".closedPositions", m["closedPositions"], h.closed)
	j.equal(at+".unknown", m["unknown"], h.unknown)
	for k, name := range sums {
		want := h.usd[k]
		if h.missing[k] && !h.known[k] {
			want = math.NaN()
		}
		j.near(at+"."+name, number(m, name), want, h.scale[k])
	}
}
