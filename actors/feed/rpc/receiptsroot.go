package rpc

import (
	"errors"
	"math/bits"
	"slices"

	"tidemark/rankings/market"
)

// A header's receiptsRoot is the hash of a Merkle Patricia trie of the block's
// receipts: the key is the RLP of a receipt's place, the value its encoding.
// With it a list of receipts is known to be whole and unchanged.

// emptyRoot is the root of a block without transactions.
var emptyRoot = word(keccak(rlpString(nil, nil)))

// errBareReceipt is of a receipt that lacks what its encoding needs.
var errBareReceipt = errors.New("a receipt lacks its status, gas, bloom filter or logs")

// receiptsRoot computes the root of receipts in the order of their places.
func receiptsRoot(receipts []wireReceipt) (word, error) {
	leaves := make([]trieLeaf, len(receipts))
	for i := range receipts {
		value, err := receipts[i].encode()
		if err != nil {
			return word{}, err
		}
		leaves[i] = trieLeaf{nibbles(rlpUint(nil, uint64(i))), value}
	}

	if len(leaves) == 0 {
		return emptyRoot, nil
	}
	slices.SortFunc(leaves, func(a, b trieLeaf) int { return slices.Compare(a.path, b.path) })
	return word(keccak(trieNode(leaves, 0))), nil
}

// encode returns the receipt as it stands in the trie: the byte of its type,
// unless that is 0, before [status, gas, bloom, logs]. Before Byzantium a root stood in the
// status's place: no chain has a pool manager that early.
func (r *wireReceipt) encode() ([]byte, error) {
	if r.CumulativeGas == nil || r.Bloom == nil || r.Logs == nil || r.Status == nil {
		return nil, errBareReceipt
	}
	fields := rlpUint(nil, uint64(*r.Status))
	fields = rlpUint(fields, uint64(*r.CumulativeGas))
	fields = rlpString(fields, *r.Bloom)
	var logs []byte
	for i := range r.Logs {
		logs = rlpList(logs, r.Logs[i].encode())
	}
	fields = rlpList(fields, logs)

	var out []byte
	if r.Type != nil && *r.Type != 0 {
		out = append(out, byte(*r.Type))
	}
	return rlpList(out, fields), nil
}

// encode returns the fields of a log: [address, topics, data].
func (l *wireLog) encode() []byte {
	var topics []byte
	for _, t := range l.Topics {
		topics = rlpString(topics, t[:])
	}
	out := rlpString(nil, l.Address[:])
	out = rlpList(out, topics)
	return rlpString(out, l.Data)
}

// trieLeaf is a value under its key, a nibble a byte.
type trieLeaf struct {
	path  []byte
	value []byte
}

func nibbles(key []byte) []byte {
	out := make([]byte, 0, 2*len(key))
	for _, b := range key {
		out = append(out, b>>4, b&0xf)
	}
	return out
}

// trieNode encodes the node above leaves, sorted, that share their first depth
// nibbles. No key is the beginning of another: RLP is free of prefixes.
func trieNode(leaves []trieLeaf, depth int) []byte {
	if len(leaves) == 1 {
		return rlpList(nil, rlpString(rlpString(nil, hexPrefix(leaves[0].path[depth:], true)),
			leaves[0].value))
	}

	first, last := leaves[0].path, leaves[len(leaves)-1].path
	shared := depth
	for first[shared] == last[shared] {
		shared++
	}
	if shared > depth {
		below := appendRef(nil, trieNode(leaves, shared))
		return rlpList(nil, append(rlpString(nil, hexPrefix(first[depth:shared], false)), below...))
	}

	var fields []byte
	for digit := range byte(16) {
		n := 0
		for n < len(leaves) && leaves[n].path[depth] == digit {
			n++
		}
		if n == 0 {
			fields = rlpString(fields, nil)
			continue
		}
		fields = appendRef(fields, trieNode(leaves[:n], depth+1))
		leaves = leaves[n:]
	}
	return rlpList(nil, rlpString(fields, nil))
}

// appendRef appends a node as its parent holds it: itself when it is shorter
// than its hash.
func appendRef(dst, node []byte) []byte {
	if len(node) < len(market.Hash{}) {
		return append(dst, node...)
	}
	h := keccak(node)
	return rlpString(dst, h[:])
}

// hexPrefix packs nibbles, with their parity and whether a leaf ends there.
func hexPrefix(path []byte, leaf bool) []byte {
	flag := byte(0)
	if leaf {
		flag = 2
	}
	out := []byte{flag << 4}
	if len(path)%2 == 1 {
		out[0] |= 1<<4 | path[0]
		path = path[1:]
	}

	for i := 0; i < len(path); i += 2 {
		out = append(out, path[i]<<4|path[i+1])
	}
	return out
}

// rlpString appends a string of bytes.
func rlpString(dst, b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return append(dst, b[0])
	}
	return append(rlpHeader(dst, 0x80, len(b)), b...)
}

// rlpUint appends an integer: its bytes without leading zeros.
func rlpUint(dst []byte, v uint64) []byte {
	var b [8]byte
	n := (bits.Len64(v) + 7) / 8
	for i := range n {
		b[i] = byte(v >> (8 * (n - 1 - i)))
	}
	return rlpString(dst, b[:n])
}

// rlpList appends a list whose items are encoded already.
func rlpList(dst, items []byte) []byte { return append(rlpHeader(dst, 0xc0, len(items)), items...) }

// shortRLP is the longest content whose length stands in the first byte.
const shortRLP = 55

func rlpHeader(dst []byte, kind byte, n int) []byte {
	if n <= shortRLP {
		return append(dst, kind+byte(n))
	}
	size := (bits.Len(uint(n)) + 7) / 8
	dst = append(dst, kind+shortRLP+byte(size))
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}
