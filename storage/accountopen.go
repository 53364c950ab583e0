package storage

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
)

// AccountsOptions configure the accounts' store. The zero value suits a node.
type AccountsOptions struct {
	ReadOnly bool
	// AcceptLost opens a store that lacks acknowledged batches, or is missing, and
	// accepts its content as complete from now on.
	AcceptLost bool
	// MinFreeBytes is the free space below which writes fail with ErrNoSpace,
	// because Pebble does not survive a full disk. 0: 64 MiB, far less than the
	// free space at which the market store stops.
	MinFreeBytes uint64
	Logger       *slog.Logger // nil: slog.Default()
	Exit         func()       // as Options.Exit
	FS           vfs.FS       // nil: the operating system's
}

const (
	accountsMinFree = 64 << 20
	accountsCache   = 8 << 20
	// accountsReadAtStart is the size up to which the whole store is read at every
	// start, in about 0.1 s. It is a year of about 10,000 accounts.
	accountsReadAtStart = 64 << 20
	// accountsMemTable holds some ten seconds of flushes of 10,000 busy accounts. Most
	// records of the journal are deleted by then, and are in no table.
	accountsMemTable = 32 << 20
)

func (o AccountsOptions) withDefaults() AccountsOptions {
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = accountsMinFree
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Exit == nil {
		o.Exit = func() { os.Exit(1) }
	}
	if o.FS == nil {
		o.FS = systemFS
	}

	return o
}

// pebble returns the options of the database.
func (o *AccountsOptions) pebble() *pebble.Options {
	damage := &damageLog{log: o.Logger}
	return &pebble.Options{
		FS:                 o.FS,
		FormatMajorVersion: pebbleFormat,
		MemTableSize:       accountsMemTable,
		Logger:             &crashLogger{log: o.Logger, exit: o.Exit},
		EventListener:      damage.listener(),
	}
}

// OpenAccounts opens or creates the store in a directory. It refuses a store that
// lacks acknowledged batches (AccountsLost), is damaged (AccountsDamage) or is
// open in another process (ErrLocked).
func OpenAccounts(dir string, o AccountsOptions) (*Accounts, error) {
	o = o.withDefaults()
	a := &Accounts{fs: o.FS, dir: dir, proofPath: proofPath(dir), opts: o}
	if err := a.makeDirectory(&o); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir, o.FS, o.ReadOnly)
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
func (a *Accounts) makeDirectory(o *AccountsOptions) error {
	if _, err := a.fs.Stat(a.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // locking it reports other errors
	}
	acknowledged, err := a.readProof(o)
	if err != nil {
		return err
	}
	if acknowledged != nil && acknowledged.sequence > 0 && !o.AcceptLost {
		return a.lossError("the directory is gone; batch %d of accounts, keys and usage was written to it at %s",
			acknowledged.sequence, timeOf(acknowledged))
	}

	if o.ReadOnly {
		return fmt.Errorf("%s holds no accounts", a.dir)
	}
	if err = a.fs.MkdirAll(a.dir, 0o700); err == nil {
		err = syncDir(a.fs, a.fs.PathDir(a.dir))
	}
	if err != nil {
		return fmt.Errorf("cannot make directory of accounts %s: %w", a.dir, err)
	}
	return nil
}

// readProof returns the last acknowledged batch; nil if there is none, or if the proof is
// damaged and that may be.
func (a *Accounts) readProof(o *AccountsOptions) (*acknowledgement, error) {
	acknowledged, err := readProof(a.fs, a.proofPath)
	switch {
	case err == nil:
		return acknowledged, nil
	case o.AcceptLost:
		return nil, nil
	}
	return nil, a.lossError("%v; it proves that the store is complete", err)
}

