package storage

import (
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/pace"
)

// pacedFS is a file system on which flushes, compactions and the log give way to requests.
// Pebble starts them by itself. Flushes and compactions merge and compress for up to seconds,
// and the log of a refresh is several megabytes: a request on a node with one processor would
// wait for up to 10 ms. All that they do ends in writing a block or less at a time, so they
// pause there. Pebble compares file systems, so it is used by its address.
type pacedFS struct {
	vfs.FS
	requests func() uint64
}

func (f *pacedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	return f.paced(file, name, err)
}

func (f *pacedFS) ReuseForWrite(
	old, name string, category vfs.DiskWriteCategory,
) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(old, name, category)
	return f.paced(file, name, err)
}

func (f *pacedFS) paced(file vfs.File, name string, err error) (vfs.File, error) {
	switch {
	case err != nil:
		return file, err
	case strings.HasSuffix(name, ".sst"):
		return &pacedFile{file, pace.New(f.requests)}, nil
	case strings.HasSuffix(name, ".log"):
		return &pacedLog{pacedFile: pacedFile{File: file}, requests: f.requests}, nil
	}
	return file, nil
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

// pacedLog is a log that is being written. Between two writes of a table its keys are merged,
// which is work; a log waits for the next commit.
type pacedLog struct {
	pacedFile
	requests func() uint64
	wrote    time.Time
}

// restAfter is how long a log was not written when a new piece of work begins: it has done
// nothing meanwhile for which its pauses would have to make up.
const restAfter = time.Millisecond

func (f *pacedLog) Write(p []byte) (n int, err error) {
	if time.Since(f.wrote) > restAfter {
		f.pacer = pace.New(f.requests)
	}
	n, err = f.pacedFile.Write(p)
	f.wrote = time.Now()
	return n, err
}
