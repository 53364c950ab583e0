package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
)

// A node that follows another one commits the batches of that node as they are, each
// with its place in the order in which it got them. So both stores have the same keys,
// and a follower that becomes the writer goes on with the next commit.

// Place returns the place that was committed with the last batch of a chain, as
// Options.Tee or the caller of Follow gave it; nil if that batch had none.
func (s *Store) Place(chain market.ChainID) ([]byte, error) {
	place, ok, err := s.get(appendKind(nil, chain, kindPlace), nil)
	if err != nil {
		return nil, s.reportDamage(chain, "place", err)
	}
	if !ok {
		return nil, nil
	}
	return place, nil
}

// ForgetPlaces takes the places of all chains away: their data stays, but is no longer
// that of the other nodes.
func (s *Store) ForgetPlaces() error {
	chains, err := s.Chains()
	if err != nil {
		return err
	}
	for _, chain := range chains {
		if err := s.forgetPlace(chain); err != nil {
			return fmt.Errorf("cannot forget the place of chain %d: %w", chain, err)
		}
	}
	return nil
}

func (s *Store) forgetPlace(chain market.ChainID) error {
	w := s.writerOf(chain)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.placed = false
	return s.db.Delete(appendKind(nil, chain, kindPlace), pebble.Sync)
}

// Follow commits a batch that the store of another node gave to its Tee, in one synced
// batch with its place. A Replica must have taken the batch before: what is in it is
// not checked here.
func (s *Store) Follow(chain market.ChainID, batch, place []byte) error {
	if err := s.checkWritable(); err != nil {
		return fmt.Errorf("cannot follow chain %d: %w", chain, err)
	}

	w := s.writerOf(chain)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost != nil {
		return w.lost
	}

	w.resetBatch(s)
	defer w.releaseBatch(s)
	var whole pebble.Batch // of the caller's bytes, which Pebble would write to in a commit
	err := whole.SetRepr(batch)
	if err == nil {
		err = w.batch.Apply(&whole, nil)
	}
	if err != nil {
		return fmt.Errorf("cannot follow chain %d: %w", chain, err)
	}
	w.setKey(appendKind(w.key[:0], w.chain, kindPlace), place)

	err = s.apply(w.batch, nil)
	w.known, w.state = false, nil // another node wrote the rows
	if err == nil {
		err = s.acknowledgeFollowed(w)
	}
	if err != nil {
		return fmt.Errorf("cannot follow chain %d: %w", chain, err)
	}
	return nil
}

// SetPlace gives what the store has of a chain a place, as the next batch of another node
// would.
func (s *Store) SetPlace(chain market.ChainID, place []byte) error {
	return s.Follow(chain, make([]byte, batchHeaderLen), place)
}

// acknowledgeFollowed records the head of a followed batch as that of an own commit.
func (s *Store) acknowledgeFollowed(w *writer) error {
	h, ok, err := s.readHead(w.chain)
	if err != nil {
		return err
	}
	sequence, err := s.readCommit(w.chain)
	if err != nil {
		return err
	}

	if !ok { // the writer dropped the chain
		w.sequence, err = s.heads.drop(w.chain, 0, 0)
		return err
	}

	w.sequence = sequence
	return s.heads.write(acknowledgedHead{
		chain: w.chain, sequence: sequence, block: h.At.Number, hash: h.At.Hash,
		generation: max(h.Generation, s.LastGeneration(w.chain)),
	})
}
