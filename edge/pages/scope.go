package pages

import (
	"encoding/binary"
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// scope is what a question is asked of: the views of the chains that are
// available, ascending by chain, and the enabled chains that are not.
type scope struct {
	views   []*rankings.View
	missing []market.ChainID
}

// errUnavailable is the 503 of a chain, or of all, without current data.
func errUnavailable(what string) *render.Error {
	return render.Unavailable(what+" temporarily unavailable", unavailableRetry)
}

// scopeOf finds what a question about one chain, or about all for 0, is asked
// of now. It reads one snapshot of the board, so merged pages never mix two
// moments. The scope is good as long as its question.
func (p *Pages) scopeOf(q *Question, chain market.ChainID) (scope, *render.Error) {
	sc := scope{views: q.views[:0], missing: q.missing[:0]}
	snapshot := p.cfg.Board.Load()
	for _, id := range p.enabled {
		if chain != 0 && chain != id {
			continue
		}
		if v := p.available(snapshot, id, q.Now); v != nil {
			sc.views = append(sc.views, v)
		} else {
			sc.missing = append(sc.missing, id)
		}
	}

	switch {
	case len(sc.views) > 0:
		return sc, nil
	case chain != 0:
		return sc, errUnavailable("chain " + strconv.FormatUint(uint64(chain), 10) + " is")
	}
	return sc, errUnavailable("every chain is")
}

// available returns the view of a chain that may be served, or nil.
func (p *Pages) available(s *rankings.Snapshot, id market.ChainID, now int64) *rankings.View {
	c, ok := s.Chain(id)
	if !ok || c.View == nil || c.Status.Offline {
		return nil
	}
	if now-c.View.Confirmed() > p.limits.Load().UnavailableAfter.Milliseconds() {
		return nil
	}
	return c.View
}

// appendKey appends what a question is kept under: itself and the generations
// that it is asked of. These tell which chains are missing, too.
func (sc *scope) appendKey(dst, question []byte) []byte {
	dst = append(append(dst, question...), ' ')
	for _, v := range sc.views {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.State.Chain))
		dst = binary.LittleEndian.AppendUint64(dst, v.Generation)
	}
	return dst
}

// appendChainKey appends what a question is kept under for longer than a
// generation: itself and the chains that it is asked of.
func (sc *scope) appendChainKey(dst, question []byte) []byte {
	dst = append(dst, question...)
	for _, v := range sc.views {
		dst = strconv.AppendUint(append(dst, ' '), uint64(v.State.Chain), 10)
	}
	return dst
}

// asOf is the oldest of the times at which each view's block was last known to
// be its chain's head, in unix milliseconds.
func asOf(views []*rankings.View) int64 {
	oldest := views[0].Confirmed()
	for _, v := range views[1:] {
		oldest = min(oldest, v.Confirmed())
	}
	return oldest
}

// generations is the X-Generation header of an answer from views.
func generations(views ...*rankings.View) string {
	var dst []byte
	for i, v := range views {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(v.State.Chain), 10)
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, v.Generation, 10)
	}
	return string(dst)
}

// Published is the X-Generation header of an answer that has no data.
func (p *Pages) Published() string {
	var views []*rankings.View
	for _, c := range p.cfg.Board.Load().Chains {
		if c.View != nil && c.Status.Enabled {
			views = append(views, c.View)
		}
	}
	return generations(views...)
}
