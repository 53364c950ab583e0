package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
)

// Offline reports whether the operator has taken the chain offline. The flag is
// not part of the chain's data and survives DropChain.
func (s *Store) Offline(chain market.ChainID) (bool, error) {
	_, offline, err := s.get(appendOffline(nil, chain), nil)
	if err != nil {
		return false, fmt.Errorf("cannot read whether chain %d is offline: %w", chain, err)
	}
	return offline, nil
}

// SetOffline stores the flag that Offline reports.
func (s *Store) SetOffline(chain market.ChainID, offline bool) error {
	if err := s.checkWritable(); err != nil {
		return err
	}

	key, err := appendOffline(nil, chain), error(nil)
	if offline {
		err = s.db.Set(key, nil, pebble.Sync)
	} else {
		err = s.db.Delete(key, pebble.Sync)
	}
	if err != nil {
		return fmt.Errorf("cannot store whether chain %d is offline: %w", chain, err)
	}
	return nil
}
