package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// A table that is missing, or not as long as the MANIFEST says, keeps Pebble from
// opening the store. A stand-in takes its place: as long as it should be, with what
// there is of the file, and zeros behind. The store opens then, and whoever reads the
// stand-in meets a damaged table: the chains with keys in its range are built again, as
// after any damage, and the others go on serving. If the store is opened only to be read,
// the stand-ins are in memory, and Check names the files with the chains in their ranges.

// Pebble's errors about such tables, each on a line. Of a missing one it tells the
// length only once there is a file.
var (
	cutTable     = regexp.MustCompile(`L\d+: (\d+): object size mismatch .* != (\d+) \(MANIFEST\)`)
	missingTable = regexp.MustCompile(`L\d+: (\d+): file \d+ \(type sst[a-z]*\) unknown`)
)

// standIn is a table that is not the one that was written.
type standIn struct {
	number uint64
	what   string
}

// name is the name of the table's file.
func (t *standIn) name() string { return fmt.Sprintf("%06d.sst", t.number) }

// temporaryName is the name of a stand-in while it is written. Pebble removes files with
// such names when it opens a database.
func (t *standIn) temporaryName() string { return fmt.Sprintf("temporary.%06d.dbtmp", t.number) }

// standInTries is how often the database is opened again: the first stand-in of a
// missing table has no length yet.
const standInTries = 3

// openReadOnly opens the database with stand-ins in memory for the tables that err, of
// opening it, complains of.
func (s *Store) openReadOnly(err error) error {
	overlay, e := newOverlay(s.fs, s.dir)
	if e != nil {
		return errors.Join(err, e)
	}
	s.fs, s.opts.fs = overlay, overlay
	return s.openWithStandIns(s.dir, err)
}

// openWithStandIns opens the database with stand-ins for the tables that err, of
// opening it, complains of. If there are none, it returns err. A stand-in that cannot be
// written, as on a full disk, is no damage: the rest of the store must not be set aside.
func (s *Store) openWithStandIns(aside string, err error) error {
	for range standInTries {
		added, e := s.addStandIns(aside, err)
		if e != nil {
			return e
		}
		if !added {
			return err
		}
		err = s.openDatabase()
	}
	return err
}

// addStandIns adds a stand-in for every table that an error of opening complains of.
func (s *Store) addStandIns(aside string, err error) (added bool, failed error) {
	if !errors.Is(err, ErrDamaged) {
		return false, nil
	}

	text := err.Error()
	for _, found := range missingTable.FindAllStringSubmatch(text, -1) {
		added = true
		failed = errors.Join(failed, s.addStandIn(aside, found[1], "it is missing", 0))
	}
	for _, found := range cutTable.FindAllStringSubmatch(text, -1) {
		added = true
		size, err := strconv.ParseInt(found[2], 10, 64)
		if err == nil {
			err = s.addStandIn(aside, found[1], "it is not as long as it should be", size)
		}
		failed = errors.Join(failed, err)
	}
	return added, failed
}

// addStandIn puts a stand-in of a size in the place of a table. What there is of the
// table is kept aside, unless the store is only read. The table has its name until the
// stand-in takes it, so that a start that fails on the way leaves it to the next.
func (s *Store) addStandIn(aside, number, what string, size int64) error {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return fmt.Errorf("cannot replace table %s: %w", number, err)
	}
	t := standIn{n, what}
	path, written := s.fs.PathJoin(s.dir, t.name()), s.fs.PathJoin(s.dir, t.temporaryName())
	isNew := !slices.ContainsFunc(s.standIns, func(o standIn) bool { return o.number == n })

	err = s.writeStandIn(path, written, size)
	if err == nil && isNew && !s.opts.ReadOnly {
		err = s.keepAside(aside, t.name())
	}
	if err == nil {
		err = s.fs.Rename(written, path)
	}
	if err != nil {
		return fmt.Errorf("cannot replace table %s: %w", t.name(), err)
	}

	if isNew {
		s.standIns = append(s.standIns, t)
		s.opts.Logger.Error("a table of the store is damaged; the chains with keys in it are built again",
			"store", s.dir, "file", t.name(), "error", what)
	}
	return database.SyncDir(s.fs, s.dir)
}

