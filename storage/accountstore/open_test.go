package accountstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/storage/database"
	"tidemark/storage/disktest"
)

// TestDefaults: what is not set gets its default, and what is set stays.
func TestDefaults(t *testing.T) {
	o := Options{}.withDefaults()
	if o.MinFreeBytes != 64<<20 || o.Logger != slog.Default() || o.Exit == nil ||
		o.FS != database.SystemFS || o.ReadOnly || o.AcceptLost {
		t.Errorf("the defaults are %+v", o)
	}

	quiet, disk, ended := slog.New(slog.DiscardHandler), vfs.NewMem(), 0
	o = Options{MinFreeBytes: 4, Logger: quiet, FS: disk, Exit: func() { ended++ }}.withDefaults()
	if o.Exit(); ended != 1 || o.MinFreeBytes != 4 || o.Logger != quiet || o.FS != disk {
		t.Errorf("what was set is %+v", o)
	}
}

// What the store of accounts could not close is told: its last batches may be missing.
func TestCloseFails(t *testing.T) {
	broken := errors.New("broken")
	a := openAccounts(t, vfs.NewMem())
	a.proof = disktest.Unclosable{File: a.proof, Err: broken}
	if err := a.Close(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "cannot close accounts") {
		t.Errorf("Close = %v; want that the proof could not be closed", err)
	}
}

// Files of a database without its marker are never taken for an empty directory.
func TestFilesWithoutMarker(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		disk := vfs.NewMem()
		must(disk.MkdirAll("accounts", 0o700))
		f, err := disk.Create("accounts/000004.log", vfs.WriteCategoryUnspecified)
		must(errors.Join(err, f.Close()))

		o := quietAccounts(disk)
		o.ReadOnly = readOnly
		var lost *Lost
		if _, err := Open("accounts", o); !errors.As(err, &lost) ||
			!strings.Contains(err.Error(), "only 000004.log and 0 more files of one") {
			t.Errorf("read-only %t: %v; want that a database is lost", readOnly, err)
		}
		if _, err := disk.Stat("accounts/000004.log"); err != nil {
			t.Errorf("read-only %t: %v", readOnly, err)
		}
	}
}

// What differs between the store and its proof is told apart: batches that are missing,
// and a directory of another time.
func TestFindLoss(t *testing.T) {
	a := &Store{dir: "accounts", proofPath: "accounts.proof"}
	f := func(stored, acknowledged uint64, says string) {
		t.Helper()
		p := proof{sequence: acknowledged}
		p.chain[0] = 1
		// A mark that is left matters only where the store has the last batch.
		err := a.findLoss(&storedProof{proof: proof{sequence: stored}}, &acknowledgement{proof: p}, []uint64{3})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the store at %d, the proof at %d: %v; want %q", stored, acknowledged, err, says)
		}
	}

	f(4, 6, "2 batches of accounts, keys and usage are missing")
	f(5, 6, "1 batches of accounts, keys and usage are missing")
	f(6, 6, "does not continue batch 6")
	f(8, 6, "batch 8 of the store does not continue batch 6")
	last := proof{sequence: 6}
	whole := func(older ...uint64) error {
		return a.findLoss(&storedProof{proof: last}, &acknowledgement{proof: last}, older)
	}
	if err := whole(); err != nil {
		t.Errorf("a store with all batches: %v", err)
	}
	if err := whole(3); err == nil || !strings.Contains(err.Error(), "batches between 3 and 6") {
		t.Errorf("a store with an older mark: %v", err)
	}
	if err := a.findLoss(&storedProof{}, nil, nil); err != nil {
		t.Errorf("an empty store without a proof: %v", err)
	}
	if err := a.findLoss(&storedProof{proof: proof{sequence: 1}}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "accounts.proof is gone") {
		t.Errorf("a store without a proof: %v", err)
	}
}

// TestDamageOfAccountsIsNamed: the directory is named, and the table if it is one.
func TestDamageOfAccountsIsNamed(t *testing.T) {
	cause := errors.New("why")
	d := &Damage{Dir: "x", Err: cause}
	if d.Error() != "accounts in x are damaged: why" || !errors.Is(d, cause) {
		t.Errorf("%v", d)
	}
	d.Table = &database.TableDamage{File: "f", Lower: []byte{1}, Upper: []byte{2}, What: "bad"}
	if d.Error() != "accounts in x are damaged: file f, keys 01 to 02: bad" {
		t.Errorf("%v", d)
	}
}

// TestEmptyDirectoryOfAccounts: a directory that had data and has none is a loss, and one
// that cannot be made is an error that says so.
func TestEmptyDirectoryOfAccounts(t *testing.T) {
	fs := usedAccounts(t, true)
	for _, name := range disktest.List(t, fs, "accounts") {
		must(fs.RemoveAll("accounts/" + name))
	}
	var lost *Lost
	for _, readOnly := range []bool{true, false} {
		o := quietAccounts(fs)
		o.ReadOnly = readOnly
		if _, err := Open("accounts", o); !errors.As(err, &lost) || !strings.Contains(err.Error(), "there is no database in it") {
			t.Errorf("read-only %t: %v; want that there is no database", readOnly, err)
		}
	}

	fails := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpMkdirAll {
			return syscall.EACCES
		}
		return nil
	}))
	if _, err := Open("accounts", quietAccounts(fails)); !errors.Is(err, syscall.EACCES) ||
		!strings.Contains(err.Error(), "cannot make directory of accounts accounts") {
		t.Errorf("a directory that cannot be made: %v", err)
	}
}

// Corruption that Pebble reports is damage of the accounts, once.
func TestCorruptionIsDamage(t *testing.T) {
	a := &Store{dir: "accounts"}
	cause := fmt.Errorf("a bad checksum: %w", pebble.ErrCorruption)
	var damage *Damage
	err := a.asDamage(cause)
	if !errors.As(err, &damage) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "a bad checksum") {
		t.Errorf("damage of accounts is %v", err)
	}
	if again := a.asDamage(err); again != err {
		t.Errorf("damage that is known is %v", again)
	}
}

// A proof that was not written is an error: the sync after it does not hide it.
func TestFailedProofIsReported(t *testing.T) {
	broken := errors.New("broken")
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt {
			return broken
		}
		return nil
	}))

	f, err := fs.OpenReadWrite("proof", vfs.WriteCategoryUnspecified)
	must(err)
	if err := writeProof(f, &proof{sequence: 1}); !errors.Is(err, broken) {
		t.Errorf("a proof that was not written: %v", err)
	}
	must(f.Close())
}

// Accounts can be checked on a read-only copy, with and without the lock file.
func TestCheckReadOnlyCopy(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, quietAccounts(vfs.Default))
	must(err)
	must(errors.Join(s.Put(sampleAccounts()), s.Close()))

	for _, locked := range []bool{true, false} {
		o := quietAccounts(disktest.ReadOnlyFS{FS: vfs.Default})
		o.ReadOnly = true
		s, err := Open(dir, o)
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
	s := openAccounts(t, disk)
	must(errors.Join(s.Put(sampleAccounts()), s.Close()))

	ended := make(chan error, 1)
	go func() {
		_, err := Open("accounts", quietAccounts(disktest.ClosedDirs{FS: disk}))
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
