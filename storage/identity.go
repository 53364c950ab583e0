package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/database"
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
//	   days; marks of commits; the number of changes of what chains share. A store in
//	   format 3 or 4 opens; its positions have no time in range (see
//	   market.Position.Timed), those minted from then on do; its windows of 30 days
//	   are not known until the days are there (see market.State.DaysFrom)
//	6  2026-11: the ends of hours of pools and ticks. A store in format 3 to 5 opens;
//	   its hours begin with the day after (see market.State.HoursFrom). Later in
//	   2026-11, still 6: nodes of a cluster have the key of a chain's Place, which
//	   others do not have and programs that do not know it never read
//	7  2026-11: the last hour of a day is in the days of pools and ticks; buckets have no
//	   raw amounts. A store in format 3 to 6 opens; one in format 6 keeps its hours
//	8  2026-11: leaves may be coded from others, their bases, which the directory lists. A
//	   store in format 3 to 7 opens; all of its leaves are whole
//	9  2026-11: statistics of pools have what a pool holds, and not what follows from it
//	   and prices; patches of prices; deltas of directories. A store in format 3 to 8
//	   opens; its statistics are written anew with the first generation
//	10 2026-11: leaves that are coded from others have rows of no base in few bits, and may
//	   have places from a mean (see package block). A store in format 3 to 9 opens; its
//	   leaves are read as they are until their orders are written anew
//	11 2026-11: what changes of a pool has a key of its own; running days in the series are
//	   without what their pools have, statistics without windows that equal the next shorter
//	   one; undos and deltas of directories are packed. A store in format 3 to 10 opens; its
//	   records are read as they are
const (
	Format       = 11
	OldestFormat = 3 // that this program reads
)

// ErrFormat is the error of a store in a format that this program cannot read.
var ErrFormat = errors.New("unknown format")

// Pair is one entry of the identity of a data directory.
type Pair struct{ Name, Value string }

// Identity returns the pairs that SetIdentity wrote, ascending by name; none for
// a new store.
func (s *Store) Identity() []Pair {
	s.headerMu.Lock()
	defer s.headerMu.Unlock()
	return slices.Clone(s.header.Identity)
}

// SetIdentity replaces the identity: the settings that the data was made with.
// The node compares them with its configuration at every start.
func (s *Store) SetIdentity(pairs []Pair) error {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Name, b.Name) })
	return s.updateHeader(func(c *header) { c.Identity = pairs })
}

// checkFormat refuses a store in another format, and a database that is no store.
func (s *Store) checkFormat() error {
	format := s.header.Format
	if format == 0 {
		return s.checkEmpty()
	}

	older := format < Format && !s.opts.ReadOnly
	if older && s.opts.Rebuild != nil && s.opts.Rebuild() {
		return s.dropAll(format)
	}
	if format < OldestFormat || format > Format {
		return s.errFormat(format)
	}
	return nil
}

func (s *Store) errFormat(format int) error {
	return fmt.Errorf("cannot open store %s: %w %q; this program reads %d to %d",
		s.dir, ErrFormat, fmt.Sprint(format), OldestFormat, Format)
}

// dropAll drops the data of all chains of a store in an older format. Its identity
// stays, and generations are numbered on.
func (s *Store) dropAll(format int) error {
	for _, chain := range s.heads.stored() {
		if _, err := s.heads.drop(chain, 0, 0); err != nil {
			return fmt.Errorf("cannot drop chain %d: %w", chain, err)
		}
	}

	// Every key of a chain begins with the length of its id, 1 to 8.
	if err := s.db.DeleteRange([]byte{1}, []byte{9}, pebble.Sync); err != nil {
		return fmt.Errorf("cannot empty store %s: %w", s.dir, err)
	}
	s.opts.Logger.Warn("the store was of an older format; its chains are built again from their archives",
		"store", s.dir, "format", format, "now", Format)
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
	it := database.Iterate(s.db, nil, nil)
	found := it.First()
	return !found, errors.Join(it.Error(), it.Close())
}
