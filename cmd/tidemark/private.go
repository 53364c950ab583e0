package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// narrowFiles has every file that the process makes be its user's alone: the
// names of accounts, the prefixes and hashes of keys are nobody else's.
func narrowFiles() { syscall.Umask(0o077) }

// makePrivate makes a data directory that only its user can enter, and narrows
// one that an earlier build left open, with everything in it.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the data directory: %w", err)
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("cannot find the data directory: %w", err)
	}

	err = filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a node that runs on it has removed a file; its lock refuses us
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || info.Mode()&0o077 == 0 || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o077)
	})
	if err != nil {
		return fmt.Errorf("cannot make the data directory %s private: %w", dir, err)
	}
	return nil
}
