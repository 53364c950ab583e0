package query

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/rankings/market"
)

// Chain is a registered chain. One that is not enabled has no protocols, and
// every question about it is refused.
type Chain struct {
	ID      market.ChainID
	Enabled bool
}

// Chains are the registered chains in the order in which messages list them.
type Chains []Chain

// errPool is the error of every malformed pool id, to the letter.
//
//lint:ignore ST1005 a client may compare it
var errPool = errors.New("Invalid poolId")

// old is the protocol whose pools have addresses for ids; it is not served.
const old = "swapdex-v3"

// Place reads the chain and protocol segments of a path.
func (c Chains) Place(chain, protocol []byte) (market.ChainID, error) {
	id, err := c.chain("chain", chain)
	if err != nil {
		return 0, err
	}
	return id, served(protocol)
}

// PositionID reads the position segment of a path: opaque, and ok is false
// for text that names none.
func PositionID(segment []byte) (id uint64, ok bool) { return tokenID(segment) }

// PoolID reads the pool segment of a path, before the segments to its left
// are looked at; only the length that is right depends on the protocol.
func PoolID(protocol, segment []byte) (id market.PoolID, err error) {
	if string(protocol) == old {
		if _, err = address("poolId", segment); err != nil {
			return id, errPool
		}
		return id, nil
	}
	return pool(segment)
}

func pool(v []byte) (market.PoolID, error) {
	if len(v) == 66 {
		if id, err := market.ParsePoolID(string(v)); err == nil {
			return id, nil
		}
	}
	return market.PoolID{}, errPool
}

// chain reads the id of an enabled chain.
func (c Chains) chain(name string, v []byte) (market.ChainID, error) {
	n, err := integer(name, v)
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

// served refuses every protocol but the one.
func served(v []byte) error {
	if string(v) == market.Protocol {
		return nil
	}
	return fmt.Errorf("protocol %s is not served; allowed is %s", quote(v), market.Protocol)
}
