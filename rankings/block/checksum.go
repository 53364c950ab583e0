package block

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendChecksum appends the checksum of what dst holds from start on.
func appendChecksum(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// checked returns b, of at least checksumSize bytes, without its checksum.
func checked(b []byte) ([]byte, error) {
	body := b[:len(b)-checksumSize]
	stored, sum := binary.LittleEndian.Uint32(b[len(body):]), crc32.Checksum(body, castagnoli)
	if stored != sum {
		return nil, fmt.Errorf("checksum is %08x; the bytes have %08x", stored, sum)
	}
	return body, nil
}

// hashSeed and mix make the hash by which a leaf is known again: 64 bits are
// enough between the few thousand leaves of two generations.
const hashSeed = 0x2d358dccaa6c78a5

func mix(h uint64, id uint32) uint64 {
	hi, lo := bits.Mul64(h^uint64(id), 0x8bb84b93962eacc9)
	return hi ^ lo
}
