package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/disktest"
)

// A store can be checked on a read-only copy, with and without the lock file.
func TestCheckReadOnlyCopy(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, testOptions(nil))
	must(err)
	must(s.Close())

	for _, locked := range []bool{true, false} {
		opts := testOptions(disktest.ReadOnlyFS{FS: vfs.Default})
		opts.ReadOnly = true
		s, err := Open(dir, opts)
		if err != nil {
			t.Fatalf("lock file %v: %v", locked, err)
		}
		if findings, err := s.Check(); err != nil || len(findings) > 0 {
			t.Errorf("lock file %v: %q, %v", locked, findings, err)
		}

		must(s.Close())
		os.Remove(filepath.Join(dir, "LOCK"))
	}
}

// A directory in which no file can be made is refused at once, though its lock file can be
// written: Pebble would try to flush its log for ever.
func TestDirectoryWithoutWrites(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	newRig(61, 1).commit(t, s, 3, true)
	closeTest(t, s)

	ended := make(chan error, 1)
	go func() {
		_, err := Open("data", testOptions(disktest.ClosedDirs{FS: disk}))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("%v; want permission denied", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the start does not end")
	}
}
