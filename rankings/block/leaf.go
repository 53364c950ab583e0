package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// The bounds of a leaf's rows. With smaller leaves the directory would be larger
// than the leaves; with larger ones a single moved row would write too much.
const (
	MinLeafRows = 256
	MaxLeafRows = 4096
)

const (
	leafVersion = 1
	leafHeader  = 8 // version, width, rows, base
	cutMask     = 1<<10 - 1
	maxWidth    = 32
)

// CutLeaf returns how many of ids, which must not be empty, the next leaf has, and
// the hash of those.
func CutLeaf(ids []uint32) (rows int, hash uint64) {
	ids = ids[:min(len(ids), MaxLeafRows)]
	hash = hashSeed
	for i, id := range ids {
		hash = mixHash(hash, id)
		if endsLeaf(id) && i+1 >= MinLeafRows {
			return i + 1, hash
		}
	}
	return len(ids), hash
}

// endsLeaf reports whether a leaf with enough rows ends after id.
func endsLeaf(id uint32) bool { return id*0x9e3779b1>>16&cutMask == 0 }

// AppendLeaf appends an encoded leaf of ids. It panics unless they are 1 to
// MaxLeafRows.
func AppendLeaf(dst []byte, ids []uint32) []byte {
	if len(ids) == 0 || len(ids) > MaxLeafRows {
		panic(fmt.Sprintf("BUG: leaf of %d rows; allowed are 1 to %d", len(ids), MaxLeafRows))
	}

	base, width := packing(ids)
	start := len(dst)
	dst = slices.Grow(dst, wholeSize(len(ids), width))
	dst = append(dst, leafVersion, byte(width))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ids)))
	dst = binary.LittleEndian.AppendUint32(dst, base)
	dst = appendPacked(dst, ids, base, width)
	return appendChecksum(dst, start)
}

// packing returns the least id, and the width of the ids less that one.
func packing(ids []uint32) (base uint32, width int) {
	base, top := ids[0], ids[0]
	for _, id := range ids {
		base, top = min(base, id), max(top, id)
	}
	return base, bits.Len32(top - base)
}

func wholeSize(rows, width int) int { return leafHeader + (rows*width+7)/8 + checksumSize }

// WholeSize returns how many bytes AppendLeaf appends.
func WholeSize(ids []uint32) int {
	_, width := packing(ids)
	return wholeSize(len(ids), width)
}

// appendPacked appends the ids less base in width bits each, low bit first.
func appendPacked(dst []byte, ids []uint32, base uint32, width int) []byte {
	var word uint64
	var held int
	for _, id := range ids {
		word |= uint64(id-base) << held
		for held += width; held >= 8; held -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}

	// The last byte is padded with zeros.
	if held > 0 {
		dst = append(dst, byte(word))
	}
	return dst
}

// ErrLeafGone reports that a leaf was deleted, because the reader's view is too old. The
// caller should load the board again.
var ErrLeafGone = errors.New("the leaf was deleted; its generation is too old")

// DecodeLeaf appends the ids of an encoded leaf to dst. bases reads those of a relative
// leaf; with nil, only a whole leaf is decoded.
func DecodeLeaf(b []byte, dst []uint32, bases BaseReader) ([]uint32, error) {
	if len(b) < leafHeader+checksumSize {
		return dst, fmt.Errorf("cannot decode leaf of %d bytes; it must have at least %d",
			len(b), leafHeader+checksumSize)
	}

	body, err := stripChecksum(b)
	if err != nil {
		return dst, fmt.Errorf("cannot decode leaf of %d bytes: %w", len(b), err)
	}

	if isRelative(b[0]) {
		n := len(dst)
		if dst, err = decodeRelative(body, dst, bases); err != nil {
			return dst[:n], fmt.Errorf("cannot decode relative leaf of %d bytes: %w", len(b), err)
		}
		return dst, nil
	}

	width, rows := int(b[1]), int(binary.LittleEndian.Uint16(b[2:]))
	base := binary.LittleEndian.Uint32(b[4:])

	switch {
	case b[0] != leafVersion:
		return dst, fmt.Errorf("cannot decode leaf of version %d; supported is %d", b[0], leafVersion)
	case width > maxWidth:
		return dst, fmt.Errorf("cannot decode leaf of width %d; the maximum is %d", width, maxWidth)
	case rows == 0 || rows > MaxLeafRows:
		return dst, fmt.Errorf("cannot decode leaf of %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	case len(body) != leafHeader+(rows*width+7)/8:
		return dst, fmt.Errorf("cannot decode leaf of %d rows of %d bits: it has %d bytes; want %d",
			rows, width, len(body), leafHeader+(rows*width+7)/8)
	}

	return appendUnpacked(dst, body[leafHeader:], rows, base, width), nil
}

// appendUnpacked appends the ids of a packed leaf. It reads eight bytes at a time,
// and the last few ids from a padded copy.
func appendUnpacked(dst []uint32, packed []byte, rows int, base uint32, width int) []uint32 {
	mask := uint64(1)<<width - 1
	whole := 0 // ids for which eight bytes can be read from their first byte on
	if width > 0 && len(packed) >= 8 {
		whole = min(rows, (len(packed)-8)*8/width+1)
	}

	n := len(dst)
	dst = append(dst, make([]uint32, rows)...)
	out := dst[n:]
	for i := range whole {
		bit := i * width
		word := binary.LittleEndian.Uint64(packed[bit>>3:])
		out[i] = base + uint32(word>>(bit&7)&mask)
	}

	for i := whole; i < rows; i++ {
		var tail [8]byte
		bit := i * width
		copy(tail[:], packed[bit>>3:])
		out[i] = base + uint32(binary.LittleEndian.Uint64(tail[:])>>(bit&7)&mask)
	}

	return dst
}
