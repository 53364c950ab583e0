package storage

import (
	"bytes"
	"hash/crc32"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// splitRow appends a record and records where its fields end.
func splitRow[T any](c *field.Coder, row *T, code func(*field.Coder, *T)) {
	c.Split()
	code(c, row)
}

// readRow decodes raw as one record.
func readRow[T any](raw []byte, row *T, code func(*field.Coder, *T)) bool {
	c := field.Reader(raw)
	code(&c, row)
	return c.Done() == nil
}

// writeDifference appends the difference between b.row and b.after. If the rows
// have different fields it is the flag 1 and the whole row; otherwise the flag 0,
// a mask of the fields that differ, and those fields.
func (b *undoBasis) writeDifference(c *field.Coder, name string) {
	whole := b.row.Fields() != b.after.Fields()
	c.Flags(name, &whole)
	if whole {
		c.Bytes(name, &b.row.Buf)
		return
	}

	b.mask = append(b.mask[:0], make([]byte, (b.row.Fields()+7)/8)...)
	for k := range b.row.Fields() {
		if !bytes.Equal(b.row.Field(k), b.after.Field(k)) {
			b.mask[k/8] |= 1 << (k % 8)
		}
	}

	c.Fixed(name, b.mask)
	for k := range b.row.Fields() {
		if b.mask[k/8]>>(k%8)&1 != 0 {
			f := b.row.Field(k)
			c.Bytes(name, &f)
		}
	}
}

// readDifference returns the row that writeDifference wrote, and whether it was
// stored whole. The row is valid until the next call.
func (b *undoBasis) readDifference(c *field.Coder, name string) (row []byte, whole bool) {
	c.Flags(name, &whole)
	if whole {
		return c.Take(name, c.Count(name, 0)), true
	}

	fields := b.after.Fields()
	mask := c.Take(name, (fields+7)/8)
	if mask == nil {
		return nil, false
	}

	if extra := fields % 8; extra != 0 {
		c.Require(name, mask[len(mask)-1]>>extra == 0)
	}

	b.patch = b.patch[:0]
	for k := range fields {
		f := b.after.Field(k)
		if mask[k/8]>>(k%8)&1 != 0 {
			changed := c.Take(name, c.Count(name, 0))
			c.Require(name, !bytes.Equal(changed, f))
			f = changed
		}
		b.patch = append(b.patch, f...)
	}

	return b.patch, false
}

// opPut is added to the kind of the series in the tag of an operation that puts.
const opPut = 0x80

// codeOp codes an operation inside an undo: tag, fields of the key, and the record
// if it puts one.
func codeOp(c *field.Coder, op *ledger.Op) {
	var tag uint8
	if !c.Read {
		tag = uint8(allSeries[op.Series].about().kind)
		if !op.Drop {
			tag |= opPut
		}
	}
	c.Small("op", &tag, 255)

	for i, s := range allSeries {
		if uint8(s.about().kind) == tag&^opPut {
			op.Series, op.Drop = i, tag&opPut == 0
			s.code(c, op)
			return
		}
	}
	c.Fail("op")
}
