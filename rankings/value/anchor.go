package value

import (
	"cmp"
	"math"
	"slices"

	"tidemark/rankings/market"
)

// role is what a token is by configuration.
type role uint8

const (
	ordinary role = iota
	stable
	native // the native currency or its wrapped form
)

// priceAnchors finds the listed tokens, drops stables off their peg, and prices
// what is left.
func (s *solver) priceAnchors() {
	s.setRoles()
	pegs, natives := s.pegPools[:0], s.nativePools[:0]
	for i := range s.st.Pools.Len() {
		s.pauseAt(int(i))
		pool := s.st.Pools.At(i)
		a, b := s.roles[pool.Currency0], s.roles[pool.Currency1]
		switch {
		case a == ordinary || b == ordinary:
		case a == stable && b == stable:
			pegs = append(pegs, i)
		case a != b:
			natives = append(natives, i)
		}
	}

	s.pegPools, s.nativePools = pegs, natives
	s.anchorStables()
	s.dropUnpegged(pegs)
	s.anchorNative(natives)
}

func (s *solver) setRoles() {
	for i := range s.st.Tokens.Len() {
		s.pauseAt(int(i))
		token := s.st.Tokens.At(i)
		s.whole[i] = whole(token)
		s.prices[i] = unpriced(market.ReasonNoMarket)
		if token.BadDecimals {
			s.prices[i].Reason = market.ReasonBadDecimals
			continue
		}

		if s.listed.mayHave(&token.Address) {
			s.roles[i] = s.p.roleOf(&token.Address)
		}
	}
	s.findNative()
}

// addressFilter has the first bytes of some addresses, modulo 64. Nearly every token is none
// of a few, and is told by a bit.
type addressFilter uint64

func (f *addressFilter) add(a *market.Address) { *f |= 1 << (a[0] % 64) }

func (f addressFilter) mayHave(a *market.Address) bool { return f>>(a[0]%64)&1 != 0 }

// listed returns the addresses that have a role.
func (p *Params) listed() (f addressFilter) {
	f.add(&market.Address{})
	f.add(&p.WrappedNative)
	for i := range p.Stables {
		f.add(&p.Stables[i])
	}
	return f
}

func (p *Params) roleOf(a *market.Address) role {
	switch {
	case a.IsZero(), *a == p.WrappedNative:
		return native
	case slices.Contains(p.Stables, *a):
		return stable
	}
	return ordinary
}

// anchorStables anchors the stables. Their price is as of the hour, not the
// block: a Price that differs at every block would have all pools valued again.
func (s *solver) anchorStables() {
	hour := s.now - s.now%market.Hour
	for i, role := range s.roles {
		if role == stable {
			s.setAnchor(uint32(i), market.Price{Usd: 1, AsOf: hour, Source: market.SourceAnchor})
		}
	}
}

func (s *solver) setAnchor(token uint32, price market.Price) {
	price.ExitUsd = math.Inf(1)
	price.OnlyPool = market.NoIndex
	price.Corroborated, price.Anchor = true, true
	s.prices[token] = price
	s.rawUsd[token] = price.Usd / s.whole[token]
	s.exit[token] = price.ExitUsd
	s.trusted[token] = true
}

// A stable/stable market off its peg says that one of the two is, and it is
// the one that sells for less: stables fail downwards. A stable loses its
// anchor when markets with more than half of the depth of all its markets
// against stables say so, so that one thin pool cannot take it. It is then a
// token as any other.
func (s *solver) dropUnpegged(pools []uint32) {
	if s.p.Peg == 0 {
		return
	}

	all, cheap := map[uint32]float64{}, map[uint32]float64{}
	for _, index := range pools {
		for side := range 2 {
			s.first = s.appendQuote(s.first[:0], index, side, s.rawUsd[s.tokenOf(index, 1-side)])
			q := &s.first[0]
			if q.bar != market.ReasonNone {
				continue
			}
			all[q.token] += q.reach
			if s.cheapFor(index, side) {
				cheap[q.token] += q.reach
			}
		}
	}

	for i, role := range s.roles {
		if token := uint32(i); role == stable && cheap[token] > all[token]/2 {
			s.prices[i] = unpriced(market.ReasonNoMarket)
			s.rawUsd[i] = market.Unknown
		}
	}
}

