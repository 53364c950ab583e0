package storage

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Every key of the store. Numbers in keys are big-endian, so keys sort by number.
//
//	00 name                                     what chains share; see header.go
//	chain kind …                                all data of a chain
//
// chain is a length from 1 to 8 and that many bytes: chain 1 is 01 01, chain
// 42161 is 02 a4 b1. The keys of a chain are therefore contiguous, and dropping a
// chain is one range deletion.
type kind byte

// The kinds, and what follows each in its key.
const (
	kindHead      kind = 0x01 // -
	kindDirectory kind = 0x02 // -
	kindCommit    kind = 0x03 // -
	kindMark      kind = 0x04 // 0 or the number of the last commit(8); see marks.go
	kindPlace     kind = 0x05 // -; only on a node of a cluster; see follow.go
	kindPatch     kind = 0x06 // the number of its commit modulo patchTurns(1); see patches.go
	kindDelta     kind = 0x07 // -; see delta.go

	// From 0x10: the tables, row(4), or row(4) part(1) for a table that stores a
	// row in parts, of which the first may be row(4). tables.go has their kinds.

	// From 0x20: the series, with the keys below. series.go has their kinds.

	kindUndo kind = 0x30 // the span's last block(8)
	kindLeaf kind = 0x40 // number(8)
)

// layout describes the keys of one kind.
type layout struct {
	kind kind
	name string
	tail int // bytes after the kind
	more int // that there may be beyond tail
}

// fits reports whether a key of the kind may have so many bytes after it.
func (l *layout) fits(tail int) bool { return tail == l.tail || tail == l.tail+l.more }

// keyKind says what the keys of one kind hold: rows of a table, entries of a
// series, or something else if both indexes are -1.
type keyKind struct {
	layout
	table, series int // index in tables, in allSeries
}

// kinds are all kinds of keys that a chain has.
var kinds = allKinds()

func allKinds() map[kind]keyKind {
	all := make(map[kind]keyKind)
	add := func(l layout, table, series int) {
		if _, twice := all[l.kind]; twice {
			panic("BUG: two kinds of keys have the same prefix: " + l.name)
		}
		all[l.kind] = keyKind{l, table, series}
	}

	add(layout{kindHead, "head", 0, 0}, -1, -1)
	add(layout{kindDirectory, "directory", 0, 0}, -1, -1)
	add(layout{kindCommit, "commit", 0, 0}, -1, -1)
	add(layout{kindMark, "commit mark", 8, 0}, -1, -1)
	add(layout{kindPlace, "place", 0, 0}, -1, -1)
	add(layout{kindPatch, "patches", 1, 0}, -1, -1)
	add(layout{kindDelta, "directory delta", 0, 0}, -1, -1)
	add(layout{kindUndo, "undos", 8, 0}, -1, -1)
	add(layout{kindLeaf, "leaves", 8, 0}, -1, -1)
	for i, t := range tables {
		add(t.about().layout, i, -1)
	}

	for i, s := range allSeries {
		add(s.about().layout, -1, i)
	}
	return all
}

// keyWalk visits the fields of a key in order. bigEndian codes the key itself; a
// field.Coder codes the key inside an undo.
type keyWalk interface {
	U32(name string, v *uint32)
	U64(name string, v *uint64)
	I32(name string, v *int32)
}

// keyTransaction is the key of an entry of a position's history:
// position(4) block(8) log(4).
func keyTransaction(k keyWalk, t *market.Transaction) {
	k.U32("position", &t.Position)
	k.U64("block", &t.Block)
	k.U32("log", &t.LogIndex)
}

// keyPoolDay is the key of a pool's day: pool(4) day(4).
func keyPoolDay(k keyWalk, d *market.PoolDay) {
	k.U32("pool", &d.Pool)
	k.U32("day", &d.Day)
}

// keyTickDay is the key of a tick's day: pool(4) tick(4, sign bit flipped) day(4).
func keyTickDay(k keyWalk, t *market.TickDay) {
	k.U32("pool", &t.Pool)
	k.I32("tick", &t.Tick)
	k.U32("day", &t.Day)
}

// keyPoolHour is the key of a pool's hour: day(4) pool(4) hour(4). The day is first,
// so that those of old days are deleted by their range.
func keyPoolHour(k keyWalk, h *market.PoolHour) {
	k.U32("day", &h.Day)
	k.U32("pool", &h.Pool)
	k.U32("hour", &h.Hour)
}

