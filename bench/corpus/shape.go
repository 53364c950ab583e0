package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"tidemark/bench/report"
	"tidemark/rankings/market"
)

// ChainShape is what a chain of a corpus looks like.
type ChainShape struct {
	report.Chain
	OutOfRange int64   `json:"outOfRange"` // of the open ones
	Owners     int64   `json:"owners"`
	Traded     int64   `json:"traded"`  // pools, within a day
	Largest    int64   `json:"largest"` // positions of the largest pool
	Zipf       float64 `json:"zipf"`    // pool sizes fall as rank to the minus this
	Years      int64   `json:"years"`   // positions of a year and more
	Long       int64   `json:"long"`    // positions with a thousand transactions
}

// Measure reads the shape of a stopped node's data into the record.
func (r *Record) Measure(data string) error {
	return EachChain(data, func(st *market.State) error {
		c, sum := shapeOf(st), &r.Corpus
		r.Shape = append(r.Shape, c)
		sum.Chains = append(sum.Chains, c.Chain)
		sum.Positions += c.Positions
		sum.Open += c.Open
		sum.Pools += c.Pools
		sum.Transactions += int64(st.Transactions)
		return nil
	})
}

// EachChain tells the chains of a stopped node's data, one after the other by
// id, each with all its rows in memory.
func EachChain(data string, tell func(*market.State) error) (err error) {
	store, err := OpenMarket(data, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	chains, err := store.Chains()
	if err != nil {
		return err
	}

	for _, id := range chains {
		kept, err := store.Restore(id)
		if err != nil {
			return fmt.Errorf("cannot restore chain %d: %w", id, err)
		}
		if kept == nil || !kept.Warm(func() bool { return false }) {
			return fmt.Errorf("chain %d has no positions", id)
		}
		if err := tell(kept.State); err != nil {
			return fmt.Errorf("chain %d: %w", id, err)
		}
	}
	return nil
}

// shapeOf walks all positions and pools of a chain.
func shapeOf(st *market.State) (c ChainShape) {
	c.ID, c.Positions, c.Pools = int64(st.Chain), int64(st.Positions.Len()), int64(st.Pools.Len())
	c.Owners = int64(st.Owners.Len())
	count := func(n *int64, on bool) {
		if on {
			*n++
		}
	}

	held := make([]int64, st.Pools.Len()) // positions of every pool
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		pool, open := st.Pools.At(p.Pool), !p.Liquidity().IsZero()
		held[p.Pool]++
		count(&c.Years, int64(p.MintedAt) <= st.Now()-365*market.Day)
		count(&c.Long, p.Entries >= 1000)
		count(&c.Open, open)
		count(&c.OutOfRange, open && (pool.Tick < p.TickLower || pool.Tick >= p.TickUpper))
	}
	for i := range st.Pools.Len() {
		count(&c.Traded, st.Pools.At(i).LastSwapAt > st.Now()-market.Day)
	}

	slices.SortFunc(held, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(held) > 0 {
		c.Largest, c.Zipf = held[0], fitSlope(held[:max(1, len(held)/20)])
	}
	return c
}

// fitSlope returns by which power of their rank sizes fall: least squares of logarithms.
func fitSlope(sizes []int64) float64 {
	var x, y, xx, xy float64
	n := float64(len(sizes))
	for i, size := range sizes {
		a, b := math.Log(float64(i+1)), math.Log(float64(max(size, 1)))
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	if d := n*xx - x*x; d > 0 {
		return -(n*xy - x*y) / d
	}
	return 0
}

// String says the shape in one line, with what figures.md asks for.
func (c *ChainShape) String() string {
	percent := func(part, of int64) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	return fmt.Sprintf(
		"%d positions, %.0f %% open (figures: 35), %.0f %% of those out of range (30), "+
			"%.2f owners a position (0.40), %d pools, sizes by rank to the power of -%.2f (zipf), "+
			"the largest with %.1f %% of the positions, %.1f %% traded within a day (5); "+
			"%d positions of a year, %d with 1,000 transactions",
		c.Positions, percent(c.Open, c.Positions), percent(c.OutOfRange, c.Open),
		float64(c.Owners)/float64(max(c.Positions, 1)), c.Pools, c.Zipf,
		percent(c.Largest, c.Positions), percent(c.Traded, c.Pools), c.Years, c.Long)
}
