package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// anyCore draws a core pool.
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
	priced int64 // the time whose prices are right
	market int64 // where the whole market is: see asset.at
	gas    uint64
	fresh  bool // the next event begins a transaction
	nft    bool // which changes a position
}

// play lets one entry of the agenda happen.
func (s *scene) play(e event, nonce uint64) {
	s.priced = s.pricedAt(e.t)
	s.market = marketAt(s.cfg.Seed, s.priced)
	s.now, s.number, s.nonce = e, s.cfg.StartBlock+e.block, nonce
	s.dice = dice{key: hash(s.chainKey, s.number, nonce, uint64(e.stream), uint64(e.index))}

	switch e.stream {
	case births:
		s.openPool(uint32(e.index))
	case beats:
		s.playBeat(e.index)
	default:
		s.playAction(e.index)
	}
}

// playAction is an action beyond the daily round: a mint, a change of a position, or
// trade.
func (s *scene) playAction(i int64) {
	switch {
	case s.cfg.Calm && i >= s.total:
		s.tradeCalm()
	case s.mintsAt(i):
		s.mint()
	case s.chance(s.keepPermille()):
		s.changeSome()
	default:
		s.trade()
	}
}

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
	fillBytes(tx.Hash[:], hash(s.chainKey, 'x', s.number, s.nonce, i))
	if s.nft {
		busy := 1 << 15 * 3 / 2
		price := s.gasWei * uint64(int64(busy)+wave(s.chainKey^'g', s.now.t, 5*3600)) >> 15
		tx.GasUsed, tx.GasKnown = s.gas, true
		tx.GasPrice = clmath.U128{Lo: price + s.below(price/16+1)}
	}
	return tx
}

// rawUsd returns USD per unit of a token's smallest denomination.
func (s *scene) rawUsd(t uint32) float64 {
	milli := s.tokens[t].at(s.priced, s.market) - int64(s.tokens[t].decimals())*tenfold
	return exp(milli / 1000)
}

// reference returns the tick at which a pool would be without friction.
func (s *scene) reference(v *venue) int32 {
	t0, t1 := &s.tokens[v.token0], &s.tokens[v.token1]
	milli := t0.at(s.priced, s.market) - t1.at(s.priced, s.market) +
		int64(t1.decimals()-t0.decimals())*tenfold
	if v.role == apart {
		if s.isReal(v.token1) {
			milli += apartBy
		} else {
			milli -= apartBy
		}
	}
	return int32(milli / 1000)
}

// apartBy is a third, in thousandths of a tick.
const apartBy = 2_877_000

// decimals returns what traders take a token's decimals for.
func (t *token) decimals() int {
	if t.meta.BadDecimals {
		return 18
	}
	return int(t.meta.Decimals)
}

// rawAmount returns an amount of USD in a token's smallest units.
func (s *scene) rawAmount(t uint32, usd float64) clmath.U128 {
	return whole(min(usd/s.rawUsd(t), 1e37))
}
