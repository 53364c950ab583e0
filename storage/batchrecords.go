package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// batchHeaderLen is the length of the sequence number (8) and the count of
// records (4, low byte first) with which the bytes of a Pebble batch begin.
const batchHeaderLen = 12

// eachRecord calls f for every record of a batch: its operation, its key, and
// its value, which for a range deletion is the end of the range. A record is
// the operation (1), the key and, unless it is a deletion, the value, both
// after a varint of their length.
//
// Pebble's own reader does not check that a length is there, and looks past the
// end of bytes that were cut off.
func eachRecord(batch []byte, f func(op pebble.InternalKeyKind, key, value []byte) error) error {
	if len(batch) < batchHeaderLen {
		return fmt.Errorf("a batch of %d bytes; it has at least %d", len(batch), batchHeaderLen)
	}
	count := binary.LittleEndian.Uint32(batch[8:])
	rest := batch[batchHeaderLen:]

	n := uint32(0)
	for ; len(rest) > 0; n++ {
		op := pebble.InternalKeyKind(rest[0])
		key, after, ok := cutString(rest[1:])
		var value []byte
		switch op {
		case pebble.InternalKeyKindDelete:
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindRangeDelete:
			if ok {
				value, after, ok = cutString(after)
			}
		default:
			return fmt.Errorf("record %d of %d has the unknown operation %d", n, count, rest[0])
		}
		if !ok {
			return fmt.Errorf("record %d of %d is cut off", n, count)
		}
		if err := f(op, key, value); err != nil {
			return fmt.Errorf("record %d of %d, key %x: %w", n, count, key, err)
		}
		rest = after
	}
	if n != count {
		return fmt.Errorf("a batch of %d records has %d", count, n)
	}
	return nil
}

// cutString cuts a string off b that stands after its length.
func cutString(b []byte) (s, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	return b[:length:length], b[length:], true
}
