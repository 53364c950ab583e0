package accountstore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/database"
)

// Damage is the error of a store with corrupt files.
type Damage struct {
	Dir   string
	Table *database.TableDamage // nil: no table file is damaged
	Err   error
}

func (d *Damage) Error() string {
	if d.Table == nil {
		return fmt.Sprintf("accounts in %s are damaged: %v", d.Dir, d.Err)
	}
	return fmt.Sprintf("accounts in %s are damaged: %s", d.Dir, d.Table)
}

func (d *Damage) Unwrap() error { return d.Err }

// damageLog logs the first damage. Without a listener Pebble would end the process,
// even if a read meets the damage.
type damageLog struct {
	log  *slog.Logger
	told atomic.Bool
}

func (l *damageLog) listener() *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			// Pebble reports a damaged table again with every compaction.
			if l.told.CompareAndSwap(false, true) {
				d := database.NewTableDamage(&info)
				l.log.Error("accounts are damaged; stop the node and restore a backup",
					"file", d.File, "keys", fmt.Sprintf("%x-%x", d.Lower, d.Upper), "error", d.What)
			}
		},
		BackgroundError: func(err error) {
			if !pebble.IsCorruptionError(err) {
				l.log.Error("accounts: background work failed", "error", err)
			}
		},
	}
}

// asDamage makes an error of Pebble Damage when it is corruption.
func (s *Store) asDamage(err error) error {
	var known *Damage
	if !pebble.IsCorruptionError(err) || errors.As(err, &known) {
		return err
	}
	return &Damage{Dir: s.dir, Table: database.FindTableDamage(err), Err: err}
}
