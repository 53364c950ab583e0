package query

import (
	"bytes"
	"fmt"
	"slices"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// The values of the parameter hooks that are not addresses.
const (
	noHooks  = "none"
	anyHooks = "any"
)

// parseTokens reads one or two addresses with a comma between them.
func parseTokens(name string, v []byte) ([]market.Address, error) {
	var tokens []market.Address
	first, second, two := bytes.Cut(v, comma)
	for i, part := range [][]byte{first, second} {
		if i == 1 && !two {
			return tokens, nil
		}
		a, err := parseAddress(name, part)
		if err != nil {
			return nil, fmt.Errorf("%s %s is not one or two addresses with a comma between them; "+
				"the format of one is 0x and 40 hex digits", name, quoteValue(v))
		}
		tokens = append(tokens, *a)
	}

	if tokens[0] == tokens[1] {
		return nil, fmt.Errorf("%s names %s twice; a pool has two different tokens", name, tokens[0])
	}
	slices.SortFunc(tokens, func(a, b market.Address) int { return bytes.Compare(a[:], b[:]) })
	return tokens, nil
}

var comma = []byte{','}

// maxFee is the largest fee in pips: the whole amount of a swap.
const maxFee = 1_000_000

// parseFee reads a fee in pips.
func parseFee(name string, v []byte) (*uint32, error) {
	n, err := parseBetween(name, v, 0, maxFee)
	if err != nil {
		return nil, err
	}
	return new(uint32(n)), nil
}

// setHooks reads the parameter hooks.
func setHooks(f *rankings.KeyFilter, name string, v []byte) (err error) {
	switch string(v) {
	case noHooks:
		f.Hooks = new(market.Address)
	case anyHooks:
		f.Hooked = true
	default:
		if f.Hooks, err = parseAddress(name, v); err != nil {
			return fmt.Errorf("%s %s is not allowed; allowed are none, any and an address of 0x "+
				"and 40 hex digits", name, quoteValue(v))
		}
	}
	return nil
}

// appendKeyFilter appends the parameters tokens, fee and hooks, given the index of
// the first of the three.
func (p *queryPrinter) appendKeyFilter(at int, f *rankings.KeyFilter) {
	for i := range f.Tokens {
		if i == 0 {
			p.dst = p.appendName(at)
		} else {
			p.dst = append(p.dst, ',')
		}
		p.dst = f.Tokens[i].AppendHex(p.dst)
	}
	if f.Fee != nil {
		p.appendNumber(at+1, uint64(*f.Fee))
	}

	switch {
	case f.Hooked:
		p.appendText(at+2, anyHooks)
	case f.Hooks != nil && f.Hooks.IsZero():
		p.appendText(at+2, noHooks)
	case f.Hooks != nil:
		p.dst = f.Hooks.AppendHex(p.appendName(at + 2))
	}
}
