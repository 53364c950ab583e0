package edge

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"tidemark/actors/feed/sim"
)

// TestDetailWhileBlocksAreReplaced asks for positions when the store has the blocks of a
// reorganisation and the board does not have their view. The answers are of that view: what
// is read of the store does not fit the rows of the one before.
func TestDetailWhileBlocksAreReplaced(t *testing.T) {
	n := newNode(t)
	g := n.begin(sim.Config{
		Chain: 1, Positions: 60, Pools: 12, Days: 2, Actions: 1200, BlockTime: time.Minute,
	})
	for !g.advance() {
	}
	g.publish()
	s := serve(t, n.over)
	var paths []string
	positions := n.view(1).State.Positions
	for i := range uint32(10) {
		path := fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", positions.At(positions.Len()-1-i).ID)
		paths = append(paths, path, path+"/charts")
	}

	must(g.source.Reorg(250))
	for !g.advance() {
	}
	answers := make([]answer, len(paths))
	var asking sync.WaitGroup
	times := 0
	clock := func() time.Time {
		if times++; times == 3 { // the cut is written
			for i, path := range paths {
				asking.Go(func() { answers[i] = s.get(path) })
			}
			time.Sleep(100 * time.Millisecond)
		}
		return time.Now()
	}
	must(g.Refresh(clock, func() {}))
	n.view(1).Confirm(time.Now().UnixMilli())
	asking.Wait()

	for i, path := range paths {
		got, want := answers[i], s.get(path)
		if got.body != want.body || got.header.Get("X-Generation") != "1:2" {
			t.Errorf("%s: got %d of %s: %.500s; want %d: %.500s", path, got.code,
				got.header.Get("X-Generation"), got.body, want.code, want.body)
		}
	}
}
