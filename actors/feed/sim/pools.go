package sim

import (
	"bytes"
	"encoding/binary"
	"math"

	"golang.org/x/crypto/sha3"

	"tidemark/rankings/market"
)

// role is which state of a market a pool is an example of.
type role uint8

const (
	ordinary role = iota
	core          // from the first block on, traded every day
	lure          // a token that shallow markets price, but do not corroborate
	apart         // a deeper lure whose traders think the token worth a third more
	trap          // the same, with a claim on it that cannot be realised
	tiny          // trusted tokens, next to no money
	claim         // a claim of 10^15 of a token, in a market of a few hundred dollars
	untraded      // has positions, never a swap
	circle        // three tokens that are traded for each other only
	washed        // one trader buys from himself all day
	shallow       // almost no liquidity
	stale         // its trading ended
	empty         // initialised, and nothing else ever happened
	drained       // its founder took all liquidity out
)

// venue is the plan of a pool: what is known before anything happens in it.
type venue struct {
	id             market.PoolID
	token0, token1 uint32
	fee            uint32
	spacing        int32
	hooks          market.Address
	role           role
	protocolFee    uint32
	bornMs         int64   // after genesis
	tvl            float64 // USD that it tends to
	share          float64 // of all mints and swaps
	turnover       float64 // of tvl in a day
	band           int64   // ticks off the reference at which traders stop
	new0, new1     bool    // no earlier pool trades the token
	seat           uint32  // index of its founder's position; of the first pools only
}

// casting is a pool of the cast, which is in the order of importance: a small
// market has the first ones only.
type casting struct {
	base, quote string
	fee         uint32
	role        role
	tvl         float64 // USD, before the chain's scale
	protocolFee uint32
	hook        uint16 // permission bits; 0 is no hook
}

// Permission bits of a hook's address.
const (
	hookBeforeSwap = 1 << 7
	hookTakes      = hookBeforeSwap | 1<<3 | 1<<10 | 1<<1 // of swaps, and of what is added
)