// keyTickHour is the key of a tick's hour:
// day(4) pool(4) tick(4, sign bit flipped) hour(4).
func keyTickHour(k keyWalk, t *market.TickHour) {
	k.U32("day", &t.Day)
	k.U32("pool", &t.Pool)
	k.I32("tick", &t.Tick)
	k.U32("hour", &t.Hour)
}

// keyHourPrice is the key of a token's price record: token(4) hour(4).
func keyHourPrice(k keyWalk, p *ledger.HourEntry) {
	k.U32("token", &p.Token)
	k.U32("hour", &p.Hour)
}

// bigEndian appends the fields of a key to buf, or reads them from it.
type bigEndian struct {
	buf  []byte
	read bool
}

func (k *bigEndian) U32(_ string, v *uint32) {
	if !k.read {
		k.buf = binary.BigEndian.AppendUint32(k.buf, *v)
		return
	}
	*v = binary.BigEndian.Uint32(k.buf)
	k.buf = k.buf[4:]
}

func (k *bigEndian) U64(_ string, v *uint64) {
	if !k.read {
		k.buf = binary.BigEndian.AppendUint64(k.buf, *v)
		return
	}
	*v = binary.BigEndian.Uint64(k.buf)
	k.buf = k.buf[8:]
}

// I32 flips the sign bit, so that negative numbers sort first.
func (k *bigEndian) I32(name string, v *int32) {
	flipped := uint32(*v) ^ 1<<31
	k.U32(name, &flipped)
	if k.read {
		*v = int32(flipped ^ 1<<31)
	}
}

// maxKeyLen is the length of a chain's longest key.
const maxKeyLen = 9 + 1 + 16

var (
	formatKey      = []byte("\x00format")
	updateKey      = []byte("\x00update")
	identityPrefix = []byte("\x00identity/")
	offlinePrefix  = []byte("\x00offline/")
	headerPrefix   = []byte{0}
	headerEnd      = []byte{1}
	storeEnd       = bytes.Repeat([]byte{0xff}, maxKeyLen) // above every key
)

// appendIdentityKey appends 00 "identity/" name.
func appendIdentityKey(dst []byte, name string) []byte {
	return append(append(dst, identityPrefix...), name...)
}

// appendOffline appends 00 "offline/" chain.
func appendOffline(dst []byte, chain market.ChainID) []byte {
	return appendChain(append(dst, offlinePrefix...), chain)
}

// appendChain appends the prefix of every key of the chain.
func appendChain(dst []byte, chain market.ChainID) []byte {
	n := max((bits.Len64(uint64(chain))+7)/8, 1)
	dst = append(dst, byte(n))
	for ; n > 0; n-- {
		dst = append(dst, byte(chain>>(8*(n-1))))
	}
	return dst
}

// appendChainEnd appends the upper bound of the chain's keys.
func appendChainEnd(dst []byte, chain market.ChainID) []byte {
	return append(appendChain(dst, chain), 0xff)
}

// parseChain reads the chain of a key and returns the rest, which begins with
// the kind.
func parseChain(key []byte) (chain market.ChainID, rest []byte, ok bool) {
	if len(key) == 0 || key[0] < 1 || key[0] > 8 || len(key) < 2+int(key[0]) {
		return 0, nil, false
	}
	n := 1 + int(key[0])
	for _, b := range key[1:n] {
		chain = chain<<8 | market.ChainID(b)
	}
	return chain, key[n:], true
}

// appendKind appends the key of a kind that a chain has once, such as the head. It is
// also the prefix of every key of any kind.
func appendKind(dst []byte, chain market.ChainID, k kind) []byte {
	return append(appendChain(dst, chain), byte(k))
}

// appendRow appends the key of a row of a table.
func appendRow(dst []byte, chain market.ChainID, k kind, row uint32) []byte {
	return binary.BigEndian.AppendUint32(appendKind(dst, chain, k), row)
}

// appendPatch appends the key of the patch of a commit.
func appendPatch(dst []byte, chain market.ChainID, number uint64) []byte {
	return append(appendKind(dst, chain, kindPatch), byte(number%patchTurns))
}

// appendNumber appends the key of an undo, a leaf or a mark.
func appendNumber(dst []byte, chain market.ChainID, k kind, number uint64) []byte {
	return binary.BigEndian.AppendUint64(appendKind(dst, chain, k), number)
}
