package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"tidemark/bench/process"
	"tidemark/bench/report"
	tidemark "tidemark/edge/client/go"
	"tidemark/rankings"
)

const (
	// pinnedWalks is how many walks are under way at once, each of an account of its
	// own, since an account has one pin.
	pinnedWalks = 100
	// walkEvery is how often a walk asks for its next page: a reader that keeps rows.
	walkEvery = time.Second
)

// walks are pinned walks beside a measurement.
type walks struct {
	*suite
	mu                 sync.Mutex
	pages, rows, bad   int
	answered, expected int64 // units
	firstBad           string
}

// runHalfWalks is runHalf beside pinned walks: what they must see is one generation, in
// which no row is missing or there twice, whatever the chains publish meanwhile.
func runHalfWalks(ctx context.Context, s *suite, out *report.Scenario) error {
	w := walks{suite: s}
	walking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	atOnce := min(pinnedWalks, s.Accounts)
	for i := range atOnce {
		all.Go(func() { w.walkUntil(walking, i) })
	}
	err := runHalf(ctx, s, out)
	stop()
	all.Wait()

	s.countUnits(w.answered, w.expected)
	out.Set("walks at once", float64(atOnce), "")
	out.Set("their pages", float64(w.pages), "")
	out.Set("their rows", float64(w.rows), "")
	if w.bad > 0 {
		out.Wrong += uint64(w.bad)
		out.Note("%d pages of pinned walks are wrong, first: %s", w.bad, w.firstBad)
	}
	return err
}

// walkUntil walks again and again, from the first page on. The walks begin spread over
// the time from a page to the next.
func (w *walks) walkUntil(ctx context.Context, number int) {
	sort := rankings.PositionSorts[number%len(rankings.PositionSorts)]
	select {
	case <-time.After(walkEvery * time.Duration(number) / pinnedWalks):
	case <-ctx.Done():
		return
	}

	for ctx.Err() == nil {
		w.walk(ctx, w.keys[number], "/v1/positions?sort="+sort)
	}
}

// walk reads pages of one generation until the list ends, or the walks do.
func (w *walks) walk(ctx context.Context, key, path string) {
	ticks := time.NewTicker(walkEvery)
	defer ticks.Stop()
	generation, seen := "pin", map[string]bool{}
	for page := 1; ; page++ {
		a, err := process.AskPage(w.node.API, fmt.Sprintf("%s&page=%d&generation=%s", path, page, generation), key)
		var l tidemark.PositionList
		if err == nil {
			err = json.Unmarshal(a.Body, &l)
		}
		if err == nil {
			err = w.checkPage(a, &l, generation, page, seen)
		}
		w.countPage(path, page, len(l.Positions), err)
		if err != nil || !l.Pagination.HasMore {
			return
		}

		generation = a.Header.Get("X-Generation")
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkPage checks that a page goes on where the one before ended.
func (w *walks) checkPage(a *process.Answer, l *tidemark.PositionList, generation string, page int,
	seen map[string]bool,
) error {
	if is := a.Header.Get("X-Generation"); page > 1 && is != generation {
		return fmt.Errorf("it is of generation %s; its walk of %s", is, generation)
	}

	for i := range l.Positions {
		p := &l.Positions[i]
		id := fmt.Sprintf("%d/%s", p.ChainID, p.PositionID)
		if seen[id] || p.Rank != int64((page-1)*pageRows+i+1) {
			return fmt.Errorf("row %d has rank %d and position %s (seen: %v)", i, p.Rank, id, seen[id])
		}
		seen[id] = true
	}
	return nil
}

// countPage counts a page. What an account is not charged for a failed answer is not
// expected either.
func (w *walks) countPage(path string, page, rows int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages++
	w.rows += rows
	if err == nil {
		w.answered, w.expected = w.answered+unitsList, w.expected+unitsList
		return
	}
	if w.bad++; w.bad == 1 {
		w.firstBad = fmt.Sprintf("%s, page %d: %v", path, page, err)
	}
}
