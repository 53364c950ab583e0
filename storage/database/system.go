package database

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// asideFS is the operating system's file system with syncs that hold no thread. A log
// is synced several times a second, which takes a disk milliseconds. On a machine with
// one processor nothing else would run meanwhile: the runtime takes a processor from a
// system call only when it has been in it for up to 10 ms.
type asideFS struct{ vfs.FS }

// SystemFS is the file system of every database that names no other.
var SystemFS vfs.FS = &asideFS{vfs.Default}

func (f *asideFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return aside(name)(f.FS.Create(name, c))
}

func (f *asideFS) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return aside(name)(f.FS.OpenReadWrite(name, c, opts...))
}

func (f *asideFS) OpenDir(name string) (vfs.File, error) {
	return aside(name)(f.FS.OpenDir(name))
}

func (f *asideFS) ReuseForWrite(
	old, name string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	return aside(name)(f.FS.ReuseForWrite(old, name, c))
}

// Unwrap returns the file system below.
func (f *asideFS) Unwrap() vfs.FS { return f.FS }

// asideFile is an open file or directory.
type asideFile struct {
	vfs.File
	name string
}

// aside makes what opened a file of a name return an asideFile.
func aside(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &asideFile{f, name}, nil
	}
}

func (f *asideFile) Sync() error {
	if taken, err := syncAside(f.Fd(), opSync); taken {
		return f.explain(err)
	}
	return f.File.Sync()
}

func (f *asideFile) SyncData() error {
	if taken, err := syncAside(f.Fd(), opSyncData); taken {
		return f.explain(err)
	}
	return f.File.SyncData()
}

// explain names the file in an error, as the operating system's files do.
func (f *asideFile) explain(err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "sync", Path: f.name, Err: err}
}
