package value

import (
	"math"

	"tidemark/rankings/market"
)

// Somebody who owns all of a pool can trade with himself for as long as it
// takes, and pays nobody for it. What the others in a pool own is what they
// would lose if its price were a lie. It is counted when an hour begins, of the
// pools in which somebody's liquidity changed in the hour before, or the price came
// into the range of others. Two walks over what is in range of a pool find the only
// holder who can have more than half (the majority vote of Boyer and Moore, by
// weight), and what he has.

// mostOthers is the largest share that countOthers returns: half of a pool and
// more are not told apart.
const mostOthers = 50

// keptHolders is what was counted of a pool. It holds while the same ranges are those of
// the price: between two initialised ticks.
type keptHolders struct {
	lower, upper int32 // ticks; 0 and 0: nothing is known
	asked        bool
	others       uint8
}

// countOthers returns for each pool what percentage of its liquidity in range
// belongs to others than its largest holder, at most mostOthers. It is 0 for
// pools that are too young or too little traded to corroborate alone. Pools of which
// nothing was forgotten since the last count are not counted again.
func (k *Pricer) countOthers(st *market.State, p *Params) []uint8 {
	n := int(st.Pools.Len())
	k.others = zeros(k.others, n)
	if p.LoneHolder == 0 {
		k.holders, k.open = nil, openRows{}
		return k.others
	}

	k.holders = resize(k.holders, n)
	k.listRows(st)
	for i := range k.holders {
		pool, kept := st.Pools.At(uint32(i)), &k.holders[i]
		asked := !pool.Liquidity.IsZero() && pool.Swaps >= p.LoneSwaps &&
			pool.CreatedAt <= st.Now()-p.LoneAge
		if kept.asked != asked || pool.Tick < kept.lower || pool.Tick >= kept.upper {
			*kept = keptHolders{asked: asked, lower: math.MinInt32, upper: math.MaxInt32}
			if asked {
				kept.lower, kept.upper = rangeAround(st, uint32(i))
				kept.others = k.othersIn(st, uint32(i))
			}
		}
		k.others[i] = kept.others
	}
	return k.others
}

// listRows lists the rows of a State that are not listed yet, or changed.
func (k *Pricer) listRows(st *market.State) {
	k.open.update(st)

	n := st.NonNFT.Len()
	k.cutSenders(n)
	k.nonNFT.extend(int(st.Pools.Len()), n, func(i uint32) uint32 { return st.NonNFT.At(i).Pool })
	for i := uint32(len(k.senderOf)); i < n; i++ {
		k.senderOf = append(k.senderOf, k.numberOf(&st.NonNFT.At(i).Sender))
	}
}

// numberOf returns the number of a sender, one that no other has.
func (k *Pricer) numberOf(sender *market.Address) uint32 {
	number, ok := k.senders[*sender]
	if !ok {
		if k.senders == nil {
			k.senders = make(map[market.Address]uint32)
		}
		number = uint32(len(k.senders))
		k.senders[*sender] = number
	}
	return number
}

// cutSenders removes the rows of State.NonNFT from n on.
func (k *Pricer) cutSenders(n uint32) {
	k.nonNFT.cut(n)
	k.senderOf = k.senderOf[:min(int(n), len(k.senderOf))]
}

// rangeAround returns the ticks between which the price of a pool can move and be in the
// same ranges as now.
func rangeAround(st *market.State, pool uint32) (lower, upper int32) {
	refs, tick := st.TickLists.At(pool), st.Pools.At(pool).Tick
	next := market.FirstAbove(refs, tick)
	lower, upper = math.MinInt32, math.MaxInt32
	if next > 0 {
		lower = refs[next-1].Tick
	}
	if next < len(refs) {
		upper = refs[next].Tick
	}
	return lower, upper
}

// share is liquidity in range of a pool, and whose it is.
type share struct {
	holder    uint64
	liquidity float64
}

// othersIn counts what others than its largest holder have of a pool.
func (k *Pricer) othersIn(st *market.State, pool uint32) uint8 {
	k.shares = k.shares[:0]
	k.appendShares(st, pool)

	holder, margin, sum := uint64(0), 0.0, 0.0
	for _, s := range k.shares {
		switch {
		case holder == s.holder:
			margin += s.liquidity
		case s.liquidity <= margin:
			margin -= s.liquidity
		default:
			holder, margin = s.holder, s.liquidity-margin
		}
	}
	for _, s := range k.shares {
		if s.holder == holder {
			sum += s.liquidity
		}
	}

	part := 100 * sum / approx128(st.Pools.At(pool).Liquidity)
	return uint8(min(max(100-math.Ceil(part-1e-9), 0), mostOthers))
}

// appendShares appends all liquidity in range of a pool to the shares. A holder is an
// owner of positions or another sender; the number says only whether two are the same.
func (k *Pricer) appendShares(st *market.State, pool uint32) {
	tick := st.Pools.At(pool).Tick
	for _, i := range k.open.of[pool] {
		if p := st.Positions.At(i); p.TickLower <= tick && tick < p.TickUpper {
			k.shares = append(k.shares, share{uint64(p.Owner), approx128(p.OpenLiquidity())})
		}
	}

	const sender = 1 << 32 // beside the owners
	for _, i := range k.nonNFT.rowsOf(pool) {
		if d := st.NonNFT.At(i); d.TickLower <= tick && tick < d.TickUpper {
			k.shares = append(k.shares, share{sender + uint64(k.senderOf[i]), approx128(d.Liquidity)})
		}
	}
}
