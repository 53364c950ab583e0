package database

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestLockRefused checks that a directory that this process may not enter is not taken for
// one that another has open.
func TestLockRefused(t *testing.T) {
	f := func(err error, locked bool) {
		t.Helper()
		_, got := Lock("x", refusingFS{vfs.NewMem(), err}, false)
		if errors.Is(got, ErrLocked) != locked || !locked && !errors.Is(got, err) {
			t.Errorf("%v: %v; want it taken for locked: %t", err, got, locked)
		}
	}

	f(syscall.EAGAIN, true)
	f(syscall.EACCES, true) // of fcntl on some systems
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EACCES}, false)
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EROFS}, false)
}

// refusingFS locks nothing.
type refusingFS struct {
	vfs.FS
	err error
}

func (f refusingFS) Lock(string) (io.Closer, error) { return nil, f.err }

// TestUnwritable: only a file that may not be written is taken for one of a read-only
// disk, and not a lock that someone holds.
func TestUnwritable(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if got := unwritable(err); got != want {
			t.Errorf("%v: unwritable %t; want %t", err, got, want)
		}
	}

	f(nil, false)
	f(syscall.EACCES, false)
	f(syscall.EAGAIN, false)
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EROFS}, true)
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EACCES}, true)
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.EIO}, false)
	f(&os.PathError{Op: "open", Path: "LOCK", Err: syscall.ENOENT}, false)
}
