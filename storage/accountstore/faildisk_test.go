package accountstore

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/storage/disktest"
)

// Whichever file operation of proving a copy of the accounts fails, that is an error, or
// the copy is proved.
func TestCopiesOnAFailingDisk(t *testing.T) {
	refused := 0
	for n := int64(0); ; n++ {
		var armed atomic.Bool
		var operations atomic.Int64
		disk := vfs.NewMem()
		a := openAccounts(t, disktest.FailingOn(disk, n, &operations, func(op errorfs.Op) bool {
			return armed.Load() && strings.HasPrefix(op.Path, "copy")
		}))
		must(errors.Join(a.Put(sampleAccounts()), a.Checkpoint("copy"), disk.Remove("copy.proof")))

		armed.Store(true)
		err := a.proveCopy("copy")
		armed.Store(false)
		must(a.Close())
		if err != nil {
			refused++
		} else {
			b, err := Open("copy", quietAccounts(disk))
			if err != nil {
				t.Fatalf("operation %d failed, and the copy is taken for whole: %v", n, err)
			}
			if c, err := b.Load(november); err != nil || len(c.Accounts) != 2 {
				t.Errorf("operation %d failed: the copy has %+v, %v", n, c, err)
			}
			must(b.Close())
		}
		if operations.Load() <= n {
			break
		}
	}
	if refused < 5 {
		t.Errorf("%d operations were made to fail; want more", refused)
	}
}

// If a file of lost accounts cannot be set aside, the start is refused and no other is
// moved: a start that follows sets the rest aside.
func TestSetAsideOnAFailingDisk(t *testing.T) {
	fs := usedAccounts(t, true)
	for _, path := range filesOf(t, fs) {
		if strings.Contains(path, "marker.manifest") {
			must(fs.RemoveAll(path))
		}
	}
	before := disktest.List(t, fs, "accounts")

	renames := 0
	o := quietAccounts(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRename {
			if renames++; renames == 2 {
				return syscall.EIO
			}
		}
		return nil
	})))
	o.AcceptLost = true
	if _, err := Open("accounts", o); !errors.Is(err, syscall.EIO) ||
		!strings.Contains(err.Error(), "cannot move what is left of accounts to accounts.lost-") || renames != 2 {
		t.Errorf("the start: %v, after %d renames; want that files could not be moved", err, renames)
	}
	if left := disktest.List(t, fs, "accounts"); len(left) != len(before)-1 {
		t.Errorf("%v are left of %v; want all but one", left, before)
	}

	a, err := Open("accounts", o)
	must(err)
	must(a.Close())
}

// Lost accounts that are set aside are there after a crash.
func TestSetAsideSurvivesACrash(t *testing.T) {
	disk := usedAccounts(t, true)
	table := ""
	for _, path := range filesOf(t, disk) {
		switch {
		case strings.Contains(path, "marker.manifest"):
			must(disk.RemoveAll(path))
		case strings.HasSuffix(path, ".sst"):
			table = strings.TrimPrefix(path, "accounts/")
		}
	}

	o := quietAccounts(disk)
	o.AcceptLost = true
	a, err := Open("accounts", o)
	must(errors.Join(err, a.Close()))
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	aside := slices.DeleteFunc(disktest.List(t, crashed, ""), func(name string) bool {
		return !strings.HasPrefix(name, "accounts.lost-")
	})
	if len(aside) != 1 || !slices.Contains(disktest.List(t, crashed, aside[0]), table) {
		t.Errorf("table %q of lost accounts is not in %v after a crash", table, aside)
	}
}