// cheapFor reports whether every close of a stable/stable pool that stood
// within the last PegTime has the side's token more than Peg percent cheaper
// than the other. The minute closes that are kept reach back half an hour or
// more; before them the closes of hours speak.
func (s *solver) cheapFor(index uint32, side int) bool {
	unit := s.whole[s.tokenOf(index, side)] / s.whole[s.tokenOf(index, 1-side)]
	cheap := func(sqrt float64) bool {
		root := sqrt / two96
		if side == 1 {
			root = two96 / sqrt
		}
		return root*root*unit < 1-s.p.Peg/100
	}

	since, oldest := s.now-s.p.PegTime, s.now+1
	ring := s.st.Minutes.At(index)
	for at := ring.Newest; ring.Minute[at] != 0; at = olderSlot(at) {
		begun := int64(ring.Minute[at]) * market.Minute
		if begun >= oldest {
			break // once around
		}
		if !cheap(ring.Sqrt[at]) {
			return false
		}
		if oldest = begun; begun <= since {
			return true
		}
	}

	for at := s.st.Pools.At(index).LastHour; at != market.NoIndex; {
		bucket := s.st.Hours.At(at)
		if bucket.Hour < market.OldestHour(market.DayOf(s.now)) {
			break // no hour's close, but a day's
		}
		if ended := int64(bucket.Hour+1) * market.Hour; ended <= oldest {
			if !cheap(bucket.Close) {
				return false
			}
			if ended <= since {
				return true
			}
		}
		at = bucket.Prev
	}

	return false
}

// anchorNative prices the native currency and its wrapped form: the median of
// the deepest pools of either against a stable. Without one a feed may.
func (s *solver) anchorNative(pools []uint32) {
	quotes := s.natives[:0]
	for _, index := range pools {
		side := 0
		if s.roles[s.tokenOf(index, 1)] == native {
			side = 1
		}
		if by := s.tokenOf(index, 1-side); s.prices[by].Anchor {
			quotes = s.appendQuote(quotes, index, side, s.rawUsd[by])
		}
	}

	price := s.nativePrice(quotes)
	if s.leader == market.NoIndex {
		return
	}
	if !market.Known(price.Usd) {
		s.prices[s.leader].Reason = price.Reason
		if was := s.st.Tokens.At(s.leader).HourSource; was == market.SourceAnchor || was == market.SourceFeed {
			s.keepPrice(s.leader)
		}
		price = s.prices[s.leader]
		s.follow()
	}

	if !market.Known(price.Usd) {
		return
	}
	s.setAnchor(s.leader, price)
	if s.follower != market.NoIndex {
		s.setAnchor(s.follower, price)
	}
}

func (s *solver) nativePrice(quotes []quote) market.Price {
	s.natives = quotes
	asked := s.deepestQuotes(quotes)
	n := len(asked)
	if n == 0 {
		return s.nativeFeed(missingReason(quotes))
	}
	return market.Price{
		Usd:     (asked[(n-1)/2].usd + asked[n/2].usd) / 2,
		AsOf:    s.newestSwap(asked),
		Markets: uint16(n),
		Source:  market.SourceAnchor,
	}
}

// deepestQuotes returns the native's quotes that are asked, ascending in price.
func (s *solver) deepestQuotes(quotes []quote) []quote {
	asked := slices.DeleteFunc(slices.Clone(quotes), func(q quote) bool {
		return q.bar != market.ReasonNone
	})
	slices.SortFunc(asked, func(a, b quote) int {
		return cmp.Or(cmp.Compare(b.reach, a.reach), cmp.Compare(a.pool, b.pool))
	})
	asked = asked[:min(len(asked), max(s.p.NativePools, 1))]
	slices.SortFunc(asked, func(a, b quote) int { return cmp.Compare(a.usd, b.usd) })
	return asked
}

func (s *solver) nativeFeed(reason market.Reason) market.Price {
	for _, address := range []market.Address{{}, s.p.WrappedNative} {
		if answer, ok := s.feed[address]; ok {
			return market.Price{Usd: answer.Usd, AsOf: answer.AsOf, Source: market.SourceFeed}
		}
	}
	return unpriced(reason)
}
