package storage

import (
	"hash/crc32"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// An undo holds rows as they were before a span: for every pool that was
// swapped its row, its day, its ring of minutes and its hour, of which the span
// has changed a few fields each. It is kept for hundreds of blocks, so its
// bytes are written several times over. Therefore it holds the fields only
// that are not those of the row after the span, its basis.
//
// The row after a span is what the next newer undo holds of it, or the State's
// row when no newer undo does. So undos are read from the newest back. That
// stands on the ledger's discipline that a row changes in a span that saves it
// or not at all; the exceptions are no part of a basis: what the ledger fills
// in at the end of a day, and prices of tokens. A checksum over the whole rows
// ends each undo.
type undoBasis struct {
	tokens    basis[market.Token]
	pools     basis[market.Pool]
	days      basis[market.PoolDay]
	minutes   basis[market.Minutes]
	ticks     basis[market.Tick]
	positions basis[market.Position]
	wides     basis[market.Sums]
	directs   basis[market.Direct]
	hours     basis[market.HourBucket]

	after, row  coder // scratch
	mask, patch []byte
	sum         uint32
}

// basis is what the rows of one table are after a span.
type basis[T any] struct {
	state *market.Frozen[T]
	newer map[uint32]*T // in undos newer than the one that is coded
}

// at returns row i, a zero row when there is none.
func (b *basis[T]) at(i uint32) (row T) {
	if r := b.newer[i]; r != nil {
		return *r
	}
	if i < b.state.Len() {
		return *b.state.At(i)
	}
	return row
}

func (b *basis[T]) add(rows []ledger.Saved[T]) {
	if b.newer == nil {
		b.newer = make(map[uint32]*T, len(rows))
	}
	for i := range rows {
		b.newer[rows[i].Index] = &rows[i].Row
	}
}

// reset makes st what the newest undo is coded against.
func (b *undoBasis) reset(st *market.State) {
	b.tokens = basis[market.Token]{state: &st.Tokens}
	b.pools = basis[market.Pool]{state: &st.Pools}
	b.days = basis[market.PoolDay]{state: &st.Days}
	b.minutes = basis[market.Minutes]{state: &st.Minutes}
	b.ticks = basis[market.Tick]{state: &st.Ticks}
	b.positions = basis[market.Position]{state: &st.Positions}
	b.wides = basis[market.Sums]{state: &st.Wides}
	b.directs = basis[market.Direct]{state: &st.Directs}
	b.hours = basis[market.HourBucket]{state: &st.Hours}
}

// older makes u what the next older undo is coded against. u must not change
// until the next reset.
func (b *undoBasis) older(u *ledger.Undo) {
	b.tokens.add(u.Tokens)
	b.pools.add(u.Pools)
	b.days.add(u.Days)
	b.minutes.add(u.Minutes)
	b.ticks.add(u.Ticks)
	b.positions.add(u.Positions)
	b.wides.add(u.Wides)
	b.directs.add(u.Directs)
	b.hours.add(u.Hours)
}

// code leaves out To, which is the key.
func (b *undoBasis) code(c *coder, u *ledger.Undo) {
	b.sum = 0
	codeBlock(c, &u.Before)
	c.fixed("hash", u.Hash[:])
	codeLens(c, &u.Lens)
	codeSaved(b, c, "tokens", &u.Tokens, codeToken, b.token)
	codeSaved(b, c, "pools", &u.Pools, codePool, b.pools.at)
	codeSaved(b, c, "days", &u.Days, codeDay, b.dayBeside(u))
	codeSaved(b, c, "minutes", &u.Minutes, codeMinutes, b.minutes.at)
	codeSaved(b, c, "ticks", &u.Ticks, codeTick, b.ticks.at)
	codeSaved(b, c, "positions", &u.Positions, codePosition, b.positions.at)
	codeSaved(b, c, "wides", &u.Wides, codeWide, b.wides.at)
	codeSaved(b, c, "directs", &u.Directs, codeDirect, b.directs.at)
	codeSaved(b, c, "hours", &u.Hours, codeHour, b.hours.at)
	n := c.count("drops", len(u.Drops))
	if c.read && n > 0 {
		u.Drops = make([]ledger.Op, n)
	}
	for i := range u.Drops {
		codeOp(c, &u.Drops[i])
	}
	sum := b.sum
	c.u32("sum", &sum)
	c.must("sum", sum == b.sum)
}

// token is what of a token never changes.
func (b *undoBasis) token(i uint32) market.Token {
	t := b.tokens.at(i)
	return market.Token{
		Address: t.Address, Symbol: t.Symbol, Name: t.Name,
		Decimals: t.Decimals, BadDecimals: t.BadDecimals,
	}
}

// dayBeside takes the end of a day not from the day after the span but from
// the pool before it, which the undo mostly has too.
func (b *undoBasis) dayBeside(u *ledger.Undo) func(i uint32) market.PoolDay {
	var pools map[uint32]*market.Pool
	return func(i uint32) market.PoolDay {
		if pools == nil {
			pools = make(map[uint32]*market.Pool, len(u.Pools))
			for k := range u.Pools {
				pools[u.Pools[k].Index] = &u.Pools[k].Row
			}
		}
		after := b.days.at(i)
		d := market.PoolDay{
			Pool: after.Pool, Day: after.Day, Open: after.Open, High: after.High, Low: after.Low,
			VolumeUsd: after.VolumeUsd, FeesUsd: after.FeesUsd,
			Price0Usd: after.Price0Usd, Price1Usd: after.Price1Usd, Swaps: after.Swaps,
		}
		if p := pools[i]; p != nil {
			d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
			d.FeeGrowthGlobal0X128 = p.FeeGrowthGlobal0X128
			d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal1X128
		}
		return d
	}
}

// codeSaved is the saved rows of one table: for each its index and either the
// fields that differ from its basis, named by a mask, or, when the two have
// not the same fields, all of it.
func codeSaved[T any](
	b *undoBasis, c *coder, field string, rows *[]ledger.Saved[T],
	code func(*coder, *T), basis func(i uint32) T,
) {
	n := c.count(field, len(*rows))
	if c.read && n > 0 {
		*rows = make([]ledger.Saved[T], n)
	}
	for i := range *rows {
		s := &(*rows)[i]
		c.u32(field, &s.Index)
		if c.bad != "" {
			return
		}
		after := basis(s.Index)
		splitRow(&b.after, &after, code)
		if !c.read {
			splitRow(&b.row, &s.Row, code)
			b.writeDifference(c, field)
		} else {
			raw, whole := b.readDifference(c, field)
			if c.bad != "" || !readRow(raw, &s.Row, code) {
				c.fail(field)
				return
			}
			splitRow(&b.row, &s.Row, code)
			c.must(field, whole == (len(b.row.ends) != len(b.after.ends)))
		}
		b.sum = crc32.Update(b.sum, castagnoli, b.row.buf)
	}
}
