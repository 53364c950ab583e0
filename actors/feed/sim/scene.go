package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// plan is what a Config decides before anything happens: a closed form, kept
// because computing it takes a moment.
type plan struct {
	cfg      Config
	chainKey uint64 // of all randomness: seed and chain
	calendar
	tokens  []token
	venues  []venue
	core    []uint32 // the core pools
	small   []uint32 // the others of the first block
	mints   int64    // of the history, without those at the birth of a pool
	wallets uint64   // owners of positions
	gasWei  uint64
}

func newPlan(cfg Config) *plan {
	l := list(&cfg)
	venues := planPools(&cfg, l)
	p := &plan{
		cfg: cfg, chainKey: hash(cfg.Seed, uint64(cfg.Chain)),
		tokens: l.tokens, venues: venues, mints: int64(cfg.Positions),
		wallets: uint64(cfg.Positions)*9/20 + 1, gasWei: cfg.temper().gasWei,
	}
	seen := make([]bool, len(p.tokens))
	for i := range venues {
		v := &venues[i]
		v.seat = uint32(int64(cfg.Positions) - p.mints)
		p.mints -= int64(v.firstMints())
		v.new0, seen[v.token0] = !seen[v.token0], true
		v.new1, seen[v.token1] = !seen[v.token1], true
		switch {
		case v.role == core:
			p.core = append(p.core, uint32(i))
		case i < firstPools:
			p.small = append(p.small, uint32(i))
		}
	}
	for k := range venues {
		venues[p.ranked(uint64(k))].share = shareOf(k, len(venues))
	}
	p.calendar = newCalendar(&cfg, venues, len(p.core))
	return p
}

// ranked returns the pool of a rank in popularity: the core pools come first,
// then the others in the order of their birth.
func (p *plan) ranked(k uint64) uint32 {
	switch core := uint64(len(p.core)); {
	case k < core:
		return p.core[k]
	case k < core+uint64(len(p.small)):
		return p.small[k-core]
	}
	return uint32(k)
}

// anyCore throws a core pool.
func (s *scene) anyCore() uint32 { return s.core[s.below(uint64(len(s.core)))] }

// scene is the making of one span: the world, and the blocks written so far.
// Everything that happens is a method of it.
type scene struct {
	*world
	span   *market.Span
	events int

	dice          // of the action that is played
	now    event  // that action
	number uint64 // of its block
	nonce  uint64
	market int64 // where the whole market is: see asset.at
	gas    uint64
	fresh  bool // the next event begins a transaction
	nft    bool // which changes a position
}

// play lets one entry of the agenda happen.
func (s *scene) play(e event, nonce uint64) {
	s.market = marketAt(s.cfg.Seed, e.t)
	s.now, s.number, s.nonce = e, s.cfg.StartBlock+e.block, nonce
	s.dice = dice{key: hash(s.chainKey, s.number, nonce, uint64(e.stream), uint64(e.index))}
	switch e.stream {
	case births:
		s.found(uint32(e.index))
	case beats:
		s.beat(e.index)
	default:
		s.act(e.index)
	}
}

// act is an action beyond the daily round: a mint, a change of a position, or
// trade.
func (s *scene) act(i int64) {
	switch {
	case s.mintsAt(i):
		s.mint()
	case s.chance(s.keepPermille()):
		s.keep()
	default:
		s.trade()
	}
}

// mintsAt reports whether action i is a mint: one of every stretch of the
// history that holds one mint on average.
func (p *plan) mintsAt(i int64) bool {
	cell := i * p.mints / p.total
	from, to := ceilDiv(cell*p.total, p.mints), ceilDiv((cell+1)*p.total, p.mints)
	return i == from+int64(hash(p.chainKey, 'n', uint64(cell))%uint64(to-from))
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// transact begins a transaction that burns about so much gas; nft says that
// it changes a position. It is written with its first event.
func (s *scene) transact(gas uint64, nft bool) {
	s.fresh, s.nft, s.gas = true, nft, gas+s.below(gas/8+1)
}

// emit writes an event, after those of other contracts in the block.
func (s *scene) emit(e market.Event) {
	b := s.block()
	if s.fresh {
		b.Txs = append(b.Txs, s.tx(uint64(len(b.Txs))))
		s.fresh = false
	}
	index := uint32(s.below(40))
	if n := len(b.Logs); n > 0 {
		index = b.Logs[n-1].Index + 1 + index%5
	}
	b.Logs = append(b.Logs, market.Log{Index: index, Tx: uint32(len(b.Txs) - 1), Event: e})
	s.events++
}

func (s *scene) block() *market.Block {
	blocks := &s.span.Blocks
	if n := len(*blocks); n == 0 || (*blocks)[n-1].Number != s.number {
		*blocks = append(*blocks, market.Block{Number: s.number, Time: s.cfg.Genesis + s.now.t})
	}
	return &(*blocks)[len(*blocks)-1]
}

func (s *scene) tx(i uint64) (tx market.Tx) {
	spread(tx.Hash[:], hash(s.chainKey, 'x', s.number, s.nonce, i))
	if s.nft {
		busy := 1 << 15 * 3 / 2
		price := s.gasWei * uint64(int64(busy)+wave(s.chainKey^'g', s.now.t, 5*3600)) >> 15
		tx.GasUsed, tx.GasKnown = s.gas, true
		tx.GasPrice = clmath.U128{Lo: price + s.below(price/16+1)}
	}
	return tx
}

// usd returns what a token is worth now: USD per whole token.
func (s *scene) usd(t uint32) float64 {
	return exp(s.tokens[t].at(s.now.t, s.market) / 1000)
}

// rawUsd returns USD per unit of a token's smallest denomination.
func (s *scene) rawUsd(t uint32) float64 {
	milli := s.tokens[t].at(s.now.t, s.market) - int64(s.tokens[t].decimals())*tenfold
	return exp(milli / 1000)
}

// reference returns the tick at which a pool would be without friction.
func (s *scene) reference(v *venue) int32 {
	t0, t1 := &s.tokens[v.token0], &s.tokens[v.token1]
	milli := t0.at(s.now.t, s.market) - t1.at(s.now.t, s.market) +
		int64(t1.decimals()-t0.decimals())*tenfold
	return int32(milli / 1000)
}

// decimals returns what traders take a token's decimals for.
func (t *token) decimals() int {
	if t.meta.BadDecimals {
		return 18
	}
	return int(t.meta.Decimals)
}

// raw returns an amount of USD in a token's smallest units.
func (s *scene) raw(t uint32, usd float64) clmath.U128 {
	return whole(min(usd/s.rawUsd(t), 1e37))
}
