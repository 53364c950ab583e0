package bench

import (
	"bytes"
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
	// maxUnchecked is how many pages a walk keeps at most, to be checked when all is over:
	// to parse one takes a millisecond of the core on which the load is measured.
	maxUnchecked = 64
)

// walks are pinned walks beside a measurement.
type walks struct {
	*suite
	mu                 sync.Mutex
	pages, rows, bad   int
	answered, expected int64 // units
	firstBad           string
}

// runHalfWalks is askHotAtRate beside pinned walks: what they must see is one generation, in
// which no row is missing or there twice, whatever the chains publish meanwhile.
func runHalfWalks(ctx context.Context, s *suite, out *report.Scenario) error {
	w := walks{suite: s}
	walking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	atOnce := min(pinnedWalks, s.Accounts)
	for i := range atOnce {
		all.Go(func() { w.walkUntil(walking, i) })
	}
	err := askHotAtRate(ctx, s, out)
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
	walked := walked{walks: w, path: path, seen: map[string]bool{}}
	defer walked.checkPages()

	generation := "pin"
	for page := 1; ; page++ {
		a, err := process.AskPage(w.node.API, fmt.Sprintf("%s&page=%d&generation=%s", path, page, generation), key)
		if err != nil {
			w.countPage(path, page, 0, err)
			return
		}
		walked.unchecked = append(walked.unchecked, a)
		if len(walked.unchecked) == maxUnchecked {
			walked.checkPages()
		}
		if !bytes.Contains(a.Body, []byte(`"hasMore":true`)) {
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

// walked is what a walk has seen.
type walked struct {
	*walks
	path       string
	page       int    // the last one that was checked
	generation string // of its pages
	seen       map[string]bool
	unchecked  []*process.Answer // the pages that follow
}

// checkPages checks the pages that were kept for it.
func (w *walked) checkPages() {
	for _, a := range w.unchecked {
		w.page++
		var l tidemark.PositionList
		err := json.Unmarshal(a.Body, &l)
		if err == nil {
			err = w.checkPage(a, &l)
		}
		w.countPage(w.path, w.page, len(l.Positions), err)
	}
	w.unchecked = nil
}

// checkPage checks that a page goes on where the one before ended.
func (w *walked) checkPage(a *process.Answer, l *tidemark.PositionList) error {
	is := a.Header.Get("X-Generation")
	if w.page == 1 {
		w.generation = is
	}
	if is != w.generation {
		return fmt.Errorf("it is of generation %s; its walk of %s", is, w.generation)
	}

	for i := range l.Positions {
		p := &l.Positions[i]
		id := fmt.Sprintf("%d/%s", p.ChainID, p.PositionID)
		if w.seen[id] || p.Rank != int64((w.page-1)*pageRows+i+1) {
			return fmt.Errorf("row %d has rank %d and position %s (seen: %v)", i, p.Rank, id, w.seen[id])
		}
		w.seen[id] = true
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
