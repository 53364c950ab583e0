package accountstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/database"
)

// Options configure the accounts' store. The zero value suits a node.
type Options struct {
	ReadOnly bool
	// AcceptLost opens a store that lacks acknowledged batches, or is missing, and
	// accepts its content as complete from now on.
	AcceptLost bool
	// MinFreeBytes is the free space below which writes fail with ErrNoSpace,
	// because Pebble does not survive a full disk. 0: 64 MiB, far less than the
	// free space at which the market store stops.
	MinFreeBytes uint64
	Logger       *slog.Logger // nil: slog.Default()
	Exit         func()       // as storage.Options.Exit
	FS           vfs.FS       // nil: the operating system's
}

const (
	defaultMinFreeBytes = 64 << 20
	cacheBytes          = 8 << 20
	// readAtStartBytes is the size up to which the whole store is read at every
	// start, in about 0.1 s. It is a year of about 10,000 accounts.
	readAtStartBytes = 64 << 20
	// memTableBytes holds some ten seconds of flushes of 10,000 busy accounts. Most
	// records of the journal are deleted by then, and are in no table.
	memTableBytes = 32 << 20
)

func (o Options) withDefaults() Options {
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = defaultMinFreeBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Exit == nil {
		o.Exit = func() { os.Exit(1) }
	}
	if o.FS == nil {
		o.FS = database.SystemFS
	}

	return o
}

// pebble returns the options of the database.
func (o *Options) pebble() *pebble.Options {
	damage := &damageLog{log: o.Logger}
	return &pebble.Options{
		FS:                 o.FS,
		FormatMajorVersion: database.Format,
		MemTableSize:       memTableBytes,
		Logger:             database.NewLogger(o.Logger, o.Exit),
		EventListener:      damage.listener(),
	}
}

// Open opens or creates the store in a directory. It refuses a store that lacks acknowledged
// batches (Lost), is damaged (Damage) or is open in another process (database.ErrLocked).
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	a := &Store{fs: o.FS, dir: dir, proofPath: proofPath(dir), opts: o}
	if err := a.makeDirectory(&o); err != nil {
		return nil, err
	}
	lock, err := database.Lock(dir, o.FS, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	a.lock = lock

	// Nothing is created or changed before it is known whether data is missing.
	acknowledged, err := a.findDatabase(&o)
	if err == nil {
		err = a.openDatabase(&o)
	}
	if err == nil {
		err = a.checkProof(acknowledged, &o)
	}
	if err == nil {
		err = a.checkFormat(o.ReadOnly)
	}
	if err == nil && !o.ReadOnly {
		err = a.checkTables()
	}
	if err == nil {
		err = a.openJournal()
	}
	if err != nil {
		return nil, errors.Join(a.asDamage(err), a.closeFiles())
	}
	return a, nil
}

// makeDirectory creates a missing directory, unless the proof file says that it
// had data.
func (s *Store) makeDirectory(o *Options) error {
	if _, err := s.fs.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // locking it reports other errors
	}
	acknowledged, err := s.readProof(o)
	if err != nil {
		return err
	}
	if acknowledged != nil && acknowledged.sequence > 0 && !o.AcceptLost {
		return s.lossError("the directory is gone; batch %d of accounts, keys and usage was written to it at %s",
			acknowledged.sequence, timeOf(acknowledged))
	}

	if o.ReadOnly {
		return fmt.Errorf("%s holds no accounts", s.dir)
	}
	if err = s.fs.MkdirAll(s.dir, 0o700); err == nil {
		err = database.SyncDir(s.fs, s.fs.PathDir(s.dir))
	}
	if err != nil {
		return fmt.Errorf("cannot make directory of accounts %s: %w", s.dir, err)
	}
	return nil
}

// readProof returns the last acknowledged batch; nil if there is none, or if the proof is
// damaged and that may be.
func (s *Store) readProof(o *Options) (*acknowledgement, error) {
	acknowledged, err := readProof(s.fs, s.proofPath)
	switch {
	case err == nil:
		return acknowledged, nil
	case o.AcceptLost:
		return nil, nil
	}
	return nil, s.lossError("%v; it proves that the store is complete", err)
}

