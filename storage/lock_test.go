package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// A directory in which no file can be made is refused at once, though its lock file can be
// written: Pebble would try to flush its log for ever.
func TestDirectoryWithoutWrites(t *testing.T) {
	f := func(name string, open func(fs vfs.FS) error) {
		t.Helper()
		disk := vfs.NewMem()
		if err := open(disk); err != nil {
			t.Fatal(err)
		}

		ended := make(chan error, 1)
		go func() { ended <- open(closedDirs{disk}) }()
		select {
		case err := <-ended:
			if !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: %v; want permission denied", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the start does not end", name)
		}
	}

	f("market", func(fs vfs.FS) error {
		s, err := Open("data", testOptions(fs))
		if err != nil {
			return err
		}
		newRig(61, 1).commit(t, s, 3, true)
		return s.Close()
	})
	f("accounts", func(fs vfs.FS) error {
		a, err := OpenAccounts("data/accounts", quietAccounts(fs))
		if err != nil {
			return err
		}
		return errors.Join(a.Put(sampleAccounts()), a.Close())
	})
}

// closedDirs lets no file be made. Those that are there can be written.
type closedDirs struct{ vfs.FS }

func (closedDirs) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EACCES}
}
