package database

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Format pins Pebble's file format. It can be raised but never lowered.
const Format = pebble.FormatValueSeparation

// Iterate returns an iterator over the keys from lower up to upper; nil is no bound.
// Making one reads nothing, so it fails only in a database that is closed.
func Iterate(from pebble.Reader, lower, upper []byte) *pebble.Iterator {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return it
}

// ReadMarks returns the numbers at the ends of the keys in a range, ascending. A mark is
// such a key; it has the number of a batch, by which missing ones are found.
func ReadMarks(db *pebble.DB, lower, upper []byte) (numbers []uint64, err error) {
	it := Iterate(db, lower, upper)
	defer func() { err = errors.Join(err, it.Close()) }()

	for ok := it.First(); ok; ok = it.Next() {
		key := it.Key()
		if len(key) < 8 {
			return nil, fmt.Errorf("bad mark %x: too short", key)
		}
		numbers = append(numbers, binary.BigEndian.Uint64(key[len(key)-8:]))
	}
	return numbers, it.Error()
}
