package torture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestWalks walks through whole rankings, page by page, while every chain is
// refreshed. In a page, ranks go up by one and sort values go down. Pages of one
// generation have no row twice and their rows add up to the total. A walk by id, in
// which rows only ever come at the end, has every position exactly once, however many
// generations it saw.
func TestWalks(t *testing.T) {
	walks := int64(share(t, 40, 1000))
	n := newNode(t, smallMarket)
	n.start()
	w := &walker{node: n, key: n.customer("walker", "unlimited")}

	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for w.walks.Add(1) <= walks {
				w.walk(r)
			}
		})
	}
	all.Wait()
	if w.across.Load() == 0 {
		t.Error("no walk saw two generations")
	}
	figure(t, "%d walks of %d pages and %d rows during refreshes, %d of them across generations, %d rows wrong",
		walks, w.pages.Load(), w.rows.Load(), w.across.Load(), w.wrong.Load())
	n.stop()
}

type walker struct {
	*node
	key                               string
	walks, pages, rows, across, wrong atomic.Int64
}

// listed is what a walk reads of a page.
type listed struct {
	Positions []struct {
		Rank       int
		PositionID string
		Metrics    struct{ UnderlyingValueUsd, PnlUsd *float64 }
	}
	Pagination struct {
		Total   int
		HasMore bool
	}
}

func (w *walker) walk(r *rand.Rand) {
	c, err := dial(w.address(), w.key)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.close()

	chain, limit := chains[r.IntN(len(chains))].id, 5+r.IntN(20)
	sort := []string{"nft_id_asc", "nft_id_asc", "underlying_value", "pnl"}[r.IntN(4)]
	path := fmt.Sprintf("/v1/positions?status=all&minPoolTvl=0&includeRisky=true&chainId=%d&sort=%s&limit=%d",
		chain, sort, limit)
	generations, seen, total, last := map[string]bool{}, map[string]bool{}, 0, 0.0
	for page := 1; ; page++ {
		a, err := c.ask(fmt.Sprintf("%s&page=%d", path, page))
		var l listed
		if err == nil && a.status != 200 {
			err = fmt.Errorf("status %d: %s", a.status, a.body)
		}
		if err == nil {
			err = json.Unmarshal(a.body, &l)
		}
		if err != nil {
			w.bad("%s, page %d: %v", path, page, err)
			return
		}

		if !generations[a.generation] && len(generations) > 0 && sort != "nft_id_asc" {
			clear(seen) // another order: its pages are compared among themselves
			total = -1
		}
		if page == 1 {
			total = l.Pagination.Total
		}
		generations[a.generation] = true
		for i, row := range l.Positions {
			value := valueOf(sort, row.PositionID, row.Metrics.UnderlyingValueUsd, row.Metrics.PnlUsd)
			if row.Rank != (page-1)*limit+i+1 || seen[row.PositionID] || i > 0 && value > last {
				w.bad("%s, page %d: row %d has rank %d, id %s (seen: %v), value %v after %v", path, page, i, row.Rank,
					row.PositionID, seen[row.PositionID], value, last)
			}
			seen[row.PositionID], last = true, value
		}
		w.pages.Add(1)
		time.Sleep(pollEvery) // so that a walk outlasts generations
		w.rows.Add(int64(len(l.Positions)))
		if !l.Pagination.HasMore {
			break
		}
	}

	if len(generations) > 1 {
		w.across.Add(1)
	}
	if sort == "nft_id_asc" && len(generations) > 1 {
		for id := 1; id <= total; id++ {
			if !seen[strconv.Itoa(id)] {
				w.bad("%s: position %d is missing", path, id)
			}
		}
	} else if len(generations) == 1 && len(seen) != total {
		w.bad("%s: %d rows of %d", path, len(seen), total)
	}
}

// valueOf is what must not rise from row to row. Rows without a value come last.
func valueOf(sort, id string, value, pnl *float64) float64 {
	switch {
	case sort == "nft_id_asc":
		n, _ := strconv.ParseFloat(id, 64)
		return -n
	case sort == "pnl":
		value = pnl
	}
	if value == nil {
		return -1e300
	}
	return *value
}

func (w *walker) bad(format string, args ...any) {
	if w.wrong.Add(1) < 5 {
		w.t.Errorf(format, args...)
	}
}
