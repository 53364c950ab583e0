package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
)

// Accounts keeps accounts, keys and usage, in a database of their own:
// publishing, resyncs and damage to market data must not touch billing. Every
// write is one synced batch of absolute values, so that a batch that was
// reported failed and landed anyway does no harm when it is written again.
type Accounts struct {
	db      *pebble.DB
	cache   *pebble.Cache
	lock    *pebble.Lock
	fs      vfs.FS
	dir     string
	minFree uint64
}

// AccountsOptions of the store. The zero value is what a node wants.
type AccountsOptions struct {
	ReadOnly bool
	// MinFreeBytes is the free space below which writes fail with ErrNoSpace
	// before Pebble meets a full disk, which it does not survive; 0: 64 MiB,
	// well below where the market's store stops.
	MinFreeBytes uint64
	Logger       *slog.Logger // nil: slog.Default()
	Exit         func()       // as Options.Exit
	FS           vfs.FS       // nil: the operating system's
}

// ErrNoSpace is the error of a write that the disk has no room for.
var ErrNoSpace = errors.New("too little free disk space")

const (
	accountsMinFree = 64 << 20
	accountsCache   = 8 << 20
	// accountsMemTable holds a few seconds of flushes of 10,000 busy accounts,
	// of which only the last is then written again.
	accountsMemTable = 32 << 20
)

// OpenAccounts opens or makes the store in a directory.
func OpenAccounts(dir string, o AccountsOptions) (*Accounts, error) {
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
		o.FS = vfs.Default
	}
	if !o.ReadOnly {
		if err := o.FS.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make directory of accounts %s: %w", dir, err)
		}
	}
	lock, err := lockDir(dir, o.FS)
	if err != nil {
		return nil, err
	}
	cache := pebble.NewCache(accountsCache)
	db, err := pebble.Open(dir, &pebble.Options{
		FS: o.FS, Cache: cache, Lock: lock, ReadOnly: o.ReadOnly,
		FormatMajorVersion: pebbleFormat,
		MemTableSize:       accountsMemTable,
		Logger:             &crashLogger{log: o.Logger, exit: o.Exit},
	})
	if err != nil {
		cache.Unref()
		return nil, errors.Join(fmt.Errorf("cannot open accounts %s: %w", dir, err), lock.Close())
	}
	a := &Accounts{
		db: db, cache: cache, lock: lock, fs: o.FS, dir: dir, minFree: o.MinFreeBytes,
	}
	if err := a.checkFormat(o.ReadOnly); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// checkFormat marks an empty store and refuses one of another format.
func (a *Accounts) checkFormat(readOnly bool) error {
	value, ok, err := a.get(accountsFormatKey)
	switch {
	case err != nil:
		return err
	case !ok && readOnly:
		return fmt.Errorf("%s holds no accounts", a.dir)
	case !ok:
		b := a.db.NewBatch()
		defer b.Close()
		b.Set(accountsFormatKey, binary.AppendUvarint(nil, accountsFormat), nil)
		return a.commit(b)
	}
	if format, n := binary.Uvarint(value); n <= 0 || format != accountsFormat {
		return fmt.Errorf("accounts %s have format %x; this build reads %d",
			a.dir, value, accountsFormat)
	}
	return nil
}

// Close ends the store. No call may be under way.
func (a *Accounts) Close() error {
	err := errors.Join(a.db.Close(), a.lock.Close())
	a.cache.Unref()
	if err != nil {
		return fmt.Errorf("cannot close accounts %s: %w", a.dir, err)
	}
	return nil
}

// Checkpoint makes a copy that can be opened, in a directory that must not
// exist, while writes go on.
func (a *Accounts) Checkpoint(dir string) error {
	if err := a.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("cannot copy accounts to %s: %w", dir, err)
	}
	return nil
}

func (a *Accounts) get(key []byte) (value []byte, ok bool, err error) {
	v, closer, err := a.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("cannot read accounts %s key %x: %w", a.dir, key, err)
	}
	value = append([]byte(nil), v...)
	return value, true, closer.Close()
}

// commit writes a batch durably, or says why it did not: after an error none
// or all of it is there.
func (a *Accounts) commit(b *pebble.Batch) error {
	du, err := a.fs.GetDiskUsage(a.dir)
	if err != nil && !errors.Is(err, vfs.ErrUnsupported) {
		return fmt.Errorf("cannot measure disk of %s: %w", a.dir, err)
	}
	if err == nil && du.AvailBytes < a.minFree {
		return fmt.Errorf("cannot write accounts %s: %w: %d bytes; at least %d must be free",
			a.dir, ErrNoSpace, du.AvailBytes, a.minFree)
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot write accounts %s: %w", a.dir, err)
	}
	return nil
}

// Put writes accounts and keys, new ones and changed ones, in one batch.
func (a *Accounts) Put(changed []AccountRecord, keys []KeyRecord) error {
	b := a.db.NewBatch()
	defer b.Close()
	var key, value []byte
	for i := range changed {
		key = appendNumberedKey(key[:0], accountPrefix, changed[i].ID)
		value = changed[i].append(value[:0])
		b.Set(key, value, nil)
	}
	for i := range keys {
		key = appendNumberedKey(key[:0], keyPrefix, keys[i].ID)
		value = keys[i].append(value[:0])
		b.Set(key, value, nil)
	}
	return a.commit(b)
}

// KeyUse is when a key was last used.
type KeyUse struct {
	Key    uint64
	Minute int64
}

// AccountsFlush is what one flush of metering writes: absolute totals.
type AccountsFlush struct {
	Months []AccountMonth
	Days   []AccountDay
	Keys   []KeyUse
}

// Empty tells whether there is nothing to write.
func (f *AccountsFlush) Empty() bool { return len(f.Months)+len(f.Days)+len(f.Keys) == 0 }

// Reset empties it for the next flush.
func (f *AccountsFlush) Reset() { f.Months, f.Days, f.Keys = f.Months[:0], f.Days[:0], f.Keys[:0] }

// Flush writes usage and leases in one synced batch.
func (a *Accounts) Flush(f *AccountsFlush) error {
	b := a.db.NewBatch()
	defer b.Close()
	var key, value []byte
	for i := range f.Months {
		m := &f.Months[i]
		key, value = appendMonthKey(key[:0], m.Month, m.Account), m.append(value[:0])
		b.Set(key, value, nil)
	}
	for i := range f.Days {
		d := &f.Days[i]
		key, value = appendAccountDayKey(key[:0], d.Account, d.Day), d.append(value[:0])
		b.Set(key, value, nil)
	}
	for _, k := range f.Keys {
		key = appendNumberedKey(key[:0], keyUsePrefix, k.Key)
		value = binary.AppendUvarint(value[:0], uint64(k.Minute))
		b.Set(key, value, nil)
	}
	return a.commit(b)
}

// Month reads what an account used in a month; zero when nothing.
func (a *Accounts) Month(account uint64, m accounts.Month) (AccountMonth, error) {
	row := AccountMonth{Account: account, Tally: accounts.Tally{Month: m}}
	value, ok, err := a.get(appendMonthKey(nil, m, account))
	if err == nil && ok {
		err = row.decode(value)
	}
	if err != nil {
		return row, fmt.Errorf("cannot read month %s of account %d: %w", m, account, err)
	}
	return row, nil
}
