package storage

import (
	"errors"
	"fmt"

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
	ids, err := block.DecodeLeaf(raw, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot decode leaf %d of chain %d: %w", number, chain, err)
	}
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
		return dst, fmt.Errorf("cannot read leaf %d of chain %d: %w", number, chain, ErrNoLeaf)
	}
	return dst, nil
}
