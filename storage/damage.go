package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Damage is the error of data that is not as it was committed. Reading a row of
// a cold State panics with it. If it Lasts, the chain has to be built again
// (chains resync), or the directory restored from a backup.
type Damage struct {
	Chain market.ChainID
	What  string
	Err   error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("store of chain %d is damaged: %s: %s", d.Chain, d.What, describeDamage(d.Err))
}

// describeDamage names the file and the keys, if the damage is of a table.
func describeDamage(err error) string {
	if table := database.FindTableDamage(err); table != nil {
		return table.String()
	}
	return err.Error()
}

func (d *Damage) Unwrap() error { return d.Err }

// Lasts reports whether the stored bytes are wrong. An error of the operating
// system, such as too many open files, may pass.
func (d *Damage) Lasts() bool {
	var code syscall.Errno
	return !errors.As(d.Err, &code) || code == syscall.ENOENT
}

// ErrDamaged is the error of a store that cannot be opened because a file that all
// chains share is damaged.
var ErrDamaged = errors.New("the store is damaged")

// asStoreDamage adds ErrDamaged to an error of opening the database.
func asStoreDamage(err error) error {
	if isDamage(err) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// isDamage is database.IsDamage of an error that may be a Damage.
func isDamage(err error) bool {
	var damage *Damage
	if err == nil || errors.As(err, &damage) {
		return damage != nil && damage.Lasts()
	}
	return database.IsDamage(err)
}

// damages are the damages that were found since the store was opened.
type damages struct {
	mu     sync.Mutex
	chains map[market.ChainID]*Damage
	files  []*database.TableDamage // each once
	// searched counts, by chain, the files in which its keys were looked for.
	searched map[market.ChainID]int
}

func newDamages() damages {
	return damages{chains: map[market.ChainID]*Damage{}, searched: map[market.ChainID]int{}}
}

// reportDamage counts damage, and logs the first of a chain.
func (s *Store) reportDamage(chain market.ChainID, what string, err error) *Damage {
	d := &Damage{Chain: chain, What: what, Err: err}
	s.tele.damages.Inc()

	s.damages.mu.Lock()
	defer s.damages.mu.Unlock()
	if first := s.damages.chains[chain]; first == nil || d.Lasts() && !first.Lasts() {
		s.damages.chains[chain] = d
		s.opts.Logger.Error("store is damaged", "chain", uint64(chain), "error", d)
	}
	return d
}

// noteCorruption is called by Pebble, in reads and compactions alike, when a file is
// corrupt. Without it Pebble would end the process.
func (s *Store) noteCorruption(info pebble.DataCorruptionInfo) {
	s.damages.mu.Lock()
	defer s.damages.mu.Unlock()
	for _, known := range s.damages.files {
		if known.File == info.Path {
			return // Pebble reports a file again with every read and compaction
		}
	}

	file := database.NewTableDamage(&info)
	s.damages.files = append(s.damages.files, file)
	s.opts.Logger.Error("store: a file is corrupt", "file", file.File,
		"keys", fmt.Sprintf("%x-%x", file.Lower, file.Upper), "error", file.What)
}

// Damaged returns the lasting damage that was found in a chain's data, nil if there
// is none. If a compaction found a corrupt file, it reads the chain's keys in the
// range of that file, because Pebble does not say which of them are affected.
func (s *Store) Damaged(chain market.ChainID) *Damage {
	s.damages.mu.Lock()
	known, searched := s.damages.chains[chain], s.damages.searched[chain]
	files := s.damages.files[searched:]
	s.damages.mu.Unlock()

	if known != nil && known.Lasts() {
		return known
	}
	for _, file := range files {
		if err := s.readRange(chain, file.Lower, file.Upper); err != nil {
			if d := s.reportDamage(chain, "file "+file.File, err); d.Lasts() {
				return d
			}
			break // it may pass: the file is searched again
		}
		searched++
	}

	s.damages.mu.Lock()
	defer s.damages.mu.Unlock()
	s.damages.searched[chain] = max(s.damages.searched[chain], searched)
	return nil
}

// readRange reads every key of a chain from lower to upper, both inclusive.
func (s *Store) readRange(chain market.ChainID, lower, upper []byte) error {
	from, to := appendChain(nil, chain), appendChainEnd(nil, chain)
	if bytes.Compare(lower, from) > 0 {
		from = lower
	}
	if end := append(bytes.Clone(upper), 0); bytes.Compare(end, to) < 0 {
		to = end
	}
	if bytes.Compare(from, to) >= 0 {
		return nil
	}

	it := database.Iterate(s.db, from, to)
	for ok := it.First(); ok; ok = it.Next() {
		if _, err := it.ValueAndErr(); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

// catchDamage must be deferred. It turns the panic of a cold row into an error.
func catchDamage(err *error) {
	switch d := recover().(type) {
	case nil:
	case *Damage:
		*err = d
	default:
		panic(d)
	}
}

// listener logs what Pebble reports of its own.
func (s *Store) listener(log *slog.Logger) *pebble.EventListener {
	l := s.tele.listener(log)
	l.DataCorruption = s.noteCorruption
	l.BackgroundError = func(err error) {
		if !pebble.IsCorruptionError(err) {
			log.Error("store: flush or compaction failed", "error", err)
		}
	}
	return l
}
