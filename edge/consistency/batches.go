package consistency

import (
	"fmt"
	"slices"
	"strings"
)

// batchLength is how many rows a batch asks for: with the id of nothing, the most
// that are allowed.
const batchLength = 99

// batches asks for every position and every pool by its id.
func (c *checker) batches(chain int64) error {
	s := c.snapshots[chain]
	err := c.batchesOf(chain, "positions", s.positions, "999999999999", (*snapshot).positionRow)
	if err != nil {
		return err
	}
	nothing := "0x" + strings.Repeat("ab", 32)
	return c.batchesOf(chain, "pools", s.pools, nothing, (*snapshot).poolRow)
}

func (s *snapshot) positionRow(id string) row { return s.position[id] }
func (s *snapshot) poolRow(id string) row     { return s.pool[id] }

// batchesOf asks for rows of a list by their ids, against their order in the list,
// with the id of nothing among them.
func (c *checker) batchesOf(
	chain int64, list string, rows []row, nothing string, find func(*snapshot, string) row,
) error {
	for part := range slices.Chunk(rows, batchLength) {
		ids := []string{nothing}
		for _, r := range part {
			ids = append(ids, idOf(r))
		}
		slices.Reverse(ids)

		path := fmt.Sprintf("/v1/%s/batch?ids=%d-%s", list, chain,
			strings.Join(ids, fmt.Sprintf(",%d-", chain)))
		err := c.with(chain, path, func(s *snapshot, a *answer) {
			c.judge("batch", fmt.Sprintf("/v1/%s/batch", list)).checkBatch(a, list, s, ids, find)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBatch holds the rows of a batch against those of the list.
func (j judge) checkBatch(
	a *answer, list string, s *snapshot, ids []string, find func(*snapshot, string) row,
) {
	var rows, missing []any

	for _, id := range ids {
		r := find(s, id)
		if r == nil {
			missing = append(missing, fmt.Sprintf("%d-%s", s.chain, id))
			continue
		}
		rows = append(rows, unranked(r))
	}

	j.leaves(list, a.object()[list], rows)
	j.leaves("missing", a.object()["missing"], missing)
}

// unranked is a row without its place in a list.
func unranked(r row) row {
	out := row{}
	for name, value := range r {
		out[name] = value
	}
	out["rank"] = nil
	return out
}
