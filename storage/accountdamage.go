package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// AccountsLost is the error of a store that has less than was acknowledged, or
// whose proof is missing. AccountsOptions.AcceptLost opens it nevertheless.
type AccountsLost struct {
	Dir  string
	What string // what is missing, as a sentence
}

func (l *AccountsLost) Error() string { return fmt.Sprintf("accounts in %s: %s", l.Dir, l.What) }

// AccountsDamage is the error of a store whose files do not hold what was
// written to them.
type AccountsDamage struct {
	Dir   string
	Table *TableDamage // nil: the damage is not in a table
	Err   error
}

func (d *AccountsDamage) Error() string {
	if d.Table == nil {
		return fmt.Sprintf("accounts in %s are damaged: %v", d.Dir, d.Err)
	}
	return fmt.Sprintf("accounts in %s are damaged: %s", d.Dir, d.Table)
}

func (d *AccountsDamage) Unwrap() error { return d.Err }

// TableDamage names a damaged table file and the keys that it may hold.
type TableDamage struct {
	File         string
	Lower, Upper []byte // inclusive
	What         string
}

func (t *TableDamage) String() string {
	return fmt.Sprintf("file %s, keys %x to %x: %s", t.File, t.Lower, t.Upper, t.What)
}

// FindTableDamage finds in an error of a store which table is damaged; nil when
// it is not of one.
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

// damageLog tells of damage once. Without it Pebble would end the process, on
// a read too.
type damageLog struct {
	log  *slog.Logger
	told atomic.Bool
}

func (l *damageLog) listener() *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			// Pebble comes back to a damaged table with every compaction.
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

// damaged makes an error of Pebble an AccountsDamage when it is corruption.
func (a *Accounts) damaged(err error) error {
	var known *AccountsDamage
	if !pebble.IsCorruptionError(err) || errors.As(err, &known) {
		return err
	}
	return &AccountsDamage{Dir: a.dir, Table: FindTableDamage(err), Err: err}
}
