package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// routers are the contracts through which most swaps come.
const routers = 5

func (s *scene) router() (a market.Address) {
	fillBytes(a[:], hash(s.chainKey, 'r', s.below(routers)))
	return a
}

// specialPermille is how many of the draws that fall on a pool with a role of
// its own stay there; the others go to a core pool.
const specialPermille = 200

// wakeful is how many of the first pools are traded on every day; of the later
// ones fewer and fewer, but at least sleepyPermille.
const (
	wakeful        = 70
	sleepyPermille = 25
)

// pickVenue draws a pool to trade in: the older the likelier.
func (s *scene) pickVenue() uint32 {
	i := uint64(s.ranked(s.popular(uint64(s.nPools))))
	v := &s.venues[i]
	young := s.now.t*1000-v.bornMs < day*1000 && s.cfg.Crowd.BusyDays == 0
	switch {
	case !v.isOpen() && v.role != washed && !s.chance(specialPermille), s.isIdle(i) && !young:
		return s.anyCore()
	}
	return uint32(i)
}

// isIdle reports whether a pool is left alone today.
func (s *scene) isIdle(i uint64) bool {
	awake, most := uint64(1000), uint64(s.cfg.Crowd.Awake)
	if i >= most {
		awake = max(uint64(s.cfg.Crowd.Sleepy), most*1000/(i+1))
	}
	return hash(s.chainKey, 'd', i, uint64(s.now.t/day))%1000 >= awake
}

// isOpen reports whether everybody trades and provides there.
func (v *venue) isOpen() bool { return v.role == ordinary || v.role == core }

// trade is one swap, or what a pool with a role has instead. A part of all trade
// is by arbitrageurs who look for a pool that is off its reference.
func (s *scene) trade() {
	s.transact(150_000, false)
	if s.now.t*1000 >= s.endMs && !s.chance(s.large) {
		s.tradeSmall()
		return
	}
	if s.chance(300) && s.takeBestArbitrage() {
		return
	}

	p := s.pool(s.pickVenue())
	switch p.role {
	case untraded, empty:
	case drained:
		s.tradeOrDrain(p)
	case circle:
		s.tradeCircle()
	case washed:
		s.wash(p)
	case stale:
		if s.now.t*1000 < p.bornMs+(s.endMs-p.bornMs)/4 {
			s.swapToward(p)
		}
	default:
		s.swapToward(p)
	}
}

// tradeSmall is a swap too small to matter in the volume of its pool.
func (s *scene) tradeSmall() {
	p := s.pool(s.pickVenue())
	if !p.isOpen() {
		p = s.pool(s.anyCore())
	}
	s.noise(p, s.reference(p.venue), min(60*s.logNormal(1000), p.tvl/2000))
}

// tradeOrDrain is trade in a pool whose founder waits for others to buy from
// it: the first to look after two thirds of its time finds it drained.
func (s *scene) tradeOrDrain(p *pool) {
	founder := s.firstOf(p)
	switch {
	case founder.liquidity.IsZero():
	case s.now.t*1000 < p.bornMs+(s.endMs-p.bornMs)/3*2:
		s.swapToward(p)
	default:
		s.transact(260_000, true)
		s.closeOut(p, founder, false)
	}
}

// takeBestArbitrage looks at a few pools and trades in the one with the largest
// gain.
func (s *scene) takeBestArbitrage() bool {
	var best *pool
	var most, bestOff int64
	for range 4 {
		p := s.pool(uint32(s.below(uint64(min(s.nPools, uint32(s.cfg.Crowd.Awake))))))
		off := int64(p.tick - s.reference(p.venue))
		gain := max(off, -off) - int64(s.lpFee(p.venue)/100)
		if p.venue.isOpen() && gain > most {
			best, most, bestOff = p, gain, off
		}
	}

	if best == nil {
		return false
	}
	free := int64(s.lpFee(best.venue) / 100)
	s.arbitrage(best, best.tick-int32(bestOff), bestOff, free)
	return true
}

// No pool stays further off its reference than widestGap ticks, fee aside, for
// long: that much nobody leaves lying about. Of a large market only so many pools
// are looked at.
const (
	widestGap   = 400
	gapsWatched = 100
)

