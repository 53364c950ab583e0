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
// The row after a span is the one in the next newer undo that has it, or the
// State's row when no newer undo does. So undos are read from the newest back.
// This relies on the ledger saving every row that it changes in a span. The two
// exceptions are left out of a basis: what the ledger fills in at the end of a
// day, and prices of tokens. A checksum over the whole rows ends each undo.
type undoBasis struct {
	tables []basis // of the tables with rows that undos hold

	after, row  coder // scratch
	mask, patch []byte
	sum         uint32
	pools       map[uint32]*market.Pool // of the undo that is coded; see poolBefore
}

// basis is what the rows of one table are after a span.
type basis interface {
	reset(st *market.State)
	older(u *ledger.Undo)
	code(b *undoBasis, c *coder, u *ledger.Undo)
}

type basisOf[T any] struct {
	*rows[T]
	state *market.Frozen[T]
	newer map[uint32]*T // in undos newer than the one that is coded
}

// basis returns nil for a table whose rows are in no undo.
func (t *rows[T]) basis() basis {
	if !t.edited {
		return nil
	}
	return &basisOf[T]{rows: t}
}

func (b *basisOf[T]) reset(st *market.State) { b.state, b.newer = b.of(st), nil }

func (b *basisOf[T]) older(u *ledger.Undo) {
	saved := b.table.Saved(u)
	if b.newer == nil {
		b.newer = make(map[uint32]*T, len(saved))
	}
	for i := range saved {
		b.newer[saved[i].Index] = &saved[i].Row
	}
}

// at returns what row i of undo u is coded against: the row after the span, a
// zero row when there is none, or what the table knows better.
func (b *basisOf[T]) at(all *undoBasis, u *ledger.Undo, i uint32) T {
	var zero T
	after := &zero
	if r := b.newer[i]; r != nil {
		after = r
	} else if i < b.state.Len() {
		after = b.state.At(i)
	}
	if b.likely != nil {
		return b.likely(all, u, i, after)
	}
	return *after
}

// code walks the saved rows of the table: for each its index and either the
// fields that differ from its basis, named by a mask, or, when the two have
// not the same fields, all of it.
func (b *basisOf[T]) code(all *undoBasis, c *coder, u *ledger.Undo) {
	saved := b.table.Saved(u)
	n := c.count(b.name, len(saved))
	if c.read && n > 0 {
		saved = make([]ledger.Saved[T], n)
		b.table.SetSaved(u, saved)
	}

	for i := range saved {
		s := &saved[i]
		c.u32(b.name, &s.Index)
		if c.bad != "" {
			return
		}
		after := b.at(all, u, s.Index)
		splitRow(&all.after, &after, b.rows.code)
		if !c.read {
			splitRow(&all.row, &s.Row, b.rows.code)
			all.writeDifference(c, b.name)
		} else {
			raw, whole := all.readDifference(c, b.name)
			if c.bad != "" || !readRow(raw, &s.Row, b.rows.code) {
				c.fail(b.name)
				return
			}
			splitRow(&all.row, &s.Row, b.rows.code)
			c.require(b.name, whole == (len(all.row.ends) != len(all.after.ends)))
		}
		all.sum = crc32.Update(all.sum, castagnoli, all.row.buf)
	}
}

// reset makes st what the newest undo is coded against.
func (b *undoBasis) reset(st *market.State) {
	if b.tables == nil {
		for _, t := range tables {
			if basis := t.basis(); basis != nil {
				b.tables = append(b.tables, basis)
			}
		}
	}
	for _, t := range b.tables {
		t.reset(st)
	}
}

// older makes u what the next older undo is coded against. u must not change
// until the next reset.
func (b *undoBasis) older(u *ledger.Undo) {
	for _, t := range b.tables {
		t.older(u)
	}
}

// code leaves out To, which is the key.
func (b *undoBasis) code(c *coder, u *ledger.Undo) {
	b.sum, b.pools = 0, nil
	codeBlock(c, &u.Before)
	c.fixed("hash", u.Hash[:])
	if c.read {
		u.Rows = make([]uint32, ledger.TableCount())
	}
	codeLengths(c, tables[:ledger.TableCount()], u.Rows)
	c.u32("lens.openCount", &u.OpenCount)
	c.u64("lens.transactions", &u.Transactions)

	for _, t := range b.tables {
		t.code(b, c, u)
	}

	n := c.count("drops", len(u.Drops))
	if c.read && n > 0 {
		u.Drops = make([]ledger.Op, n)
	}
	for i := range u.Drops {
		codeOp(c, &u.Drops[i])
	}

	sum := b.sum
	c.u32("sum", &sum)
	c.require("sum", sum == b.sum)
}

// tokenIdentity is what of a token never changes.
func tokenIdentity(_ *undoBasis, _ *ledger.Undo, _ uint32, after *market.Token) market.Token {
	return market.Token{
		Address: after.Address, Symbol: after.Symbol, Name: after.Name,
		Decimals: after.Decimals, BadDecimals: after.BadDecimals,
	}
}

// dayOfPool takes the end of a day not from the day after the span but from
// the pool before it, which the undo mostly has too.
func dayOfPool(b *undoBasis, u *ledger.Undo, i uint32, after *market.PoolDay) market.PoolDay {
	d := market.PoolDay{
		Pool: after.Pool, Day: after.Day, Open: after.Open, High: after.High, Low: after.Low,
		VolumeUsd: after.VolumeUsd, FeesUsd: after.FeesUsd,
		Price0Usd: after.Price0Usd, Price1Usd: after.Price1Usd, Swaps: after.Swaps,
	}
	if p := b.poolBefore(u, i); p != nil {
		d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
		d.FeeGrowthGlobal0X128 = p.FeeGrowthGlobal0X128
		d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal1X128
	}
	return d
}

// poolBefore returns a pool as the undo that is coded has it, or nil.
func (b *undoBasis) poolBefore(u *ledger.Undo, i uint32) *market.Pool {
	if b.pools == nil {
		saved := ledger.Pools.Saved(u)
		b.pools = make(map[uint32]*market.Pool, len(saved))
		for k := range saved {
			b.pools[saved[k].Index] = &saved[k].Row
		}
	}
	return b.pools[i]
}
