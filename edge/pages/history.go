package pages

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/pace"
)

// history is the transactions of a position as its detail shows them.
type history struct {
	entries []byte // JSON objects separated by commas, newest first
	flags   render.History
	room    *Buffer // holds the entries and is to be given back; nil: they may be kept
}

// histories holds the loads that took longer than their request waited. Their
// results are kept for limits.freshness, so that a retry finds them.
type histories struct {
	mu    sync.Mutex
	loads *recent[*load]
}

func newHistories() *histories { return &histories{loads: newRecent[*load](maxKeptHistories)} }

var errStopping = errors.New("the server stops")

// load reads the history of a position, newest entries first. If there are more
// than limits.transactions-max, it reads that many from the oldest on.
type load struct {
	done chan struct{} // closed when all is read or failed
	err  error

	it          *storage.Series[market.Transaction]
	decimals    render.Decimals
	quarantined bool // the pool
	remaining   int
	truncated   bool
	room        *Buffer // for the entries
	entryEnds   []int   // of each entry
}

// findHistory returns the transactions of position i as the view knows them.
func (p *Pages) findHistory(v *rankings.View, i uint32) (history, *render.Error) {
	deadline := time.Now().Add(p.limits.Load().TransactionsWait)

	// An earlier request may have started to load this history. To know whether it is the
	// same one, its last entry is read, which most requests need not do.
	if p.histories.mayHave(historyLength(v, i)) {
		key, err := p.historyKey(v, i)
		if err != nil {
			return history{}, errUnreadable(err)
		}
		if l, ok := p.histories.get(key); ok {
			if await(l.done, p.limits.Load().TransactionsWait) {
				return l.result()
			}
			return p.degradedHistory(v, i)
		}
	}

	l := p.newLoad(v, i)
	pacer := pace.New(p.cfg.Board.Requests)
	for time.Now().Before(deadline) {
		if l.readEntries(historyStep) {
			l.finishLoad()
			h, err := l.result()
			h.room = l.room
			return h, err
		}
		pacer.Pause()
	}

	key, err := p.historyKey(v, i)
	if err != nil {
		l.it.Close()
		return history{}, errUnreadable(err)
	}
	p.continueLoad(key, l)
	return p.degradedHistory(v, i)
}

// historyLength is what the keys of a position's histories of the same length begin with.
func historyLength(v *rankings.View, i uint32) string {
	var buf [64]byte
	key := strconv.AppendUint(buf[:0], uint64(v.State.Chain), 10)
	key = strconv.AppendUint(append(key, ' '), uint64(i), 10)
	key = strconv.AppendUint(append(key, ' '), uint64(v.State.Positions.At(i).Entries), 10)
	return string(append(key, ' '))
}

// historyKey identifies a history by its length, its tokens' decimals, which may have been
// unknown, its last entry, whether its pool is quarantined, and the blocks of the view. A later
// generation finds a kept history as long as it has not grown, and never one from before a
// reorganisation, after which the same transactions may be in other blocks.
func (p *Pages) historyKey(v *rankings.View, i uint32) (string, error) {
	it := p.transactions(v.State, i, storage.NewestFirst)
	defer it.Close()

	key := []byte(historyLength(v, i))
	key = append(strconv.AppendUint(key, p.unbroken(v), 10), ' ')
	pool := v.State.Pools.At(v.State.Positions.At(i).Pool)
	for _, d := range render.DecimalsOf(v.State, pool) {
		key = append(strconv.AppendInt(key, int64(d), 10), ' ')
	}
	if it.Next() {
		t := it.Entry()
		key = strconv.AppendUint(t.TxHash.AppendHex(key), uint64(t.LogIndex), 10)
	}
	if pool.Quarantined {
		key = append(key, " quarantined"...)
	}
	return string(key), it.Err()
}

// unbroken is the same number for all views of a chain between which no block was replaced.
func (p *Pages) unbroken(v *rankings.View) uint64 {
	c, ok := p.cfg.Board.Load().Chain(v.State.Chain)
	if !ok {
		return 0
	}
	return min(c.Unbroken, v.Generation)
}

// transactions iterates over the transactions of position i up to the block of a
// state. The store may have later ones.
func (p *Pages) transactions(
	st *market.State, i uint32, d storage.Direction,
) *storage.Series[market.Transaction] {
	return p.cfg.Store.Transactions(st.Chain, i, storage.Place{}, storage.End(st.Head.Number), d)
}

func (p *Pages) newLoad(v *rankings.View, i uint32) *load {
	st := v.State
	position := st.Positions.At(i)
	pool := st.Pools.At(position.Pool)
	l := &load{
		done: make(chan struct{}), remaining: p.limits.Load().TransactionsMax,
		decimals: render.DecimalsOf(st, pool), quarantined: pool.Quarantined,
		truncated: uint64(position.Entries) > uint64(p.limits.Load().TransactionsMax),
		room:      takeBuffer(),
	}
	l.room.body = l.room.body[:0]

	direction := storage.NewestFirst
	if l.truncated {
		direction = storage.OldestFirst
	}
	l.it = p.transactions(st, i, direction)
	return l
}

