package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// ErrNoLeaf is the error of a leaf that was deleted after the reader took its
// view.
var ErrNoLeaf = errors.New("no such leaf")

// Leaf returns the ids of a leaf.
func (s *Store) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	raw, err := s.leafBytes(chain, number, nil)
	if err != nil {
		return nil, err
	}
	return decodeLeaf(chain, number, raw, nil)
}

// decodeLeaf appends the ids of a leaf to dst.
func decodeLeaf(chain market.ChainID, number uint64, raw []byte, dst []uint32) ([]uint32, error) {
	ids, err := block.DecodeLeaf(raw, dst)
	if err != nil {
		return nil, fmt.Errorf("cannot decode leaf %d of chain %d: %w", number, chain, err)
	}
	return ids, nil
}

// BatchLeaves are the leaves of a chain after a batch: those of the batch without a look
// into the store.
type BatchLeaves struct {
	s     *Store
	fresh map[uint64][]byte // by number; parts of the batch
	ids   []uint32          // of the last leaf of the batch that was read
}

// BatchLeaves returns the leaves after a batch, which Follow has committed and which must
// not change as long as they are used.
func (s *Store) BatchLeaves(batch []byte) (b *BatchLeaves, err error) {
	b = &BatchLeaves{s: s, fresh: make(map[uint64][]byte)}
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
func (b *BatchLeaves) Leaf(chain market.ChainID, number uint64) (ids []uint32, err error) {
	if raw, fresh := b.fresh[number]; fresh {
		b.ids, err = decodeLeaf(chain, number, raw, b.ids[:0])
		return b.ids, err
	}
	return b.s.Leaf(chain, number)
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
		return dst, fmt.Errorf("cannot read leaf %d of chain %d: %w", number, chain, ErrNoLeaf)
	}
	return dst, nil
}
