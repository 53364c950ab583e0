package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Export is everything that a store has of a chain, as it was after one commit. Another
// store takes it with Receive. It knows nothing of tables: it is the chain's keys in
// their order, without the prefix of the chain, and their values:
//
//	05              | 01    | 03 …
//	length of a key | key   | length of a value, value
//
// Lengths are base-128 varints.
type Export struct {
	chain    market.ChainID
	snapshot *pebble.Snapshot
}

// Export returns what the store has of a chain now. Commits go on meanwhile.
func (s *Store) Export(chain market.ChainID) *Export {
	return &Export{chain: chain, snapshot: s.db.NewSnapshot()}
}

// Close gives the exported data free.
func (e *Export) Close() error { return e.snapshot.Close() }

// Place returns the place of the exported commit; nil if it has none.
func (e *Export) Place() (place []byte, err error) {
	value, closer, err := e.snapshot.Get(appendKind(nil, e.chain, kindPlace))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the place of chain %d: %w", e.chain, err)
	}
	place = append([]byte{}, value...)
	return place, closer.Close()
}

// Write writes the keys and values. pause is called every 100 µs or so of work.
func (e *Export) Write(w io.Writer, pause func()) (err error) {
	prefix := appendChain(nil, e.chain)
	it := database.Iterate(e.snapshot, prefix, appendChainEnd(nil, e.chain))
	defer func() { err = errors.Join(err, it.Close()) }()

	var head []byte
	records := 0
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("cannot export chain %d: %w", e.chain, err)
		}

		key := it.Key()[len(prefix):]
		head = binary.AppendUvarint(head[:0], uint64(len(key)))
		head = binary.AppendUvarint(append(head, key...), uint64(len(value)))
		if _, err = w.Write(head); err == nil {
			_, err = w.Write(value)
		}
		if err != nil {
			return err
		}
		if records++; records%recordsPerPause == 0 {
			pause()
		}
	}
	return it.Error()
}
