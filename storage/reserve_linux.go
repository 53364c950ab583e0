package storage

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// reserve gives an empty file a size and the blocks for it, without writing them. It
// reports false where that cannot be done, and then changes nothing.
func reserve(f vfs.File, bytes int64) bool {
	fd := f.Fd()
	return fd != vfs.InvalidFd && unix.Fallocate(int(fd), 0, 0, bytes) == nil
}
