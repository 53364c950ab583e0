package value

import (
	"slices"

	"tidemark/rankings/market"
)

// solver holds one solution on its way. Slices are by token where nothing else
// is said.
type solver struct {
	st         *market.State
	p          *Params
	heldParams *Params // of what is held
	now        int64
	nextHour   uint32 // the first that begins after the State's block

	others []uint8   // by pool: as market.Pool.Others, which it replaces; or nil
	met    [][2]bool // by pool and side: it is a market; or nil when nobody asks
	lapses []lapse

	listed           addressFilter // addresses that have a role
	feed             map[market.Address]FeedPrice
	prices           []market.Price
	roles            []role
	leader, follower uint32    // the native currency and its wrapped form; see native.go
	whole            []float64 // raw units of a whole token

	// What the tokens that quotes are against are worth: anchors, and what
	// the first hop priced.
	rawUsd  []float64 // of a raw unit; Unknown without a price
	exit    []float64 // what selling the token against anchors yields
	trusted []bool    // an anchor, or corroborated by the first hop
	offered []float64 // scratch of limitByBacking

	pause func()

	depths  [][2]keptDepth // by pool and side; nil: none are kept
	natives []quote        // what the native currency's pools said
	kept    []quote        // what selectQuotes chose from last

	pegPools, nativePools []uint32 // scratch of priceAnchors

	// Scratch of priceHops.
	first, sorted []quote
	between       []uint32 // pools of two tokens that are no anchors
	ends          []uint32 // of byToken
}

func newSolver(st *market.State, p *Params, ext []FeedPrice) *solver {
	s := new(solver)
	s.begin(st, p, ext)
	return s
}

// begin begins a solution, in the memory of the one before.
func (s *solver) begin(st *market.State, p *Params, ext []FeedPrice) {
	n := int(st.Tokens.Len())
	s.st, s.p, s.heldParams, s.pause = st, p, p.relaxed(), func() {}
	s.now, s.nextHour = st.Now(), market.HourOf(st.Now())+1
	s.lapses, s.prices = zeros(s.lapses, n), zeros(s.prices, n)
	s.roles, s.trusted = zeros(s.roles, n), zeros(s.trusted, n)
	s.whole, s.rawUsd = zeros(s.whole, n), zeros(s.rawUsd, n)
	s.exit, s.offered = zeros(s.exit, n), zeros(s.offered, n)
	for i := range s.rawUsd {
		s.rawUsd[i] = market.Unknown
	}
	s.listed = p.listed()

	if clear(s.feed); s.feed == nil {
		s.feed = make(map[market.Address]FeedPrice, len(ext))
	}
	for _, answer := range ext {
		if age := s.now - answer.AsOf; max(age, -age) <= p.FeedMaxAge && answer.Usd > 0 {
			s.feed[answer.Token] = answer
		}
	}
}

// zeros returns n zeros, in the memory of s if that is enough.
func zeros[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// tokenOf returns the token on a side of a pool.
func (s *solver) tokenOf(pool uint32, side int) uint32 {
	if side == 0 {
		return s.st.Pools.At(pool).Currency0
	}
	return s.st.Pools.At(pool).Currency1
}

// strideLen is how many pools or tokens are looked at between two pauses; the
// depth of a pool takes a few microseconds.
const strideLen = 32

// pauseAt pauses before every strideLen-th of a loop.
func (s *solver) pauseAt(i int) {
	if i%strideLen == 0 {
		s.pause()
	}
}
