package edge

import (
	"strconv"

	"tidemark/rankings"
)

// detail answers a question about one position or pool, which it finds in the
// newest view of its chain: from the page cache, or as build renders it.
func (s *Server) detail(
	r *request, build func(v *rankings.View, i uint32) (*page, *Error),
) (reply, *Error) {
	sc, err := s.scopeOf(r, r.chain)
	if err != nil {
		return reply{}, err
	}
	v := sc.views[0]
	i, ok := s.find(r, v)
	if !ok {
		return reply{}, s.gone(r, v)
	}
	key := s.key(r.room[:0], r.appendThing(r.segments[:0]), sc)
	if p, ok := s.pages.get(key); ok {
		return reply{page: p, asOf: v.Confirmed()}, nil
	}
	p, err := build(v, i)
	if err != nil {
		return reply{}, err
	}
	p.generations = generation(v)
	if !p.free && len(p.body) <= maxKept {
		p.key = string(key)
		s.pages.put(p)
	}
	return reply{page: p, asOf: v.Confirmed(), free: p.free}, nil
}

// isPool tells what the route is about.
func (r *request) isPool() bool { return r.route == routePool || r.route == routePoolCharts }

// find returns the index of what is asked for.
func (s *Server) find(r *request, v *rankings.View) (uint32, bool) {
	switch {
	case r.isPool():
		return v.Pool(r.pool)
	case r.noPosition:
		return 0, false
	}
	return v.Position(r.position)
}

// appendThing appends what is asked for, canonically.
func (r *request) appendThing(dst []byte) []byte {
	dst = append(append(dst, routes[r.route].name...), ' ')
	if r.isPool() {
		dst = r.pool.AppendHex(dst)
	} else {
		dst = strconv.AppendUint(dst, r.position, 10)
	}
	return append(append(dst, ' '), r.chartRange.String()...)
}

// gone is the charged 404 of what a view does not have.
func (s *Server) gone(r *request, v *rankings.View) *Error {
	setHeader(r.ctx, headerGeneration, generation(v))
	if r.isPool() {
		return absent("no such pool on chain %d", v.State.Chain)
	}
	return absent("no such position on chain %d", v.State.Chain)
}

// generation is the X-Generation header of an answer from one view.
func generation(v *rankings.View) string {
	return string(appendGenerations(nil, []*rankings.View{v}))
}
