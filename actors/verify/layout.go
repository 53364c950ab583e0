package verify

import (
	"encoding/binary"

	"golang.org/x/crypto/sha3"

	"tidemark/rankings/market"
)

// The storage of the pool manager (v4-core, StateLibrary and Pool.State): a
// mapping of pools at slot 6, each with
//
//	+0 slot0: price 160 bits | tick 24 | protocol fee 24 | LP fee 24, from the low end
//	+1 feeGrowthGlobal0X128
//	+2 feeGrowthGlobal1X128
//	+3 liquidity, 128 bits
//	+4 ticks by tick: liquidity net 128 bits | gross 128; fee growths outside
//	+5 tickBitmap by the high 16 bits of tick / spacing: one bit a tick that can be used
//	+6 positions by the hash of owner, ticks and salt: liquidity; fee growths inside
const (
	poolsSlot       = 6
	growth0Offset   = 1
	growth1Offset   = 2
	liquidityOffset = 3
	ticksOffset     = 4
	bitmapOffset    = 5
	positionsOffset = 6
)

// slot is the place of a word.
type slot [32]byte

// word is what stands there.
type word [32]byte

func keccak(parts ...[]byte) (h slot) {
	k := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		k.Write(p)
	}
	k.Sum(h[:0])
	return h
}

// plus returns the slot n places on.
func (s slot) plus(n byte) slot {
	carry := uint16(n)
	for i := len(s) - 1; i >= 0 && carry > 0; i-- {
		carry += uint16(s[i])
		s[i] = byte(carry)
		carry >>= 8
	}
	return s
}

func poolSlot(id market.PoolID) slot {
	var place word
	place[31] = poolsSlot
	return keccak(id[:], place[:])
}

func tickSlot(pool slot, tick int32) slot {
	key, ticks := signedKey(tick), pool.plus(ticksOffset)
	return keccak(key[:], ticks[:])
}

// bitmapSlot is the place of the 256 bits that begin at tick / spacing = 256 * at.
func bitmapSlot(pool slot, at int32) slot {
	key, bitmap := signedKey(at), pool.plus(bitmapOffset)
	return keccak(key[:], bitmap[:])
}

// signedKey is an integer as the key of a mapping.
func signedKey(v int32) (key word) {
	if v < 0 {
		for i := range key {
			key[i] = 0xff
		}
	}
	binary.BigEndian.PutUint32(key[28:], uint32(v))
	return key
}

func positionSlot(pool slot, owner market.Address, lower, upper int32, salt market.Hash) slot {
	var ticks [8]byte
	binary.BigEndian.PutUint32(ticks[:4], uint32(lower))
	binary.BigEndian.PutUint32(ticks[4:], uint32(upper))
	key := keccak(owner[:], ticks[1:4], ticks[5:8], salt[:])
	positions := pool.plus(positionsOffset)
	return keccak(key[:], positions[:])
}

// saltOf is the salt of an NFT's position: its id.
func saltOf(id uint64) (salt market.Hash) {
	binary.BigEndian.PutUint64(salt[24:], id)
	return salt
}
