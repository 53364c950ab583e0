package disktest

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// FailingOn is a disk of which the nth file operation of those that count fails.
func FailingOn(
	disk vfs.FS, n int64, operations *atomic.Int64, counts func(errorfs.Op) bool,
) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if counts(op) && operations.Add(1)-1 == n {
			return syscall.EIO
		}
		return nil
	}))
}

// Unclosable is a file that closes with an error.
type Unclosable struct {
	vfs.File
	Err error
}

// Close closes the file, and fails.
func (f Unclosable) Close() error { return errors.Join(f.Err, f.File.Close()) }

// NoReuse creates a new log instead of recycling an old one: the file system in memory
// deadlocks if it is cloned during the rename.
type NoReuse struct{ vfs.FS }

// ReuseForWrite removes the old file and creates another one.
func (n *NoReuse) ReuseForWrite(was, is string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := n.Remove(was); err != nil {
		return nil, err
	}
	return n.Create(is, c)
}

// ReadOnlyFS is a file system that was mounted read-only.
type ReadOnlyFS struct{ vfs.FS }

func refused(name string, code syscall.Errno) error {
	return &os.PathError{Op: "open", Path: name, Err: code}
}

func (ReadOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused(name, syscall.EROFS)
}

func (ReadOnlyFS) OpenReadWrite(
	name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption,
) (vfs.File, error) {
	return nil, refused(name, syscall.EROFS)
}

func (ReadOnlyFS) Lock(name string) (io.Closer, error) {
	return nil, refused(name, syscall.EROFS)
}

func (ReadOnlyFS) MkdirAll(name string, _ os.FileMode) error { return refused(name, syscall.EROFS) }
func (ReadOnlyFS) Remove(name string) error                  { return refused(name, syscall.EROFS) }
func (ReadOnlyFS) Rename(name, _ string) error               { return refused(name, syscall.EROFS) }
func (ReadOnlyFS) Link(name, _ string) error                 { return refused(name, syscall.EROFS) }

// ClosedDirs lets no file be made. Those that are there can be written.
type ClosedDirs struct{ vfs.FS }

// Create fails as in a directory without the permission.
func (ClosedDirs) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused(name, syscall.EACCES)
}
