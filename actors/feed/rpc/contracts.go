package rpc

import (
	"slices"

	"tidemark/rankings/market"
)

// Contracts are the two whose events are read. They decode logs that come from
// elsewhere than a node.
type Contracts struct{ PoolManager, PositionManager market.Address }

// has reports whether an address is one of the two.
func (c Contracts) has(a market.Address) bool { return a == c.PoolManager || a == c.PositionManager }

// Reads reports whether logs of an address with a first topic are read.
func (c Contracts) Reads(address market.Address, topic market.Hash) bool {
	switch address {
	case c.PoolManager:
		return slices.Contains(managerTopics, topic)
	case c.PositionManager:
		return slices.Contains(positionTopics, topic)
	}
	return false
}

// Decode returns the event of a log that is read. An error says which field is out of
// the contracts' bounds.
func (c Contracts) Decode(address market.Address, topics []market.Hash, data []byte) (market.Event, error) {
	list := make([]word, len(topics))
	for i := range topics {
		list[i] = word(topics[i])
	}
	return decodeLog(address == c.PositionManager, list, data)
}

// ChangesNFT reports whether an event changes a position of the position manager, so
// that its transaction's gas is wanted.
func (c Contracts) ChangesNFT(e market.Event) bool {
	switch e := e.(type) {
	case market.TransferNFT:
		return true
	case market.ModifyLiquidity:
		return e.Sender == c.PositionManager
	}
	return false
}

func (f *Feed) contracts() Contracts { return Contracts{f.cfg.PoolManager, f.cfg.PositionManager} }
