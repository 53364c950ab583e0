package query

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// shape is what the query of a route may hold.
type shape struct {
	names    []string
	mayEmpty string // the name whose value may be empty
	repeats  bool   // a name may be given again, and any value be empty
}

// pairs walks the pairs of a raw query in order.
type pairs struct {
	*shape
	rest []byte
	seen uint32 // a bit for each name that was given
}

// scratch is room for a decoded name or value; a longer one is allocated.
type scratch [192]byte

// end is the name after the last pair.
const end = -1

func (s *shape) pairs(raw []byte) pairs { return pairs{shape: s, rest: raw} }

// next returns the next pair as its index in names and its decoded value,
// which may stand in buf.
func (p *pairs) next(buf []byte) (name int, value []byte, err error) {
	var piece []byte
	for len(piece) == 0 {
		if len(p.rest) == 0 {
			return end, nil, nil
		}
		piece, p.rest, _ = bytes.Cut(p.rest, ampersand)
	}

	rawName, rawValue, _ := bytes.Cut(piece, equals)
	if name, err = p.find(buf, rawName); err != nil {
		return end, nil, err
	}
	if value, err = decode(buf, rawValue); err != nil {
		return end, nil, fmt.Errorf("parameter %s: %w", p.names[name], err)
	}

	return name, value, p.admit(name, value)
}

var ampersand, equals = []byte{'&'}, []byte{'='}

func (s *shape) find(buf, raw []byte) (int, error) {
	name, err := decode(buf, raw)
	if err != nil {
		return 0, fmt.Errorf("parameter name: %w", err)
	}

	for i := range s.names {
		if string(name) == s.names[i] {
			return i, nil
		}
	}

	if len(s.names) == 0 {
		return 0, fmt.Errorf("unknown parameter %s; this route takes none", quote(name))
	}
	allowed := strings.Join(s.names, ", ")
	return 0, fmt.Errorf("unknown parameter %s; allowed are %s", quote(name), allowed)
}

// admit refuses what is given twice, and empty values.
func (p *pairs) admit(i int, value []byte) error {
	if p.repeats {
		return nil
	}
	if p.seen&(1<<i) != 0 {
		return fmt.Errorf("parameter %s is given more than once", p.names[i])
	}
	p.seen |= 1 << i
	if len(value) == 0 && p.names[i] != p.mayEmpty {
		return fmt.Errorf("parameter %s has no value; leave it out instead", p.names[i])
	}
	return nil
}

// maxQuoted bounds how much of a bad value an answer repeats, in bytes.
const maxQuoted = 80

// quote is a value as messages show it: cut, and safe to print.
func quote(value []byte) string {
	if len(value) > maxQuoted {
		value = append(value[:maxQuoted:maxQuoted], "..."...)
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(string(value), "\uFFFD"))
}
