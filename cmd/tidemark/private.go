package main

import (
	"fmt"
	"os"
	"syscall"
)

// narrowFiles has every file that the process makes be its user's alone: the
// names of accounts, the prefixes and hashes of keys are nobody else's.
func narrowFiles() { syscall.Umask(0o077) }

// makePrivate makes a data directory that only its user can enter, or narrows one that is
// there. What is in it needs no mode of its own then, and may be another program's.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode()&0o077 != 0 {
		err = os.Chmod(dir, info.Mode().Perm()&^0o077)
	}
	if err != nil {
		return fmt.Errorf("cannot make the data directory %s private: %w", dir, err)
	}
	return nil
}
