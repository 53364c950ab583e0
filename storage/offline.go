package storage

import (
	"slices"

	"tidemark/rankings/market"
)

// Offline reports whether the operator has taken the chain offline. The flag is
// not part of the chain's data and survives DropChain.
func (s *Store) Offline(chain market.ChainID) bool {
	s.sharedMu.Lock()
	defer s.sharedMu.Unlock()
	return slices.Contains(s.shared.Offline, chain)
}

// SetOffline stores the flag that Offline reports.
func (s *Store) SetOffline(chain market.ChainID, offline bool) error {
	return s.updateShared(func(c *shared) {
		c.Offline = slices.DeleteFunc(slices.Clone(c.Offline), func(id market.ChainID) bool {
			return id == chain
		})
		if offline {
			c.Offline = sortChains(append(c.Offline, chain))
		}
	})
}
