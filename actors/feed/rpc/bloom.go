package rpc

import (
	"slices"

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
// without a filter excludes nothing.
func (b *blooms) mayHold(bloom *hexBytes) bool {
	if bloom == nil || len(*bloom) != bloomLen {
		return true
	}
	for i := range b {
		for k := range b[i].topics {
			if b.hints(*bloom, i, k) {
				return true
			}
		}
	}
	return false
}

// hints reports whether a filter has the bits of a contract and one of its topics.
func (b *blooms) hints(bloom []byte, contract, topic int) bool {
	return b[contract].address.in(bloom) && b[contract].topics[topic].in(bloom)
}

// explained reports whether there is a log for every contract and topic that a
// filter has the bits of.
func (b *blooms) explained(bloom *hexBytes, logs []wireLog) bool {
	if bloom == nil || len(*bloom) != bloomLen {
		return false
	}

	for i := range b {
		for k := range b[i].topics {
			if b.hints(*bloom, i, k) && !slices.ContainsFunc(logs, func(l wireLog) bool {
				return bitsOf(l.Address[:]) == b[i].address && len(l.Topics) > 0 &&
					bitsOf(l.Topics[0][:]) == b[i].topics[k]
			}) {
				return false
			}
		}
	}

	return true
}

// addLogs sets the bits of logs in a filter.
func addLogs(bloom *[bloomLen]byte, logs []wireLog) {
	for i := range logs {
		bitsOf(logs[i].Address[:]).set(bloom)
		for _, t := range logs[i].Topics {
			bitsOf(t[:]).set(bloom)
		}
	}
}

func (bits bloomBits) set(bloom *[bloomLen]byte) {
	for _, b := range bits {
		bloom[bloomLen-1-b/8] |= 1 << (b % 8)
	}
}

func keccak(b []byte) (h market.Hash) {
	k := sha3.NewLegacyKeccak256()
	k.Write(b)
	k.Sum(h[:0])
	return h
}
