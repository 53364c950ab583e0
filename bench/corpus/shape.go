package corpus

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"tidemark/rankings/market"
	"tidemark/storage"
)

// Shape is what a corpus looks like, over all its chains.
type Shape struct {
	Chains       []ChainShape `json:"chains"`
	ChainShape                // the sums
	Transactions int64        `json:"transactions"`
}

// ChainShape is one chain's.
type ChainShape struct {
	Chain      int64 `json:"chainId,omitempty"`
	Positions  int64 `json:"positions"`
	Open       int64 `json:"open"`
	OutOfRange int64 `json:"outOfRange"` // of the open ones
	Owners     int64 `json:"owners"`
	Pools      int64 `json:"pools"`
	Traded     int64 `json:"traded"`  // pools, within a day
	Largest    int64 `json:"largest"` // positions of the largest pool
	Ticks      int64 `json:"ticks"`
}

// marketDir is where a data directory has the chains.
const marketDir = "market"

// Measure reads the shape of a stopped node's data.
func Measure(data string) (s Shape, err error) {
	store, err := storage.Open(filepath.Join(data, marketDir),
		storage.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return s, err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	chains, err := store.Chains()
	if err != nil {
		return s, err
	}
	for _, id := range chains {
		kept, err := store.Restore(id)
		if err != nil {
			return s, fmt.Errorf("cannot restore chain %d: %w", id, err)
		}
		if kept == nil || !kept.Warm(func() bool { return false }) {
			return s, fmt.Errorf("chain %d has nothing to measure", id)
		}
		c := shapeOf(kept.State)
		s.Chains = append(s.Chains, c)
		s.add(&c)
		s.Transactions += int64(kept.State.Transactions)
	}
	return s, nil
}

// shapeOf walks all positions and pools of a chain.
func shapeOf(st *market.State) ChainShape {
	c := ChainShape{
		Chain: int64(st.Chain), Positions: int64(st.Positions.Len()), Owners: int64(st.Owners.Len()),
		Pools: int64(st.Pools.Len()), Ticks: int64(st.Ticks.Len()),
	}
	held := make([]int64, st.Pools.Len())
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		held[p.Pool]++
		c.Largest = max(c.Largest, held[p.Pool])
		if p.Liquidity.IsZero() {
			continue
		}
		c.Open++
		if tick := st.Pools.At(p.Pool).Tick; tick < p.TickLower || tick >= p.TickUpper {
			c.OutOfRange++
		}
	}
	for i := range st.Pools.Len() {
		if st.Pools.At(i).LastSwapAt > st.Now()-market.Day {
			c.Traded++
		}
	}
	return c
}

func (c *ChainShape) add(o *ChainShape) {
	c.Positions += o.Positions
	c.Open += o.Open
	c.OutOfRange += o.OutOfRange
	c.Owners += o.Owners
	c.Pools += o.Pools
	c.Traded += o.Traded
	c.Largest = max(c.Largest, o.Largest)
	c.Ticks += o.Ticks
}

// String says the shape in one line, with what figures.md asks for beside it.
func (c *ChainShape) String() string {
	percent := func(part, of int64) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	return fmt.Sprintf("%d positions, %.0f %% open (figures: 35), %.0f %% of those out of range (30), "+
		"%.2f owners a position (0.40), %d pools, the largest with %.1f %% of the positions, "+
		"%.0f %% of them traded within a day (5)",
		c.Positions, percent(c.Open, c.Positions), percent(c.OutOfRange, c.Open),
		float64(c.Owners)/float64(max(c.Positions, 1)), c.Pools, percent(c.Largest, c.Positions),
		percent(c.Traded, c.Pools))
}
