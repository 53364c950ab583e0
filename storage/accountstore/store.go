package accountstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/pace"
)

// Store stores accounts, keys and usage in a database of their own. Every write is one
// synced batch of absolute values: writing a batch again that failed but reached the disk
// changes nothing. Batches are numbered and hashed; see proof.go.
type Store struct {
	db        *pebble.DB
	cache     *pebble.Cache
	lock      *pebble.Lock
	fs        vfs.FS
	dir       string
	proofPath string
	opts      Options
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
func (s *Store) Close() error {
	var err error
	if s.proof != nil && s.CheckSpace() == nil {
		err = s.db.Flush()
	}
	if err = errors.Join(err, s.closeFiles()); err != nil {
		return fmt.Errorf("cannot close accounts %s: %w", s.dir, err)
	}
	return nil
}

// closeFiles closes every open file.
func (s *Store) closeFiles() error {
	var errs []error
	if s.proof != nil {
		errs = append(errs, s.proof.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	errs = append(errs, s.lock.Close())
	if s.cache != nil {
		s.cache.Unref()
	}
	return errors.Join(errs...)
}

// Checkpoint copies the store, with a proof file, to a directory that must not
// exist. Writes may go on meanwhile.
func (s *Store) Checkpoint(dir string) error {
	err := s.db.Checkpoint(dir, pebble.WithFlushedWAL())
	if err == nil {
		err = s.proveCopy(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot copy accounts to %s: %w", dir, s.asDamage(err))
	}
	return nil
}

// CopyName returns a directory for a Checkpoint beside the store.
func (s *Store) CopyName(why string, at time.Time) string {
	return fmt.Sprintf("%s.%s-%d", s.dir, why, at.Unix())
}

// proveCopy writes the proof file of a checkpoint.
func (s *Store) proveCopy(dir string) error {
	p := s.opts.pebble()
	p.ReadOnly = true
	copied, err := pebble.Open(dir, p)
	if err != nil {
		return err
	}

	stored := storedProof{}
	value, closer, err := copied.Get(proofKey)
	if err == nil {
		err = errors.Join(stored.decode(value), closer.Close())
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return replaceProof(s.fs, proofPath(dir), &stored.proof)
}

func (s *Store) get(key []byte) (value []byte, ok bool, err error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("cannot read accounts %s key %x: %w", s.dir, key, s.asDamage(err))
	}
	value = append([]byte(nil), v...)
	err = closer.Close()
	return value, err == nil, err
}

// CheckSpace returns ErrNoSpace if the disk has too little space for a batch.
func (s *Store) CheckSpace() error {
	du, err := s.fs.GetDiskUsage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot measure disk of %s: %w", s.dir, err)
	}
	if du.AvailBytes < s.opts.MinFreeBytes {
		return fmt.Errorf("cannot write accounts %s: %w: %d bytes; at least %d must be free",
			s.dir, ErrNoSpace, du.AvailBytes, s.opts.MinFreeBytes)
	}
	return nil
}

// commit writes a batch durably. After an error the store has all of the batch or
// nothing of it.
func (s *Store) commit(b *pebble.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.CheckSpace(); err != nil {
		return err
	}
	// If the proof of the previous batch could not be written, that batch is in the
	// store but was reported failed. The store must not get two batches ahead of
	// the file.
	if err := s.updateProof(); err != nil {
		return err
	}

	number := s.head.sequence + 1
	b.Delete(appendBatchMark(nil, number-1), nil)
	b.Set(appendBatchMark(nil, number), nil, nil)
	next := storedProof{proof: s.head.next(b.Repr()), before: s.head.chain}
	b.Set(proofKey, next.append(nil), nil)
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("cannot write accounts %s: %w", s.dir, err)
	}
	s.head = next.proof
	return s.updateProof()
}

// updateProof records the last batch of the store in the proof file.
func (s *Store) updateProof() error {
	if s.proof == nil || s.proven == s.head.sequence {
		return nil
	}
	if err := writeProof(s.proof, &s.head); err != nil {
		return err
	}
	s.proven = s.head.sequence
	return nil
}

// Put writes new and changed accounts and keys in one batch.
func (s *Store) Put(changed []AccountRecord, keys []KeyRecord) error {
	b := s.db.NewBatch()
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

	return s.commit(b)
}

// Clear deletes every account, key and usage in one batch. No flush may be running.
func (s *Store) Clear() error {
	b := s.db.NewBatch()
	defer b.Close()
	b.DeleteRange([]byte{accountPrefix}, []byte{journalPrefix + 1}, nil)
	if err := s.commit(b); err != nil {
		return err
	}
	s.journal.posted(s.journal.queue)
	return nil
}

// KeyUse is the minute in which a key was last used.
type KeyUse struct {
	Key    uint64
	Minute int64
}

// Flush is one flush of metering: absolute totals.
type Flush struct {
	Months []*MonthRecord // the caller's, unchanged until it is written
	Days   []DayRecord
	Keys   []KeyUse
	// Pause is called every few microseconds while the batch is made; nil: it is not.
	Pause func()
}

// Empty reports whether there is nothing to write.
func (f *Flush) Empty() bool { return len(f.Months)+len(f.Days)+len(f.Keys) == 0 }

// Reset empties it for the next flush.
func (f *Flush) Reset() { f.Months, f.Days, f.Keys = f.Months[:0], f.Days[:0], f.Keys[:0] }

// Flush writes usage and leases in one synced batch: the months to the journal, the rest
// under its own keys. It is called by one goroutine at a time.
func (s *Store) Flush(f *Flush) error {
	b := s.db.NewBatch()
	defer b.Close()

	j, number := &s.journal, s.journal.next
	due := j.due(len(f.Months))
	j.post(b, due, f.Pause)
	months := j.encode(f.Months, f.Pause)
	if len(months) > 0 {
		b.Set(appendNumberedKey(nil, journalPrefix, number), months, nil)
	}
	putDaysAndUses(b, f)
	if err := s.commit(b); err != nil {
		return err
	}

	j.posted(due)
	if len(months) == 0 {
		return nil
	}
	return j.apply(number, months)
}

// recordsPerPause is some 100 µs of coding and copying.
const recordsPerPause = 128

// putDaysAndUses puts what a flush has besides months into its batch.
func putDaysAndUses(b *pebble.Batch, f *Flush) {
	var key, value []byte
	for i := range f.Days {
		pace.Every(recordsPerPause, i, f.Pause)
		d := &f.Days[i]
		key, value = appendDayKey(key[:0], d.Account, d.Day), d.append(value[:0])
		b.Set(key, value, nil)
	}

	for i, k := range f.Keys {
		pace.Every(recordsPerPause, i, f.Pause)
		key = appendNumberedKey(key[:0], keyUsePrefix, k.Key)
		value = binary.AppendUvarint(value[:0], uint64(k.Minute))
		b.Set(key, value, nil)
	}
}
