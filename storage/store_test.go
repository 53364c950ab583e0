package storage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"tidemark/storage/database"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/VictoriaMetrics/metrics.summariesSwapCron"))
}

// holdDirEnv makes this test binary a second process: it opens the store in the
// directory named and keeps it open until its input ends.
const holdDirEnv = "TIDEMARK_TEST_HOLD_STORE"

func TestOpenRefusesASecondProcess(t *testing.T) {
	if dir := os.Getenv(holdDirEnv); dir != "" {
		hold(dir)
	}

	dir := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), holdDirEnv+"="+dir)
	in, err := other.StdinPipe()
	must(err)
	out, err := other.StdoutPipe()
	must(err)
	must(other.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the other process says %q", line)
	}

	_, err = Open(dir, testOptions(nil))
	if !errors.Is(err, database.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second open gave %v", err)
	}

	must(in.Close())
	must(other.Wait())
	s, err := Open(dir, testOptions(nil))
	if err != nil {
		t.Fatal(err)
	}

	closeTest(t, s)
}

func hold(dir string) {
	s, err := Open(dir, testOptions(nil))
	must(err)
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	must(s.Close())
	os.Exit(0)
}

func TestOpenRefusesAnotherFormat(t *testing.T) {
	f := func(format, message string) {
		t.Helper()
		fs := vfs.NewMem()
		s := openTest(t, fs)
		must(s.db.Set(formatKey, []byte(format), pebble.Sync))
		closeTest(t, s)
		_, err := Open("data", testOptions(fs))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), message) {
			t.Errorf("format %q gave %v", format, err)
		}
	}

	f("1", `unknown format "1"; this program reads 3 to 11`)
	f("12", `unknown format "12"`)
	f("0", `unknown format "0"`)
	f("one", `unknown format "one"`)
}

// TestOpenRaisesTheFormat opens a store of the format before: no commit has a number
// and no head is kept apart. Nothing of it may look lost, and commits go on.
func TestOpenRaisesTheFormat(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	g := newRig(4, 1)
	g.commit(t, s, 20, true)
	closeTest(t, s)
	s = openTest(t, fs) // the first commit of a process leaves no patches, which that format has not
	old := g.commit(t, s, 20, true)
	must(s.db.Delete(appendKind(nil, 1, kindCommit), pebble.Sync))
	must(s.db.Set(formatKey, []byte("3"), pebble.Sync))
	closeTest(t, s)
	must(fs.Remove("data.heads"))

	for range 2 {
		s = openTest(t, fs)
		if r := s.Rollback(1); r != nil {
			t.Errorf("nothing is lost; got %v", r)
		}
		holds(t, s, old)
		if format, _, err := s.get(formatKey, nil); err != nil || string(format) != "11" {
			t.Errorf("format = %q, %v; want 11", format, err)
		}
		closeTest(t, s)
	}

	s = openTest(t, fs)
	next := g.commit(t, s, 5, true)
	closeTest(t, s)
	s = openTest(t, fs)
	holds(t, s, next)
	closeTest(t, s)
}

func TestOpenRefusesADatabaseThatIsNoStore(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	must(s.db.Delete(formatKey, pebble.Sync))
	must(s.db.Set([]byte("theirs"), nil, pebble.Sync))
	closeTest(t, s)
	must(fs.Remove("data/" + headerName))
	if _, err := Open("data", testOptions(fs)); !errors.Is(err, ErrFormat) {
		t.Errorf("foreign keys gave %v", err)
	}
}

func TestIdentity(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	f := func(set, want []Pair) {
		t.Helper()
		if err := s.SetIdentity(set); err != nil {
			t.Fatal(err)
		}
		if got := s.Identity(); !slices.Equal(got, want) {
			t.Errorf("identity is %v; want %v", got, want)
		}
	}

	f(nil, nil)
	f([]Pair{{"seed", "1"}, {"feed", "sim"}, {"chain/1", "a\x00b"}},
		[]Pair{{"chain/1", "a\x00b"}, {"feed", "sim"}, {"seed", "1"}})
	f([]Pair{{"feed", "rpc"}}, []Pair{{"feed", "rpc"}})
	closeTest(t, s)
	s = openTest(t, fs)
	f([]Pair{{"feed", ""}, {"z", "z"}}, []Pair{{"feed", ""}, {"z", "z"}})
	closeTest(t, s)
}

func TestReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	g := newRig(1, 1)
	want := g.commit(t, s, 30, true)
	closeTest(t, s)
	s = openToRead(t, fs)
	holds(t, s, want)
	f := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s gave %v", what, err)
		}
	}

	f("commit", s.Commit(g.cut(1, true)))
	f("drop", s.DropChain(1))
	f("identity", s.SetIdentity(nil))
	closeTest(t, s)
}

func TestCheckpointIsAStore(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	g := newRig(2, 1)
	want := g.commit(t, s, 30, true)
	if err := s.Checkpoint("backup"); err != nil {
		t.Fatal(err)
	}

	later := g.commit(t, s, 30, true)
	if err := s.Checkpoint("backup"); err == nil {
		t.Error("a backup replaced another")
	}

	backup, err := Open("backup", testOptions(fs))
	if err != nil {
		t.Fatal(err)
	}

	holds(t, backup, want)
	holds(t, s, later)
	closeTest(t, backup)
	closeTest(t, s)
}

func TestGuardTurnsTheStoreReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	opts := testOptions(fs)
	opts.MinFreeBytes, opts.BallastBytes = 1000, 100
	s, err := Open("data", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, s)

	g := newRig(3, 1)
	f := func(free uint64, readOnly, ballast bool) {
		t.Helper()
		fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free, TotalBytes: 9999})
		got, err := s.Guard().Check()
		if err != nil || got != free || s.Guard().ReadOnly() != readOnly {
			t.Errorf("%d free bytes gave %d, read-only %t, %v; want read-only %t",
				free, got, s.Guard().ReadOnly(), err, readOnly)
		}
		if _, err := fs.Stat(s.guard.path); (err == nil) != ballast {
			t.Errorf("with %d free bytes the ballast: %v; want one: %t", free, err, ballast)
		}
		if err := s.Commit(g.cut(1, true)); errors.Is(err, ErrReadOnly) != readOnly {
			t.Errorf("with %d free bytes commit gave %v", free, err)
		}
	}

	f(1199, false, false) // no room for the ballast
	f(1200, false, true)
	f(999, true, true)
	f(1249, true, true) // not yet
	f(1250, false, true)
	s.guard.deleteBallast()
	f(1249, true, false)
	f(1250, false, true)
}

// TestBallastIsRealBytes checks that the blocks of the ballast are its own.
func TestBallastIsRealBytes(t *testing.T) {
	dir := t.TempDir()
	opts := testOptions(nil)
	opts.BallastBytes, opts.MinFreeBytes = 3<<20, 1
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, s)

	_, err = s.Guard().Check()
	info, statErr := os.Stat(filepath.Join(dir, ballastName))
	if err != nil || statErr != nil || info.Size() != 3<<20 {
		t.Fatalf("guard says %v; the file %v, %v", err, info, statErr)
	}
	const block = 512 // the unit of st_blocks
	if own := info.Sys().(*syscall.Stat_t).Blocks * block; own < 3<<20 {
		t.Errorf("the file of %d bytes has blocks of %d bytes", info.Size(), own)
	}
}

func TestTelemetry(t *testing.T) {
	set := metrics.NewSet()
	opts := testOptions(vfs.NewMem())
	opts.Metrics = set
	s, err := Open("data", opts)
	if err != nil {
		t.Fatal(err)
	}

	newRig(1, 1).commit(t, s, 30, true)
	var out bytes.Buffer
	set.WritePrometheus(&out)
	for _, want := range []string{
		"tidemark_store_commits_total 1\n", "tidemark_store_commit_bytes_total",
		"tidemark_store_commit_seconds", "tidemark_store_disk_bytes",
		"tidemark_store_cache_hits_total", "tidemark_store_compaction_debt_bytes 0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}

	if u := s.Usage(); u.LogBytes == 0 || u.DiskBytes == 0 {
		t.Errorf("usage is %+v", u)
	}

	closeTest(t, s)
	out.Reset()
	set.WritePrometheus(&out)
	if strings.Contains(out.String(), "tidemark_store_disk_bytes") {
		t.Errorf("a store that is closed was measured:\n%s", &out)
	}
}

// The use of the disk tells flushes and compactions apart, and both from the log.
func TestUsageOfTheDisk(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(31, 1)
	g.commit(t, s, 20, true)
	before := s.Usage()
	if before.LogBytes == 0 || before.FlushBytes != 0 || before.CompactBytes != 0 {
		t.Errorf("after a commit the usage is %+v; want a log alone", before)
	}

	must(s.db.Flush())
	flushed := s.Usage()
	if flushed.FlushBytes == 0 || flushed.CompactBytes != 0 {
		t.Errorf("after a flush the usage is %+v", flushed)
	}
	g.commit(t, s, 20, true)
	must(s.Compact())
	if after := s.Usage(); after.CompactBytes == 0 || after.CompactBytes > 1<<30 || after.FlushBytes <= flushed.FlushBytes {
		t.Errorf("after a compaction the usage is %+v", after)
	}
}

// A store of a later format is refused before Pebble opens it: what that program has
// written stays as it is, to the byte.
func TestLaterFormatStaysAsItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "market")
	s, err := Open(dir, testOptions(nil))
	must(err)
	newRig(4, 1).commit(t, s, 3, true)
	must(s.updateHeader(func(c *header) { c.Format = Format + 1 }))
	must(s.Close())

	before := contentOf(dir)
	if _, err := Open(dir, testOptions(nil)); !errors.Is(err, ErrFormat) {
		t.Errorf("opened with %v", err)
	}
	if after := contentOf(dir); !maps.Equal(before, after) {
		t.Errorf("files %q became %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// contentOf returns the files of a directory by name.
func contentOf(dir string) map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(err)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(err)
		files[e.Name()] = string(content)
	}
	return files
}
