package storage

import (
	"encoding/binary"
	"math/bits"

	"tidemark/rankings/market"
)

// Every key of the store. Numbers in keys are big-endian, so that keys sort as
// they do.
//
//	00 name                                     the directory: format, identity, offline chains
//	chain kind …                                everything of a chain
//
// chain is a length of 1 to 8 and as many bytes: chain 1 is 01 01, chain 42161
// is 02 a4 b1. So no chain's keys lie among another's, and dropping a chain is
// one range deletion.
type kind byte

// The kinds, and what follows each in its key.
const (
	kindHead      kind = 0x01 // -
	kindDirectory kind = 0x02 // -

	// Tables: row(4), and part(1) for the parts of a pool's ring of minutes.
	kindToken    kind = 0x10
	kindOwner    kind = 0x11
	kindPool     kind = 0x12
	kindDay      kind = 0x13
	kindMinutes  kind = 0x14
	kindTick     kind = 0x15
	kindPosition kind = 0x16
	kindWide     kind = 0x17
	kindDirect   kind = 0x18
	kindHour     kind = 0x19
	kindPrice    kind = 0x1a
	kindStats    kind = 0x1b

	// Series.
	kindTransaction kind = 0x20 // position(4) block(8) log(4)
	kindPoolDay     kind = 0x21 // pool(4) day(4)
	kindTickDay     kind = 0x22 // pool(4) tick(4, sign bit flipped) day(4)
	kindHourPrice   kind = 0x23 // token(4) hour(4)

	kindUndo kind = 0x30 // the span's last block(8)
	kindLeaf kind = 0x40 // number(8)
)

// maxKeyLen is the length of the longest key of a chain.
const maxKeyLen = 9 + 1 + 16

var (
	formatKey      = []byte("\x00format")
	identityPrefix = []byte("\x00identity/")
	identityEnd    = []byte("\x00identity0")
)

// appendIdentityKey is 00 "identity/" name.
func appendIdentityKey(dst []byte, name string) []byte {
	return append(append(dst, identityPrefix...), name...)
}

// appendOffline is 00 "offline/" chain.
func appendOffline(dst []byte, chain market.ChainID) []byte {
	return appendChain(append(dst, "\x00offline/"...), chain)
}

// appendChain is the first bytes of every key of the chain.
func appendChain(dst []byte, chain market.ChainID) []byte {
	n := (bits.Len64(uint64(chain)|1) + 7) / 8
	dst = append(dst, byte(n))
	for ; n > 0; n-- {
		dst = append(dst, byte(chain>>(8*(n-1))))
	}
	return dst
}

// appendChainEnd is the first key after those of the chain.
func appendChainEnd(dst []byte, chain market.ChainID) []byte {
	return append(appendChain(dst, chain), 0xff)
}

// cutChain reads the chain of a key and returns the rest, from its kind on.
func cutChain(key []byte) (chain market.ChainID, rest []byte, ok bool) {
	if len(key) == 0 || key[0] < 1 || key[0] > 8 || len(key) < 2+int(key[0]) {
		return 0, nil, false
	}
	n := 1 + int(key[0])
	for _, b := range key[1:n] {
		chain = chain<<8 | market.ChainID(b)
	}
	return chain, key[n:], true
}

// appendKind is the key of a head or directory, and the first bytes of every
// key of a kind.
func appendKind(dst []byte, chain market.ChainID, k kind) []byte {
	return append(appendChain(dst, chain), byte(k))
}

// appendRow is the key of a row of a table.
func appendRow(dst []byte, chain market.ChainID, k kind, row uint32) []byte {
	return binary.BigEndian.AppendUint32(appendKind(dst, chain, k), row)
}

// appendRingPart is the key of a part of a pool's ring of minutes.
func appendRingPart(dst []byte, chain market.ChainID, pool, part uint32) []byte {
	return append(appendRow(dst, chain, kindMinutes, pool), byte(part))
}

// appendNumber is the key of an undo or a leaf.
func appendNumber(dst []byte, chain market.ChainID, k kind, number uint64) []byte {
	return binary.BigEndian.AppendUint64(appendKind(dst, chain, k), number)
}

// appendTransaction is the key of an entry of a position's history.
func appendTransaction(
	dst []byte, chain market.ChainID, position uint32, block uint64, log uint32,
) []byte {
	dst = appendRow(dst, chain, kindTransaction, position)
	dst = binary.BigEndian.AppendUint64(dst, block)
	return binary.BigEndian.AppendUint32(dst, log)
}

// appendPoolDay is the key of a pool's day.
func appendPoolDay(dst []byte, chain market.ChainID, pool, day uint32) []byte {
	return binary.BigEndian.AppendUint32(appendRow(dst, chain, kindPoolDay, pool), day)
}

// appendTickDay is the key of a tick's day.
func appendTickDay(dst []byte, chain market.ChainID, pool uint32, tick int32, day uint32) []byte {
	dst = appendRow(dst, chain, kindTickDay, pool)
	dst = binary.BigEndian.AppendUint32(dst, uint32(tick)^1<<31)
	return binary.BigEndian.AppendUint32(dst, day)
}

// appendHourPrice is the key of a token's price record.
func appendHourPrice(dst []byte, chain market.ChainID, token, hour uint32) []byte {
	return binary.BigEndian.AppendUint32(appendRow(dst, chain, kindHourPrice, token), hour)
}
