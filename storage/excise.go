package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Damaged data is removed from all files at once, by excising its keys: a range
// deletion alone would leave a corrupt block in the way of compactions. A file that
// also has keys of a neighbour is cut. Pebble reads the neighbour's nearest key for
// that, and if the block with it is damaged, it drops the neighbour's part of the file
// without an error. So the neighbour is removed too: damage of a block with keys of
// two chains takes out both, and says so.

// keyRegion is the keys of one owner: a chain, or 0 for what chains share.
type keyRegion struct {
	chain    market.ChainID
	from, to []byte
}

// regions returns the regions of all known owners, in the order of their keys.
func (s *Store) regions() ([]keyRegion, error) {
	chains, err := s.Chains()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	for chain := range s.writers {
		chains = append(chains, chain)
	}
	s.mu.Unlock()

	all := []keyRegion{{from: headerPrefix, to: headerEnd}}
	for _, chain := range sortChains(append(chains, s.heads.stored()...)) {
		all = append(all, keyRegion{chain, appendChain(nil, chain), appendChainEnd(nil, chain)})
	}
	return all, nil
}

// removeDamaged removes the keys of a dropped chain from all files, if the chain is
// damaged. The caller holds its writer.
func (s *Store) removeDamaged(chain market.ChainID) error {
	s.damages.mu.Lock()
	damaged := s.damages.chains[chain] != nil
	s.damages.mu.Unlock()
	if !damaged {
		return nil
	}

	others, err := s.excise(chain)
	if err != nil {
		return fmt.Errorf("cannot remove damaged data of chain %d: %w", chain, err)
	}
	s.damages.mu.Lock()
	delete(s.damages.chains, chain)
	s.damages.searched[chain] = len(s.damages.files)
	s.damages.mu.Unlock()

	if slices.Contains(others, 0) {
		s.headerMu.Lock()
		defer s.headerMu.Unlock()
		return s.writeHeader()
	}
	return nil
}

// excise removes the keys of an owner, and of its neighbours if there is no other way.
// It returns the neighbours. The caller holds the owner's writer.
func (s *Store) excise(owner market.ChainID) (others []market.ChainID, err error) {
	all, err := s.regions()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.chain != owner && r.chain != 0 {
			w := s.writerOf(r.chain)
			w.mu.Lock()
			defer w.mu.Unlock()
		}
	}

	// An excise of keys in a memtable would only be queued, so flush them first.
	if err := s.db.Flush(); err != nil {
		return nil, err
	}
	removed, span, err := s.findSpan(all, owner)
	if err == nil {
		err = s.exciseSpan(removed, span)
	}
	if err != nil {
		return nil, err
	}

	for _, r := range removed {
		if r.chain == owner {
			continue
		}
		others = append(others, r.chain)
		if r.chain != 0 {
			s.loseChain(r.chain, owner)
		}
	}
	return others, nil
}

// exciseSpan removes regions. If the process ends before what chains share is written again,
// the file of it says so to the next start.
func (s *Store) exciseSpan(removed []keyRegion, span pebble.KeyRange) error {
	if removed[0].chain == 0 {
		s.headerMu.Lock()
		defer s.headerMu.Unlock()
		s.header.Excised = true
		if err := s.writeHeaderFile(); err != nil {
			return err
		}
	}
	return s.db.Excise(context.Background(), span)
}

// findSpan returns the regions around an owner that can be cut out.
func (s *Store) findSpan(all []keyRegion, owner market.ChainID) ([]keyRegion, pebble.KeyRange, error) {
	first := slices.IndexFunc(all, func(r keyRegion) bool { return r.chain == owner })
	last := first
	for ; first > 0; first-- {
		if err := s.readBeside(all[first].from, true); err == nil {
			break
		} else if !isDamage(err) {
			return nil, pebble.KeyRange{}, err
		}
	}

	span := pebble.KeyRange{Start: all[first].from}
	for ; span.End == nil; last++ {
		err := s.readBeside(all[last].to, false)
		switch {
		case err == nil:
			span.End = all[last].to
		case !isDamage(err):
			return nil, span, err
		case last+1 == len(all):
			span.End = storeEnd
		}
	}
	return all[first:last], span, nil
}

// readBeside reads the nearest key before or after a key, in every level.
func (s *Store) readBeside(key []byte, before bool) error {
	it := database.Iterate(s.db, nil, nil)
	if before {
		it.SeekLT(key)
	} else {
		it.SeekGE(key)
	}
	return errors.Join(it.Error(), it.Close())
}

// loseChain notes that a chain was removed with its neighbour. Its actor drops it and
// builds it again. The caller holds its writer.
func (s *Store) loseChain(chain, neighbour market.ChainID) {
	with := fmt.Sprintf("chain %d", neighbour)
	if neighbour == 0 {
		with = "what chains share"
	}
	w := s.writerOf(chain)
	w.lost = s.reportDamage(chain, "keys", fmt.Errorf("removed with those of %s, in a damaged block", with))
	w.known, w.state = false, nil
}
