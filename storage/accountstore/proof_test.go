package accountstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"tidemark/storage/accounts"
	"tidemark/storage/disktest"
)

// lastLease is what the last batch of usedAccounts wrote.
const lastLease = 1000 + 19

// usedAccounts writes a few batches to a store, of which the last revokes a key and
// suspends an account. It returns the disk after a close or, if closed is false,
// after a kill.
func usedAccounts(t *testing.T, closed bool) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	a := openAccounts(t, fs)
	putAccounts(t, a)
	useAccounts(t, a)
	revokeKey(t, a)
	if closed {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return fs
	}

	t.Cleanup(func() { a.Close() })
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

// flushedAccounts writes the same batches, the revocation earlier, and returns the disk
// after a kill. The accounts and the revocation were flushed to tables, one after the
// other, and what followed is in the log.
func flushedAccounts(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	a := openAccounts(t, fs)
	t.Cleanup(func() { a.Close() })
	for _, write := range []func(*testing.T, *Store){putAccounts, revokeKey} {
		write(t, a)
		must(a.db.Flush())
	}
	useAccounts(t, a)
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

func putAccounts(t *testing.T, a *Store) {
	t.Helper()
	if err := a.Put(sampleAccounts()); err != nil {
		t.Fatal(err)
	}
}

func useAccounts(t *testing.T, a *Store) {
	t.Helper()
	flush := sampleFlush()
	for round := range int64(20) {
		flush.Months[1].Lease = 1000 + round
		if err := a.Flush(flush); err != nil {
			t.Fatal(err)
		}
	}
}

func revokeKey(t *testing.T, a *Store) {
	t.Helper()
	records, keys := sampleAccounts()
	records[0].Suspended, keys[0].RevokedAt = true, 99
	if err := a.Put(records[:1], keys[:1]); err != nil {
		t.Fatal(err)
	}
}

// checkUsed checks that the store has what usedAccounts wrote.
func checkUsed(a *Store) error {
	c, err := a.Load(november)
	if err != nil {
		return err
	}

	records, keys := sampleAccounts()
	records[0].Suspended, keys[0].RevokedAt = true, 99
	if diff := cmp.Diff(records, c.Accounts) + cmp.Diff(keys, c.Keys); diff != "" {
		return fmt.Errorf("accounts and keys (-want +got):\n%s", diff)
	}
	if len(c.Months) != 1 || c.Months[0].Lease != lastLease {
		return fmt.Errorf("months = %+v; want one, leased %d", c.Months, lastLease)
	}
	return nil
}

// filesOf lists the files of a store that a test damages.
func filesOf(t *testing.T, fs vfs.FS) (paths []string) {
	t.Helper()
	names, err := fs.List("accounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name != "LOCK" {
			paths = append(paths, "accounts/"+name)
		}
	}

	return append(paths, "accounts.proof")
}

// A proof is the hash that is documented: of the one before it, the number and the batch.
// Everything before counts, so that the same batch after another one has another proof.
func TestProofChain(t *testing.T) {
	var p, other proof
	for n, batch := range []string{"one", "two", "three"} {
		sum := sha256.New()
		sum.Write(p.chain[:])
		sum.Write([]byte{0, 0, 0, 0, 0, 0, 0, byte(n + 1)})
		sum.Write([]byte(batch))
		p = p.next([]byte(batch))
		if got := p.chain[:]; p.sequence != uint64(n+1) || !bytes.Equal(got, sum.Sum(nil)) {
			t.Errorf("batch %d of %q: number %d, %x", n+1, batch, p.sequence, got)
		}
	}

	for _, batch := range []string{"another", "two", "three"} {
		other = other.next([]byte(batch))
	}
	if other.sequence != p.sequence || other.chain == p.chain {
		t.Error("the first of three batches does not count")
	}
}

// A month with a route that there is not is damaged, whatever follows.
func TestUnknownRouteOfAMonth(t *testing.T) {
	f := func(route uint64, want bool) {
		t.Helper()
		b := binary.AppendUvarint(nil, 7)                           // the lease
		b = append(binary.AppendUvarint(append(b, 1), route), 1, 1) // the counts of a route
		b = append(b, 3, 0)                                         // the newest day, and nothing before it
		var m MonthRecord
		if err := m.decode(b); (err == nil) != want || want && (m.Lease != 7 || m.Day != 3) {
			t.Errorf("route %d of %d: %+v, %v", route, accounts.NumRoutes, m, err)
		}
	}

	f(accounts.NumRoutes-1, true)
	f(accounts.NumRoutes, false)
}

