package storage

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/pace"
)

// pacedFS is a file system on which flushes and compactions give way to requests.
// Pebble starts them by itself, and each merges and compresses for up to seconds,
// in which a request on a node with one processor waits for 10 ms. All they do
// ends in writing a table, a block or less at a time, so they pause there. Pebble compares
// file systems, so it is used by its address.
type pacedFS struct {
	vfs.FS
	requests func() uint64
}

func (f *pacedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return file, err
	}
	return &pacedFile{file, pace.New(f.requests)}, nil
}

// Unwrap returns the file system below.
func (f *pacedFS) Unwrap() vfs.FS { return f.FS }

// pacedFile is a table that is being written.
type pacedFile struct {
	vfs.File
	pacer *pace.Pacer
}

func (f *pacedFile) Write(p []byte) (int, error) {
	f.pacer.Pause()
	return f.File.Write(p)
}
