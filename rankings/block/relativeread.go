package block

import (
	"encoding/binary"
	"fmt"
	"slices"
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
	c, header, err := readCode(body)
	switch {
	case err != nil:
		return dst, err
	case rows == 0 || rows > MaxLeafRows:
		return dst, fmt.Errorf("it has %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	}

	var numbers [MaxBases]uint64
	list, rest, err := readBases(body[header:], int(body[basesAt]), numbers[:0])
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

	r := bitReader{b: rest}
	dst, err = bases.readRows(&r, dst, rows, c)
	if err == nil {
		err = r.done()
	}
	return dst, err
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

func (p *placed) readRows(r *bitReader, dst []uint32, rows int, c rowCode) ([]uint32, error) {
	dst = slices.Grow(dst, rows)
	end, next := len(dst)+rows, expected{shift: c.shift}
	for len(dst) < end {
		if c.runs {
			zeros := r.gamma() - 1
			if zeros > uint64(end-len(dst)) || zeros > uint64(max(p.total-next.place, 0)) {
				return dst, fmt.Errorf("%d rows in their places after row %d", zeros, len(dst))
			}
			for ; zeros > 0; zeros-- {
				dst = append(dst, p.get(next.place))
				next.follow(next.place)
			}
			if len(dst) == end {
				break
			}
		}

		place, id, isPlace := r.row(c, next.place)
		if !isPlace {
			dst = append(dst, id)
			continue
		}
		if place < 0 || place >= p.total {
			return dst, fmt.Errorf("place %d; its bases have %d rows", place, p.total)
		}
		dst = append(dst, p.get(place))
		next.follow(place)
	}
	return dst, nil
}