// findDatabase returns the last acknowledged batch. Where Pebble finds no marker
// of a database, it creates a new one and deletes the files of the old. So a
// database that should exist and does not is refused here.
func (s *Store) findDatabase(o *Options) (*acknowledgement, error) {
	acknowledged, err := s.readProof(o)
	if err != nil {
		return nil, err
	}
	described, err := pebble.Peek(s.dir, s.fs)
	if err != nil || described.Exists {
		return acknowledged, err
	}

	files, err := s.databaseFiles()
	if err != nil {
		return nil, err
	}
	known := acknowledged != nil && acknowledged.sequence > 0
	switch {
	case !known && len(files) == 0 && o.ReadOnly:
		return nil, fmt.Errorf("%s holds no accounts", s.dir)
	case !known && len(files) == 0: // a first start, or the first one was interrupted
	case !o.AcceptLost && known:
		return nil, s.lossError("there is no database in it; batch %d of accounts, keys and usage was "+
			"written to it at %s", acknowledged.sequence, timeOf(acknowledged))
	case !o.AcceptLost:
		return nil, s.lossError("there is no database in it, only %s and %d more files of one",
			files[0], len(files)-1)
	default:
		if err := s.setAside(files); err != nil {
			return nil, err
		}
	}

	// The proof file is created before the database. So if the database has a
	// batch and there is no file, the file was removed.
	fresh := &acknowledgement{}
	return fresh, replaceProof(s.fs, s.proofPath, &fresh.proof)
}

// databaseFiles lists the files in the directory except the lock.
func (s *Store) databaseFiles() (files []string, err error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", s.dir, err)
	}
	for _, name := range names {
		if name != "LOCK" {
			files = append(files, name)
		}
	}
	return files, nil
}

// setAside moves the files of a database that cannot be opened to another
// directory. Its loss was accepted, but something may be recovered from them.
func (s *Store) setAside(files []string) error {
	aside := fmt.Sprintf("%s.lost-%d", s.dir, time.Now().Unix())
	if err := database.MoveFiles(s.fs, files, s.dir, aside); err != nil {
		return fmt.Errorf("cannot move what is left of accounts to %s: %w", aside, err)
	}
	return nil
}

func (s *Store) openDatabase(o *Options) (err error) {
	// Pebble panics if the marker of a new database cannot be synced.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot open accounts %s: %v", s.dir, p)
		}
	}()

	s.cache = pebble.NewCache(cacheBytes)
	p := o.pebble()
	p.Cache, p.Lock, p.ReadOnly = s.cache, s.lock, o.ReadOnly
	db, err := database.Open(s.dir, p)
	var code syscall.Errno
	switch {
	case database.IsDamage(err), err != nil && !errors.As(err, &code):
		return &Damage{Dir: s.dir, Table: database.FindTableDamage(err), Err: err}
	case err != nil:
		return fmt.Errorf("cannot open accounts %s: %w", s.dir, err)
	}
	s.db = db
	return nil
}

// checkFormat refuses a store in another format, writes the format of a new store, and
// raises an older one.
func (s *Store) checkFormat(readOnly bool) error {
	value, ok, err := s.get(formatKey)
	switch {
	case err != nil:
		return err
	case !ok && s.head.sequence > 0 && !s.opts.AcceptLost: // the first batch writes it
		return s.lossError("the first batches of %d are missing", s.head.sequence)
	case !ok && readOnly:
		return fmt.Errorf("%s holds no accounts", s.dir)
	case !ok:
		return s.writeFormat()
	}

	format, n := binary.Uvarint(value)
	switch {
	case n <= 0 || format < OldestFormat || format > Format:
		return fmt.Errorf("accounts %s have format %x; this build reads %d to %d",
			s.dir, value, OldestFormat, Format)
	case format == Format || readOnly:
		return nil
	}

	// A format in the log would hide that all tables are missing, so it goes to a table too.
	if err := s.writeFormat(); err != nil {
		return err
	}
	return s.db.Flush()
}

func (s *Store) writeFormat() error {
	b := s.db.NewBatch()
	defer b.Close()
	b.Set(formatKey, binary.AppendUvarint(nil, Format), nil)
	return s.commit(b)
}

// checkTables reads every record, so that damage is found at the start and not by
// a request. Of a larger store, Load reads what the start needs.
func (s *Store) checkTables() error {
	metrics := s.db.Metrics()
	if metrics.DiskSpaceUsage() > readAtStartBytes {
		return nil
	}
	return s.forEach(nil, nil, func(_, _ []byte) error { return nil })
}
