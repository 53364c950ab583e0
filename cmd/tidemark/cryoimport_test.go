package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/actors/feed/archive"
	"tidemark/rankings/market"
)

// extractedBlock is the hash of a block that extract writes.
func extractedBlock(n uint64) market.Hash { return market.Hash{1, byte(n), 31: 7} }

// extract returns a directory of the extractor with blocks 100 to 119, without events.
func extract(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var rows strings.Builder
	for n := uint64(100); n < 120; n++ {
		fmt.Fprintf(&rows, `{"block_number":%d,"block_hash":"%s","timestamp":%d}`+"\n", n, extractedBlock(n), 1000+n)
	}

	for name, text := range map[string]string{"logs": "", "blocks": rows.String()} {
		path := filepath.Join(dir, "ethereum__"+name+"__00000100_to_00000119.ndjson")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A directory of the extractor fills an empty archive, as far as the chain's nodes have
// the same blocks; else nothing is kept of it.
func TestCryoImport(t *testing.T) {
	s := newArchiveStage(t)
	l, c := s.loaded()
	c.StartBlock = 100
	hash, dir := extractedBlock, extract(t)

	f := func(a *archive.Archive, header func(uint64) (market.Head, error), want string) {
		t.Helper()
		checks := &headerCheck{header: func(_ context.Context, n uint64) (market.Head, error) { return header(n) }}
		err := l.importCryo(t.Context(), dir, c, a, checks)
		if want == "" && (err != nil || checks.compared == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the import: %v, %d blocks compared; want %q", err, checks.compared, want)
		}
	}
	a, err := archive.Open(l.archiveConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()

	right := func(n uint64) (market.Head, error) { return market.Head{Number: n, Hash: hash(n)}, nil }
	f(a, func(n uint64) (market.Head, error) { return market.Head{Number: n, Hash: hash(n + 1)}, nil },
		"the chain's nodes say")
	f(a, func(uint64) (market.Head, error) { return market.Head{}, errors.New("no node answers") }, "no node answers")
	if st := a.Status(); st.Segments != 0 || st.Head.Number != 0 {
		t.Errorf("what was refused left %+v", st)
	}

	f(a, right, "")
	st := a.Status()
	want := market.Head{Number: 119, Hash: hash(119), Time: 1119}
	if st.Head != want || st.Base.Number != 99 || st.Finalized != 119 || !st.Whole(100) {
		t.Errorf("the archive has %+v; want blocks 100 to %+v", st, want)
	}
	f(a, right, "the archive has blocks 100 to 119 already; move "+archivePath(l.Data, 1)+" away first")

	decimals := c.Decimals
	c.Decimals = []string{"0x12=6"}
	b, err := archive.Open(archive.Config{Identity: l.archiveConfig(c).Identity, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f(b, right, "decimals has")
	c.Decimals, dir = decimals, t.TempDir()
	f(b, right, "is not enough")
	if len(b.Status().Holes) > 0 || b.Status().Segments > 0 {
		t.Errorf("what failed left %+v", b.Status())
	}
}

// TestCryoImportOnAFullDisk: an import for which there is no room leaves nothing, and succeeds
// once there is. That no file can be longer than some bytes stands in for the full disk. It is
// so for all of a process, so the import has one of its own.
func TestCryoImportOnAFullDisk(t *testing.T) {
	const alone = "TIDEMARK_TEST_FULL_DISK"
	if os.Getenv(alone) == "" {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), alone+"=1")
		if said, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		return
	}

	l, c := newArchiveStage(t).loaded()
	c.StartBlock = 100
	dir := extract(t)
	header := func(_ context.Context, n uint64) (market.Head, error) {
		return market.Head{Number: n, Hash: extractedBlock(n)}, nil
	}
	load := func(into string) (st archive.Status, err error) {
		a, err := archive.Open(archive.Config{Identity: l.archiveConfig(c).Identity, Dir: into})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		err = l.importCryo(t.Context(), dir, c, a, &headerCheck{header: header})
		return a.Status(), err
	}
	whole, err := load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(bytes uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	signal.Ignore(unix.SIGXFSZ)
	into := t.TempDir()
	limit(uint64(whole.Bytes) - 1)
	st, err := load(into)
	limit(before.Cur)
	if err == nil || !strings.Contains(err.Error(), "cannot write the archive of chain 1") {
		t.Errorf("on a full disk the import is %v", err)
	}
	if st.Segments != 0 || st.Head.Number != 0 {
		t.Errorf("an import for which there was no room left %+v", st)
	}

	if st, err = load(into); err != nil || st.Head != whole.Head {
		t.Errorf("with room the import has %+v, %v; want %+v", st, err, whole)
	}
}

// A node begins with what its archives have, if each of its chains has one from its start.
func TestHasArchives(t *testing.T) {
	f := func(change func(*loaded, *ChainConfig), last uint64, want bool) {
		t.Helper()
		l, c := newArchiveStage(t).loaded()
		c.StartBlock = 100
		if last > 0 {
			a, err := archive.Open(l.archiveConfig(c))
			if err != nil {
				t.Fatal(err)
			}
			span := market.Span{From: 100, To: last, Hash: market.Hash{1}}
			if err := errors.Join(a.Append(market.Head{Number: 99}, &span), a.Close()); err != nil {
				t.Fatal(err)
			}
		}
		change(l, c)
		if got := l.hasArchives(); got != want {
			t.Errorf("blocks up to %d: every chain has its archive: %t; want %t", last, got, want)
		}
	}

	nothing := func(*loaded, *ChainConfig) {}
	f(nothing, 0, false)
	f(nothing, 120, true)
	f(func(l *loaded, _ *ChainConfig) { l.Archive = false }, 120, false)
	f(func(l *loaded, _ *ChainConfig) { l.Feed = "sim" }, 120, false)
	f(func(_ *loaded, c *ChainConfig) { c.StartBlock = 101 }, 120, true)
	f(func(_ *loaded, c *ChainConfig) { c.StartBlock = 99 }, 120, false)
	f(func(_ *loaded, c *ChainConfig) { c.PoolManager[0]++ }, 120, false)
	f(func(_ *loaded, c *ChainConfig) { c.PositionManager[0]++ }, 120, false)
	f(func(l *loaded, _ *ChainConfig) { l.Chains[1].Enabled = true }, 120, false)
}
