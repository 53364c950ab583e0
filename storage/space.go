package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Guard protects a store from a full disk. A write to Pebble's log that fails
// ends the process, so the guard acts in two ways. Check turns the store read-only
// while there is still space: commits fail with ErrReadOnly and reads go on. If
// the disk fills up between two calls of Check, the failing write deletes the
// ballast file, and Pebble tries once more.
//
// The guard has no clock: the caller calls Check every second or so.
type Guard struct {
	fs      vfs.FS
	dir     string
	path    string
	ballast int64
	min     uint64
	full    atomic.Bool

	mu sync.Mutex // held around changes of the ballast file
}

// ballastName is the name of the ballast file.
const ballastName = "BALLAST"

func newGuard(fsys vfs.FS, dir string, o *Options) *Guard {
	g := &Guard{
		fs: fsys, dir: dir, path: fsys.PathJoin(dir, ballastName),
		ballast: max(o.BallastBytes, 0), min: o.MinFreeBytes,
	}
	if o.ReadOnly {
		g.ballast = 0
	}
	return g
}

// Guard returns the guard of the store's disk.
func (s *Store) Guard() *Guard { return s.guard }

// WritableBytes is the free space at which a store that has turned read-only is
// writable again, by the default options.
func WritableBytes() uint64 { return writableAt(defaultMinFreeBytes) }

func writableAt(minFree uint64) uint64 { return minFree + minFree/4 }

// Check measures what is free on the disk, and gives 0 where the file system does not
// tell. The store turns read-only when less than Options.MinFreeBytes is free, and
// writable again at a quarter more than that. The ballast file is written again when
// there is space for two of it.
func (g *Guard) Check() (freeBytes uint64, err error) {
	du, err := g.fs.GetDiskUsage(g.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot measure disk of %s: %w", g.dir, err)
	}

	switch {
	case du.AvailBytes < g.min:
		g.full.Store(true)
	case du.AvailBytes >= writableAt(g.min):
		g.full.Store(false)
	}

	return du.AvailBytes, g.keepBallast(du.AvailBytes)
}

// ReadOnly reports whether the last Check found too little space for writes.
func (g *Guard) ReadOnly() bool { return g.full.Load() }

// keepBallast writes the ballast file if it is missing and there is space.
func (g *Guard) keepBallast(free uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	info, err := g.fs.Stat(g.path)
	switch {
	case err == nil && info.Size() == g.ballast:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot stat ballast file %s: %w", g.path, err)
	case g.ballast == 0 || g.full.Load() || free < g.min+2*uint64(g.ballast):
		return nil
	}

	if err := g.writeBallast(); err != nil {
		return fmt.Errorf("cannot write ballast file %s of %d bytes: %w", g.path, g.ballast, err)
	}
	return nil
}

// writeBallast makes the file of blocks that are its own: a sparse one would reserve no
// space. Where the file system cannot reserve them, it writes real bytes.
func (g *Guard) writeBallast() error {
	f, err := g.fs.Create(g.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}

	if !reserve(f, g.ballast) {
		page := make([]byte, 1<<20)
		for left := g.ballast; left > 0 && err == nil; left -= int64(len(page)) {
			_, err = f.Write(page[:min(left, int64(len(page)))])
		}
	}
	if err == nil {
		err = f.Sync()
	}

	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, g.fs.Remove(g.path))
	}
	return nil
}

// deleteBallast is called inside a write that found the disk full.
func (g *Guard) deleteBallast() {
	g.full.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.fs.Remove(g.path) // if it stays, the write fails and Pebble ends the process
}
