package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// AccountsLost is the error of a store that lacks acknowledged batches, or whose
// proof file is missing. AccountsOptions.AcceptLost opens it nevertheless.
type AccountsLost struct {
	Dir  string
	What string // what is missing, as a sentence
}

func (l *AccountsLost) Error() string { return fmt.Sprintf("accounts in %s: %s", l.Dir, l.What) }

// AccountsDamage is the error of a store with corrupt files.
type AccountsDamage struct {
	Dir   string
	Table *TableDamage // nil: no table file is damaged
	Err   error
}

func (d *AccountsDamage) Error() string {
	if d.Table == nil {
		return fmt.Sprintf("accounts in %s are damaged: %v", d.Dir, d.Err)
	}
	return fmt.Sprintf("accounts in %s are damaged: %s", d.Dir, d.Table)
}

func (d *AccountsDamage) Unwrap() error { return d.Err }

// TableDamage describes a damaged table file and the range of its keys.
type TableDamage struct {
	File         string
	Lower, Upper []byte // inclusive
	What         string
}

func (t *TableDamage) String() string {
	return fmt.Sprintf("file %s, keys %x to %x: %s", t.File, t.Lower, t.Upper, t.What)
}

// FindTableDamage returns the damaged table that caused an error of a store, nil
// if there is none.
func FindTableDamage(err error) *TableDamage {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return nil
	}
	return newTableDamage(info)
}

func newTableDamage(info *pebble.DataCorruptionInfo) *TableDamage {
	return &TableDamage{
		File:  info.Path,
		Lower: info.Bounds.Start, Upper: info.Bounds.End.Key,
		What: info.Details.Error(),
	}
}

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
				d := newTableDamage(&info)
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

// asDamage makes an error of Pebble an AccountsDamage when it is corruption.
func (a *Accounts) asDamage(err error) error {
	var known *AccountsDamage
	if !pebble.IsCorruptionError(err) || errors.As(err, &known) {
		return err
	}
	return &AccountsDamage{Dir: a.dir, Table: FindTableDamage(err), Err: err}
}
