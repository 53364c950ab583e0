package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Store is the market data of a node. Its methods may be called from any
// goroutine; Commits of one chain wait for each other.
type Store struct {
	dir   string
	opts  Options
	db    *pebble.DB
	room  *cacheRoom // of db
	order keyOrder   // of db
	lock  *pebble.Lock
	fs    vfs.FS // as the operating system has it, without what Open wraps around
	guard *Guard
	tele  *telemetry

	mu      sync.Mutex
	writers map[market.ChainID]*writer

	spareBatch atomic.Pointer[pebble.Batch] // that the last commit has left; nil: none

	headerMu     sync.Mutex
	header       header
	headerDamage error // of its keys, when the store was opened

	damages   damages
	dropping  sync.Mutex // held while a chain is dropped: it may lock every writer
	heads     *headFile
	rollbacks map[market.ChainID]*Rollback // found by Open
	standIns  []standIn                    // made by Open
}

// Open opens the store in dir, which it makes when it is not there. It refuses
// a directory of another format, and one that another process has open. Files that
// are so damaged that nothing can be opened are set aside; see salvage.go.
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	s := &Store{
		dir: dir, opts: opts, fs: opts.fs, tele: newTelemetry(opts.Metrics),
		writers: make(map[market.ChainID]*writer),
	}

	if !opts.ReadOnly {
		if err := opts.fs.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("cannot make directory of store %s: %w", dir, err)
		}
	}

	lock, err := database.Lock(dir, opts.fs, opts.ReadOnly)
	if err != nil {
		return nil, err
	}

	s.lock = lock
	s.guard = newGuard(opts.fs, dir, &opts)
	s.opts.fs = vfs.OnDiskFull(opts.fs, s.guard.deleteBallast)
	if s.heads, err = openHeads(opts.fs, dir); err == nil {
		err = s.openOrSetAside()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}

	if !opts.ReadOnly {
		s.removeIncoming()
	}
	s.tele.watch(s.db)
	return s, nil
}

func (s *Store) openDatabase() error {
	s.room = newCacheRoom(&s.opts)
	defer s.room.cache.Unref() // the database has a reference of its own

	if err := s.refuseNewer(); err != nil {
		return err
	}
	if err := s.checkMarker(); err != nil {
		return err
	}
	s.damages, s.rollbacks = newDamages(), make(map[market.ChainID]*Rollback)
	db, err := database.Open(s.dir, s.databaseOptions(s.room.cache))
	if err != nil {
		return fmt.Errorf("cannot open store %s: %w", s.dir, asStoreDamage(err))
	}

	s.db = db
	s.room.adjust(db) // to read the log again takes memtables
	if err = s.openHeader(); err == nil {
		err = s.findRollbacks()
	}
	if err == nil {
		err = s.noteStandIns()
	}
	if err == nil {
		err = s.findGaps()
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// databaseOptions returns what Pebble opens the database with.
func (s *Store) databaseOptions(cache *pebble.Cache) *pebble.Options {
	p := s.opts.pebble(cache)
	p.Lock = s.lock
	p.Comparer = s.order.comparer()
	p.EventListener = s.listener(s.opts.Logger)
	if s.fs == database.SystemFS {
		p.WithFSDefaults() // detects a disk that hangs
	}
	return p
}

// apply commits a batch and syncs the log. It calls pause every 100 µs or so while the keys
// are inserted; nil: never.
func (s *Store) apply(batch *pebble.Batch, pause func()) error {
	defer s.room.adjust(s.db)
	defer s.order.pausing(batch, pause)()
	return s.db.Apply(batch, pebble.Sync)
}

// Close waits for running operations and closes the store. No method may be
// called afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.tele.unwatch()
	if batch := s.spareBatch.Swap(nil); batch != nil {
		batch.Close()
	}

	err := errors.Join(s.db.Close(), s.heads.close(), s.lock.Close())
	if err != nil {
		return fmt.Errorf("cannot close store %s: %w", s.dir, err)
	}
	return nil
}

// checkWritable returns ErrReadOnly while the store accepts no writes.
func (s *Store) checkWritable() error {
	if s.opts.ReadOnly || s.guard.full.Load() {
		return fmt.Errorf("cannot write to store %s: %w", s.dir, ErrReadOnly)
	}
	return nil
}

// writerOf returns the writer of a chain.
func (s *Store) writerOf(chain market.ChainID) *writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.writers[chain]
	if w == nil {
		w = &writer{chain: chain}
		s.writers[chain] = w
	}
	return w
}

