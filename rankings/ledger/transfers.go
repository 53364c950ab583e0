package ledger

import (
	"fmt"

	"tidemark/rankings/market"
)

// nftMove is a transfer that waits for its change of liquidity. A mint is logged
// as a Transfer from zero and then the liquidity that is added; a burn as a
// Transfer to zero and then the removal of all liquidity, if there is any. Both
// logs are in the same transaction and make one entry.
type nftMove struct {
	kind     moveKind
	position uint32
	at       eventPlace
	from, to market.Address
}

type moveKind uint8

const (
	moveNone moveKind = iota // a change without a transfer
	moveMint
	moveBurn
)

// takeMove returns and removes the move that waits for a change of position i;
// its kind is moveNone if there is none.
func (l *Ledger) takeMove(i uint32) nftMove {
	for k := range l.moves {
		if m := l.moves[k]; m.position == i {
			l.moves = append(l.moves[:k], l.moves[k+1:]...)
			return m
		}
	}
	return nftMove{}
}

// checkMovesDone returns a mismatch if a move still waits at the end of its
// transaction. In a quarantined pool it may.
func (l *Ledger) checkMovesDone() error {
	for _, m := range l.moves {
		if m.at.pool == market.NoIndex || !l.st.Pools.At(m.at.pool).Quarantined {
			return l.mismatch(m.at, "mint or burn", "without a change of liquidity", "one")
		}
	}
	l.moves = l.moves[:0]
	return nil
}

// transferNFT gives a position to another owner, or burns it. The sender must be
// its owner. A burned position keeps its last owner.
func (l *Ledger) transferNFT(e *market.TransferNFT) error {
	if e.From.IsZero() {
		return l.mintNFT(e)
	}
	i, ok := l.findPosition(e.ID)
	if !ok {
		return l.refuse("position", e.ID, "one that was minted")
	}

	row := Positions.edit(l, i)
	l.at.pool = row.Pool
	owner := *l.st.Owners.At(row.Owner)
	quarantined := row.Pool != market.NoIndex && l.st.Pools.At(row.Pool).Quarantined
	switch {
	case quarantined && row.Burned:
		return nil
	case quarantined: // earlier transfers may be missing
	case row.Burned:
		return l.refuse("position", e.ID, "one that is not burned")
	case row.Pool == market.NoIndex:
		return l.refuse("position", e.ID, "one that has its liquidity")
	case owner != e.From:
		return l.refuse("owner", e.From, owner)
	}

	// A burn with liquidity becomes one entry with the removal that follows it.
	m := nftMove{moveBurn, i, l.at, e.From, e.To}
	if e.To.IsZero() {
		row.Burned = true
		if row.IsOpen() {
			l.moves = append(l.moves, m)
			return nil
		}
	} else {
		l.changeOwner(row, l.ownerIndex(e.To))
	}

	l.appendHistory(i, row, nil, m)
	return nil
}

// mintNFT adds a position. Its pool and range come with the liquidity.
func (l *Ledger) mintNFT(e *market.TransferNFT) error {
	if n := l.st.Positions.Len(); n > 0 && e.ID <= l.st.Positions.At(n-1).ID {
		return l.refuse("minted id", e.ID, fmt.Sprintf("more than %d", l.st.Positions.At(n-1).ID))
	}
	if e.To.IsZero() {
		return l.refuse("owner", e.To, "an address other than zero")
	}

	i := Positions.add(l, market.Position{
		ID: e.ID, Pool: market.NoIndex, Owner: l.ownerIndex(e.To),
		Overflow: market.NoIndex, MintedAt: l.clock(), Timed: true,
	})

	l.moves = append(l.moves, nftMove{kind: moveMint, position: i, at: l.at, to: e.To})
	return nil
}

// changeOwner gives a position to another owner.
func (l *Ledger) changeOwner(row *market.Position, owner uint32) {
	if row.IsOpen() {
		l.dropHolding(row.Owner, row.Pool)
		l.addHolding(owner, row.Pool)
	}
	row.Owner = owner
}

// ownerIndex returns the index of an owner, who is added if not known.
func (l *Ledger) ownerIndex(a market.Address) uint32 {
	i, ok := l.ownerOf.find(a[:])
	if !ok {
		i = Owners.add(l, a)
		l.ownerOf.add(i)
	}
	return i
}
