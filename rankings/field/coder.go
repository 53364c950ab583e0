package field

import "fmt"

// Coder is a walk over the fields of a record. Each method takes a field's name and
// a pointer to its value, which it appends to Buf or, with Read set, reads from Buf.
// Appending writes to no value, because others may read the record meanwhile.
type Coder struct {
	// Buf holds the bytes appended so far, or the bytes left to read.
	Buf  []byte
	Read bool
	Note func(name string, raw []byte)

	bad   string // name of the first field that could not be read
	split bool
	ends  []int // with split set, the length of Buf after every appended field
}

// Reader returns a walk that reads raw. The walk keeps raw.
func Reader(raw []byte) Coder { return Coder{Buf: raw, Read: true} }

// Split begins a record anew and keeps where its fields end.
func (c *Coder) Split() { c.Buf, c.ends, c.split = c.Buf[:0], c.ends[:0], true }

// Fields returns how many fields were appended since Split.
func (c *Coder) Fields() int { return len(c.ends) }

// Field returns the bytes of field k since Split.
func (c *Coder) Field(k int) []byte {
	from := 0
	if k > 0 {
		from = c.ends[k-1]
	}
	return c.Buf[from:c.ends[k]]
}

// end notes the end of an appended field.
func (c *Coder) end() {
	if c.split {
		c.ends = append(c.ends, len(c.Buf))
	}
}

// Fail makes the rest of the walk read zeros.
func (c *Coder) Fail(name string) {
	if !c.Failed() {
		c.bad = name
	}
	c.Buf = nil
}

// Failed reports whether a field could not be read.
func (c *Coder) Failed() bool { return c.bad != "" }

// Take returns the next n bytes, or nil when there are fewer.
func (c *Coder) Take(name string, n int) []byte {
	if n > len(c.Buf) {
		c.Fail(name)
		return nil
	}
	b := c.Buf[:n]
	c.Buf = c.Buf[n:]
	if c.Note != nil {
		c.Note(name, b)
	}
	return b
}

// Require fails a reading walk unless ok.
func (c *Coder) Require(name string, ok bool) {
	if c.Read && !ok {
		c.Fail(name)
	}
}

// Done returns an error unless the bytes were exactly one record.
func (c *Coder) Done() error {
	switch {
	case c.Failed():
		return fmt.Errorf("bad field %s", c.bad)
	case len(c.Buf) > 0:
		return fmt.Errorf("%d bytes after the end of the record", len(c.Buf))
	}
	return nil
}
