package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// batchHeaderLen is the length of a Pebble batch's header: sequence number (8)
// and number of records (4, little-endian).
const batchHeaderLen = 12

// eachRecord calls f for every record of a batch. The value of a range deletion
// is the end of the range. A record is the operation (1), the key and, unless it
// is a deletion, the value. Key and value follow a varint of their length.
//
// Pebble's own reader does not check every length, and reads past the end of a
// truncated batch.
func eachRecord(batch []byte, f func(op pebble.InternalKeyKind, key, value []byte) error) error {
	if len(batch) < batchHeaderLen {
		return fmt.Errorf("batch too short: %d bytes; want at least %d", len(batch), batchHeaderLen)
	}
	count := binary.LittleEndian.Uint32(batch[8:])
	rest := batch[batchHeaderLen:]

	n := uint32(0)
	for ; len(rest) > 0; n++ {
		op := pebble.InternalKeyKind(rest[0])
		key, after, ok := readString(rest[1:])
		var value []byte
		switch op {
		case pebble.InternalKeyKindDelete:
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindRangeDelete:
			if ok {
				value, after, ok = readString(after)
			}
		default:
			return fmt.Errorf("record %d of %d has unknown operation %d", n, count, rest[0])
		}
		if !ok {
			return fmt.Errorf("record %d of %d is truncated", n, count)
		}
		if err := f(op, key, value); err != nil {
			return fmt.Errorf("record %d of %d, key %x: %w", n, count, key, err)
		}
		rest = after
	}
	if n != count {
		return fmt.Errorf("batch header counts %d records; there are %d", count, n)
	}
	return nil
}

// readString reads a string that follows its length.
func readString(b []byte) (s, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	return b[:length:length], b[length:], true
}
