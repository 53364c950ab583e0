package edge

import (
	"strconv"
	"time"

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
func errUnavailable(what string) *Error {
	return unavailable(what+" temporarily unavailable", unavailableRetry)
}

// unavailableRetry is how long a chain that is missing is likely to be: it
// has to catch up, or its operator to act.
const unavailableRetry = 5 * time.Second

// scopeOf finds what a question about one chain, or about all for 0, is asked
// of now. One snapshot serves it, so merged pages never mix two moments. The
// scope is good as long as its request.
func (s *Server) scopeOf(r *request, chain market.ChainID) (scope, *Error) {
	sc := scope{views: r.views[:0], missing: r.missing[:0]}
	snapshot := s.cfg.Board.Load()
	for _, c := range s.queryChains {
		if !c.Enabled || chain != 0 && chain != c.ID {
			continue
		}
		if v := s.available(snapshot, c.ID, r.milli()); v != nil {
			sc.views = append(sc.views, v)
		} else {
			sc.missing = append(sc.missing, c.ID)
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
func (s *Server) available(p *rankings.Snapshot, id market.ChainID, now int64) *rankings.View {
	c, ok := p.Chain(id)
	if !ok || c.View == nil || c.Status.Offline {
		return nil
	}
	if now-c.View.Confirmed() > s.limits.UnavailableAfter.Milliseconds() {
		return nil
	}
	return c.View
}

// asOf is when the oldest data of the views was the chain's newest, in unix
// milliseconds.
func asOf(views []*rankings.View) int64 {
	oldest := views[0].Confirmed()
	for _, v := range views[1:] {
		oldest = min(oldest, v.Confirmed())
	}
	return oldest
}

// appendGenerations appends the X-Generation header of views.
func appendGenerations(dst []byte, views []*rankings.View) []byte {
	for i, v := range views {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(v.State.Chain), 10)
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, v.Generation, 10)
	}
	return dst
}

// published is the X-Generation header of an answer that has no data.
func (s *Server) published() string {
	var views []*rankings.View
	for _, c := range s.cfg.Board.Load().Chains {
		if c.View != nil && c.Status.Enabled {
			views = append(views, c.View)
		}
	}
	return string(appendGenerations(nil, views))
}

// appendChains appends the chains of views, for keys that outlive generations.
func appendChains(dst []byte, views []*rankings.View) []byte {
	for _, v := range views {
		dst = strconv.AppendUint(append(dst, ' '), uint64(v.State.Chain), 10)
	}
	return dst
}
