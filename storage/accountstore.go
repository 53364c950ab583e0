package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/pace"
)

// Accounts stores accounts, keys and usage in a database of their own, so that
// publishing, resyncs and damaged market data cannot affect billing. Every write
// is one synced batch of absolute values: writing a batch again that failed but
// reached the disk changes nothing. Batches are numbered and hashed; see
// accountproof.go.
type Accounts struct {
	db        *pebble.DB
	cache     *pebble.Cache
	lock      *pebble.Lock
	fs        vfs.FS
	dir       string
	proofPath string
	opts      AccountsOptions
	journal   usageJournal

	mu     sync.Mutex // held around a batch and its proof
	head   proof      // of the last batch in the store
	proof  vfs.File   // nil when the store is read-only
	proven uint64     // the last batch recorded in the proof file
}

// ErrNoSpace is the error of a write for which the disk has too little space.
var ErrNoSpace = errors.New("too little free disk space")

// Close flushes the log into tables and closes the store, so that damage of the
// log cannot lose anything after an orderly stop. No other call may be running.
func (a *Accounts) Close() error {
	var err error
	if a.proof != nil && a.CheckSpace() == nil {
		err = a.db.Flush()
	}
	if err = errors.Join(err, a.closeFiles()); err != nil {
		return fmt.Errorf("cannot close accounts %s: %w", a.dir, err)
	}
	return nil
}