// Usage is loaded of the month that is asked for, and of none beside it.
func TestLoadOfAMonth(t *testing.T) {
	a := openAccounts(t, vfs.NewMem())
	defer a.Close()
	var flush Flush
	for n := range 4 {
		flush.Months = append(flush.Months, &MonthRecord{
			Account: 1, Tally: accounts.Tally{Month: november + accounts.Month(n), Lease: int64(n)},
		})
	}
	if err := a.Flush(&flush); err != nil {
		t.Fatal(err)
	}

	for n := range 4 {
		c, err := a.Load(november + accounts.Month(n))
		if err != nil || len(c.Months) != 1 || c.Months[0].Lease != int64(n) {
			t.Errorf("month %d: %+v, %v", n, c.Months, err)
		}
	}
}

// unreadable is a disk on which no file can be opened.
type unreadable struct{ vfs.FS }

func (unreadable) Open(string, ...vfs.OpenOption) (vfs.File, error) { return nil, fs.ErrPermission }

// A proof that cannot be opened is an error, not one that is not there.
func TestProofThatCannotBeOpened(t *testing.T) {
	p, err := readProof(unreadable{vfs.NewMem()}, "accounts.proof")
	if p != nil || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "cannot open accounts.proof") {
		t.Errorf("a file that cannot be opened: %+v, %v", p, err)
	}
}

// One slot of the proof file is enough, and so the file may end behind it; a file without
// a whole slot proves nothing.
func TestProofIsCutOff(t *testing.T) {
	f := func(size int, opens bool) {
		t.Helper()
		fs := usedAccounts(t, true)
		file, err := fs.Open("accounts.proof")
		must(err)
		content, err := io.ReadAll(file)
		must(errors.Join(err, file.Close()))
		short, err := fs.Create("accounts.proof", vfs.WriteCategoryUnspecified)
		must(err)
		_, err = short.Write(content[:size])
		must(errors.Join(err, short.Close()))

		a, err := Open("accounts", quietAccounts(fs))
		if !opens {
			if err == nil || !strings.Contains(err.Error(), "cannot read accounts.proof: both slots are damaged") {
				t.Errorf("a proof of %d bytes: %v", size, err)
			}
			return
		}
		if err != nil {
			t.Errorf("a proof of %d bytes: %v", size, err)
			return
		}
		if err := errors.Join(checkUsed(a), a.Close()); err != nil {
			t.Errorf("with a proof of %d bytes: %v", size, err)
		}
	}

	f(proofFileSize, true)
	f(proofSlot, true)
	f(proofBytes, true)
	f(proofBytes-1, false)
	f(0, false)
}

// A store that lacks acknowledged batches is refused, and the loss can be accepted.
func TestLost(t *testing.T) {
	f := func(what string, closed bool, remove func(vfs.FS, string) bool, says ...string) {
		t.Helper()
		fs := usedAccounts(t, closed)
		for _, path := range append(filesOf(t, fs), "accounts") {
			if remove(fs, path) {
				if err := fs.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}

		_, err := Open("accounts", quietAccounts(fs))
		var lost *Lost
		if !errors.As(err, &lost) {
			t.Errorf("%s: error = %v; want Lost", what, err)
			return
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", what, err, s)
			}
		}
		if _, err := Open("accounts", quietAccounts(fs)); err == nil {
			t.Errorf("%s: refused once, opened the second time", what)
		}

		o := quietAccounts(fs)
		o.AcceptLost = true
		accepted, err := Open("accounts", o)
		if err != nil {
			t.Errorf("%s: cannot be accepted: %v", what, err)
			return
		}
		if err := errors.Join(accepted.Flush(sampleFlush()), accepted.Close()); err != nil {
			t.Errorf("%s: after it was accepted: %v", what, err)
		}
		again, err := Open("accounts", quietAccounts(fs))
		if err != nil {
			t.Errorf("%s: the start after it was accepted: %v", what, err)
			return
		}
		again.Close()
	}

	name := func(part string) func(vfs.FS, string) bool {
		return func(_ vfs.FS, path string) bool { return strings.Contains(path, part) }
	}
	whole := func(_ vfs.FS, path string) bool { return path == "accounts" }

	f("a removed log", false, name(".log"), "ends at batch 0", "batch 23", "23 batches")
	f("a removed marker, killed", false, name("marker.manifest"), "no database", "batch 23")
	f("a removed marker, closed", true, name("marker.manifest"), "no database", "batch 23")
	f("a removed directory", true, whole, "the directory is gone", "batch 23")
	f("a removed proof", true, name(".proof"), "accounts.proof is gone", "batch 23")
	f("no marker and no proof", true, func(_ vfs.FS, path string) bool {
		return strings.Contains(path, "marker.manifest") || strings.Contains(path, ".proof")
	}, "no database")
}

