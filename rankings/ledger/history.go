package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// appendHistory adds an entry to a position's history: a change with or without a
// move, or a move alone if c is nil. Flows are valued at the hour's prices and
// never again, so an unknown price makes CostUsd unknown for good.
func (l *Ledger) appendHistory(i uint32, row *market.Position, c *change, m nftMove) {
	p := l.st.Pools.At(row.Pool)
	g := l.takeGas(row.ID)
	t := market.Transaction{
		Position: i, Type: market.Transfer,
		Block: l.at.block.Number, LogIndex: l.at.log.Index, TxHash: l.at.tx().Hash, Time: l.time,
		Moved: m.kind != moveNone, From: m.from, To: m.to,
		GasUsed: g.used, GasPrice: g.price, GasWei: g.wei, GasUnknown: g.unknown,
		Price0Usd: l.independentUsd(p.Currency0, row.Pool),
		Price1Usd: l.independentUsd(p.Currency1, row.Pool),
		NativeUsd: l.nativeUsd(),
	}

	if c != nil {
		t.Type = typeOf(c.delta)
		t.LiquidityDelta = c.delta
		t.Amount0, t.Amount1, t.Fees0, t.Fees1 = c.amount0, c.amount1, c.fees0, c.fees1
		row.CostUsd += l.flowUsd(p, c, &t)
	}

	row.CostUsd -= l.gasUsd(g.wei)
	if g.unknown {
		row.GasUnknown, row.CostUsd = true, market.Unknown
	}

	row.GasWei, _ = row.GasWei.Add(g.wei)
	row.Entries++
	l.st.Transactions++
	put(&l.ops, Transactions, &t)
	undoByDrop(l, Transactions, &market.Transaction{
		Position: i, Block: t.Block, LogIndex: t.LogIndex,
	})
}

// typeOf returns the type of an entry with a change of liquidity.
func typeOf(delta clmath.I128) market.TransactionType {
	switch delta.Sign() {
	case +1:
		return market.Mint
	case -1:
		return market.Burn
	}
	return market.Collect
}
