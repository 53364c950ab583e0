package rpc

import (
	"golang.org/x/crypto/sha3"

	"tidemark/rankings/market"
)

// bloomLen is the length of a header's logsBloom: 2048 bits, of which each
// address and topic of the block's logs sets three.
const bloomLen = 256

type bloomBits [3]uint16

// bitsOf returns the bits that an address or a topic sets.
func bitsOf(b []byte) (bits bloomBits) {
	h := keccak(b)
	for i := range bits {
		bits[i] = (uint16(h[2*i])<<8 | uint16(h[2*i+1])) & (8*bloomLen - 1)
	}
	return bits
}

func (bits bloomBits) in(bloom []byte) bool {
	for _, b := range bits {
		if bloom[bloomLen-1-b/8]&(1<<(b%8)) == 0 {
			return false
		}
	}
	return true
}

// blooms holds the bits of everything that is asked for, by contract.
type blooms [2]struct {
	address bloomBits
	topics  []bloomBits
}

func bloomsOf(manager, positions market.Address) (b blooms) {
	b[0].address, b[1].address = bitsOf(manager[:]), bitsOf(positions[:])
	for i, topics := range [2][]market.Hash{managerTopics, positionTopics} {
		for _, t := range topics {
			b[i].topics = append(b[i].topics, bitsOf(t[:]))
		}
	}
	return b
}

// mayHold reports whether a block with this filter may hold one of our events:
// each of them sets the bits of its contract and those of its topic. A header
// without a filter says nothing.
func (b *blooms) mayHold(bloom *hexBytes) bool {
	if bloom == nil || len(*bloom) != bloomLen {
		return false
	}
	for i := range b {
		if !b[i].address.in(*bloom) {
			continue
		}
		for _, t := range b[i].topics {
			if t.in(*bloom) {
				return true
			}
		}
	}
	return false
}

func keccak(b []byte) (h market.Hash) {
	k := sha3.NewLegacyKeccak256()
	k.Write(b)
	k.Sum(h[:0])
	return h
}