// readEntries reads at most n more entries and reports whether that was all.
func (l *load) readEntries(n int) (done bool) {
	entries := l.room.body
	defer func() { l.room.body = entries }()

	for ; n > 0; n-- {
		if l.remaining == 0 || !l.it.Next() {
			l.err = l.it.Err()
			return true
		}
		l.remaining--

		if len(l.entryEnds) > 0 {
			entries = append(entries, ',')
		}
		entries = render.AppendTransaction(entries, l.it.Entry(), l.decimals, l.quarantined)
		l.entryEnds = append(l.entryEnds, len(entries))
	}
	return false
}

// finishLoad closes the iterator and puts the entries in order, newest first.
func (l *load) finishLoad() {
	l.it.Close()
	if l.truncated {
		l.room.body = reverseEntries(l.room.body, l.entryEnds)
	}
	l.entryEnds = nil
	close(l.done)
}

// reverseEntries returns comma-separated entries in reverse order.
func reverseEntries(entries []byte, ends []int) []byte {
	out := make([]byte, 0, len(entries))
	for i := range slices.Backward(ends) {
		start := 0
		if i > 0 {
			start = ends[i-1] + 1 // behind the comma
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, entries[start:ends[i]]...)
	}
	return out
}

// result returns the history of a finished load.
func (l *load) result() (history, *render.Error) {
	if l.err != nil {
		return history{}, errUnreadable(l.err)
	}
	return history{entries: l.room.body, flags: render.History{Truncated: l.truncated}}, nil
}

// degradedHistory returns the newest entries only, for a history that did not
// load in time.
func (p *Pages) degradedHistory(v *rankings.View, i uint32) (history, *render.Error) {
	p.metrics.degraded.Inc()
	l := p.newLoad(v, i)
	if l.truncated {
		l.it.Close()
		l.it = p.transactions(v.State, i, storage.NewestFirst)
	}
	defer l.it.Close()

	l.readEntries(p.limits.Load().TransactionsPartial)
	if l.err != nil {
		return history{}, errUnreadable(l.err)
	}
	entries := l.room.body
	return history{entries, render.History{Degraded: true, Partial: len(entries) > 0}, l.room}, nil
}

// forget drops a load, if it is still the one of its key.
func (h *histories) forget(key string, l *load) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loads.drop(key, func(old *load) bool { return old == l })
}

// mayHave reports whether there is a load whose key begins with a prefix.
func (h *histories) mayHave(prefix string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.loads.byKey {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func (h *histories) get(key string) (*load, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loads.get(key)
}

// put keeps a load. While there are many, the finished ones that were not asked for longest
// make room; one that is loading never does. It returns false if too many are loading.
func (h *histories) put(key string, l *load) bool {
	loading := h.loads.sum(func(l *load) int {
		if isClosed(l.done) {
			return 0
		}
		return 1
	})
	if loading >= maxHistories {
		return false
	}

	over := h.loads.sum((*load).bytes) - historyBytes
	evictable := func(old *load) bool {
		if !isClosed(old.done) {
			return false
		}
		over -= old.bytes()
		return true
	}
	for over > 0 && h.loads.len() >= maxHistories && h.loads.evict(evictable) {
	}
	return h.loads.put(key, l, evictable)
}

// bytes is how much memory the entries of a finished load take; 0 of one that is loading.
func (l *load) bytes() int {
	if !isClosed(l.done) {
		return 0
	}
	return cap(l.room.body)
}

// continueLoad finishes a load in the background and keeps its result, unless it fails.
func (p *Pages) continueLoad(key string, l *load) {
	p.histories.mu.Lock()
	defer p.histories.mu.Unlock()

	// Give up if another request loads the same history, or too many are loading.
	if _, ok := p.histories.loads.get(key); ok || !p.histories.put(key, l) {
		l.it.Close()
		return
	}

	begun := p.jobs.startJob(p.jobs.reading, func() {
		pacer := pace.New(p.cfg.Board.Requests)
		for !l.readEntries(historyStep) {
			if isClosed(p.jobs.stopping) {
				l.err = errStopping // what waits for the load must not take it for whole
				break
			}
			pacer.Pause()
		}

		if l.err != nil {
			p.histories.forget(key, l) // the next request reads it again
		} else {
			time.AfterFunc(p.limits.Load().Freshness, func() { p.histories.forget(key, l) })
		}
		l.finishLoad()
	})
	if !begun {
		p.histories.loads.drop(key, func(old *load) bool { return old == l })
		l.it.Close()
	}
}
