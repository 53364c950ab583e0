package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrLocked is the error of a directory that another process has open.
var ErrLocked = errors.New("another process has it open; is a node running on it?")

// lockDir keeps other processes out of a directory until the lock is closed.
func lockDir(dir string, fs vfs.FS, readOnly bool) (*pebble.Lock, error) {
	if readOnly {
		fs = readOnlyLock{fs}
	}
	lock, err := pebble.LockDirectory(dir, fs)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("cannot open store %s: %w", dir, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("cannot lock store %s: %w", dir, err)
	}
	return lock, nil
}

// readOnlyLock locks for readers: where the lock file cannot be written, as on
// a file system that is mounted read-only, a shared lock must do. It keeps no
// second reader out, but finds a node that has the directory open.
type readOnlyLock struct{ vfs.FS }

func (l readOnlyLock) Lock(name string) (io.Closer, error) {
	lock, err := l.FS.Lock(name)
	if !unwritable(err) {
		return lock, err
	}

	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(nil), nil // a copy without its lock file
	}
	if err != nil {
		return nil, err
	}
	shared := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &shared); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unwritable tells a file that may not be opened for writing from a lock that
// another process has, which is EACCES on some systems too.
func unwritable(err error) bool {
	var open *os.PathError
	return errors.As(err, &open) &&
		(errors.Is(open.Err, syscall.EROFS) || errors.Is(open.Err, os.ErrPermission))
}