// keepAside gives what there is of a table a second name in another directory.
func (s *Store) keepAside(aside, table string) error {
	if err := database.MakeDir(s.fs, aside); err != nil {
		return err
	}
	err := vfs.LinkOrCopy(s.fs, s.fs.PathJoin(s.dir, table), s.fs.PathJoin(aside, table))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return database.SyncDir(s.fs, aside)
}

// writeStandIn writes a stand-in that begins with what there is of the table.
func (s *Store) writeStandIn(table, path string, size int64) error {
	kept, err := s.openKept(table)
	if err != nil {
		return err
	}
	defer kept.Close()
	to, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}

	copied, err := io.CopyN(to, kept, size)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	page := make([]byte, 1<<16)
	for left := size - copied; err == nil && left > 0; left -= int64(len(page)) {
		_, err = to.Write(page[:min(left, int64(len(page)))])
		clear(page) // a file may change what it is given
	}
	return errors.Join(err, to.Sync(), to.Close())
}

// openKept opens what there is of a table: nothing if there is no file.
func (s *Store) openKept(path string) (io.ReadCloser, error) {
	f, err := s.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	return f, err
}

// noteStandIns notes the ranges of keys of stand-ins, so that Damaged finds the chains
// that have keys there.
func (s *Store) noteStandIns() error {
	if len(s.standIns) == 0 {
		return nil
	}
	levels, err := s.db.SSTables()
	if err != nil {
		return fmt.Errorf("cannot list the tables of store %s: %w", s.dir, err)
	}

	s.damages.mu.Lock() // Pebble may have begun to read the tables
	defer s.damages.mu.Unlock()
	for _, tables := range levels {
		for i := range tables {
			s.noteStandIn(&tables[i])
		}
	}
	return nil
}

// noteStandIn notes the range of a table if it is a stand-in. The damages are locked.
func (s *Store) noteStandIn(table *pebble.SSTableInfo) {
	for i := range s.standIns {
		if t := &s.standIns[i]; uint64(table.BackingSSTNum) == t.number {
			s.damages.files = append(s.damages.files, &database.TableDamage{
				File:  s.fs.PathJoin(s.dir, t.name()),
				Lower: table.Smallest.UserKey, Upper: table.Largest.UserKey, What: t.what,
			})
		}
	}
}

// listStandIns returns a finding for every range of keys of a stand-in, with the chains
// in it.
func (s *Store) listStandIns(chains []market.ChainID) (findings []string) {
	s.damages.mu.Lock()
	defer s.damages.mu.Unlock()

	for _, file := range s.damages.files {
		isStandIn := func(t standIn) bool { // what reading finds in its place is said otherwise
			return s.fs.PathJoin(s.dir, t.name()) == file.File && t.what == file.What
		}
		if !slices.ContainsFunc(s.standIns, isStandIn) {
			continue
		}

		touched := slices.DeleteFunc(slices.Clone(chains), func(chain market.ChainID) bool {
			return !touches(file, chain)
		})
		wayOut := "no chain has keys there; a node goes on without it when it starts"
		if len(touched) > 0 {
			wayOut = fmt.Sprintf("chains with keys there: %d; a node builds those that it cannot read "+
				"again from their feeds when it starts", touched)
		}
		findings = append(findings, fmt.Sprintf("%s; %s", file, wayOut))
	}
	return findings
}

// touches reports whether the range of a damaged table has keys of a chain.
func touches(t *database.TableDamage, chain market.ChainID) bool {
	return bytes.Compare(t.Lower, appendChainEnd(nil, chain)) < 0 &&
		bytes.Compare(t.Upper, appendChain(nil, chain)) >= 0
}
