package database

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// IsDamage reports whether an error of Pebble says that files are not as they were
// written: damaged, missing, or cut off. An error of the operating system is none.
func IsDamage(err error) bool {
	if err == nil {
		return false
	}
	var code syscall.Errno
	if errors.As(err, &code) && code != syscall.ENOENT {
		return false
	}

	text := err.Error()
	return pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) ||
		strings.Contains(text, "object size mismatch") || // of a table
		// These two are of the OPTIONS: another comparer, another directory of logs.
		strings.Contains(text, "name from file") || strings.Contains(text, "WALRecoveryDirs")
}

// TableDamage describes a damaged table file and the range of its keys.
type TableDamage struct {
	File         string
	Lower, Upper []byte // inclusive
	What         string
}

func (t *TableDamage) String() string {
	return fmt.Sprintf("file %s, keys %x to %x: %s", t.File, t.Lower, t.Upper, t.What)
}

// FindTableDamage returns the damaged table that caused an error, nil if there is none.
func FindTableDamage(err error) *TableDamage {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return nil
	}
	return NewTableDamage(info)
}

// NewTableDamage returns what Pebble reports of a table.
func NewTableDamage(info *pebble.DataCorruptionInfo) *TableDamage {
	return &TableDamage{
		File:  info.Path,
		Lower: info.Bounds.Start, Upper: info.Bounds.End.Key,
		What: info.Details.Error(),
	}
}
