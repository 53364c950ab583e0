package storage

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// What is written at every commit and read at a start, or never, is packed: undos and
// deltas of directories. Much of them repeats, and undos are longer than a block, which
// the database packs by itself and less well.
//
//	80 00 | zstd frames, one for every packedBytes
//
// Both begin with a number where they are not packed, as in format 10 and earlier, and no
// number in its shortest form begins so.
var packMark = []byte{0x80, 0}

// maxPacked bounds what damaged bytes can take of memory. The undo of an hour's end with
// a million tokens is shorter.
const maxPacked = 256 << 20

// packedBytes are packed between two pauses, which takes up to 200 µs. Most of what repeats
// is nearer.
const packedBytes = 32 << 10

// The coders of what is packed. Both may be used by several goroutines at once.
var (
	packer = mustMake(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(packedBytes),
		zstd.WithEncoderCRC(false)))
	unpacker = mustMake(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxPacked)))
)

func mustMake[T any](v T, err error) T {
	must(err)
	return v
}

// appendPacked appends raw in packed form. pause is called now and then; nil is never.
func appendPacked(dst, raw []byte, pause func()) []byte {
	dst = append(dst, packMark...)
	for len(raw) > 0 {
		n := min(len(raw), packedBytes)
		dst = packer.EncodeAll(raw[:n], dst)
		if raw = raw[n:]; pause != nil {
			pause()
		}
	}
	return dst
}

// unpack returns what was packed. What was not is returned as it is.
func unpack(value []byte) ([]byte, error) {
	packed, ok := bytes.CutPrefix(value, packMark)
	if !ok {
		return value, nil
	}
	raw, err := unpacker.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("it cannot be unpacked: %w", err)
	}
	return raw, nil
}
