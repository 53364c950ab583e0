package storage

import (
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// overlayFS is a file system whose new files are in memory. A store that is opened to be
// read gets its stand-ins there, so that nothing on the disk is changed.
type overlayFS struct {
	vfs.FS
	memory *vfs.MemFS
}

func newOverlay(below vfs.FS, dir string) (*overlayFS, error) {
	memory := vfs.NewMem()
	return &overlayFS{below, memory}, memory.MkdirAll(dir, 0o755)
}

// layer returns the file system that has a file.
func (f *overlayFS) layer(name string) vfs.FS {
	if _, err := f.memory.Stat(name); err == nil {
		return f.memory
	}
	return f.FS
}

func (f *overlayFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.memory.Create(name, category)
}

// Rename renames a file in memory.
func (f *overlayFS) Rename(from, to string) error { return f.memory.Rename(from, to) }

func (f *overlayFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.layer(name).Open(name, opts...)
}

// OpenDir returns a directory in memory, which costs nothing to sync.
func (f *overlayFS) OpenDir(name string) (vfs.File, error) { return f.layer(name).OpenDir(name) }

func (f *overlayFS) Stat(name string) (vfs.FileInfo, error) { return f.layer(name).Stat(name) }

func (f *overlayFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil {
		return nil, err
	}

	added, _ := f.memory.List(dir) // there is none of a directory without new files
	names = append(names, added...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Unwrap returns the file system below.
func (f *overlayFS) Unwrap() vfs.FS { return f.FS }
