package query

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// paramSet is the parameters of a route.
type paramSet struct {
	names    []string
	mayEmpty string // the parameter whose value may be empty
	lenient  string // the parameter that may be repeated, and whose value may be empty
	omitted  uint32 // a bit for each name that the route does not take
}

// pairs iterates over the pairs of a raw query in order.
type pairs struct {
	*paramSet
	rest []byte
	seen uint32 // a bit for each name that has occurred
}

// valueBuffer holds a decoded name or value; a longer one is allocated.
type valueBuffer [192]byte

// noMorePairs is the name that next returns after the last pair.
const noMorePairs = -1

func (s *paramSet) readPairs(raw []byte) pairs { return pairs{paramSet: s, rest: raw} }

// next returns the next pair: the index of its name, and its decoded value, which
// may be in buf.
func (p *pairs) next(buf []byte) (name int, value []byte, err error) {
	// Empty parts between two '&' are skipped.
	var piece []byte
	for len(piece) == 0 {
		if len(p.rest) == 0 {
			return noMorePairs, nil, nil
		}
		piece, p.rest, _ = bytes.Cut(p.rest, ampersand)
	}

	rawName, rawValue, _ := bytes.Cut(piece, equals)
	if name, err = p.findName(buf, rawName); err != nil {
		return noMorePairs, nil, err
	}
	if value, err = decodeValue(buf, rawValue); err != nil {
		return noMorePairs, nil, fmt.Errorf("parameter %s: %w", p.names[name], err)
	}

	return name, value, p.checkPair(name, value)
}

// emptyShape is the parameters of a route that takes none.
var emptyShape = paramSet{}

// None reads the query of a route that takes no parameters.
func None(raw []byte) error {
	p := emptyShape.readPairs(raw)
	_, _, err := p.next(nil)
	return err
}

// WellFormed checks the encoding of a query whose parameters are ignored.
func WellFormed(raw []byte) error {
	var buf valueBuffer
	for len(raw) > 0 {
		var piece []byte
		piece, raw, _ = bytes.Cut(raw, ampersand)

		name, value, _ := bytes.Cut(piece, equals)
		if _, err := decodeValue(buf[:0], name); err != nil {
			return fmt.Errorf("parameter name: %w", err)
		}
		if _, err := decodeValue(buf[:0], value); err != nil {
			return fmt.Errorf("parameter %s: %w", quoteValue(name), err)
		}
	}
	return nil
}

var ampersand, equals = []byte{'&'}, []byte{'='}

// findName decodes a name and returns its index.
func (s *paramSet) findName(buf, raw []byte) (int, error) {
	name, err := decodeValue(buf, raw)
	if err != nil {
		return 0, fmt.Errorf("parameter name: %w", err)
	}

	for i := range s.names {
		if string(name) == s.names[i] && s.omitted&(1<<i) == 0 {
			return i, nil
		}
	}

	if len(s.names) == 0 {
		return 0, fmt.Errorf("unknown parameter %s; this route takes none", quoteValue(name))
	}
	return 0, fmt.Errorf("unknown parameter %s; allowed are %s", quoteValue(name), s.allowed())
}

// allowed lists the names that the route takes.
func (s *paramSet) allowed() string {
	var names []string
	for i, name := range s.names {
		if s.omitted&(1<<i) == 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// checkPair refuses a parameter that is repeated or has no value, unless the set
// allows it.
func (p *pairs) checkPair(i int, value []byte) error {
	if p.names[i] == p.lenient {
		return nil
	}
	if p.seen&(1<<i) != 0 {
		return fmt.Errorf("parameter %s is given more than once", p.names[i])
	}
	p.seen |= 1 << i

	if len(value) == 0 && p.names[i] != p.mayEmpty {
		return fmt.Errorf("parameter %s has no value; give it one or leave it out", p.names[i])
	}
	return nil
}

// maxQuoted is how many bytes of a bad value an error repeats.
const maxQuoted = 80

// quoteValue returns a value as errors show it: truncated and safe to print.
func quoteValue(value []byte) string {
	if len(value) > maxQuoted {
		value = append(value[:maxQuoted:maxQuoted], "..."...)
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(string(value), "\uFFFD"))
}
