package query

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/rankings/market"
)

// Cut is the generations that a list is answered from. The zero value is the
// newest. It is not part of a question's canonical text.
type Cut struct {
	Pin   bool        // the newest, which are kept for the pages that follow
	Named Generations // these
}

// Generation is one generation of one chain.
type Generation struct {
	Chain  market.ChainID
	Number uint64
}

// Generations are generations of different chains, ascending by chain.
type Generations []Generation

// Of returns the number of a chain's generation; 0: it is not among them.
func (list Generations) Of(chain market.ChainID) uint64 {
	for _, g := range list {
		if g.Chain == chain {
			return g.Number
		}
	}
	return 0
}

// String returns the generations as X-Generation has them.
func (list Generations) String() string {
	var dst []byte
	for i, g := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(g.Chain), 10)
		dst = strconv.AppendUint(append(dst, ':'), g.Number, 10)
	}
	return string(dst)
}

// Chains lists the chains of the generations, as errors do.
func (list Generations) Chains() string {
	var ids []string
	for _, g := range list {
		ids = append(ids, strconv.FormatUint(uint64(g.Chain), 10))
	}
	return strings.Join(ids, ", ")
}

// IsSet reports whether the question says what it is answered from.
func (c *Cut) IsSet() bool { return c.Pin || len(c.Named) > 0 }

// pinWord is the value of the parameter generation that begins a walk.
const pinWord = "pin"

// parseCut reads the word pin, or generations as X-Generation has them:
// chainId:generation, with commas between them.
func (c Chains) parseCut(name string, v []byte) (cut Cut, err error) {
	if string(v) == pinWord {
		return Cut{Pin: true}, nil
	}
	const allowed = "pin, and generations as X-Generation has them: 1:17,42161:18"
	cut.Named, err = parseGenerations(name, v, allowed, c.parseChain)
	return cut, err
}

// parseGenerations reads generations, of chains that chain reads. The error for a
// value of another form names what is allowed.
func parseGenerations(
	name string, v []byte, allowed string, chain func(string, []byte) (market.ChainID, error),
) (list Generations, err error) {
	for rest, more := v, true; more; {
		var part []byte
		part, rest, more = bytes.Cut(rest, comma)
		id, number, ok := bytes.Cut(part, colon)
		if !ok {
			return nil, notAllowed(name, v, allowed)
		}

		var g Generation
		if g.Chain, err = chain(name+": chain", id); err != nil {
			return nil, err
		}
		if g.Number, err = parseInteger(name+": number", number); err != nil {
			return nil, err
		}
		list = append(list, g)
	}

	slices.SortFunc(list, func(a, b Generation) int { return cmp.Compare(a.Chain, b.Chain) })
	for i := 1; i < len(list); i++ {
		if list[i].Chain == list[i-1].Chain {
			return nil, fmt.Errorf("%s names chain %d twice", name, list[i].Chain)
		}
	}
	return list, nil
}

// checkChain refuses generations of other chains than the one that is asked about.
// A question about all chains has those that it was first answered from.
func (c *Cut) checkChain(asked market.ChainID) error {
	if asked == 0 || len(c.Named) == 0 || len(c.Named) == 1 && c.Named[0].Chain == asked {
		return nil
	}
	return fmt.Errorf("generation names chains %s; the question is about chain %d", c.Named.Chains(), asked)
}

var colon = []byte{':'}