// An older copy of the directory is refused, even if more batches were written to
// it.
func TestStoreOfAnotherTime(t *testing.T) {
	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	flush := sampleFlush()
	if err := errors.Join(a.Put(sampleAccounts()), a.Checkpoint("early"), a.Flush(flush)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Flush(flush), a.Close()); err != nil {
		t.Fatal(err)
	}
	early, err := Open("early", quietAccounts(fs))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		flush.Months[1].Lease++
		if err := early.Flush(flush); err != nil {
			t.Fatal(err)
		}
	}
	if err := early.Close(); err != nil {
		t.Fatal(err)
	}

	for _, err := range []error{fs.RemoveAll("accounts"), fs.Rename("early", "accounts")} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if _, err := Open("accounts", quietAccounts(fs)); err == nil ||
		!strings.Contains(err.Error(), "does not continue batch") {
		t.Errorf("error = %v; want one that tells another history", err)
	}
}

// A store that was closed in order needs nothing of its log.
func TestCloseFlushes(t *testing.T) {
	fs := usedAccounts(t, true)
	removed := 0
	for _, path := range filesOf(t, fs) {
		if strings.HasSuffix(path, ".log") {
			removed++
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}

	a, err := Open("accounts", quietAccounts(fs))
	if err != nil || removed == 0 {
		t.Fatalf("%d logs removed: %v", removed, err)
	}
	if err := errors.Join(checkUsed(a), a.Close()); err != nil {
		t.Error(err)
	}
}

// Damage of a table is found when the store is opened, also of records that the
// start does not need.
func TestDamageIsFoundAtStart(t *testing.T) {
	source := vfs.NewMem()
	a := openAccounts(t, source)
	var months []*MonthRecord
	for id := range uint64(3000) {
		months = append(months, &MonthRecord{Account: id + 1, Tally: accounts.Tally{Month: 600, Lease: int64(id)}})
	}
	if err := errors.Join(a.Flush(&Flush{Months: months}), a.Close()); err != nil {
		t.Fatal(err)
	}

	flipped := 0
	for _, path := range filesOf(t, source) {
		if !strings.HasSuffix(path, ".sst") {
			continue
		}
		for part := range int64(8) { // of the first half, which has records only
			fs := vfs.NewMem()
			if _, err := vfs.Clone(source, fs, "", ""); err != nil {
				t.Fatal(err)
			}
			info, err := fs.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			disktest.FlipBitAt(t, fs, path, info.Size()*part/16, 1)
			flipped++

			opened, err := Open("accounts", quietAccounts(fs))
			var damage *Damage
			if !errors.As(err, &damage) || damage.Dir != "accounts" || damage.Table == nil || damage.Table.File != path {
				t.Errorf("%s of %d bytes, flipped at %d/16: opened with %v", path, info.Size(), part, err)
			}
			if err == nil {
				opened.Close()
			}
		}
	}
	if flipped == 0 {
		t.Error("there is no table")
	}
}

// A store with a flipped bit is refused, or it still has every acknowledged batch.
// A flip never ends the process.
func TestAccountsFlips(t *testing.T) {
	flips := disktest.Share(40, 40, 150) // of each file, in each state
	rng := rand.New(rand.NewPCG(3, 4))
	counts, total := map[string]int{}, 0
	for i, source := range []*vfs.MemFS{
		usedAccounts(t, false), usedAccounts(t, true), flushedAccounts(t),
	} {
		for _, path := range filesOf(t, source) {
			if info, err := source.Stat(path); err != nil || info.Size() == 0 {
				continue // its name is all it has
			}
			for range flips {
				fs := vfs.NewMem()
				if _, err := vfs.Clone(source, fs, "", ""); err != nil {
					t.Fatal(err)
				}
				at := disktest.FlipBit(t, fs, path, rng)
				outcome, err := openFlipped(fs)
				if err != nil {
					t.Errorf("disk %d, %s, byte %d: %v", i, path, at, err)
				}
				counts[outcome]++
				total++
			}
		}
	}

	disktest.Figure(t, "%d bits flipped in files of the accounts' store: %v; 0 unnoticed, 0 process ends",
		total, counts)
	if counts["lost"] == 0 || counts["damaged"] == 0 || counts["harmless"] == 0 {
		t.Errorf("outcomes: %v; want some of each", counts)
	}
}

// openFlipped opens a damaged store and returns the outcome. An error is an
// outcome that must not happen.
func openFlipped(fs vfs.FS) (outcome string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()

	a, err := Open("accounts", quietAccounts(fs))
	var lost *Lost
	var damage *Damage
	switch {
	case errors.As(err, &lost):
		return "lost", nil
	case errors.As(err, &damage) && (damage.Err == nil || damage.Dir != "accounts"):
		return "damaged", fmt.Errorf("no cause or no directory is given: %w", damage)
	case errors.As(err, &damage):
		return "damaged", nil
	case err != nil:
		return "refused", err // without the way out
	}

	err = checkUsed(a)
	if errors.As(err, &damage) {
		return "damaged", a.Close()
	}
	return "harmless", errors.Join(err, a.Close())
}

const failingDiskEnv = "TIDEMARK_TEST_FAILING_DISK"

// Whichever file operation fails, the store can be opened afterwards without
// accepting a loss, and has every acknowledged batch. A store that ends its process
// leaves goroutines behind, so the test runs in a process of its own.
func TestFailingDisk(t *testing.T) {
	if os.Getenv(failingDiskEnv) != "" {
		os.Exit(failEveryOperation())
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFailingDisk$")
	child.Env = append(os.Environ(), failingDiskEnv+"=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	disktest.Figure(t, "%s", out)
}

func failEveryOperation() (code int) {
	report := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		code = 1
	}
	n := int32(0)
	for ; ; n++ {
		disk := vfs.NewCrashableMem()
		acknowledged, reached := useFailingDisk(disk, n)
		if !reached {
			break // no operation has that number any more
		}

		a, err := Open("accounts", quietAccounts(disk.CrashClone(vfs.CrashCloneCfg{})))
		if err != nil {
			report("operation %d failed, then: %v", n, err)
			continue
		}
		m, err := a.Month(2, november)
		if err != nil || m.Lease < acknowledged {
			report("operation %d failed: lease %d, %v; %d was acknowledged", n, m.Lease, err, acknowledged)
		}
		if err := a.Close(); err != nil {
			report("operation %d failed, then: %v", n, err)
		}
	}

	if n < 50 {
		report("only %d operations were made to fail", n)
	}
	fmt.Printf("%d file operations of the accounts' store failed in turn: 0 acknowledged batches lost", n)
	return code
}

// useFailingDisk writes ever larger leases to a disk whose n-th operation
// fails, and returns the last that was acknowledged before the process ended.
func useFailingDisk(disk vfs.FS, n int32) (acknowledged int64, reached bool) {
	ended := make(chan struct{})
	var last atomic.Int64
	injector := errorfs.OnIndex(n)
	o := quietAccounts(errorfs.Wrap(disk, errorfs.ErrInjected.If(injector)))
	o.Exit = func() {
		ended <- struct{}{}
		select {} // nothing of the process goes on
	}

	go func() {
		defer func() { ended <- struct{}{} }()
		a, err := Open("accounts", o)
		if err != nil {
			return
		}
		if a.Put(sampleAccounts()) == nil {
			flush := sampleFlush()
			for lease := int64(100); lease < 110; lease++ {
				flush.Months[1].Lease = lease
				if a.Flush(flush) == nil {
					last.Store(lease)
				}
			}
		}
		// It is not closed: Pebble ends the process if a log cannot be rotated.
	}()

	<-ended
	return last.Load(), injector.Load() < 0
}
