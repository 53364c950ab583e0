package pages

import (
	"slices"
	"time"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// cut is the views of one moment, which are pinned.
type cut struct {
	views      []*rankings.View // ascending by chain
	made, used time.Time
	accounts   int // whose pin it is
	answers    int // under way

	usedHere time.Time // used by this node
	told     time.Time // when other nodes were told of it last
}

// end returns when a cut ends if nobody asks for it.
func (c *cut) end(l *Limits) time.Time {
	end, last := c.used.Add(l.Pin), c.made.Add(maxPin)
	if last.Before(end) {
		return last
	}
	return end
}

// viewsOf returns the cut's view of a chain, or all of them when chain is 0.
func (c *cut) viewsOf(chain market.ChainID) []*rankings.View {
	if chain == 0 {
		return c.views
	}
	for i, v := range c.views {
		if v.State.Chain == chain {
			return c.views[i : i+1]
		}
	}
	return nil
}

// hasChainsOf reports whether the cut has the same chains as views.
func (c *cut) hasChainsOf(views []*rankings.View) bool {
	return slices.EqualFunc(c.views, views, func(a, b *rankings.View) bool {
		return a.State.Chain == b.State.Chain
	})
}

// lacksColumnsOf reports whether the cut has a view without columns, which cannot answer
// every question, where views, of the same chains, have one with them.
func (c *cut) lacksColumnsOf(views []*rankings.View) bool {
	for i, v := range c.views {
		if !v.Warm() && views[i].Warm() {
			return true
		}
	}
	return false
}

func unpin(views []*rankings.View) {
	for _, v := range views {
		v.Unpin()
	}
}

func isSameGeneration(a, b *rankings.View) bool {
	return generationOf(a) == generationOf(b)
}

// generationOf returns the name of a view's generation.
func generationOf(v *rankings.View) query.Generation {
	return query.Generation{Chain: v.State.Chain, Number: v.Generation}
}

// appendGenerations appends the names of the generations of views.
func appendGenerations(dst query.Generations, views []*rankings.View) query.Generations {
	for _, v := range views {
		dst = append(dst, generationOf(v))
	}
	return dst
}

// areNamed reports whether named are the generations of views.
func areNamed(views []*rankings.View, named []query.Generation) bool {
	return slices.EqualFunc(views, named, func(v *rankings.View, g query.Generation) bool {
		return generationOf(v) == g
	})
}