// closeFiles closes every open file.
func (a *Accounts) closeFiles() error {
	var errs []error
	if a.proof != nil {
		errs = append(errs, a.proof.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	errs = append(errs, a.lock.Close())
	if a.cache != nil {
		a.cache.Unref()
	}
	return errors.Join(errs...)
}

// Checkpoint copies the store, with a proof file, to a directory that must not
// exist. Writes may go on meanwhile.
func (a *Accounts) Checkpoint(dir string) error {
	err := a.db.Checkpoint(dir, pebble.WithFlushedWAL())
	if err == nil {
		err = a.proveCopy(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot copy accounts to %s: %w", dir, a.asDamage(err))
	}
	return nil
}

// CopyName returns a directory for a Checkpoint beside the store.
func (a *Accounts) CopyName(why string, at time.Time) string {
	return fmt.Sprintf("%s.%s-%d", a.dir, why, at.Unix())
}

// proveCopy writes the proof file of a checkpoint.
func (a *Accounts) proveCopy(dir string) error {
	p := a.opts.pebble()
	p.ReadOnly = true
	copied, err := pebble.Open(dir, p)
	if err != nil {
		return err
	}

	stored := storedProof{}
	value, closer, err := copied.Get(accountsProofKey)
	if err == nil {
		err = errors.Join(stored.decode(value), closer.Close())
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return replaceProof(a.fs, proofPath(dir), &stored.proof)
}

func (a *Accounts) get(key []byte) (value []byte, ok bool, err error) {
	v, closer, err := a.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("cannot read accounts %s key %x: %w", a.dir, key, a.asDamage(err))
	}
	value = append([]byte(nil), v...)
	err = closer.Close()
	return value, err == nil, err
}

// CheckSpace returns ErrNoSpace if the disk has too little space for a batch.
func (a *Accounts) CheckSpace() error {
	du, err := a.fs.GetDiskUsage(a.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot measure disk of %s: %w", a.dir, err)
	}
	if du.AvailBytes < a.opts.MinFreeBytes {
		return fmt.Errorf("cannot write accounts %s: %w: %d bytes; at least %d must be free",
			a.dir, ErrNoSpace, du.AvailBytes, a.opts.MinFreeBytes)
	}
	return nil
}

// commit writes a batch durably. After an error the store has all of the batch or
// nothing of it.
func (a *Accounts) commit(b *pebble.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.CheckSpace(); err != nil {
		return err
	}
	// If the proof of the previous batch could not be written, that batch is in the
	// store but was reported failed. The store must not get two batches ahead of
	// the file.
	if err := a.updateProof(); err != nil {
		return err
	}

	number := a.head.sequence + 1
	b.Delete(appendBatchMark(nil, number-1), nil)
	b.Set(appendBatchMark(nil, number), nil, nil)
	next := storedProof{proof: a.head.next(b.Repr()), before: a.head.chain}
	b.Set(accountsProofKey, next.append(nil), nil)
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot write accounts %s: %w", a.dir, err)
	}
	a.head = next.proof
	return a.updateProof()
}

// updateProof records the last batch of the store in the proof file.
func (a *Accounts) updateProof() error {
	if a.proof == nil || a.proven == a.head.sequence {
		return nil
	}
	if err := writeProof(a.proof, &a.head); err != nil {
		return err
	}
	a.proven = a.head.sequence
	return nil
}

// Put writes new and changed accounts and keys in one batch.
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

// Clear deletes every account, key and usage in one batch. No flush may be running.
func (a *Accounts) Clear() error {
	b := a.db.NewBatch()
	defer b.Close()
	b.DeleteRange([]byte{accountPrefix}, []byte{journalPrefix + 1}, nil)
	if err := a.commit(b); err != nil {
		return err
	}
	a.journal.posted(a.journal.queue)
	return nil
}

// KeyUse is the minute in which a key was last used.
type KeyUse struct {
	Key    uint64
	Minute int64
}

// AccountsFlush is one flush of metering: absolute totals.
type AccountsFlush struct {
	Months []*AccountMonth // the caller's, unchanged until it is written
	Days   []AccountDay
	Keys   []KeyUse
	// Pause is called every few microseconds while the batch is made; nil: it is not.
	Pause func()
}

// Empty reports whether there is nothing to write.
func (f *AccountsFlush) Empty() bool { return len(f.Months)+len(f.Days)+len(f.Keys) == 0 }

// Reset empties it for the next flush.
func (f *AccountsFlush) Reset() { f.Months, f.Days, f.Keys = f.Months[:0], f.Days[:0], f.Keys[:0] }

// Flush writes usage and leases in one synced batch: the months to the journal, the rest
// under its own keys. It is called by one goroutine at a time.
func (a *Accounts) Flush(f *AccountsFlush) error {
	b := a.db.NewBatch()
	defer b.Close()

	j, number := &a.journal, a.journal.next
	due := j.due(len(f.Months))
	j.post(b, due, f.Pause)
	months := j.encode(f.Months, f.Pause)
	if len(months) > 0 {
		b.Set(appendNumberedKey(nil, journalPrefix, number), months, nil)
	}
	putDaysAndUses(b, f)
	if err := a.commit(b); err != nil {
		return err
	}

	j.posted(due)
	if len(months) == 0 {
		return nil
	}
	return j.apply(number, months)
}

// putDaysAndUses puts what a flush has besides months into its batch.
func putDaysAndUses(b *pebble.Batch, f *AccountsFlush) {
	var key, value []byte
	for i := range f.Days {
		pace.Every(recordsPerPause, i, f.Pause)
		d := &f.Days[i]
		key, value = appendAccountDayKey(key[:0], d.Account, d.Day), d.append(value[:0])
		b.Set(key, value, nil)
	}

	for i, k := range f.Keys {
		pace.Every(recordsPerPause, i, f.Pause)
		key = appendNumberedKey(key[:0], keyUsePrefix, k.Key)
		value = binary.AppendUvarint(value[:0], uint64(k.Minute))
		b.Set(key, value, nil)
	}
}

// Month reads the usage of an account in a month; zero if there is none.
func (a *Accounts) Month(account uint64, m accounts.Month) (AccountMonth, error) {
	row := AccountMonth{Account: account, Tally: accounts.Tally{Month: m}}
	value, ok := a.journal.value(monthID{m, account})
	var err error
	if !ok {
		value, ok, err = a.get(appendMonthKey(nil, m, account))
	}

	if ok {
		err = row.decode(value)
	}
	if err != nil {
		return row, fmt.Errorf("cannot read month %s of account %d: %w", m, account, err)
	}
	return row, nil
}