var cast = []casting{
	{base: "native", quote: "usd0", fee: 500, role: core, tvl: 34e6, protocolFee: 125 | 125<<12},
	{base: "SAFEMOON9", quote: "usd1", fee: 10000, role: lure},
	{base: "SAFEMOON9", quote: "usd0", fee: 10000, role: trap},
	{base: "native", quote: "usd1", fee: 10000, role: tiny},
	{base: "GIFT", quote: "wrapped", fee: 3000, role: claim},
	{
		base: "native", quote: "usd0", fee: market.DynamicFee, role: core, tvl: 9e6,
		hook: hookBeforeSwap,
	},
	{base: "usd0", quote: "usd1", fee: 100, role: core, tvl: 16e6},
	{base: "wrapped", quote: "usd1", fee: 500, role: core, tvl: 12e6},
	{base: "LINK", quote: "native", fee: 3000, role: core, tvl: 6e6, protocolFee: 500 | 750<<12},
	{base: "LINK", quote: "usd0", fee: 3000, role: core, tvl: 4e6},

	{base: "FRESH", quote: "native", fee: 3000, role: untraded, tvl: 40e3},
	{base: "OUROA", quote: "OUROB", fee: 3000, role: circle, tvl: 5e6},
	{base: "OUROB", quote: "OUROC", fee: 3000, role: circle, tvl: 5e6},
	{base: "OUROC", quote: "OUROA", fee: 3000, role: circle, tvl: 5e6},
	{base: "VOLUME", quote: "usd1", fee: 500, role: washed, tvl: 30e3},
	{base: "AAVE", quote: "native", fee: 3000, tvl: 5e6},
	{base: "AAVE", quote: "usd0", fee: 3000, tvl: 3e6},
	{base: "AAVE", quote: "wrapped", fee: 100, role: shallow},
	{base: "usd2", quote: "usd0", fee: 100, tvl: 6e6},
	{base: "native", quote: "usd2", fee: 3000, tvl: 3e6},
	{base: "stLINK", quote: "LINK", fee: 500, tvl: 3e6},
	{base: "LNKX", quote: "LINK", fee: 10000, role: lure},
	{base: "TBILL", quote: "usd0", fee: 500, role: untraded, tvl: 200e3},
	{
		base: "TBILL", quote: "native", fee: market.DynamicFee, role: untraded, tvl: 90e3,
		hook: hookBeforeSwap,
	},
	{base: "native", quote: "usd1", fee: 100, role: empty},
	{base: "RUGGED", quote: "native", fee: 10000, role: drained, tvl: 90e3},
	{base: "SHARE", quote: "usd0", fee: 3000, tvl: 900e3},
	{base: "TAXED", quote: "native", fee: 3000, tvl: 400e3, hook: hookTakes},
	{base: "REB", quote: "native", fee: 10000, tvl: 60e3},
	{base: "GHOST", quote: "usd0", fee: 3000, role: stale, tvl: 300e3},
	{base: "NIL", quote: "native", fee: 10000, tvl: 150e3},
	{base: hostileHTML, quote: "usd0", fee: 3000, tvl: 120e3},
	{base: hostileBidi, quote: "native", fee: 10000, tvl: 90e3},
	{base: "LOONG", quote: "native", fee: 3000, tvl: 80e3},
	{base: "WBTC", quote: "native", fee: 500, tvl: 14e6},
	{base: "WBTC", quote: "usd0", fee: 3000, tvl: 8e6},
	{base: "staked", quote: "native", fee: 100, tvl: 11e6},
	{base: "SPLIT", quote: "usd0", fee: 3000, role: lure},
	{base: "SPLIT", quote: "usd1", fee: 3000, role: apart},
	{base: "EURC", quote: "usd0", fee: 500, tvl: 2e6},
	{base: "PEPE", quote: "native", fee: 10000, tvl: 3e6},
	{base: "PEPE", quote: "usd0", fee: 3000, tvl: 1.5e6},
	{base: "native", quote: "usd1", fee: 3000, tvl: 5e6},
	{base: "LDO", quote: "native", fee: 3000, tvl: 900e3},
	{base: "LDO", quote: "usd0", fee: 10000, tvl: 500e3},
	{base: "XAUt", quote: "usd1", fee: 3000, tvl: 1e6},
	{base: "PENDLE", quote: "native", fee: 3000, tvl: 800e3},
	{base: "PENDLE", quote: "usd0", fee: 3000, tvl: 500e3},
	{base: "MKR", quote: "native", fee: 3000, tvl: 700e3},
	{base: "GMX", quote: "native", fee: 10000, tvl: 600e3},
	{base: "ARB", quote: "native", fee: 500, tvl: 1e6},
	{base: "CRV", quote: "native", fee: 3000, tvl: 500e3},
	{base: "FXN", quote: "native", fee: 10000, tvl: 200e3},
	{base: "JOE", quote: "native", fee: 3000, tvl: 300e3},
	{base: "UNI", quote: "native", fee: 3000, tvl: 4e6},
	{base: "UNI", quote: "usd0", fee: 10000, tvl: 1.2e6},
}

const (
	firstPools = 10 // are there from the first block on
	MinPools   = 5  // nothing less can keep the promises of the market
	lastCircle = 13 // the last pool of the circle
)

// architect plans the pools of a chain in the order of their birth, which is
// the order of their indexes in the ledger.
type architect struct {
	*listing
	d      dice
	venues []venue
	last   uint32 // the token invented last, which may get a second market
	lone   bool
}

func planPools(cfg *settings, l *listing) []venue {
	a := &architect{
		listing: l, d: dice{key: hash(cfg.Seed, 'p', uint64(cfg.Chain))},
		venues: make([]venue, 0, cfg.Pools),
	}
	for i := range cfg.Pools {
		if i < len(cast) && l.hasToken(cast[i].base) && l.hasToken(cast[i].quote) {
			c := cast[i]
			c.tvl *= cfg.Scale
			a.addPool(i, c, l.castToken(c.base), l.castToken(c.quote))
			continue
		}

		c := a.inventPool(i)
		base, quote := a.inventPair()
		a.addPool(i, c, base, quote)
	}
	return a.venues
}

// inventPool is the casting of a pool beyond the cast; the later, the smaller.
func (a *architect) inventPool(i int) casting {
	rank := float64(max(i-len(cast), 0) + 12)
	return casting{
		fee: [...]uint32{500, 3000, 3000, 3000, 3000, 10000, 10000, 10000}[a.d.below(8)],
		tvl: 9e6 * a.cfg.Scale / rank * a.d.logNormal(800),
	}
}

