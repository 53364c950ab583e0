package query

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/rankings/market"
)

// Chain is a registered chain. A chain that is not enabled has no protocols, and
// every request for it is refused.
type Chain struct {
	ID      market.ChainID
	Enabled bool
}

// Chains are the registered chains, in the order in which errors list them.
type Chains []Chain

// errPool is the error for every malformed pool id. The contract has this text.
//
//lint:ignore ST1005 a client may compare it
var errPool = errors.New("Invalid poolId")

// unservedProtocol is the protocol whose pool ids are addresses. It is not served.
const unservedProtocol = "swapdex-v3"

// Place reads the chain and protocol segments of a path.
func (c Chains) Place(chain, protocol []byte) (market.ChainID, error) {
	id, err := c.parseChain("chain", chain)
	if err != nil {
		return 0, err
	}
	return id, checkProtocol(protocol)
}

// PositionID reads the position segment of a path. ok is false for text that
// cannot be the id of a position.
func PositionID(segment []byte) (id uint64, ok bool) { return parseTokenID(segment) }

// PoolID reads the pool segment of a path. It is checked before the chain and the
// protocol are; the protocol only decides how long the id has to be.
func PoolID(protocol, segment []byte) (id market.PoolID, err error) {
	if string(protocol) == unservedProtocol {
		if _, err = parseAddress("poolId", segment); err != nil {
			return id, errPool
		}
		return id, nil
	}
	return parsePool(segment)
}

// parsePool reads a pool id of 0x and 64 hex digits.
func parsePool(v []byte) (market.PoolID, error) {
	if len(v) == 66 {
		if id, err := market.ParsePoolID(string(v)); err == nil {
			return id, nil
		}
	}
	return market.PoolID{}, errPool
}

// parseChain reads the id of an enabled chain.
func (c Chains) parseChain(name string, v []byte) (market.ChainID, error) {
	n, err := parseInteger(name, v)
	if err != nil {
		return 0, err
	}

	for i := range c {
		if uint64(c[i].ID) != n {
			continue
		}
		if !c[i].Enabled {
			return 0, fmt.Errorf("%s %d has no enabled protocol here", name, n)
		}
		return c[i].ID, nil
	}

	return 0, fmt.Errorf("%s %d is not registered; registered are %s", name, n, c)
}

func (c Chains) String() string {
	var b strings.Builder
	for i := range c {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, c[i].ID)
	}
	return b.String()
}

// checkProtocol refuses every protocol but the one that is served.
func checkProtocol(v []byte) error {
	if string(v) == market.Protocol {
		return nil
	}
	return fmt.Errorf("protocol %s is not served; allowed is %s", quoteValue(v), market.Protocol)
}
