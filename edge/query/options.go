package query

import (
	"bytes"
	"fmt"
	"slices"
)

// Options say how a list is read, and not which rows it has.
type Options struct {
	Cut Cut

	// Of an export.
	Format Format
	Fields []string // the paths of what its rows have; nil: all
	After  uint64   // the rank of the row behind which it begins
}

// Format is the form of an export.
type Format uint8

// The values of Format; the first is the default.
const (
	NDJSON Format = iota
	CSV
)

// formats are the names of Format, in the order of the constants.
var formats = []string{"ndjson", "csv"}

func (f Format) String() string { return formats[f] }

// maxFields bounds the paths that a question may name. A row has about a hundred.
const maxFields = 200

// The options stand behind the other parameters of both lists, in this order.
const (
	optionCut = iota
	optionFormat
	optionFields
	optionAfter
)

// setOption sets the option at a place. Its readers may keep what they read, so they get
// a copy: without options, a question is read without an allocation.
func (c Chains) setOption(o *Options, place int, as string, v []byte) (err error) {
	kept := bytes.Clone(v)
	switch place {
	case optionCut:
		o.Cut, err = c.parseCut(as, kept)
	case optionFormat:
		err = parseName(&o.Format, as, kept, formats)
	case optionFields:
		o.Fields, err = parseFields(as, kept)
	case optionAfter:
		o.After, err = parseInteger(as, kept)
	}
	return err
}

// parseFields reads paths with commas between them. Whether a row has them is for
// others to say.
func parseFields(name string, v []byte) (paths []string, err error) {
	if n := bytes.Count(v, comma) + 1; n > maxFields {
		return nil, fmt.Errorf("%s names %d fields; allowed are up to %d", name, n, maxFields)
	}

	for part := range bytes.SplitSeq(v, comma) {
		switch path := string(part); {
		case path == "":
			return nil, fmt.Errorf("%s %s has an empty name; the format is a,b.c", name, quoteValue(v))
		case slices.Contains(paths, path):
			return nil, fmt.Errorf("%s names %s twice", name, quoteValue(part))
		default:
			paths = append(paths, path)
		}
	}
	return paths, nil
}
