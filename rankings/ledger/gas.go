package ledger

import (
	"math"
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// gas divides a transaction's gas evenly among the positions that it changes; the
// remainder goes to the lowest id. A position's share is on its first entry of
// the transaction.
type gas struct {
	ids   []uint64 // ascending
	taken []bool   // by index in ids
}

// gasShare is a position's part of a transaction's gas.
type gasShare struct {
	used    uint64
	price   clmath.U128
	wei     clmath.U128
	unknown bool
}

// beginGas finds the positions that a transaction's logs change. Each of them
// gets an entry, unless the transaction is refused or its pool is quarantined.
func (l *Ledger) beginGas(logs []market.Log) {
	l.gas.ids = l.gas.ids[:0]
	for i := range logs {
		switch e := logs[i].Event.(type) {
		case market.ModifyLiquidity:
			if id, ok := tokenID(e.Salt); ok && e.Sender == l.cfg.PositionManager {
				l.gas.ids = append(l.gas.ids, id)
			}
		case market.TransferNFT:
			l.gas.ids = append(l.gas.ids, e.ID)
		}
	}

	slices.Sort(l.gas.ids)
	l.gas.ids = slices.Compact(l.gas.ids)
	l.gas.taken = slices.Grow(l.gas.taken[:0], len(l.gas.ids))[:len(l.gas.ids)]
	clear(l.gas.taken)
}

// takeGas returns the gas for the next entry of a position: its whole share at
// the first call in a transaction, then 0.
func (l *Ledger) takeGas(id uint64) gasShare {
	k, _ := slices.BinarySearch(l.gas.ids, id)
	if l.gas.taken[k] {
		return gasShare{}
	}

	l.gas.taken[k] = true
	tx := l.at.tx()
	if !tx.GasKnown {
		return gasShare{unknown: true}
	}

	// The product is divided, not gas used and price, so that no wei is lost.
	n := uint64(len(l.gas.ids))
	price, wei, rest := tx.GasPrice.U256(), clmath.U256{}, clmath.U256{}
	wei.Mul(&price, &clmath.U256{tx.GasUsed})
	wei.DivMod(&wei, &clmath.U256{n}, &rest)
	used := tx.GasUsed / n
	if k == 0 {
		wei.Add(&wei, &rest)
		used += tx.GasUsed % n
	}

	// Only a false receipt can exceed 128 bits.
	narrow, fits := clmath.Narrow(&wei)
	if !fits {
		narrow = clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	}
	return gasShare{used: used, price: tx.GasPrice, wei: narrow}
}
