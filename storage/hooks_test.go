package storage

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
	"tidemark/storage/disktest"
)

// What the tests outside of the package need of it. They drive chains, which import it.

// OptionsOn returns options for a small store on a file system.
func OptionsOn(fs vfs.FS) Options { return testOptions(fs) }

// CloneableFS is a file system in memory that can be cloned at any moment.
func CloneableFS(fs vfs.FS) vfs.FS { return &disktest.NoReuse{FS: fs} }

// StateBytes returns the records of every table of a State.
func StateBytes(st *market.State) []byte { return stateBytes(st) }
