package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/database"
)

// Market data can be built again from the feed, so a damaged file never keeps a node
// from starting. Damaged blocks take out the chains that they belong to, after the
// store is open; so does a table that is missing or cut, see standin.go. If Pebble
// cannot open the store all the same, files are set aside, in this order, until it can:
//
//	OPTIONS   Pebble writes another, nothing is lost
//	*.log     every chain goes back to what is in tables, and forward from its feed
//	all       every chain is built again
//
// They are moved to the directory of the store with ".damaged" at its end, which
// replaces those of an earlier damage, so that a failing disk is not filled with them.
// The file HEADER stays.

// openOrSetAside opens the database, if need be without its damaged files.
func (s *Store) openOrSetAside() error {
	err := s.openDatabase()
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	if s.opts.ReadOnly {
		return s.openReadOnly(err)
	}

	aside := s.dir + ".damaged"
	if e := s.fs.RemoveAll(aside); e != nil {
		return errors.Join(err, fmt.Errorf("cannot remove %s: %w", aside, e))
	}
	if err = s.openWithStandIns(aside, err); err == nil {
		return nil
	}
	for _, part := range storeParts {
		if !errors.Is(err, ErrDamaged) {
			break
		}
		if e := s.setAside(aside, part.has); e != nil {
			return errors.Join(err, e)
		}
		s.opts.Logger.Error("store cannot be opened and is repaired from the feed",
			"error", err, "store", s.dir, "setAside", part.name, "to", aside)
		err = s.openWithStandIns(aside, s.openDatabase())
	}
	return err
}

// storeParts are what is set aside, in this order.
var storeParts = []struct {
	name string
	has  func(file string) bool
}{
	{"its options", func(file string) bool { return strings.HasPrefix(file, "OPTIONS-") }},
	{"its log", func(file string) bool { return strings.HasSuffix(file, ".log") }},
	{"all of it", func(file string) bool {
		return file != "LOCK" && file != headerName && file != ballastName
	}},
}

// checkMarker refuses files of a database without the marker that names its MANIFEST.
// Pebble would make a new database, and read old logs into it.
func (s *Store) checkMarker() error {
	d, err := pebble.Peek(s.dir, s.fs)
	if err != nil || d.Exists {
		return nil // opening it reports the error
	}

	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", s.dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".sst") {
			return fmt.Errorf("cannot open store %s: %w: there is no marker of a database, only files "+
				"of one, as %s", s.dir, ErrDamaged, name)
		}
	}
	return nil
}

// setAside moves files of the store to another directory.
func (s *Store) setAside(aside string, selects func(name string) bool) error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", s.dir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !selects(name) })
	if err := database.MoveFiles(s.fs, names, s.dir, aside); err != nil {
		return fmt.Errorf("cannot set files of store %s aside: %w", s.dir, err)
	}
	return nil
}
