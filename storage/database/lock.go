package database

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

// Lock keeps other processes out of the directory of a database until the lock is closed.
func Lock(dir string, fsys vfs.FS, readOnly bool) (*pebble.Lock, error) {
	if readOnly {
		fsys = readOnlyLock{fsys}
	}
	lock, err := pebble.LockDirectory(dir, fsys)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES) && !unwritable(err):
		return nil, fmt.Errorf("cannot open store %s: %w", dir, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("cannot lock store %s: %w", dir, err)
	}

	if !readOnly {
		if err := tryDir(dir, fsys); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot write to store %s: %w", dir, err), lock.Close())
		}
	}
	return lock, nil
}

// trialName is the name of a file that is made and removed when a store is opened.
const trialName = "TRIAL"

// tryDir makes a file in a directory, which its permissions may forbid although the lock
// file is there. Pebble would try to write its tables there again and again, without a
// pause, and its start would never end. Other failures are Pebble's to report: a disk that
// is full has a ballast.
func tryDir(dir string, fsys vfs.FS) error {
	path := fsys.PathJoin(dir, trialName)
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if unwritable(err) {
		return err
	}
	if err != nil {
		return nil
	}
	return errors.Join(f.Close(), fsys.Remove(path))
}

// readOnlyLock locks a directory for reading. If the lock file cannot be written,
// for example on a read-only mount, it takes a shared lock: several readers may
// hold it, but not while a node has the directory open.
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

// unwritable reports whether a file cannot be opened for writing. A lock that
// another process holds is EACCES on some systems too, but not a PathError.
func unwritable(err error) bool {
	var open *os.PathError
	return errors.As(err, &open) &&
		(errors.Is(open.Err, syscall.EROFS) || errors.Is(open.Err, os.ErrPermission))
}
