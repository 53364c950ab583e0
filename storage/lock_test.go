package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnlyFS is a file system that was mounted read-only.
type readOnlyFS struct{ vfs.FS }

func refused(name string) error { return &os.PathError{Op: "open", Path: name, Err: syscall.EROFS} }

func (readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused(name)
}

func (readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, refused(name)
}
func (readOnlyFS) Lock(name string) (io.Closer, error)       { return nil, refused(name) }
func (readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return refused(name) }
func (readOnlyFS) Remove(name string) error                  { return refused(name) }
func (readOnlyFS) Rename(name, _ string) error               { return refused(name) }
func (readOnlyFS) Link(name, _ string) error                 { return refused(name) }

// Both stores can be checked on a read-only copy, with and without the lock file.
func TestCheckReadOnlyCopy(t *testing.T) {
	dir := t.TempDir()
	a, err := OpenAccounts(filepath.Join(dir, "accounts"), quietAccounts(vfs.Default))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(dir, "market"), testOptions(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Put(sampleAccounts()), a.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}

	for _, locked := range []bool{true, false} {
		o := quietAccounts(readOnlyFS{vfs.Default})
		o.ReadOnly = true
		a, err := OpenAccounts(filepath.Join(dir, "accounts"), o)
		if err != nil {
			t.Fatalf("accounts, lock file %v: %v", locked, err)
		}
		if findings, err := a.Check(); err != nil || len(findings) > 0 {
			t.Errorf("accounts, lock file %v: %q, %v", locked, findings, err)
		}
		opts := testOptions(readOnlyFS{vfs.Default})
		opts.ReadOnly = true
		s, err := Open(filepath.Join(dir, "market"), opts)
		if err != nil {
			t.Fatalf("market, lock file %v: %v", locked, err)
		}
		if findings, err := s.Check(); err != nil || len(findings) > 0 {
			t.Errorf("market, lock file %v: %q, %v", locked, findings, err)
		}

		if err := errors.Join(a.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"accounts", "market"} {
			os.Remove(filepath.Join(dir, name, "LOCK"))
		}
	}
}
