package storage

import (
	"fmt"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// opPut marks the tag of an operation that puts; one that drops has the bare
// kind of its series.
const opPut = 0x80

// opTag returns the tag of an operation: its series, and whether it puts.
func opTag(op ledger.Op) uint8 {
	switch op.(type) {
	case ledger.PutTransaction:
		return uint8(kindTransaction) | opPut
	case ledger.DropTransaction:
		return uint8(kindTransaction)
	case ledger.PutPoolDay:
		return uint8(kindPoolDay) | opPut
	case ledger.DropPoolDay:
		return uint8(kindPoolDay)
	case ledger.PutTickDay:
		return uint8(kindTickDay) | opPut
	case ledger.DropTickDay:
		return uint8(kindTickDay)
	case ledger.PutHourPrice:
		return uint8(kindHourPrice) | opPut
	case ledger.DropHourPrice:
		return uint8(kindHourPrice)
	}
	panic(fmt.Sprintf("BUG: series operation %T is not known to the store", op))
}

// codeOp is an operation inside an undo: its tag, the fields of its key, and
// the record that it puts.
func codeOp(c *coder, op *ledger.Op) {
	var tag uint8
	if !c.read {
		tag = opTag(*op)
	}
	c.small("op", &tag, 255)
	switch tag {
	case uint8(kindTransaction) | opPut:
		*op = codePut(c, *op, func(p *ledger.PutTransaction) {
			codeEntryKey(c, &p.Position, &p.Block, &p.LogIndex)
			codeTransaction(c, &p.Transaction)
		})
	case uint8(kindTransaction):
		*op = codePut(c, *op, func(d *ledger.DropTransaction) {
			codeEntryKey(c, &d.Position, &d.Block, &d.LogIndex)
		})
	case uint8(kindPoolDay) | opPut:
		*op = codePut(c, *op, func(p *ledger.PutPoolDay) {
			codePair(c, &p.Pool, &p.Day)
			codePoolDay(c, &p.PoolDay)
		})
	case uint8(kindPoolDay):
		*op = codePut(c, *op, func(d *ledger.DropPoolDay) { codePair(c, &d.Pool, &d.Day) })
	case uint8(kindTickDay) | opPut:
		*op = codePut(c, *op, func(p *ledger.PutTickDay) {
			codeTickKey(c, &p.Pool, &p.Tick, &p.Day)
			codeTickDay(c, &p.TickDay)
		})
	case uint8(kindTickDay):
		*op = codePut(c, *op, func(d *ledger.DropTickDay) { codeTickKey(c, &d.Pool, &d.Tick, &d.Day) })
	case uint8(kindHourPrice) | opPut:
		*op = codePut(c, *op, func(p *ledger.PutHourPrice) {
			codePair(c, &p.Token, &p.Hour)
			codeHourPrice(c, &p.HourPrice)
		})
	case uint8(kindHourPrice):
		*op = codePut(c, *op, func(d *ledger.DropHourPrice) { codePair(c, &d.Token, &d.Hour) })
	default:
		c.fail("op")
	}
}

// codePut walks the fields of one concrete operation.
func codePut[T ledger.Op](c *coder, op ledger.Op, walk func(*T)) ledger.Op {
	v, _ := op.(T)
	walk(&v)
	return v
}

func codeEntryKey(c *coder, position *uint32, block *uint64, log *uint32) {
	c.u32("position", position)
	c.u64("block", block)
	c.u32("log", log)
}

func codePair(c *coder, row, at *uint32) {
	c.u32("row", row)
	c.u32("at", at)
}

func codeTickKey(c *coder, pool *uint32, tick *int32, day *uint32) {
	c.u32("pool", pool)
	c.i32("tick", tick)
	c.u32("day", day)
}

// applyOp writes one operation on a series into the batch.
func (w *writer) applyOp(op ledger.Op) {
	chain := w.chain
	k := w.key[:0]
	switch op := op.(type) {
	case ledger.PutTransaction:
		k = appendTransaction(k, chain, op.Position, op.Block, op.LogIndex)
		put(w, k, &op.Transaction, codeTransaction)
	case ledger.DropTransaction:
		w.drop(appendTransaction(k, chain, op.Position, op.Block, op.LogIndex))
	case ledger.PutPoolDay:
		put(w, appendPoolDay(k, chain, op.Pool, op.Day), &op.PoolDay, codePoolDay)
	case ledger.DropPoolDay:
		w.drop(appendPoolDay(k, chain, op.Pool, op.Day))
	case ledger.PutTickDay:
		put(w, appendTickDay(k, chain, op.Pool, op.Tick, op.Day), &op.TickDay, codeTickDay)
	case ledger.DropTickDay:
		w.drop(appendTickDay(k, chain, op.Pool, op.Tick, op.Day))
	case ledger.PutHourPrice:
		put(w, appendHourPrice(k, chain, op.Token, op.Hour), &op.HourPrice, codeHourPrice)
	case ledger.DropHourPrice:
		w.drop(appendHourPrice(k, chain, op.Token, op.Hour))
	default:
		opTag(op)
	}
}

// codeHourPrice leaves out Token, which is its key.
func codeHourPrice(c *coder, p *ledger.HourPrice) {
	c.usd("usd", &p.Usd)
	c.i64("asOf", &p.AsOf)
	c.index("onlyPool", &p.OnlyPool)
	c.u16("markets", &p.Markets)
	c.small("source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.small("reason", (*uint8)(&p.Reason), uint8(market.ReasonHookDelta))
	c.flags("flags", &p.Corroborated)
}
