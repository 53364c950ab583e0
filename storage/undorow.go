package storage

import (
	"bytes"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// splitRow appends a record and records where its fields end.
func splitRow[T any](c *coder, row *T, code func(*coder, *T)) {
	c.buf, c.ends, c.split = c.buf[:0], c.ends[:0], true
	code(c, row)
}

// field returns field k of a record that was split.
func (c *coder) field(k int) []byte {
	from := 0
	if k > 0 {
		from = c.ends[k-1]
	}
	return c.buf[from:c.ends[k]]
}

// readRow decodes raw as one record.
func readRow[T any](raw []byte, row *T, code func(*coder, *T)) bool {
	c := coder{buf: raw, read: true}
	code(&c, row)
	return c.done() == nil
}

// writeDifference appends the difference between b.row and b.after. If the rows
// have different fields it is the flag 1 and the whole row; otherwise the flag 0,
// a mask of the fields that differ, and those fields.
func (b *undoBasis) writeDifference(c *coder, name string) {
	whole := len(b.row.ends) != len(b.after.ends)
	c.flags(name, &whole)
	if whole {
		c.bytes(name, &b.row.buf)
		return
	}

	b.mask = append(b.mask[:0], make([]byte, (len(b.row.ends)+7)/8)...)
	for k := range b.row.ends {
		if !bytes.Equal(b.row.field(k), b.after.field(k)) {
			b.mask[k/8] |= 1 << (k % 8)
		}
	}

	c.fixed(name, b.mask)
	for k := range b.row.ends {
		if b.mask[k/8]>>(k%8)&1 != 0 {
			f := b.row.field(k)
			c.bytes(name, &f)
		}
	}
}

// readDifference returns the row that writeDifference wrote, and whether it was
// stored whole. The row is valid until the next call.
func (b *undoBasis) readDifference(c *coder, name string) (row []byte, whole bool) {
	c.flags(name, &whole)
	if whole {
		return c.take(name, c.count(name, 0)), true
	}

	fields := len(b.after.ends)
	mask := c.take(name, (fields+7)/8)
	if mask == nil && fields > 0 {
		return nil, false
	}

	if extra := fields % 8; extra != 0 {
		c.require(name, mask[len(mask)-1]>>extra == 0)
	}

	b.patch = b.patch[:0]
	for k := range fields {
		f := b.after.field(k)
		if mask[k/8]>>(k%8)&1 != 0 {
			changed := c.take(name, c.count(name, 0))
			c.require(name, !bytes.Equal(changed, f))
			f = changed
		}
		b.patch = append(b.patch, f...)
	}

	return b.patch, false
}
