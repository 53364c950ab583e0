package value

import "tidemark/rankings/market"

// Hour is what the beginning of an hour changes: the records that value
// everything that happens in it, and what is held through it.
type Hour struct {
	Prices []HourPrice       // one a token
	Pools  []market.HeldPool // those of which something changed, ascending
}

// HourPrice is the price of a token when an hour begins.
type HourPrice struct {
	market.Price
	PriceLostAt, TrustLostAt uint32 // as market.Token has them
}

// BeginHour returns the beginning of an hour: that of the State before its
// first block, as it stands when the hour begins. It is good until the next call.
func (k *Pricer) BeginHour(st *market.State, p *Params, ext []FeedPrice, hour uint32) Hour {
	at := *st
	at.Head.Time = int64(hour) * market.Hour
	s := k.begin(&at, p, ext)
	defer k.leave(s)
	s.nextHour = min(market.HourOf(st.Head.Time)+1, hour)
	s.others = k.countOthers(&at, s.heldParams)
	k.met = zeros(k.met, int(st.Pools.Len()))
	s.met = k.met
	s.solve()

	out := Hour{Prices: k.hour.Prices[:0], Pools: k.hour.Pools[:0]}
	for i := range s.prices {
		out.Prices = append(out.Prices, HourPrice{s.prices[i], s.lapses[i].price, s.lapses[i].trust})
	}
	for i := range st.Pools.Len() {
		pool := st.Pools.At(i)
		now := market.HeldPool{Pool: i, Others: s.others[i]}
		for side := range now.Held {
			now.Held[side] = s.heldNow(pool.Held[side], s.met[i][side])
		}
		if now.Held != pool.Held || now.Others != pool.Others {
			out.Pools = append(out.Pools, now)
		}
	}

	k.hour = out
	return out
}

// heldNow is how a market stands that was held so and meets its thresholds or
// does not.
func (s *solver) heldNow(was uint32, meets bool) uint32 {
	switch {
	case meets:
		return market.NoIndex
	case was == 0:
		return 0
	case was == market.NoIndex:
		was = s.nextHour
	}
	if s.inGrace(was) {
		return was
	}
	return 0
}
