package pages

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/storage"
)

// TestHistoryKey checks that a history is found again while it stays as it was, and
// not once it has grown, its last entry has been replaced by another one, or the decimals of
// a token have become known.
func TestHistoryKey(t *testing.T) {
	store := newStore(t)
	p := &Pages{cfg: &Config{Store: store, Board: new(rankings.Board)}}
	l := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager})
	m := script.New()
	token := func(name, decimals string) {
		t.Helper()
		if _, err := m.Set([]string{"token", name, decimals}); err != nil {
			t.Fatal(err)
		}
	}
	token("A", "18")
	token("B", "unknown")

	// key applies a line in a transaction of its own, and returns the key after it.
	logs := uint32(0) // before its own
	key := func(line string, tx byte) string {
		t.Helper()
		span, err := m.Span(l.Freeze(), line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range span.Blocks {
			span.Blocks[i].Txs[0].Hash[0] = tx
			for k := range span.Blocks[i].Logs {
				span.Blocks[i].Logs[k].Index += logs
			}
		}
		if _, err := l.Apply(span); err != nil {
			t.Fatal(err)
		}
		st := l.Freeze()
		if err := store.Commit(&storage.Cut{State: st, Changes: l.Changes()}); err != nil {
			t.Fatal(err)
		}
		if st.Positions.Len() == 0 {
			return ""
		}
		found, err := p.historyKey(&rankings.View{State: st}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	key("pool P A B 3000 60", 1)
	minted := key("mint 1 alice P -600 600 1e18", 2)
	if again := key("block", 3); again != minted {
		t.Errorf("a block without the position makes %q of %q", again, minted)
	}
	grown := key("add 1 1e17", 4)
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	replaced := key("add 1 1e17", 5)
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	logs = 3
	moved := key("add 1 1e17", 5)
	token("B", "18")
	named := key("block", 6)
	keys := []string{minted, grown, replaced, moved, named}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 5 {
		t.Errorf("the keys %q, %q, with another last entry %q, with that at another place %q, and with decimals %q "+
			"are not all different", minted, grown, replaced, moved, named)
	}
}

// TestReverseEntries checks that entries stay whole and separated.
func TestReverseEntries(t *testing.T) {
	f := func(text, want string, ends ...int) {
		t.Helper()
		if got := reverseEntries([]byte(text), ends); string(got) != want {
			t.Errorf("%q reversed is %q; want %q", text, got, want)
		}
	}

	f("", "")
	f("a", "a", 1)
	f("a,bb,c", "c,bb,a", 1, 4, 6)
}

// entered returns the blocks of a history's entries.
func entered(t *testing.T, h history) (blocks []uint64) {
	t.Helper()
	var list []struct{ BlockNumber uint64 }
	if err := json.Unmarshal(slices.Concat([]byte("["), h.entries, []byte("]")), &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		blocks = append(blocks, e.BlockNumber)
	}
	return blocks
}

// TestFinishedHistories checks that short histories are kept for many positions, so that
// whoever asks for each of a page finds them, and that their number is bounded.
func TestFinishedHistories(t *testing.T) {
	h := newHistories()
	for i := range maxKeptHistories + 1 {
		l := &load{done: make(chan struct{}), room: new(Buffer)}
		if !h.put(strconv.Itoa(i), l) {
			t.Fatalf("load %d is given up", i)
		}
		close(l.done)
	}

	if _, ok := h.get("0"); ok {
		t.Error("the number of finished loads is not bounded")
	}
	for i := range maxKeptHistories {
		if _, ok := h.get(strconv.Itoa(i + 1)); !ok {
			t.Fatalf("load %d is not kept", i+1)
		}
	}
}

// TestHistoryFlags checks what is told of a position with ten entries, newest first: all of
// it, the oldest of very many, or the newest while the rest is loaded.
func TestHistoryFlags(t *testing.T) {
	store := newStore(t)
	st := longLived(t, store, 10)
	view := &rankings.View{State: st}
	p := crowded(t, func(c *Config) { c.Store = store }, crowd(1, 1))
	set := func(change func(*Limits)) {
		l := DefaultLimits()
		change(&l)
		p.SetLimits(l)
	}
	f := func(what string, want render.History, newest, oldest, entries int) {
		t.Helper()
		h, refused := p.findHistory(view, 0)
		if refused != nil {
			t.Fatalf("%s: %+v", what, refused)
		}
		blocks := entered(t, h)
		if h.flags != want || len(blocks) != entries ||
			entries > 0 && (blocks[0] != uint64(newest) || blocks[entries-1] != uint64(oldest)) {
			t.Errorf("%s: got %+v of blocks %v; want %+v, %d from %d to %d", what, h.flags, blocks, want, entries, newest, oldest)
		}
	}
	loaded := func(want bool) {
		t.Helper()
		key, err := p.historyKey(view, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := p.histories.get(key)
		if ok {
			<-l.done
		}
		if ok != want {
			t.Errorf("the load goes on: %v; want %v", ok, want)
		}
		p.histories = newHistories()
	}

	last := int(st.Head.Number)
	f("all", render.History{}, last, last-9, 10)
	set(func(l *Limits) { l.TransactionsMax = 10 })
	f("as many as are shown", render.History{}, last, last-9, 10)
	set(func(l *Limits) { l.TransactionsMax = 4 })
	f("more than are shown", render.History{Truncated: true}, last-6, last-9, 4)
	loaded(false)

	degraded := render.History{Degraded: true, Partial: true}
	set(func(l *Limits) { l.TransactionsWait, l.TransactionsPartial = 1, 3 })
	f("without a wait", degraded, last, last-2, 3)
	loaded(true)
	f("without a wait", degraded, last, last-2, 3)
	key, _ := p.historyKey(view, 0)
	kept, _ := p.histories.get(key)
	<-kept.done
	f("once it is loaded", render.History{}, last, last-9, 10)
	loaded(true)

	set(func(l *Limits) { l.TransactionsWait, l.TransactionsPartial, l.TransactionsMax = 1, 3, 4 })
	f("without a wait, more than are shown", degraded, last, last-2, 3)
	loaded(true)
	set(func(l *Limits) { l.TransactionsWait, l.TransactionsPartial = 1, 0 })
	f("without a wait or entries", render.History{Degraded: true}, 0, 0, 0)
	loaded(true)
	if got := p.metrics.degraded.Get(); got != 4 {
		t.Errorf("%d degraded answers are counted; want 4", got)
	}

	// There is room for some loads.
	set(func(l *Limits) { l.TransactionsWait = 1 })
	for i := range maxHistories {
		p.histories.loads.put(strconv.Itoa(i), &load{done: make(chan struct{})}, nil)
	}
	f("with too many", degraded, last, last-9, 10)
	loaded(false)
	for i := range maxHistories {
		p.histories.loads.put(strconv.Itoa(i), &load{done: make(chan struct{})}, nil)
	}
	used, _ := p.histories.get("0")
	close(used.done)
	used.room = new(Buffer)
	done, _ := p.histories.get("1")
	close(done.done)
	done.room = &Buffer{body: make([]byte, 0, historyBytes+1)}
	p.histories.get("0")
	f("with too many, and some finished", degraded, last, last-9, 10)
	if _, ok := p.histories.get("1"); ok {
		t.Error("of two finished loads, the one that was not asked for longest stays")
	}
	if _, ok := p.histories.get("0"); !ok {
		t.Error("a finished load makes room where there is enough")
	}
	loaded(true)
	p.histories.loads.dropAll(func(*load) bool { return true })
	f("with room again", degraded, last, last-9, 10)
	loaded(true)
	p.jobs.running.Wait()
	p.jobs.queued.Store(maxQueued)
	f("with too many jobs", degraded, last, last-9, 10)
	loaded(false)
	p.jobs.queued.Store(0)

	key, _ = p.historyKey(view, 0)
	p.histories.loads.put(key, &load{done: make(chan struct{})}, nil)
	f("while another request loads it", degraded, last, last-9, 10)
	before, _ := p.histories.get(key)
	p.continueLoad(key, p.newLoad(view, 0))
	if now, _ := p.histories.get(key); now != before {
		t.Error("a second load takes the place of one that others wait for")
	}
}

// TestKeptHistoryIsDropped checks that a history is kept for limits.freshness and no longer,
// also where nobody asks for another one.
func TestKeptHistoryIsDropped(t *testing.T) {
	store := newStore(t)
	view := &rankings.View{State: longLived(t, store, 10)}
	p := crowded(t, func(c *Config) { c.Store = store }, crowd(1, 1))
	l := DefaultLimits()
	l.Freshness = 20 * time.Millisecond
	p.SetLimits(l)

	key, err := p.historyKey(view, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.continueLoad(key, p.newLoad(view, 0))
	kept, ok := p.histories.get(key)
	if !ok {
		t.Fatal("a history that is loading is not kept")
	}
	<-kept.done
	for end := time.Now().Add(10 * time.Second); ok; _, ok = p.histories.get(key) {
		if time.Sleep(time.Millisecond); time.Now().After(end) {
			t.Fatal("a history stays when nobody asks for another one")
		}
	}
}

// TestLongHistory checks that a history of several steps is complete, and each entry in its
// place, whether a request waits for it or finds it later.
func TestLongHistory(t *testing.T) {
	const entries = 2*historyStep + 3
	store := newStore(t)
	view := &rankings.View{State: longLived(t, store, entries)}
	last := int(view.State.Head.Number)
	f := func(wait time.Duration, most, newest, oldest int) {
		t.Helper()
		p := crowded(t, func(c *Config) { c.Store = store }, crowd(1, 1))
		l := DefaultLimits()
		l.TransactionsWait, l.TransactionsMax = wait, most
		p.SetLimits(l)
		h, refused := p.findHistory(view, 0)
		if h.flags.Degraded != (wait == 0) {
			t.Errorf("with a wait of %s: %+v, %+v", wait, h.flags, refused)
		}
		if wait == 0 {
			p.jobs.running.Wait()
			h, refused = p.findHistory(view, 0)
		}

		blocks := entered(t, h)
		if refused != nil || len(blocks) != newest-oldest+1 {
			t.Fatalf("with a wait of %s there are %d entries, %+v; want %d", wait, len(blocks), refused, newest-oldest+1)
		}
		for i, block := range blocks {
			if block != uint64(newest-i) {
				t.Fatalf("with a wait of %s entry %d is of block %d; want %d", wait, i, block, newest-i)
			}
		}
	}

	for _, wait := range []time.Duration{time.Minute, 0} {
		f(wait, 1000, last, last-entries+1)
		f(wait, historyStep+1, last-entries+1+historyStep, last-entries+1)
		f(wait, historyStep, last-entries+historyStep, last-entries+1)
	}
}

// TestStoppedHistory checks that a load ends after a step when the server stops, and that
// what it has is not taken for the whole history, nor kept.
func TestStoppedHistory(t *testing.T) {
	const entries = 3 * historyStep
	store := newStore(t)
	view := &rankings.View{State: longLived(t, store, entries)}
	for _, stopping := range []bool{false, true} {
		p := opened(t, func(c *Config) { c.Store = store }, crowd(1, 1))
		for range cap(p.jobs.reading) {
			p.jobs.reading <- struct{}{} // the load waits
		}
		l := p.newLoad(view, 0)
		p.continueLoad("", l)
		closed := make(chan error, 1)
		end := func() { closed <- p.Close(context.Background()) }
		if stopping {
			go end()
			<-p.jobs.stopping
		}
		for range cap(p.jobs.reading) {
			<-p.jobs.reading
		}

		<-l.done
		if _, kept := p.histories.get(""); kept == stopping {
			t.Errorf("stopping is %t: the history is kept for later requests: %t", stopping, kept)
		}
		h, refused := l.result()
		if (refused != nil) != stopping || !stopping && len(entered(t, h)) != entries {
			t.Errorf("stopping is %t: %d bytes of a history, %+v", stopping, len(h.entries), refused)
		}
		if !stopping {
			end()
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}

// longLived commits a position with an entry in each of so many last blocks.
func longLived(t *testing.T, store *storage.Store, entries int) *market.State {
	t.Helper()
	lines := []string{"pool P A B 3000 60", "mint 1 alice P -600 600 1e18"}
	for range entries - 1 {
		lines = append(lines, "add 1 1e17")
	}
	return played(t, store, lines...)
}

// played commits a market of the tokens A and B after lines of a script.
func played(t *testing.T, store *storage.Store, lines ...string) *market.State {
	t.Helper()
	l := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager})
	m := script.New()
	for _, token := range []string{"A", "B"} {
		if _, err := m.Set([]string{"token", token, "18"}); err != nil {
			t.Fatal(err)
		}
	}

	for _, line := range lines {
		if set, err := m.Set(strings.Fields(line)); set || err != nil {
			continue
		}
		span, err := m.Span(l.Freeze(), line)
		if err == nil {
			_, err = l.Apply(span)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	st := l.Freeze()
	if err := store.Commit(&storage.Cut{State: st, Changes: l.Changes()}); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestHistoryLength: the key of a history begins with its length, which no other position's
// and no other length's does.
func TestHistoryLength(t *testing.T) {
	store := newStore(t)
	st := played(t, store, "pool P A B 3000 60", "mint 1 a P min max 1e18", "mint 2 b P min max 1e18", "add 2 5")
	p, v := &Pages{cfg: &Config{Store: store, Board: new(rankings.Board)}, histories: newHistories()}, &rankings.View{State: st}
	if p.histories.mayHave(historyLength(v, 0)) {
		t.Error("a history is loading before any was begun")
	}

	key, err := p.historyKey(v, 1)
	if err != nil || !p.histories.loads.put(key, &load{}, func(*load) bool { return true }) {
		t.Fatal(key, err)
	}
	if p.histories.mayHave(historyLength(v, 0)) || !p.histories.mayHave(historyLength(v, 1)) {
		t.Errorf("%q begins with %q and not with %q", key, historyLength(v, 0), historyLength(v, 1))
	}
}

// TestHistoryOfReplacedBlocks checks that a history is not found again after a reorganisation,
// also where the same transactions are in other blocks since.
func TestHistoryOfReplacedBlocks(t *testing.T) {
	store := newStore(t)
	st := longLived(t, store, 10)
	board := new(rankings.Board)
	p := &Pages{cfg: &Config{Store: store, Board: board}}
	key := func(generation uint64, changes *rankings.Changes) string {
		t.Helper()
		v := &rankings.View{State: st, Generation: generation, Changes: changes}
		board.Publish(v)
		found, err := p.historyKey(v, 0)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	first := key(4, nil)
	if next := key(5, &rankings.Changes{Since: 4}); next != first {
		t.Errorf("a generation that goes on from the one before makes %q of %q", next, first)
	}
	replaced := key(6, &rankings.Changes{Since: 5, Reverted: true})
	if replaced == first {
		t.Errorf("the key is %q before and after a reorganisation", first)
	}
	if next := key(7, &rankings.Changes{Since: 6}); next != replaced {
		t.Errorf("a generation that goes on from the reorganisation makes %q of %q", next, replaced)
	}

	// A request that began before the reorganisation still has the view of then.
	if old, err := p.historyKey(&rankings.View{State: st, Generation: 5}, 0); err != nil || old == replaced {
		t.Errorf("the key of a view from before is %q, %v; that after is %q", old, err, replaced)
	}
}