// inventPair invents a token against a native or stable one, or gives the token
// invented last its second market.
func (a *architect) inventPair() (base, quote uint32) {
	if a.lone && a.d.chance(600) {
		a.lone = false
		return a.last, stables
	}
	a.last, a.lone = a.inventToken(), true
	if a.d.chance(200) {
		return a.last, wrapped
	}
	return a.last, native
}

// tiers are what goes with a fee: the spacing of the ticks, what is traded in
// a day as a part of the TVL, and how many ticks off the reference noise goes.
var tiers = map[uint32]struct {
	spacing  int32
	turnover float64
	band     int64
}{
	100:               {1, 0.45, 17},
	500:               {10, 0.6, 25},
	3000:              {60, 0.2, 75},
	10000:             {200, 0.07, 90},
	market.DynamicFee: {60, 0.35, 60},
}

func (a *architect) addPool(i int, c casting, base, quote uint32) {
	v := venue{
		fee: c.fee, spacing: tiers[c.fee].spacing, role: c.role, protocolFee: c.protocolFee,
		tvl: c.tvl, bornMs: a.birthTime(i), turnover: tiers[c.fee].turnover * a.d.logNormal(350),
		band: tiers[c.fee].band,
	}

	if c.hook != 0 {
		fillBytes(v.hooks[:], hash(a.cfg.Seed, 'h', uint64(a.cfg.Chain), uint64(i)))
		binary.BigEndian.PutUint16(v.hooks[18:], v.hooksHigh()|c.hook)
	}

	// A key names the lower address first.
	v.token0, v.token1 = base, quote
	at, other := a.tokens[base].meta.Address, a.tokens[quote].meta.Address
	if bytes.Compare(at[:], other[:]) > 0 {
		v.token0, v.token1 = quote, base
	}

	v.id = v.key(a.tokens)
	a.venues = append(a.venues, v)
}

// hooksHigh keeps the two bits of the address above its permissions.
func (v *venue) hooksHigh() uint16 { return uint16(v.hooks[18]) << 8 & 0xc000 }

// birthTime spreads the pools over the history but for its last hundredth, so that
// there are old and young ones.
func (a *architect) birthTime(i int) int64 {
	if i < firstPools {
		return 0
	}
	n, k := int64(a.cfg.Pools-firstPools), int64(i-firstPools)
	span, from := int64(a.cfg.Days)*day*990, int64(0)

	if early := a.cfg.earlyPools(); early > 0 {
		quiet := a.cfg.quietMs()
		if k < early {
			return slotStart(k, early, 0, quiet) + int64(a.d.below(uint64(quiet/early)))
		}
		n, k, span, from = n-early, k-early, span-quiet, quiet
	}
	return from + span*k/n*k/n + int64(a.d.below(uint64(max(span/n/n/4, 1))))
}

// earlyPools is how many pools come into being after the first block and
// before a crowd's busy days: the cast, and a part of the others.
func (c *settings) earlyPools() int64 {
	if c.Crowd.BusyDays == 0 {
		return 0
	}
	most := max(min(len(cast), c.Pools), c.Pools*c.Crowd.Early/1000)
	return int64(max(most-firstPools, 0))
}

// shareOf is the part of popular draws below n that fall on k.
func (c *Crowd) shareOf(k, n int) float64 {
	if c.Zipf {
		return math.Log(float64(k+2)/float64(k+1)) / math.Log(float64(n+1))
	}
	root := func(x float64) float64 { return math.Sqrt(math.Sqrt(x / float64(n))) }
	return root(float64(k+1)) - root(float64(k))
}

// key is the pool's id: the hash of its key's five words.
func (v *venue) key(tokens []token) (id market.PoolID) {
	var words [5 * 32]byte
	copy(words[12:32], tokens[v.token0].meta.Address[:])
	copy(words[44:64], tokens[v.token1].meta.Address[:])
	binary.BigEndian.PutUint32(words[92:96], v.fee)
	binary.BigEndian.PutUint32(words[124:128], uint32(v.spacing))
	copy(words[140:160], v.hooks[:])
	h := sha3.NewLegacyKeccak256()
	h.Write(words[:])
	h.Sum(id[:0])
	return id
}
