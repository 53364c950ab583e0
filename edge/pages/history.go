package pages

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// history is what a detail shows of a position's transactions.
type history struct {
	entries []byte // joined, newest first
	flags   render.History
}

// histories are the loads that outlived the wait of their request. What they
// found is kept for at least limits.freshness, so that a retry has it.
type histories struct {
	mu   sync.Mutex
	kept *recent[*load]
}

func newHistories() *histories { return &histories{kept: newRecent[*load](maxHistories)} }

// load reads the history of a position, newest entries first, or, when it is
// longer than limits.transactions-max, its oldest that many.
type load struct {
	done chan struct{} // closed when all is read or failed
	at   time.Time     // when it ended
	err  error

	it        *storage.Series[market.Transaction]
	decimals  [2]uint8
	left      int
	truncated bool
	entries   []byte
	ends      []int // of each entry
}

// history returns the transactions of position i as the view knows them.
func (p *Pages) history(v *rankings.View, i uint32) (history, *render.Error) {
	deadline := time.Now().Add(p.limits.Load().TransactionsWait)
	key, err := p.historyKey(v, i)
	if err != nil {
		return history{}, broken(err)
	}

	// A load that outlived an earlier request may have ended by now.
	if l, ok := p.histories.get(key); ok {
		if await(l.done, p.limits.Load().TransactionsWait) {
			return l.history()
		}
		return p.degraded(v, i)
	}

	l := p.newLoad(v, i)
	if p.limits.Load().TransactionsWait > 1 {
		for time.Now().Before(deadline) {
			if l.step(historyStep) {
				l.end()
				return l.history()
			}
		}
	}
	p.continueLoad(key, l)
	return p.degraded(v, i)
}

// historyKey names a history: by its length and its last entry, so that one
// that was kept is found by later generations until it grows, and never
// across a reorganisation.
func (p *Pages) historyKey(v *rankings.View, i uint32) (string, error) {
	st := v.State
	it := p.entries(st, i, storage.NewestFirst)
	defer it.Close()
	key := fmt.Appendf(nil, "%d %d %d ", st.Chain, i, st.Positions.At(i).Entries)
	if it.Next() {
		t := it.Entry()
		key = strconv.AppendUint(t.TxHash.AppendHex(key), uint64(t.LogIndex), 10)
	}
	return string(key), it.Err()
}

// entries are the transactions of position i that a state knows of: the store
// may be ahead of it.
func (p *Pages) entries(
	st *market.State, i uint32, d storage.Direction,
) *storage.Series[market.Transaction] {
	return p.cfg.Store.Transactions(st.Chain, i, storage.Place{}, storage.End(st.Head.Number), d)
}

func (p *Pages) newLoad(v *rankings.View, i uint32) *load {
	st := v.State
	position := st.Positions.At(i)
	l := &load{
		done: make(chan struct{}), left: p.limits.Load().TransactionsMax,
		decimals:  render.Decimals(st, st.Pools.At(position.Pool)),
		truncated: uint64(position.Entries) > uint64(p.limits.Load().TransactionsMax),
	}
	few := min(int(position.Entries), p.limits.Load().TransactionsPartial)
	l.entries = make([]byte, 0, entryBytes*few)

	direction := storage.NewestFirst
	if l.truncated {
		direction = storage.OldestFirst
	}
	l.it = p.entries(st, i, direction)
	return l
}

// step reads at most n more entries and reports whether none are left.
func (l *load) step(n int) (done bool) {
	for ; n > 0; n-- {
		if l.left == 0 || !l.it.Next() {
			l.err = l.it.Err()
			return true
		}
		l.left--
		if len(l.ends) > 0 {
			l.entries = append(l.entries, ',')
		}

		l.entries = render.AppendTransaction(l.entries, l.it.Entry(), l.decimals)
		l.ends = append(l.ends, len(l.entries))
	}
	return false
}

// end frees the iterator and puts the entries in order.
func (l *load) end() {
	l.it.Close()
	if l.truncated {
		l.entries = reversed(l.entries, l.ends)
	}
	l.ends, l.at = nil, time.Now()
	close(l.done)
}

// reversed returns joined entries in the opposite order.
func reversed(entries []byte, ends []int) []byte {
	out := make([]byte, 0, len(entries))
	for i := range slices.Backward(ends) {
		start := 0
		if i > 0 {
			start = ends[i-1] + 1
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, entries[start:ends[i]]...)
	}
	return out
}

// history is the result of a load that has ended.
func (l *load) history() (history, *render.Error) {
	if l.err != nil {
		return history{}, broken(l.err)
	}
	return history{l.entries, render.History{Truncated: l.truncated}}, nil
}

// degraded is what a detail shows of a history that did not load in time: its
// newest entries, read at once.
func (p *Pages) degraded(v *rankings.View, i uint32) (history, *render.Error) {
	p.metrics.degraded.Inc()
	l := p.newLoad(v, i)
	if l.truncated {
		l.it.Close()
		l.it = p.entries(v.State, i, storage.NewestFirst)
	}
	defer l.it.Close()

	l.step(p.limits.Load().TransactionsPartial)
	if l.err != nil {
		return history{}, broken(l.err)
	}
	return history{l.entries, render.History{Degraded: true, Partial: len(l.entries) > 0}}, nil
}

func (h *histories) get(key string) (*load, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept.get(key)
}

// continueLoad goes on with a load beside its request and keeps what it finds.
func (p *Pages) continueLoad(key string, l *load) {
	p.histories.mu.Lock()
	defer p.histories.mu.Unlock()

	// Another request may load the same history, or too many may load.
	mayGo := func(old *load) bool {
		return isClosed(old.done) && time.Since(old.at) > p.limits.Load().Freshness
	}
	if _, ok := p.histories.kept.get(key); ok || !p.histories.kept.put(key, l, mayGo) {
		l.it.Close()
		return
	}

	begun := p.jobs.start(p.jobs.reading, func() {
		for !l.step(historyStep) && !isClosed(p.jobs.stopping) {
		}
		l.end()
	})
	if !begun {
		p.histories.kept.drop(key, func(old *load) bool { return old == l })
		l.it.Close()
	}
}
