package query

import (
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
