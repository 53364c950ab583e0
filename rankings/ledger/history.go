package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A mint is logged as a Transfer from zero and then the liquidity added; a
// burn as a Transfer to zero and then, if there is any, all the liquidity
// removed. The move waits for its change, which must come in the same
// transaction; together they are one entry.
type move struct {
	kind     moveKind
	position uint32
	at       place
	from, to market.Address
}

type moveKind uint8

const (
	moveNone moveKind = iota // the change stands for itself
	moveMint
	moveBurn
)

// takeMove returns the move that waits for a change of position i, if any.
func (l *Ledger) takeMove(i uint32) move {
	for k := range l.moves {
		if m := l.moves[k]; m.position == i {
			l.moves = append(l.moves[:k], l.moves[k+1:]...)
			return m
		}
	}
	return move{}
}

// noMoves refuses the end of a transaction while a move still waits.
func (l *Ledger) noMoves() error {
	for _, m := range l.moves {
		if m.at.pool == market.NoIndex || !l.st.Pools.At(m.at.pool).Quarantined {
			return l.mismatch(m.at, "transfer", "a mint or burn", "no change of its liquidity")
		}
	}
	l.moves = l.moves[:0]
	return nil
}

// transfer moves a position to another owner, or burns it; the owner before
// must be the one that the ledger knows. A burned position keeps its last owner.
func (l *Ledger) transfer(e *market.TransferNFT) error {
	if e.From.IsZero() {
		return l.mint(e)
	}
	i, ok := l.position(e.ID)
	if !ok {
		return l.refuse("position", e.ID, "no such position")
	}

	row := Positions.edit(l, i)
	l.at.pool = row.Pool
	owner := *l.st.Owners.At(row.Owner)
	quarantined := row.Pool != market.NoIndex && l.st.Pools.At(row.Pool).Quarantined
	switch {
	case quarantined && row.Burned:
		return nil
	case quarantined: // whoever owned it before
	case row.Burned || row.Pool == market.NoIndex:
		return l.refuse("position", e.ID, "not to be moved now")
	case owner != e.From:
		return l.refuse("owner", e.From, owner)
	}

	// A burn with liquidity becomes one entry with the removal that follows it.
	m := move{moveBurn, i, l.at, e.From, e.To}
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

// mint begins a position; its pool and range come with the liquidity.
func (l *Ledger) mint(e *market.TransferNFT) error {
	if n := l.st.Positions.Len(); n > 0 && e.ID <= l.st.Positions.At(n-1).ID {
		return l.refuse("minted id", e.ID, l.st.Positions.At(n-1).ID)
	}
	if e.To.IsZero() {
		return l.refuse("minted to", e.To, "an owner")
	}

	i := Positions.add(l, market.Position{
		ID: e.ID, Pool: market.NoIndex, Owner: l.ownerIndex(e.To),
		LowerSlot: market.NoIndex, UpperSlot: market.NoIndex, Overflow: market.NoIndex,
		MintedAt: l.time,
	})

	l.moves = append(l.moves, move{moveMint, i, l.at, e.From, e.To})
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

// appendHistory adds an entry to a position's history: a change, which may carry
// a move, or a move alone when c is nil. USD values are those of the hour and are
// never computed again, so an unknown one makes CostUsd unknown for good.
func (l *Ledger) appendHistory(i uint32, row *market.Position, c *change, m move) {
	p := l.st.Pools.At(row.Pool)
	g := l.takeGas(row.ID)
	t := market.Transaction{
		Position: i, Type: market.Transfer,
		Block: l.at.block.Number, LogIndex: l.at.log.Index, TxHash: l.at.tx().Hash, Time: l.time,
		Moved: m.kind != moveNone, From: m.from, To: m.to,
		GasUsed: g.used, GasPrice: g.price, GasWei: g.wei, GasUnknown: g.unknown,
		Price0Usd: l.st.Tokens.At(p.Currency0).HourUsd,
		Price1Usd: l.st.Tokens.At(p.Currency1).HourUsd,
		NativeUsd: l.nativeUsd(),
	}

	if c != nil {
		t.Type = typeOf(c.delta)
		t.LiquidityDelta = c.delta
		t.Amount0, t.Amount1, t.Fees0, t.Fees1 = c.amount0, c.amount1, c.fees0, c.fees1
		row.CostUsd += l.cost(p, c)
	}

	row.CostUsd -= l.gasUsd(g.wei)
	if g.unknown {
		row.GasUnknown, row.CostUsd = true, market.Unknown
	}

	row.GasWei, _ = row.GasWei.Add(g.wei)
	row.Entries++
	l.st.Transactions++
	l.ops = append(l.ops, Transactions.Put(t))
	onUndo(l, Transactions.Drop, market.Transaction{
		Position: i, Block: t.Block, LogIndex: t.LogIndex,
	})
}

func typeOf(delta clmath.I128) market.TransactionType {
	switch delta.Sign() {
	case +1:
		return market.Mint
	case -1:
		return market.Burn
	}
	return market.Collect
}

// cost is what a change gave the position's owner in USD: what was withdrawn
// or, negative, deposited, and the fees.
func (l *Ledger) cost(p *market.Pool, c *change) float64 {
	principal := l.usd(p.Currency0, &c.amount0) + l.usd(p.Currency1, &c.amount1)
	fees := l.usd(p.Currency0, &c.fees0) + l.usd(p.Currency1, &c.fees1)
	if c.delta.Sign() > 0 {
		return fees - principal
	}
	return fees + principal
}
