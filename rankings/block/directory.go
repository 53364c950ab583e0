package block

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Directory lists the leaves of all orders of one generation.
type Directory struct {
	Chain, Generation uint64
	Positions, Pools  uint32 // rows of the generation's State
	Orders            []Order
	Retired           []Retired
}

// Order lists the leaves of one order, by column. Keys, First, Numbers and Hashes
// have one entry a leaf. Rows and Pass are running sums with one entry more.
type Order struct {
	Keys    []uint64 // sort key of the leaf's first row; ascending
	First   []uint32 // the leaf's first row
	Numbers []uint64 // see LeafNumber
	Hashes  []uint64 // see CutLeaf
	Rows    []uint32 // rows before the leaf; the last entry is the total
	Pass    []uint32 // how many of those rows the default filters admit
}

// Retired is a leaf that is no longer used; Last is the last generation that did.
type Retired struct{ Number, Last uint64 }

const (
	directoryMagic  = 0x0131726964646974 // "tiddir1" and version 1
	directoryHeader = 40
	entrySize       = 32
	retiredSize     = 16
	leafIndexBits   = 20
)

// LeafNumber returns the number of the n-th leaf that a generation writes. It
// panics if n does not fit 20 bits.
func LeafNumber(generation uint64, n int) uint64 {
	if n >= 1<<leafIndexBits {
		panic(fmt.Sprintf("BUG: generation %d writes more than %d leaves", generation, n))
	}
	return generation<<leafIndexBits | uint64(n)
}

// LeafGeneration returns the generation that wrote a leaf.
func LeafGeneration(number uint64) uint64 { return number >> leafIndexBits }

// Len returns the number of rows.
func (o *Order) Len() uint32 { return o.Rows[len(o.Rows)-1] }

// Passing returns how many rows the default filters admit.
func (o *Order) Passing() uint32 { return o.Pass[len(o.Pass)-1] }

// Leaves returns the number of leaves.
func (o *Order) Leaves() int { return len(o.Keys) }

// NewOrder returns an order without leaves, with capacity for some.
func NewOrder(leaves int) Order {
	return Order{
		Keys:    make([]uint64, 0, leaves),
		First:   make([]uint32, 0, leaves),
		Numbers: make([]uint64, 0, leaves),
		Hashes:  make([]uint64, 0, leaves),
		Rows:    make([]uint32, 1, leaves+1),
		Pass:    make([]uint32, 1, leaves+1),
	}
}

// Add adds a leaf with a number of rows, pass of which the default filters admit.
func (o *Order) Add(key uint64, first uint32, number, hash uint64, rows, pass int) {
	o.Keys = append(o.Keys, key)
	o.First = append(o.First, first)
	o.Numbers = append(o.Numbers, number)
	o.Hashes = append(o.Hashes, hash)
	o.Rows = append(o.Rows, o.Len()+uint32(rows))
	o.Pass = append(o.Pass, o.Passing()+uint32(pass))
}

// Append appends the encoded directory.
func (d *Directory) Append(dst []byte) []byte {
	start, le := len(dst), binary.LittleEndian
	dst = le.AppendUint64(dst, directoryMagic)
	dst = le.AppendUint64(dst, d.Chain)
	dst = le.AppendUint64(dst, d.Generation)
	dst = le.AppendUint32(dst, d.Positions)
	dst = le.AppendUint32(dst, d.Pools)
	dst = le.AppendUint32(dst, uint32(len(d.Orders)))
	dst = le.AppendUint32(dst, uint32(len(d.Retired)))

	for i := range d.Orders {
		dst = d.Orders[i].appendTo(dst)
	}

	for _, r := range d.Retired {
		dst = le.AppendUint64(dst, r.Number)
		dst = le.AppendUint64(dst, r.Last)
	}

	return appendChecksum(dst, start)
}

// appendTo appends the encoded order.
func (o *Order) appendTo(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, uint32(o.Leaves()))
	for i := range o.Keys {
		dst = le.AppendUint64(dst, o.Keys[i])
		dst = le.AppendUint64(dst, o.Numbers[i])
		dst = le.AppendUint64(dst, o.Hashes[i])
		dst = le.AppendUint32(dst, o.First[i])
		dst = le.AppendUint16(dst, uint16(o.Rows[i+1]-o.Rows[i]))
		dst = le.AppendUint16(dst, uint16(o.Pass[i+1]-o.Pass[i]))
	}
	return dst
}

