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

// independentUsd returns a token's recorded price for a position in a pool. As for
// an open position, it is unknown if only that pool supports it.
func (l *Ledger) independentUsd(token, pool uint32) float64 {
	t := l.st.Tokens.At(token)
	if ownPoolOnly(t, pool) {
		return market.Unknown
	}
	return t.HourUsd
}

// flowUsd returns what a change paid to the position's owner in USD, at the prices
// of its entry: fees, plus what was withdrawn or minus what was deposited.
func (l *Ledger) flowUsd(p *market.Pool, c *change, t *market.Transaction) float64 {
	token0, token1 := l.st.Tokens.At(p.Currency0), l.st.Tokens.At(p.Currency1)
	principal := usdAt(&c.amount0, token0, t.Price0Usd) + usdAt(&c.amount1, token1, t.Price1Usd)
	fees := usdAt(&c.fees0, token0, t.Price0Usd) + usdAt(&c.fees1, token1, t.Price1Usd)
	if c.delta.Sign() > 0 {
		return fees - principal
	}
	return fees + principal
}
