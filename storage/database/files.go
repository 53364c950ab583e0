package database

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SyncDir makes the names in a directory durable.
func SyncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MakeDir makes a directory that is there after a crash.
func MakeDir(fsys vfs.FS, dir string) error {
	err := fsys.MkdirAll(dir, 0o700)
	if err == nil {
		err = SyncDir(fsys, fsys.PathDir(dir))
	}
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", dir, err)
	}
	return nil
}

// ReplaceFile writes a file so that a crash leaves the old content or the new one.
func ReplaceFile(fsys vfs.FS, path string, content []byte) error {
	fresh := path + ".new"
	f, err := fsys.Create(fresh, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}

	if err == nil {
		err = fsys.Rename(fresh, path)
	}
	if err == nil {
		err = SyncDir(fsys, fsys.PathDir(path))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// MoveFiles moves files to another directory, which it makes. After a crash none of them is
// in neither: the names in the new directory are durable before the old one loses them.
func MoveFiles(fsys vfs.FS, names []string, from, to string) error {
	if err := MakeDir(fsys, to); err != nil {
		return err
	}
	for _, name := range names {
		if err := fsys.Rename(fsys.PathJoin(from, name), fsys.PathJoin(to, name)); err != nil {
			return fmt.Errorf("cannot move %s to %s: %w", name, to, err)
		}
	}

	err := SyncDir(fsys, to)
	if err == nil {
		err = SyncDir(fsys, from)
	}
	return err
}
