package block

import (
	"encoding/binary"
	"fmt"
)

// readBases returns the bases and what follows them.
func readBases(b []byte, n int, dst []uint64) (bases []uint64, rest []byte, err error) {
	if n > MaxBases {
		return dst, b, fmt.Errorf("%d bases; at most %d", n, MaxBases)
	}

	last := uint64(0)
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return dst, b, fmt.Errorf("base %d of %d is cut off", i, n)
		}
		last += uint64(unzigzag(v))
		dst, b = append(dst, last), b[size:]
	}
	return dst, b, nil
}

// decodeRelative decodes the body of a relative leaf, whose checksum holds.
func decodeRelative(body []byte, dst []uint32, base BaseReader) ([]uint32, error) {
	rows := int(binary.LittleEndian.Uint16(body[2:]))
	if rows == 0 || rows > MaxLeafRows {
		return dst, fmt.Errorf("it has %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	}

	var numbers [MaxBases]uint64
	list, rest, err := readBases(body[relativeHeader:], int(body[relativeHeader-1]), numbers[:0])
	if err != nil {
		return dst, err
	}
	var bases placed
	for _, number := range list {
		if base == nil {
			return dst, fmt.Errorf("it has bases; want a whole leaf")
		}
		ids, err := base(number)
		if err != nil {
			return dst, fmt.Errorf("base %d: %w", number, err)
		}
		bases.add(ids)
	}

	if body[0] == stepsVersion {
		return bases.decodeSteps(rest, dst, rows, body[1])
	}
	return bases.decodeOrder(rest, dst, rows, skipCode(body[1]))
}

// placed are the rows of the bases of a leaf, by place.
type placed struct {
	ids   [MaxBases][]uint32
	start [MaxBases]int64
	n     int
	total int64
	at    int // of the base that had the last place
}

func (p *placed) add(ids []uint32) {
	p.ids[p.n], p.start[p.n] = ids, p.total
	p.n++
	p.total += int64(len(ids))
}

// get returns the row at a place, which is from 0 to below total.
func (p *placed) get(place int64) uint32 {
	if n := place - p.start[p.at]; uint64(n) < uint64(len(p.ids[p.at])) {
		return p.ids[p.at][n]
	}
	for place < p.start[p.at] {
		p.at--
	}
	for place-p.start[p.at] >= int64(len(p.ids[p.at])) {
		p.at++
	}
	return p.ids[p.at][place-p.start[p.at]]
}

// decodeOrder decodes the rows of a leaf from what follows its bases.
func (p *placed) decodeOrder(rest []byte, dst []uint32, rows int, code skipCode) ([]uint32, error) {
	if k := code.lowBits(); k > maxLowBits {
		return dst, fmt.Errorf("its code has %d low bits; at most %d", k, maxLowBits)
	}

	n := len(dst)
	dst = append(dst, make([]uint32, rows)...)
	d := orderReader{bitReader: bitReader{b: rest}, bases: p, ids: dst[n:]}
	err := d.readOthers()
	if err == nil {
		err = d.readRuns()
	}
	if err == nil {
		err = d.readOrder(code)
	}
	if err == nil {
		err = d.done()
	}
	return dst, err
}

// orderReader reads what follows the bases of a leaf.
type orderReader struct {
	bitReader
	bases  *placed
	ids    []uint32 // of the leaf
	others Bitmap   // by row: no base has it
	placed uint32   // rows that have a place
	left   placeSet
	words  [MaxLeafRows / wordBits]uint64            // of others
	room   [MaxBases * MaxLeafRows / wordBits]uint64 // of left
}

func (d *orderReader) readOthers() error {
	rows := uint64(len(d.ids))
	n := d.gamma() - 1
	if n > rows {
		return fmt.Errorf("%d of its %d rows are in no base", n, rows)
	}
	d.placed = uint32(rows - n)
	d.others = Bitmap{words: d.words[:], n: uint32(rows)}
	if n == 0 {
		return nil
	}

	width := int(d.bits(widthBits)) + 1
	k, at := gapBits(len(d.ids), int(n)), uint64(0)
	for range n {
		if at += uint64(d.rice(k)); at >= rows {
			return fmt.Errorf("a row in no base is at %d; there are %d", at, rows)
		}
		d.others.Set(uint32(at))
		d.ids[at] = uint32(d.bits(width))
		at++
	}
	return nil
}

func (d *orderReader) readRuns() error {
	total := uint64(d.bases.total)
	if total > MaxBases*MaxLeafRows {
		return fmt.Errorf("its bases have %d rows", total)
	}

	d.left.words = d.room[:(total+wordBits-1)/wordBits]
	at, left := d.gamma()-1, uint64(d.placed)
	for left > 0 {
		run := d.gamma()
		if run == 0 || run > left || at > total || run > total-at {
			return fmt.Errorf("%d places from %d on; %d rows are left, and its bases have %d",
				run, at, left, total)
		}
		d.left.addRun(uint32(at), uint32(run))
		if left -= run; left > 0 {
			at += run + d.gamma()
		}
	}
	return nil
}

func (d *orderReader) readOrder(code skipCode) error {
	d.left.seal()
	runs, left := code.runs(), d.placed
	last := uint32(0)  // skip
	zeros := int64(-1) // numbers that are 0 before the next other one; negative: not read yet
	for i := range d.ids {
		if d.others.Has(uint32(i)) {
			continue
		}
		if runs && zeros < 0 {
			if zeros = int64(d.gamma()) - 1; zeros < 0 || zeros > int64(left) {
				return fmt.Errorf("%d rows in their places after row %d", zeros, i)
			}
		}

		below := uint32(0)
		if zeros > 0 {
			zeros--
		} else {
			below = d.skip(code)
			if runs {
				below, zeros = below+1, -1
			}
		}
		if code.differences() {
			below = last + uint32(unzigzag(uint64(below)))
			last = below
		}
		if below >= left {
			return fmt.Errorf("row %d comes before %d others; %d are left", i, below, left)
		}
		d.ids[i] = d.bases.get(int64(d.left.take(below)))
		left--
	}
	return nil
}

func (r *bitReader) skip(code skipCode) uint32 {
	if code.growing() {
		return r.growing(code.lowBits())
	}
	return r.rice(code.lowBits())
}
