package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// Leaf returns the ids of a leaf.
func (s *Store) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	return s.LeafFrom(chain, number, func(base uint64) ([]uint32, error) {
		return s.WholeLeaf(chain, base)
	})
}

// LeafFrom returns the ids of a leaf. bases reads those of its bases, as WholeLeaf does; a
// caller may keep them, since neighbours have the same ones.
func (s *Store) LeafFrom(
	chain market.ChainID, number uint64, bases block.BaseReader,
) ([]uint32, error) {
	raw, err := s.leafBytes(chain, number, nil)
	if err != nil {
		return nil, err
	}
	return s.decodeLeaf(chain, number, raw, nil, bases)
}

// WholeLeaf returns the ids of a leaf that must be whole, as all bases are.
func (s *Store) WholeLeaf(chain market.ChainID, number uint64) ([]uint32, error) {
	raw, err := s.leafBytes(chain, number, nil)
	if err != nil {
		return nil, err
	}
	return s.decodeLeaf(chain, number, raw, nil, nil)
}

// decodeLeaf appends the ids of a leaf to dst.
func (s *Store) decodeLeaf(
	chain market.ChainID, number uint64, raw []byte, dst []uint32, bases block.BaseReader,
) ([]uint32, error) {
	ids, err := block.DecodeLeaf(raw, dst, bases)
	if err != nil {
		return nil, fmt.Errorf("cannot decode leaf %d of chain %d: %w", number, chain, err)
	}
	return ids, nil
}

// maxKeptBases is how many bases a LeafBuffer keeps decoded, 5 KB each: many more than
// neighbours share.
const maxKeptBases = 64

// LeafBuffer reads leaves into memory that it uses again. It is for one goroutine.
type LeafBuffer struct {
	s     *Store
	fresh map[uint64][]byte // by number; parts of a batch
	raw   []byte
	ids   []uint32            // of the last leaf
	bases map[uint64][]uint32 // by number: those that leaves were coded from
}

// Leaves returns a buffer for the leaves of the store.
func (s *Store) Leaves() *LeafBuffer { return &LeafBuffer{s: s, bases: make(map[uint64][]uint32)} }

// BatchLeaves returns a buffer for the leaves after a batch, which Follow has committed
// and which must not change as long as the buffer is used. Those of the batch are read
// without a look into the store.
func (s *Store) BatchLeaves(batch []byte) (b *LeafBuffer, err error) {
	b = s.Leaves()
	b.fresh = make(map[uint64][]byte)
	err = eachRecord(batch, func(op pebble.InternalKeyKind, key, value []byte) error {
		_, rest, ok := parseChain(key)
		if ok && op == pebble.InternalKeyKindSet && kind(rest[0]) == kindLeaf {
			b.fresh[binary.BigEndian.Uint64(rest[1:])] = value
		}
		return nil
	})
	return b, err
}

// Leaf returns the ids of a leaf, which are valid until the next call.
func (b *LeafBuffer) Leaf(chain market.ChainID, number uint64) (ids []uint32, err error) {
	raw, err := b.read(chain, number)
	if err != nil {
		return nil, err
	}
	b.ids, err = b.s.decodeLeaf(chain, number, raw, b.ids[:0], func(base uint64) ([]uint32, error) {
		return b.base(chain, base)
	})
	return b.ids, err
}

// read returns the bytes of a leaf, which are valid until the next call.
func (b *LeafBuffer) read(chain market.ChainID, number uint64) (raw []byte, err error) {
	if raw, fresh := b.fresh[number]; fresh {
		return raw, nil
	}
	b.raw, err = b.s.leafBytes(chain, number, b.raw[:0])
	return b.raw, err
}

// base returns the ids of a whole leaf. It keeps them: neighbours have the same bases.
func (b *LeafBuffer) base(chain market.ChainID, number uint64) (ids []uint32, err error) {
	if ids, known := b.bases[number]; known {
		return ids, nil
	}
	if raw, fresh := b.fresh[number]; fresh {
		ids, err = block.DecodeLeaf(raw, nil, nil)
	} else {
		ids, err = b.s.WholeLeaf(chain, number)
	}
	if err != nil {
		return nil, err
	}

	if len(b.bases) == maxKeptBases {
		clear(b.bases)
	}
	b.bases[number] = ids
	return ids, nil
}

// leafBytes appends the bytes of a leaf to dst. They contain a checksum that the
// decoder checks; see package block.
func (s *Store) leafBytes(chain market.ChainID, number uint64, dst []byte) ([]byte, error) {
	var buf [maxKeyLen]byte
	dst, ok, err := s.get(appendNumber(buf[:0], chain, kindLeaf, number), dst)
	switch {
	case err != nil:
		return dst, s.reportDamage(chain, fmt.Sprintf("leaf %d", number), err)
	case !ok:
		return dst, fmt.Errorf("cannot read leaf %d of chain %d: %w", number, chain, block.ErrLeafGone)
	}
	return dst, nil
}
