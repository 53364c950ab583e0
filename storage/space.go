package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Guard keeps a store away from a full disk, which Pebble does not survive: a
// write of its log that fails ends the process. It has two lines. Well before
// the cliff Check turns the store read-only, so that commits fail with
// ErrReadOnly while reads go on. If the disk fills between two calls of Check,
// the ballast file is deleted inside the failing write, which Pebble then
// tries once more.
//
// Whoever has a clock calls Check every few seconds; the guard has none.
type Guard struct {
	fs      vfs.FS
	dir     string
	path    string
	ballast int64
	min     uint64
	full    atomic.Bool

	mu sync.Mutex // held around changes of the ballast file
}

// Space is how much room the disk of a store has.
type Space struct {
	FreeBytes, TotalBytes uint64
	// ReadOnly: the store takes no writes until there is more room.
	ReadOnly bool
	// Ballast is whether the file that is given up on a full disk is there.
	Ballast bool
}

// ballastName is the file that stands for the last bytes of the disk.
const ballastName = "BALLAST"

func newGuard(fs vfs.FS, dir string, o *Options) *Guard {
	g := &Guard{
		fs: fs, dir: dir, path: fs.PathJoin(dir, ballastName),
		ballast: max(o.BallastBytes, 0), min: o.MinFreeBytes,
	}
	if o.ReadOnly {
		g.ballast = 0
	}
	return g
}

// Guard returns the guard of the store's disk.
func (s *Store) Guard() *Guard { return s.guard }

// Check measures the disk. It turns the store read-only when less than
// Options.MinFreeBytes are free, back when a quarter more than that is, and
// lays the ballast down again when there is room for it twice over.
func (g *Guard) Check() (Space, error) {
	du, err := g.fs.GetDiskUsage(g.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return Space{}, nil
	}
	if err != nil {
		return Space{}, fmt.Errorf("cannot measure disk of %s: %w", g.dir, err)
	}

	switch {
	case du.AvailBytes < g.min:
		g.full.Store(true)
	case du.AvailBytes >= g.min+g.min/4:
		g.full.Store(false)
	}

	there, err := g.keepBallast(du.AvailBytes)
	return Space{
		FreeBytes: du.AvailBytes, TotalBytes: du.TotalBytes,
		ReadOnly: g.full.Load(), Ballast: there,
	}, err
}

// ReadOnly tells whether the store takes no writes for want of room, as of the
// last Check.
func (g *Guard) ReadOnly() bool { return g.full.Load() }

// keepBallast makes the ballast file when it is missing and there is room.
func (g *Guard) keepBallast(free uint64) (there bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	info, err := g.fs.Stat(g.path)
	switch {
	case err == nil && info.Size() == g.ballast:
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("cannot look for ballast %s: %w", g.path, err)
	case g.ballast == 0 || g.full.Load() || free < g.min+2*uint64(g.ballast):
		return false, nil
	}

	if err := g.writeBallast(); err != nil {
		return false, fmt.Errorf("cannot write ballast %s of %d bytes: %w",
			g.path, g.ballast, err)
	}

	return true, nil
}

// writeBallast writes real bytes: a hole would hold no room.
func (g *Guard) writeBallast() error {
	f, err := g.fs.Create(g.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}

	page := make([]byte, 1<<20)
	for left := g.ballast; left > 0 && err == nil; left -= int64(len(page)) {
		_, err = f.Write(page[:min(left, int64(len(page)))])
	}
	if err == nil {
		err = f.Sync()
	}

	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, g.fs.Remove(g.path))
	}
	return nil
}

// giveUpBallast is called inside a write that found the disk full.
func (g *Guard) giveUpBallast() {
	g.full.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.fs.Remove(g.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // nothing to give: the write fails, and Pebble ends the process
	}
}
