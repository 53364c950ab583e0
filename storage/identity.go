package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The formats of the store, newest last. A change to any key, record or meaning
// needs a new format.
//
//	1  2026-11: the first
//	2  2026-11: whether one pool alone made an hour's price, and why there is none
//	3  2026-11: whether a pool's TVL was cut to its way out; what an hour holds of
//	   pools and tokens, and what selling a token yields in it
//	4  2026-11: the number of a chain's last commit; a store in format 3 opens as one
//	   whose chains have no commits to miss
//	5  2026-11: the seconds outside of ticks and inside of positions; swaps of 30
//	   days. A store in format 3 or 4 opens; its positions have no time in range (see
//	   market.Position.Timed), those minted from then on do; its windows of 30 days
//	   are not known until the days are there (see market.State.DaysFrom);
//	   marks of commits, and the number of changes of what chains share
const (
	Format       = 5
	OldestFormat = 3 // that this program reads
)

// ErrFormat is the error of a store in a format that this program cannot read.
var ErrFormat = errors.New("unknown format")

// Pair is one entry of the identity of a data directory.
type Pair struct{ Name, Value string }

// Identity returns the pairs that SetIdentity wrote, ascending by name; none for
// a new store.
func (s *Store) Identity() []Pair {
	s.sharedMu.Lock()
	defer s.sharedMu.Unlock()
	return slices.Clone(s.shared.Identity)
}

// SetIdentity replaces the identity: the settings that the data was made with.
// The node compares them with its configuration at every start.
func (s *Store) SetIdentity(pairs []Pair) error {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Name, b.Name) })
	return s.updateShared(func(c *shared) { c.Identity = pairs })
}

// checkFormat refuses a store in another format, and a database that is no store.
func (s *Store) checkFormat() error {
	format := s.shared.Format
	if format == 0 {
		return s.checkEmpty()
	}
	if format < OldestFormat || format > Format {
		return fmt.Errorf("cannot open store %s: %w %q; this program reads %d to %d",
			s.dir, ErrFormat, fmt.Sprint(format), OldestFormat, Format)
	}
	return nil
}

// checkEmpty refuses a database with data but no format.
func (s *Store) checkEmpty() error {
	if s.opts.ReadOnly {
		return fmt.Errorf("cannot open store %s: it is empty", s.dir)
	}
	empty, err := s.isEmpty()
	if err != nil {
		return fmt.Errorf("cannot read store %s: %w", s.dir, err)
	}
	if !empty {
		return fmt.Errorf("cannot open store %s: %w: it has data but no format key",
			s.dir, ErrFormat)
	}
	return nil
}

// isEmpty reports whether there is no key.
func (s *Store) isEmpty() (bool, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := it.First()
	return !found, errors.Join(it.Error(), it.Close())
}