// findDatabase returns the last acknowledged batch. Where Pebble finds no marker
// of a database, it creates a new one and deletes the files of the old. So a
// database that should exist and does not is refused here.
func (a *Accounts) findDatabase(o *AccountsOptions) (*acknowledgement, error) {
	acknowledged, err := a.readProof(o)
	if err != nil {
		return nil, err
	}
	described, err := pebble.Peek(a.dir, a.fs)
	if err != nil || described.Exists {
		return acknowledged, err
	}

	files, err := a.databaseFiles()
	if err != nil {
		return nil, err
	}
	known := acknowledged != nil && acknowledged.sequence > 0
	switch {
	case !known && len(files) == 0 && o.ReadOnly:
		return nil, fmt.Errorf("%s holds no accounts", a.dir)
	case !known && len(files) == 0: // a first start, or the first one was interrupted
	case !o.AcceptLost && known:
		return nil, a.lossError("there is no database in it; batch %d of accounts, keys and usage was "+
			"written to it at %s", acknowledged.sequence, timeOf(acknowledged))
	case !o.AcceptLost:
		return nil, a.lossError("there is no database in it, only %s and %d more files of one",
			files[0], len(files)-1)
	default:
		if err := a.setAside(files); err != nil {
			return nil, err
		}
	}

	// The proof file is created before the database. So if the database has a
	// batch and there is no file, the file was removed.
	fresh := &acknowledgement{}
	return fresh, replaceProof(a.fs, a.proofPath, &fresh.proof)
}

// databaseFiles lists the files in the directory except the lock.
func (a *Accounts) databaseFiles() (files []string, err error) {
	names, err := a.fs.List(a.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", a.dir, err)
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
func (a *Accounts) setAside(files []string) error {
	aside := fmt.Sprintf("%s.lost-%d", a.dir, time.Now().Unix())
	if err := moveFiles(a.fs, files, a.dir, aside); err != nil {
		return fmt.Errorf("cannot move what is left of accounts to %s: %w", aside, err)
	}
	return nil
}

func (a *Accounts) openDatabase(o *AccountsOptions) (err error) {
	// Pebble panics if the marker of a new database cannot be synced.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot open accounts %s: %v", a.dir, p)
		}
	}()

	a.cache = pebble.NewCache(accountsCache)
	p := o.pebble()
	p.Cache, p.Lock, p.ReadOnly = a.cache, a.lock, o.ReadOnly
	var starting opening
	told := p.EventListener.BackgroundError
	p.EventListener.BackgroundError = func(err error) {
		told(err)
		if !pebble.IsCorruptionError(err) {
			starting.failed(err, p.Logger)
		}
	}

	db, err := pebble.Open(a.dir, p)
	starting.done.Store(true)
	var code syscall.Errno
	switch {
	case isDamage(err), err != nil && !errors.As(err, &code):
		return &AccountsDamage{Dir: a.dir, Table: FindTableDamage(err), Err: err}
	case err != nil:
		return fmt.Errorf("cannot open accounts %s: %w", a.dir, err)
	}
	a.db = db
	return nil
}

// checkProof refuses a store that lacks acknowledged batches, and opens the proof
// file for the next batch.
func (a *Accounts) checkProof(acknowledged *acknowledgement, o *AccountsOptions) error {
	stored := storedProof{}
	value, found, err := a.get(accountsProofKey)
	if found {
		err = stored.decode(value)
	}
	if err != nil {
		return err
	}

	marks, err := readMarks(a.db, batchMarks, batchMarksEnd)
	if err != nil {
		return err
	}
	// A build before marks leaves an old mark where it is.
	var older []uint64 // than the last batch, which has a mark
	if n := len(marks); n > 0 && marks[n-1] == stored.sequence {
		marks = marks[:n-1]
		older = marks
	}
	missing := a.findLoss(&stored, acknowledged, older)
	if missing != nil && !o.AcceptLost {
		return missing
	}
	a.head, a.proven = stored.proof, stored.proof.sequence
	if o.ReadOnly {
		return nil
	}

	// A store without a proof file, or with an accepted loss, gets a new file.
	// Otherwise the store may be one batch ahead of the file, after a crash.
	if missing != nil || acknowledged == nil {
		if err := replaceProof(a.fs, a.proofPath, &a.head); err != nil {
			return err
		}
	} else {
		a.proven = acknowledged.sequence
	}
	a.proof, err = a.fs.OpenReadWrite(a.proofPath, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", a.proofPath, err)
	}
	if missing != nil {
		o.Logger.Warn("accounts: loss of data accepted", "batch", stored.sequence, "loss", missing)
	}
	return errors.Join(a.updateProof(), a.deleteMarks(marks))
}

