package storage

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
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
//	5  2026-11: the seconds outside of ticks and inside of positions. A store in
//	   format 3 or 4 opens; its positions have no time in range (see
//	   market.Position.Timed), those minted from then on do
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
func (s *Store) Identity() ([]Pair, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: identityPrefix, UpperBound: identityEnd,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read identity of store %s: %w", s.dir, err)
	}

	var pairs []Pair
	for ok := it.First(); ok; ok = it.Next() {
		name := string(it.Key()[len(identityPrefix):])
		pairs = append(pairs, Pair{Name: name, Value: string(it.Value())})
	}

	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("cannot read identity of store %s: %w", s.dir, err)
	}
	return pairs, nil
}

// SetIdentity replaces the identity: the settings that the data was made with.
// The node compares them with its configuration at every start.
func (s *Store) SetIdentity(pairs []Pair) error {
	if err := s.checkWritable(); err != nil {
		return err
	}

	b := s.db.NewBatch()
	defer b.Close()

	must(b.DeleteRange(identityPrefix, identityEnd, nil))
	for _, p := range pairs {
		must(b.Set(appendIdentityKey(nil, p.Name), []byte(p.Value), nil))
	}

	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot write identity of store %s: %w", s.dir, err)
	}
	return nil
}

// checkFormat refuses a store in another format, and writes the format of a new
// store.
func (s *Store) checkFormat() error {
	value, ok, err := s.get(formatKey, nil)
	if err != nil {
		return fmt.Errorf("cannot read format of store %s: %w", s.dir, err)
	}
	if !ok {
		return s.markFormat()
	}

	format, err := strconv.Atoi(string(value))
	older := err == nil && format > 0 && format < Format && !s.opts.ReadOnly
	if older && s.opts.Rebuild != nil && s.opts.Rebuild() {
		return s.dropAll(format)
	}
	if err != nil || format < OldestFormat || format > Format {
		return fmt.Errorf("cannot open store %s: %w %.20q; this program reads %d to %d",
			s.dir, ErrFormat, value, OldestFormat, Format)
	}
	if format == Format || s.opts.ReadOnly {
		return nil
	}
	return s.writeFormat()
}

// dropAll drops the data of all chains of a store in an older format. Its identity
// stays, and generations are numbered on.
func (s *Store) dropAll(format int) error {
	for _, a := range s.heads.last {
		a.sequence, a.dropped = a.sequence+1, true
		if err := s.heads.write(a); err != nil {
			return err
		}
	}
	b := s.db.NewBatch()
	defer b.Close()

	must(b.DeleteRange([]byte{1}, []byte{9}, nil))
	must(b.Set(formatKey, strconv.AppendInt(nil, Format, 10), nil))
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot raise the format of store %s: %w", s.dir, err)
	}
	s.opts.Logger.Warn("the store was of an older format; its chains are built again from their archives",
		"store", s.dir, "format", format, "now", Format)
	return nil
}

func (s *Store) writeFormat() error {
	if err := s.db.Set(formatKey, strconv.AppendInt(nil, Format, 10), pebble.Sync); err != nil {
		return fmt.Errorf("cannot write format of store %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) markFormat() error {
	if s.opts.ReadOnly {
		return fmt.Errorf("cannot open store %s: it is empty", s.dir)
	}
	it, err := s.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("cannot read store %s: %w", s.dir, err)
	}

	foreign := it.First()
	if err := it.Close(); err != nil {
		return fmt.Errorf("cannot read store %s: %w", s.dir, err)
	}
	if foreign {
		return fmt.Errorf("cannot open store %s: %w: it has data but no format key",
			s.dir, ErrFormat)
	}
	return s.writeFormat()
}
