package pages

import (
	"encoding/binary"
	"slices"
	"strconv"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// scope is the views that a question is answered from, ascending by chain, and
// the enabled chains that are unavailable.
type scope struct {
	views   []*rankings.View
	missing []market.ChainID
	cut     *cut // that the views are kept by; nil: they are the newest
	isPast  bool // a view is no longer the newest of its chain
}

// errUnavailable is the 503 when a chain, or every chain, has no current data.
func errUnavailable(what string) *render.Error {
	return render.Unavailable(what+" temporarily unavailable", unavailableRetry)
}

func errUnavailableChain(id market.ChainID) *render.Error {
	return errUnavailable("chain " + strconv.FormatUint(uint64(id), 10) + " is")
}

// scopeOf returns the scope of a question about one chain, or about all when
// chain is 0. It reads the board once, so a merged page never mixes snapshots.
// The scope uses the question's buffers and is valid as long as the question.
func (p *Pages) scopeOf(q *Question, chain market.ChainID) (scope, *render.Error) {
	sc := scope{views: q.views[:0], missing: q.missing[:0]}
	snapshot := p.cfg.Board.Load()
	for _, id := range p.enabled {
		if chain != 0 && chain != id {
			continue
		}
		if v := p.availableView(snapshot, id, q.Now); v != nil {
			sc.views = append(sc.views, v)
		} else {
			sc.missing = append(sc.missing, id)
		}
	}

	switch {
	case len(sc.views) > 0:
		return sc, nil
	case chain != 0:
		return sc, errUnavailableChain(chain)
	}
	return sc, errUnavailable("every chain is")
}

// CheckAvailable returns the error for a stream of chains that are not all available;
// without chains it is of all, one of which is enough.
func (p *Pages) CheckAvailable(chains []market.ChainID, now int64) *render.Error {
	sc, err := p.scopeOf(&Question{Now: now}, 0)
	if err != nil {
		return err
	}
	for _, id := range chains {
		if slices.Contains(sc.missing, id) {
			return errUnavailableChain(id)
		}
	}
	return nil
}

// availableView returns the view of a chain, or nil when it must not be served.
func (p *Pages) availableView(s *rankings.Snapshot, id market.ChainID, now int64) *rankings.View {
	c, ok := s.Chain(id)
	if !ok || c.View == nil || c.Status.Offline {
		return nil
	}
	if now-c.View.Confirmed() > p.limits.Load().UnavailableAfter.Milliseconds() {
		return nil
	}
	return c.View
}

// appendKey appends the cache key of a question: its canonical text and the
// generations that answer it, 16 bytes each. These imply which chains are missing.
func (sc *scope) appendKey(dst, question []byte) []byte {
	return appendKeyOf(dst, question, sc.views)
}

// appendKeyOf is appendKey of a question that is answered from views.
func appendKeyOf(dst, question []byte, views []*rankings.View) []byte {
	dst = append(dst, question...)
	for _, v := range views {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.State.Chain))
		dst = binary.LittleEndian.AppendUint64(dst, v.Generation)
	}
	return dst
}

// appendChainKey appends a key that outlives generations: the question's
// canonical text and the chains that answer it. The generations of a pinned walk
// are part of its questions.
func (sc *scope) appendChainKey(dst, question []byte) []byte {
	if sc.cut != nil {
		return sc.appendKey(dst, question)
	}
	dst = append(dst, question...)
	for _, v := range sc.views {
		dst = strconv.AppendUint(append(dst, ' '), uint64(v.State.Chain), 10)
	}
	return dst
}

// oldestConfirmed returns when the views were last all known to be current, in
// unix milliseconds: the oldest of the times at which each view's block was
// confirmed as its chain's head.
func oldestConfirmed(views []*rankings.View) int64 {
	oldest := views[0].Confirmed()
	for _, v := range views[1:] {
		oldest = min(oldest, v.Confirmed())
	}
	return oldest
}

// formatGenerations returns the X-Generation header of an answer from views.
func formatGenerations(views ...*rankings.View) string {
	var room [4]query.Generation
	return appendGenerations(room[:0], views).String()
}

// Published returns the X-Generation header of an answer without data: all
// published generations.
func (p *Pages) Published() string {
	var views []*rankings.View
	for _, c := range p.cfg.Board.Load().Chains {
		if c.View != nil && c.Status.Enabled {
			views = append(views, c.View)
		}
	}
	return formatGenerations(views...)
}
