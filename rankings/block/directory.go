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
//
// Bases are the whole leaves that the order had at an earlier generation, in its order
// then. Its relative leaves are coded from these, and may have no other bases.
type Order struct {
	Keys    []uint64 // sort key of the leaf's first row; ascending
	First   []uint32 // the leaf's first row
	Numbers []uint64 // see LeafNumber
	Hashes  []uint64 // see CutLeaf
	Rows    []uint32 // rows before the leaf; the last entry is the total
	Pass    []uint32 // how many of those rows the default filters admit

	Bases []Base
}

// Retired is a leaf that is no longer used; Last is the last generation that did.
type Retired struct{ Number, Last uint64 }

const (
	directoryMagic  = 0x0231726964646974 // "tiddir1" and version 2
	magicWithout    = 0x0131726964646974 // version 1, which has no bases: all leaves are whole
	directoryHeader = 40
	entrySize       = 32
	baseSize        = 10
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
	dst = le.AppendUint32(dst, uint32(len(o.Bases)))
	for i := range o.Keys {
		dst = le.AppendUint64(dst, o.Keys[i])
		dst = le.AppendUint64(dst, o.Numbers[i])
		dst = le.AppendUint64(dst, o.Hashes[i])
		dst = le.AppendUint32(dst, o.First[i])
		dst = le.AppendUint16(dst, uint16(o.Rows[i+1]-o.Rows[i]))
		dst = le.AppendUint16(dst, uint16(o.Pass[i+1]-o.Pass[i]))
	}

	for i := range o.Bases {
		dst = le.AppendUint64(dst, o.Bases[i].Number)
		dst = le.AppendUint16(dst, uint16(o.Bases[i].Rows))
	}
	return dst
}

// AddBase adds a base with a number of rows.
func (o *Order) AddBase(number uint64, rows uint32) {
	first := uint32(0)
	if n := len(o.Bases); n > 0 {
		first = o.Bases[n-1].First + o.Bases[n-1].Rows
	}
	o.Bases = append(o.Bases, Base{Number: number, First: first, Rows: rows})
}

// BaseOnItself makes the leaves, which must be whole, the bases.
func (o *Order) BaseOnItself() {
	o.Bases = make([]Base, 0, o.Leaves())
	for i, number := range o.Numbers {
		o.AddBase(number, o.Rows[i+1]-o.Rows[i])
	}
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
	version := le.Uint64(b)
	if m := version; m != directoryMagic && m != magicWithout {
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
		o, n, err := decodeOrder(rest, d.Generation, version == directoryMagic)
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
func decodeOrder(b []byte, generation uint64, hasBases bool) (o Order, size int, err error) {
	counts := 4
	if hasBases {
		counts = 8
	}
	if len(b) < counts {
		return o, 0, fmt.Errorf("%d bytes are left; need %d", len(b), counts)
	}

	// The counts are checked before memory is allocated for them.
	leaves, bases := binary.LittleEndian.Uint32(b), uint32(0)
	if hasBases {
		bases = binary.LittleEndian.Uint32(b[4:])
	}
	entries := uint64(counts) + uint64(leaves)*entrySize
	whole := entries + uint64(bases)*baseSize
	if uint64(len(b)) < whole {
		return o, 0, fmt.Errorf("%d bytes are left; need %d for %d leaves and %d bases",
			len(b), whole, leaves, bases)
	}

	o = NewOrder(int(leaves))
	for e := b[counts:entries]; len(e) > 0; e = e[entrySize:] {
		if err := o.decodeEntry(e, generation); err != nil {
			return o, 0, fmt.Errorf("cannot decode leaf %d of %d: %w", o.Leaves(), leaves, err)
		}
	}

	if !hasBases {
		o.BaseOnItself()
		return o, int(whole), nil
	}
	o.Bases = make([]Base, 0, bases)
	for e := b[entries:whole]; len(e) > 0; e = e[baseSize:] {
		if err := o.decodeBase(e, generation); err != nil {
			return o, 0, fmt.Errorf("cannot decode base %d of %d: %w", len(o.Bases), bases, err)
		}
	}
	return o, int(whole), nil
}

// decodeBase decodes the entry of one base and adds it.
func (o *Order) decodeBase(e []byte, generation uint64) error {
	le := binary.LittleEndian
	number, rows := le.Uint64(e), uint32(le.Uint16(e[8:]))
	last := Base{}
	if n := len(o.Bases); n > 0 {
		last = o.Bases[n-1]
	}

	switch {
	case rows == 0 || rows > MaxLeafRows:
		return fmt.Errorf("it has %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	case uint64(last.First)+uint64(last.Rows)+uint64(rows) > math.MaxUint32:
		return fmt.Errorf("its %d rows and those before do not fit 32 bits", rows)
	case LeafGeneration(number) > generation:
		return fmt.Errorf("its number %d is of generation %d, after the directory's %d",
			number, LeafGeneration(number), generation)
	}

	o.AddBase(number, rows)
	return nil
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