// deleteMarks deletes marks of earlier batches.
func (a *Accounts) deleteMarks(marks []uint64) error {
	if len(marks) == 0 {
		return nil
	}
	b := a.db.NewBatch()
	defer b.Close()
	for _, number := range marks {
		b.Delete(appendBatchMark(nil, number), nil)
	}
	return a.commit(b)
}

// findLoss returns an AccountsLost if the store lacks acknowledged batches. older are the
// marks besides that of the last batch, which deletes the one before it.
func (a *Accounts) findLoss(
	stored *storedProof, acknowledged *acknowledgement, older []uint64,
) error {
	switch {
	case acknowledged == nil && stored.sequence == 0:
		return nil // an earlier build without proofs made it
	case acknowledged == nil:
		return a.lossError("the file %s is gone, which proves that the store, at batch %d, is complete",
			a.proofPath, stored.sequence)
	case stored.follows(acknowledged.proof) && len(older) > 0:
		return a.lossError("batches between %d and %d of accounts, keys and usage are missing",
			older[0], stored.sequence)
	case stored.follows(acknowledged.proof):
		return nil
	case stored.sequence < acknowledged.sequence:
		return a.lossError("the store ends at batch %d and batch %d was written at %s: %d batches of "+
			"accounts, keys and usage are missing", stored.sequence, acknowledged.sequence,
			timeOf(acknowledged), acknowledged.sequence-stored.sequence)
	}

	return a.lossError("batch %d of the store does not continue batch %d, which was written at %s: "+
		"the directory is of another time or another node", stored.sequence, acknowledged.sequence,
		timeOf(acknowledged))
}

func (a *Accounts) lossError(format string, args ...any) error {
	return &AccountsLost{a.dir, fmt.Sprintf(format, args...)}
}

func timeOf(a *acknowledgement) string { return a.at.UTC().Format(time.RFC3339) }

// checkFormat refuses a store in another format, writes the format of a new store, and
// raises an older one.
func (a *Accounts) checkFormat(readOnly bool) error {
	value, ok, err := a.get(accountsFormatKey)
	switch {
	case err != nil:
		return err
	case !ok && a.head.sequence > 0 && !a.opts.AcceptLost: // the first batch writes it
		return a.lossError("the first batches of %d are missing", a.head.sequence)
	case !ok && readOnly:
		return fmt.Errorf("%s holds no accounts", a.dir)
	case !ok:
		return a.writeFormat()
	}

	format, n := binary.Uvarint(value)
	switch {
	case n <= 0 || format < OldestAccountsFormat || format > AccountsFormat:
		return fmt.Errorf("accounts %s have format %x; this build reads %d to %d",
			a.dir, value, OldestAccountsFormat, AccountsFormat)
	case format == AccountsFormat || readOnly:
		return nil
	}

	// A format in the log would hide that all tables are missing, so it goes to a table too.
	if err := a.writeFormat(); err != nil {
		return err
	}
	return a.db.Flush()
}

func (a *Accounts) writeFormat() error {
	b := a.db.NewBatch()
	defer b.Close()
	b.Set(accountsFormatKey, binary.AppendUvarint(nil, AccountsFormat), nil)
	return a.commit(b)
}

// checkTables reads every record, so that damage is found at the start and not by
// a request. Of a larger store, Load reads what the start needs.
func (a *Accounts) checkTables() error {
	metrics := a.db.Metrics()
	if metrics.DiskSpaceUsage() > accountsReadAtStart {
		return nil
	}
	return a.forEach(nil, nil, func(_, _ []byte) error { return nil })
}