// closeWidestGap is an arbitrage in the pool that is furthest off its reference,
// if that is too far.
func (s *scene) closeWidestGap() {
	var widest *pool
	var off int64
	most := int64(widestGap)
	for i := range min(s.nPools, gapsWatched) {
		if !s.venues[i].isOpen() {
			continue
		}
		p := s.pool(i)
		gap := int64(p.tick - s.reference(p.venue))
		if beyond := max(gap, -gap) - int64(s.lpFee(p.venue)/100); beyond > most {
			widest, most, off = p, beyond, gap
		}
	}

	if widest != nil {
		s.transact(150_000, false)
		s.arbitrage(widest, widest.tick-int32(off), off, int64(s.lpFee(widest.venue)/100))
	}
}

// swapToward is an arbitrage when the pool is off its reference, and noise when
// it is not.
func (s *scene) swapToward(p *pool) {
	ref := s.reference(p.venue)
	off, free := int64(p.tick-ref), int64(s.lpFee(p.venue)/100)
	if (off > free+1 || off < -free-1) && s.chance(850) {
		s.arbitrage(p, ref, off, free)
		return
	}
	s.noise(p, ref, s.swapSize(p.venue))
}

// arbitrage takes the price to where its fee eats the gain.
func (s *scene) arbitrage(p *pool, ref int32, off, free int64) {
	o := order{down: off > 0, exactIn: true, fee: s.lpFee(p.venue)}
	o.limit = ref + int32(free)
	if !o.down {
		o.limit = ref - int32(free)
	}
	t := p.token1
	if o.down {
		t = p.token0
	}
	o.amount = s.rawAmount(t, 4*p.tvl+1000)
	s.swapAs(p, o)
}

// noise is a swap of a log-normal size in either direction, by input or by
// output, that stops where the pool gets too far off its reference.
func (s *scene) noise(p *pool, ref int32, usd float64) {
	o := order{down: s.chance(500), exactIn: s.chance(700), fee: s.lpFee(p.venue)}
	if off := int64(p.tick - ref); off > p.band*3/4 {
		o.down = true
	} else if off < -p.band*3/4 {
		o.down = false
	}

	o.limit = ref + int32(p.band)
	if o.down {
		o.limit = ref - int32(p.band)
	}

	t := p.token0
	if o.down != o.exactIn {
		t = p.token1
	}
	o.amount = s.rawAmount(t, usd)
	s.swapAs(p, o)
}

func (s *scene) swapAs(p *pool, o order) {
	o.limit = min(max(o.limit, clmath.MinTick+1), clmath.MaxTick-1)
	if e, ok := s.swap(p, o, s.router()); ok {
		s.emit(e)
	}
}

// swapSize draws the USD of a swap such that the pool turns over what it should
// in a day, however many swaps make up that day.
func (s *scene) swapSize(v *venue) float64 {
	daily := max(s.perDay(s.now.t)*v.share*tradePart, 3)
	usd := v.tvl * v.turnover / daily * s.logNormal(1200) / 2
	return min(max(usd, 2), v.tvl/40+5)
}

// lpFee returns what liquidity providers take now. The hook of a dynamic pool
// changes its mind every hour.
func (s *scene) lpFee(v *venue) uint32 {
	if v.fee != market.DynamicFee {
		return v.fee
	}
	hour := s.now.t / 3600 * 3600
	return uint32(900 + wave(hash(s.chainKey, 'y', uint64(v.id[0])), hour, day/3)*700/waveOne)
}

// tradeCircle passes an amount once through the tokens that know only each other.
func (s *scene) tradeCircle() {
	usd := 20_000 * s.logNormal(700)
	for i := range uint32(s.cfg.Pools) {
		if i >= s.nPools || i > lastCircle {
			break
		}
		if p := s.pool(i); p.role == circle {
			s.noise(p, s.reference(p.venue), usd)
		}
	}
}

// wash buys and sells the same amount in one block, again and again: volume
// without a market.
func (s *scene) wash(p *pool) {
	usd := 500 * s.logNormal(300)
	ref := s.reference(p.venue)
	for i := range 6 {
		o := order{down: i%2 == 0, exactIn: true, fee: p.fee, limit: ref + int32(p.band)*4}
		t := p.token1
		if o.down {
			t, o.limit = p.token0, ref-int32(p.band)*4
		}
		o.amount = s.rawAmount(t, usd)
		s.swapAs(p, o)
	}
}
