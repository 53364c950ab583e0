//go:build !linux

package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// reserve reports that blocks cannot be reserved here.
func reserve(vfs.File, int64) bool { return false }
