package value

import (
	"math"

	"tidemark/rankings/market"
)

// Somebody who owns all of a pool can trade with himself for as long as it
// takes, and pays nobody for it. What the others in a pool own is what they
// would lose if its price were a lie. It is counted when an hour begins, of the
// pools that changed in the hour before. One walk over the positions finds for every
// such pool the only holder who can have more than half (the majority vote of Boyer
// and Moore, by weight), and what it found of them is added up for that holder.

// majority is who can have more than half of a pool's liquidity in range.
type majority struct {
	asked  bool
	holder uint64
	margin float64 // of the vote
	sum    float64 // what the holder has
}

// mostOthers is the largest share that holders returns: half of a pool and
// more are not told apart.
const mostOthers = 50

// keptHolders is what was counted of a pool.
type keptHolders struct {
	known, asked bool
	others       uint8
}

// countOthers returns for each pool what percentage of its liquidity in range
// belongs to others than its largest holder, at most mostOthers. It is 0 for
// pools that are too young or too little traded to corroborate alone. Pools of which
// nothing was forgotten since the last count are not counted again.
func (k *Pricer) countOthers(st *market.State, p *Params) []uint8 {
	others := make([]uint8, st.Pools.Len())
	if p.LoneHolder == 0 {
		k.holders = nil
		return others
	}

	k.holders = resize(k.holders, len(others))
	votes, some := make([]majority, len(others)), false
	for i := range votes {
		pool, kept := st.Pools.At(uint32(i)), &k.holders[i]
		asked := !pool.Liquidity.IsZero() && pool.Swaps >= p.LoneSwaps &&
			pool.CreatedAt <= st.Now()-p.LoneAge
		if !kept.known || kept.asked != asked {
			*kept = keptHolders{known: true, asked: asked}
			votes[i].asked, some = asked, some || asked
		}
	}

	if some {
		findMajorities(st, votes)
	}
	for i := range votes {
		if votes[i].asked {
			share := 100 * votes[i].sum / approx128(st.Pools.At(uint32(i)).Liquidity)
			k.holders[i].others = uint8(min(max(100-math.Ceil(share-1e-9), 0), mostOthers))
		}
		others[i] = k.holders[i].others
	}
	return others
}

// share is liquidity in range of a pool, and whose it is.
type share struct {
	pool      uint32
	holder    uint64
	liquidity float64
}

// findMajorities finds the largest holder of every pool that is asked, if one has half of
// it and more, and what he has.
func findMajorities(st *market.State, votes []majority) {
	var shares []share // few: most pools are as they were an hour ago
	eachShare(st, votes, func(s share) {
		shares = append(shares, s)
		switch v := &votes[s.pool]; {
		case v.holder == s.holder:
			v.margin += s.liquidity
		case s.liquidity <= v.margin:
			v.margin -= s.liquidity
		default:
			v.holder, v.margin = s.holder, s.liquidity-v.margin
		}
	})

	for i := range shares {
		s := &shares[i]
		if v := &votes[s.pool]; v.holder == s.holder {
			v.sum += s.liquidity
		}
	}
}

// eachShare calls visit with all liquidity in range of the pools that are
// asked. A holder is an owner of positions or another sender; the number says
// only whether two are the same.
func eachShare(st *market.State, votes []majority, visit func(share)) {
	for first := uint32(0); first < st.Positions.Len(); first += market.ChunkLen {
		rows := st.Positions.Chunk(first)
		for i := range rows {
			p := &rows[i] // a copy of a row would cost more than the look at it
			v := &votes[p.Pool]
			if !v.asked || !p.IsOpen() {
				continue
			}
			if tick := st.Pools.At(p.Pool).Tick; p.TickLower <= tick && tick < p.TickUpper {
				visit(share{p.Pool, uint64(p.Owner), approx128(p.Liquidity())})
			}
		}
	}

	const sender = 1 << 32 // beside the owners
	senders := make(map[market.Address]uint64, st.NonNFT.Len())
	for i := range st.NonNFT.Len() {
		d := st.NonNFT.At(i)
		v := &votes[d.Pool]
		if tick := st.Pools.At(d.Pool).Tick; !v.asked || d.TickLower > tick || tick >= d.TickUpper {
			continue
		}
		id, ok := senders[d.Sender]
		if !ok {
			id = sender + uint64(len(senders))
			senders[d.Sender] = id
		}
		visit(share{d.Pool, id, approx128(d.Liquidity)})
	}
}