// DecodeDirectory decodes a directory. It checks the checksum, every length, that
// keys ascend, that leaves have allowed numbers of rows, and that no leaf is of a
// later generation.
func DecodeDirectory(b []byte) (*Directory, error) {
	if len(b) < directoryHeader+checksumSize {
		return nil, fmt.Errorf("cannot decode directory of %d bytes; it must have at least %d",
			len(b), directoryHeader+checksumSize)
	}

	body, err := stripChecksum(b)
	if err != nil {
		return nil, fmt.Errorf("cannot decode directory of %d bytes: %w", len(b), err)
	}

	le := binary.LittleEndian
	if m := le.Uint64(b); m != directoryMagic {
		return nil, fmt.Errorf("cannot decode directory of format %016x; supported is %016x",
			m, uint64(directoryMagic))
	}

	d := &Directory{
		Chain: le.Uint64(b[8:]), Generation: le.Uint64(b[16:]),
		Positions: le.Uint32(b[24:]), Pools: le.Uint32(b[28:]),
	}
	orders, retired := le.Uint32(b[32:]), le.Uint32(b[36:])

	rest := body[directoryHeader:]
	for i := range orders {
		o, n, err := decodeOrder(rest, d.Generation)
		if err != nil {
			return nil, fmt.Errorf("cannot decode order %d of %d: %w", i, orders, err)
		}
		d.Orders, rest = append(d.Orders, o), rest[n:]
	}

	// Nothing but the retired leaves may be left.
	if uint64(len(rest)) != uint64(retired)*retiredSize {
		return nil, fmt.Errorf("cannot decode %d retired leaves from %d bytes", retired, len(rest))
	}
	for range retired {
		d.Retired = append(d.Retired, Retired{Number: le.Uint64(rest), Last: le.Uint64(rest[8:])})
		rest = rest[retiredSize:]
	}
	return d, nil
}

// decodeOrder decodes an order at the start of b and returns its size in bytes.
func decodeOrder(b []byte, generation uint64) (Order, int, error) {
	if len(b) < 4 {
		return Order{}, 0, fmt.Errorf("%d bytes are left; need 4", len(b))
	}

	// The number of leaves is checked before memory is allocated for them.
	leaves := binary.LittleEndian.Uint32(b)
	size := 4 + uint64(leaves)*entrySize
	if uint64(len(b)) < size {
		return Order{}, 0, fmt.Errorf("%d bytes are left; need %d for %d leaves",
			len(b), size, leaves)
	}

	o := NewOrder(int(leaves))
	for e := b[4:size]; len(e) > 0; e = e[entrySize:] {
		if err := o.decodeEntry(e, generation); err != nil {
			return Order{}, 0, fmt.Errorf("cannot decode leaf %d of %d: %w", o.Leaves(), leaves, err)
		}
	}

	return o, int(size), nil
}

// decodeEntry decodes the entry of one leaf and adds it.
func (o *Order) decodeEntry(e []byte, generation uint64) error {
	le := binary.LittleEndian
	key, number, hash, first := le.Uint64(e), le.Uint64(e[8:]), le.Uint64(e[16:]), le.Uint32(e[24:])
	rows, pass := int(le.Uint16(e[28:])), int(le.Uint16(e[30:]))

	switch {
	case rows == 0 || rows > MaxLeafRows:
		return fmt.Errorf("it has %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	case pass > rows:
		return fmt.Errorf("%d of its %d rows pass", pass, rows)
	case uint64(o.Len())+uint64(rows) > math.MaxUint32:
		return fmt.Errorf("%d rows and %d more do not fit 32 bits", o.Len(), rows)
	case number>>leafIndexBits > generation:
		return fmt.Errorf("its number %d is of generation %d, after the directory's %d",
			number, number>>leafIndexBits, generation)
	case o.Leaves() > 0 && key < o.Keys[o.Leaves()-1]:
		return fmt.Errorf("its key %016x is below the key %016x before it",
			key, o.Keys[o.Leaves()-1])
	}

	o.Add(key, first, number, hash, rows, pass)
	return nil
}
