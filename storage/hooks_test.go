package storage

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
)

// What the tests outside of the package need of it. They drive chains, which import it.

// OptionsOn returns options for a small store on a file system.
func OptionsOn(fs vfs.FS) Options { return testOptions(fs) }

// CloneableFS is a file system in memory that can be cloned at any moment.
func CloneableFS(fs vfs.FS) vfs.FS { return &noReuse{fs} }

// StateBytes returns the records of every table of a State.
func StateBytes(st *market.State) []byte { return stateBytes(st) }

// Share returns how many cases a test tries; see share.
func Share(few, quick, full int) int { return share(few, quick, full) }
