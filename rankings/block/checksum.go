package block

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendChecksum appends the CRC-32C of dst from start on.
func appendChecksum(dst []byte, start int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// stripChecksum checks the checksum at the end of b, which has at least
// checksumSize bytes, and returns b without it.
func stripChecksum(b []byte) ([]byte, error) {
	body := b[:len(b)-checksumSize]
	stored, sum := binary.LittleEndian.Uint32(b[len(body):]), crc32.Checksum(body, castagnoli)
	if stored != sum {
		return nil, fmt.Errorf("stored checksum is %08x; computed %08x", stored, sum)
	}
	return body, nil
}

// hashSeed and mixHash compute the hash by which a generation recognises leaves of
// the one before. 64 bits are enough for a few thousand leaves.
const hashSeed = 0x2d358dccaa6c78a5

func mixHash(h uint64, id uint32) uint64 {
	hi, lo := bits.Mul64(h^uint64(id), 0x8bb84b93962eacc9)
	return hi ^ lo
}
