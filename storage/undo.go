package storage

import (
	"hash/crc32"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/pace"
)

// An undo holds rows as they were before a span. For every pool with a swap these
// are its row, its day, its ring of minutes and its hour, and the span changed a
// few fields of each. Undos are kept for hundreds of blocks and compacted several
// times, so size matters: an undo stores only the fields that differ from the row
// after the span, the base row.
//
// The row after a span is in the next newer undo that holds it, or in the State
// if no newer undo does. So undos are read newest first. This works because the
// ledger saves every row that it changes in a span. The two exceptions, the
// fields that the ledger fills in at the end of a day and the prices of tokens,
// are left out of a base row. Each undo ends with a checksum over its whole rows.
type undoBasis struct {
	tables []basis // of every table whose rows can be edited
	pause  func()  // before every row, of which the base row may have to be read; nil is none

	after, row  field.Coder // scratch
	mask, patch []byte
	undo        field.Coder // memory of write
	packed      []byte
	sum         uint32
	pools       map[uint32]*market.Pool // of the undo being coded; see poolBefore
}

// basis gives the base rows of one table.
type basis interface {
	reset(st *market.State)
	advance(u *ledger.Undo)
	code(b *undoBasis, c *field.Coder, u *ledger.Undo)
}

type basisOf[T any] struct {
	*rows[T]
	state *market.Frozen[T]
	newer map[uint32]*T // rows in undos newer than the one being coded
}

// basis returns nil for a table whose rows are never edited.
func (t *rows[T]) basis() basis {
	if !t.edited {
		return nil
	}
	return &basisOf[T]{rows: t}
}

func (b *basisOf[T]) reset(st *market.State) { b.state, b.newer = b.of(st), nil }

func (b *basisOf[T]) advance(u *ledger.Undo) {
	saved := b.table.Saved(u)
	if b.newer == nil {
		b.newer = make(map[uint32]*T, len(saved))
	}
	for i := range saved {
		b.newer[saved[i].Index] = &saved[i].Row
	}
}

// baseRow returns the row against which row i of undo u is coded: the row after
// the span, a zero row if there is none, or the table's prediction.
func (b *basisOf[T]) baseRow(all *undoBasis, u *ledger.Undo, i uint32) T {
	var zero T
	after := &zero
	if r := b.newer[i]; r != nil {
		after = r
	} else if i < b.state.Len() {
		after = b.state.At(i)
	}
	if b.predict != nil {
		return b.predict(all, u, i, after)
	}
	return *after
}

// code walks the saved rows of the table. Each row is its index and a mask of
// the fields that differ from the base row, followed by those fields. If the two
// rows do not have the same fields, the whole row follows instead.
func (b *basisOf[T]) code(all *undoBasis, c *field.Coder, u *ledger.Undo) {
	saved := b.table.Saved(u)
	n := c.Count(b.name, len(saved))
	if c.Read && n > 0 {
		saved = make([]ledger.Saved[T], n)
		b.table.SetSaved(u, saved)
	}

	for i := range saved {
		pace.Every(1, i, all.pause)
		s := &saved[i]
		c.U32(b.name, &s.Index)
		if c.Failed() {
			return
		}

		after := b.baseRow(all, u, s.Index)
		splitRow(&all.after, &after, b.rows.code)
		if !c.Read {
			splitRow(&all.row, &s.Row, b.rows.code)
			all.writeDifference(c, b.name)
		} else {
			raw, whole := all.readDifference(c, b.name)
			if !readRow(raw, &s.Row, b.rows.code) {
				c.Fail(b.name)
				return
			}
			splitRow(&all.row, &s.Row, b.rows.code)
			c.Require(b.name, whole == (all.row.Fields() != all.after.Fields()))
		}
		all.sum = crc32.Update(all.sum, castagnoli, all.row.Buf)
	}
}

// reset makes the rows of st the base rows of the newest undo.
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

// advance makes the rows of u base rows of the next older undo. u must not change
// until the next reset.
func (b *undoBasis) advance(u *ledger.Undo) {
	for _, t := range b.tables {
		t.advance(u)
	}
}

// write returns an undo as it is stored: packed. It is valid until the next call.
func (b *undoBasis) write(u *ledger.Undo, pause func()) []byte {
	b.undo.Buf = b.undo.Buf[:0]
	b.code(&b.undo, u)
	b.packed = appendPacked(b.packed[:0], b.undo.Buf, pause)
	return b.packed
}

// read reads an undo as it is stored. Those of format 10 and earlier are not packed.
func (b *undoBasis) read(value []byte, u *ledger.Undo) error {
	raw, err := unpack(value)
	if err != nil {
		return err
	}
	c := field.Reader(raw)
	b.code(&c, u)
	return c.Done()
}

// code leaves out To, which is the key.
func (b *undoBasis) code(c *field.Coder, u *ledger.Undo) {
	b.sum, b.pools = 0, nil
	codeBlock(c, &u.Before)
	c.Fixed("hash", u.Hash[:])
	if c.Read {
		u.Rows = make([]uint32, ledger.TableCount())
	}
	codeLengths(c, tables[:ledger.TableCount()], u.Rows)
	c.U32("lens.openCount", &u.OpenCount)
	c.U64("lens.transactions", &u.Transactions)

	for _, t := range b.tables {
		t.code(b, c, u)
	}

	codeDrops(c, &u.Drops)

	sum := b.sum
	c.U32("sum", &sum)
	c.Require("sum", sum == b.sum)
}

func codeDrops(c *field.Coder, drops *ledger.Ops) {
	n := c.Count("drops", drops.Len())
	if !c.Read {
		for op := range drops.All() {
			codeOp(c, &op)
		}
		return
	}

	for range n {
		var op ledger.Op
		if codeOp(c, &op); c.Failed() {
			return
		}
		drops.Add(op)
	}
}

// tokenIdentity returns the fields of a token that never change.
func tokenIdentity(_ *undoBasis, _ *ledger.Undo, _ uint32, after *market.Token) market.Token {
	return market.Token{
		Address: after.Address, Symbol: after.Symbol, Name: after.Name,
		Decimals: after.Decimals, BadDecimals: after.BadDecimals,
	}
}

// dayOfPool predicts the closing values of a day from the pool before the span,
// which the undo usually holds too, instead of from the day after it.
func dayOfPool(b *undoBasis, u *ledger.Undo, i uint32, after *market.PoolDay) market.PoolDay {
	d := market.PoolDay{
		Pool: after.Pool, Day: after.Day, Open: after.Open, High: after.High, Low: after.Low,
		VolumeUsd: after.VolumeUsd, FeesUsd: after.FeesUsd,
		Price0Usd: after.Price0Usd, Price1Usd: after.Price1Usd, Swaps: after.Swaps,
		EventHour: after.EventHour, HourHigh: after.HourHigh, HourLow: after.HourLow,
	}
	if p := b.poolBefore(u, i); p != nil {
		d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
		d.FeeGrowthGlobal0X128 = p.FeeGrowthGlobal0X128
		d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal1X128
	}
	return d
}

// poolBefore returns the pool in the undo being coded, or nil.
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