// get appends the value under key to dst.
func (s *Store) get(key, dst []byte) (value []byte, ok bool, err error) {
	v, closer, err := s.db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return dst, false, nil
	case err != nil:
		return dst, false, err
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

// readHead returns the head record of a chain; ok is false before the first cut.
func (s *Store) readHead(chain market.ChainID) (h head, ok bool, err error) {
	h = noHead()
	value, ok, err := s.get(appendKind(nil, chain, kindHead), nil)
	if err == nil && ok {
		c := field.Reader(value)
		codeHead(&c, &h)
		err = c.Done()
	}
	if err != nil {
		return head{}, false, s.reportDamage(chain, "head", err)
	}
	return h, ok, nil
}

// Chains returns the chains that have a cut, ascending. Where damage keeps it from
// reading the keys, it returns those whose commits are known.
func (s *Store) Chains() ([]market.ChainID, error) {
	it := database.Iterate(s.db, []byte{1}, []byte{9})

	var chains []market.ChainID
	for ok := it.First(); ok; {
		chain, _, found := parseChain(it.Key())
		if !found {
			break
		}
		chains = append(chains, chain)
		ok = it.SeekGE(appendChainEnd(nil, chain))
	}

	err := it.Close()
	if isDamage(err) {
		return sortChains(append(chains, s.heads.stored()...)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list chains of store %s: %w", s.dir, err)
	}
	return chains, nil
}

// DropChain deletes all data of a chain before a resync. A State restored from
// it may only be read afterwards if it is warm.
func (s *Store) DropChain(chain market.ChainID) error {
	return s.dropChain(chain, func(w *writer) error { return w.teeBatch(s, nil) })
}

// ForgetChain is DropChain on this node alone: Options.Tee does not hear of it.
func (s *Store) ForgetChain(chain market.ChainID) error {
	return s.dropChain(chain, func(*writer) error { return nil })
}

func (s *Store) dropChain(chain market.ChainID, tee func(*writer) error) error {
	if err := s.checkWritable(); err != nil {
		return err
	}
	s.dropping.Lock()
	defer s.dropping.Unlock()
	w := s.writerOf(chain)
	w.mu.Lock()
	defer w.mu.Unlock()

	w.resetBatch(s) // the head is not read: it may be damaged
	defer w.releaseBatch(s)
	must(w.batch.DeleteRange(appendChain(nil, chain), appendChainEnd(nil, chain), nil))
	err := tee(w)

	// Record first that there is nothing to lose any more.
	if err == nil {
		w.sequence, err = s.heads.drop(chain, w.sequence, w.last.Generation)
	}
	if err == nil {
		err = s.apply(w.batch, nil)
	}
	if err != nil {
		return fmt.Errorf("cannot drop chain %d: %w", chain, err)
	}
	w.last, w.known, w.state, w.lost, w.mark, w.firstDay = noHead(), true, nil, nil, 0, 0
	w.patched, w.directory = patchedPrices{}, wholeDirectory{}
	return s.removeDamaged(chain)
}

// Checkpoint writes a copy of the store to dir, which must not exist. It uses
// hard links where the file system has them. Open can open the copy.
func (s *Store) Checkpoint(dir string) error {
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("cannot write checkpoint %s of store %s: %w", dir, s.dir, err)
	}
	return nil
}
