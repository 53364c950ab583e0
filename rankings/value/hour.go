package value

import "tidemark/rankings/market"

// HourPrice is the price of a token when an hour begins.
type HourPrice struct {
	market.Price
	PriceLostAt, TrustLostAt uint32 // as market.Token has them
}

// BeginHour begins an hour with the State before its first block, as it stands when the
// hour begins. It calls visit with the price of every token, by which everything is valued
// that happens in the hour, and returns the pools, ascending, of which something changes that
// is held through it. Those are good until the next call.
func (k *Pricer) BeginHour(
	st *market.State, p *Params, ext []FeedPrice, hour uint32,
	visit func(token uint32, price HourPrice),
) []market.HeldPool {
	at := *st
	at.Head.Time = int64(hour) * market.Hour
	s := k.begin(&at, p, ext)
	defer k.leave(s)
	s.nextHour = min(market.HourOf(st.Head.Time)+1, hour)
	s.others = k.countOthers(&at, s.heldParams)
	k.met = zeros(k.met, int(st.Pools.Len()))
	s.met = k.met
	s.solve()

	for i := range s.prices {
		visit(uint32(i), HourPrice{s.prices[i], s.lapses[i].price, s.lapses[i].trust})
	}

	k.held = k.held[:0]
	for i := range st.Pools.Len() {
		pool := st.Pools.At(i)
		now := market.HeldPool{Pool: i, Others: s.others[i]}
		for side := range now.Held {
			now.Held[side] = s.heldNow(pool.Held[side], s.met[i][side])
		}
		if now.Held != pool.Held || now.Others != pool.Others {
			k.held = append(k.held, now)
		}
	}

	return k.held
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
