package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/sim"
	"tidemark/bench/process"
	"tidemark/edge/admin"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// archiveStage is a data directory with nothing but an archive, of a chain whose only
// node cannot be reached.
type archiveStage struct {
	t      *testing.T
	data   string
	config string
}

func newArchiveStage(t *testing.T) *archiveStage {
	t.Helper()
	dir := t.TempDir()
	s := &archiveStage{t: t, data: filepath.Join(dir, "data"), config: filepath.Join(dir, "tidemark.toml")}
	text := "feed = \"rpc\"\n[refresh]\nevery = \"100ms\"\n" +
		"[[chains]]\nid = 1\nrpc = [\"http://127.0.0.1:1\"]\n" +
		"[[chains]]\nid = 42161\nenabled = false\n[[chains]]\nid = 43114\nenabled = false\n"
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// loaded is the configuration of a stage.
func (s *archiveStage) loaded() (*loaded, *ChainConfig) {
	s.t.Helper()
	l, err := loadConfig(s.config, nil, map[string]string{"data": s.data})
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := l.chainOf(1)
	if err != nil {
		s.t.Fatal(err)
	}
	return l, c
}

// fill fills the archive with a simulated market, and returns its last block.
func (s *archiveStage) fill() market.Head {
	s.t.Helper()
	l, c := s.loaded()
	a, err := archive.Open(l.archiveConfig(c))
	if err != nil {
		s.t.Fatal(err)
	}
	const days = 3
	genesis := time.Now().Add(-days * 24 * time.Hour).Truncate(time.Hour).Unix()
	source, err := sim.New(sim.Config{
		Chain: 1, Seed: 5, Positions: 200, Pools: 60, Days: days, Genesis: genesis, Frozen: true,
		StartBlock: max(c.StartBlock, 1), PositionManager: c.PositionManager, Stables: c.Stables, Wrapped: c.WrappedNative,
	})
	if err != nil {
		s.t.Fatal(err)
	}

	book := ledger.New(ledger.Config{Chain: 1, PositionManager: c.PositionManager, Start: max(c.StartBlock, 1)})
	for {
		at := book.Head()
		step, err := source.Next(context.Background(), feed.Cursor{Anchors: []market.Head{at}, State: book.Freeze()})
		if err != nil {
			s.t.Fatal(err)
		}
		if step.Span != nil {
			for _, piece := range ledger.CutHours(step.Span, at.Time) {
				if _, err := book.Apply(&piece); err != nil {
					s.t.Fatal(err)
				}
			}
			book.Changes()
			if err := a.Append(at, step.Span); err != nil {
				s.t.Fatal(err)
			}
		}
		if step.Span == nil || step.Span.To == step.Head.Number {
			a.NoteFinalized(book.Head().Number)
			if err := a.Close(); err != nil {
				s.t.Fatal(err)
			}
			return book.Head()
		}
	}
}

// tidemark runs a command, which must succeed unless it is to say why not.
func (s *archiveStage) tidemark(refused string, args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tidemark", args...).CombinedOutput()
	if (err != nil) != (refused != "") || !strings.Contains(string(out), refused) {
		s.t.Fatalf("tidemark %v: %v: %s; want %q", args, err, out, refused)
	}
	return string(out)
}

// database opens the store of a stopped node.
func (s *archiveStage) database() *pebble.DB {
	s.t.Helper()
	db, err := pebble.Open(filepath.Join(s.data, marketDir), &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{s.t},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

// state returns every row and every entry of a series of chain 1. Which part of a pool's row
// has what depends on when it was written, so pools are as they are read.
func (s *archiveStage) state() map[string]string {
	s.t.Helper()
	rows := map[string]string{}
	s.addPools(rows)
	db := s.database()
	defer db.Close()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{1, 1, 0x10}, UpperBound: []byte{1, 1, 0x30}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer it.Close()

	const pools = 0x12
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[2] != pools {
			rows[string(it.Key())] = string(it.Value())
		}
	}
	return rows
}

func (s *archiveStage) addPools(rows map[string]string) {
	s.t.Helper()
	store, err := storage.Open(filepath.Join(s.data, marketDir), storage.Options{ReadOnly: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()

	r, err := store.Restore(1)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range r.State.Pools.Len() {
		rows[fmt.Sprint("pool ", i)] = fmt.Sprint(*r.State.Pools.At(i))
	}
}

// serve runs a node until it has published a generation of a block.
func (s *archiveStage) serve(block uint64) {
	s.t.Helper()
	cmd := exec.Command("tidemark", "serve", "--config", s.config, "--data", s.data,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	var log process.Output
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer cmd.Process.Kill()

	for end := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		var views []admin.ChainView
		answer, err := adminClient(s.data).do(http.MethodGet, "/chains", nil)
		if err == nil && json.Unmarshal(answer, &views) == nil && len(views) == 1 &&
			views[0].Generation > 0 && views[0].LastIndexedBlock == block {
			break
		}
		if time.Now().After(end) {
			s.t.Fatalf("not served after %s: %v %s %s", startTimeout, err, answer, log.String())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		s.t.Fatalf("%v: %s", err, log.String())
	}
}

// TestHeaderCheck: blocks spread over an import are compared with a node, the last one
// among them.
func TestHeaderCheck(t *testing.T) {
	f := func(after, last, step uint64, want ...uint64) {
		t.Helper()
		var asked []uint64
		h := &headerCheck{header: func(_ context.Context, n uint64) (market.Head, error) {
			asked = append(asked, n)
			return market.Head{Number: n, Hash: market.Hash{1, byte(n)}}, nil
		}}
		h.spread(after, last)
		for n := after + 1; ; n = min(n+step, last) {
			if err := h.check(t.Context(), market.Head{Number: n, Hash: market.Hash{1, byte(n)}}); err != nil {
				t.Fatal(err)
			}
			if err := h.check(t.Context(), market.Head{Number: n}); err != nil { // of which no hash is known
				t.Fatal(err)
			}
			if n == last {
				break
			}
		}
		if !slices.Equal(asked, want) || h.compared != len(want) {
			t.Errorf("blocks %d to %d in steps of %d: %d of them are compared; want %d", after, last, step, asked, want)
		}
	}
	f(99, 103, 1, 100, 101, 102, 103)
	f(1000, 1000+64*10, 160, 1161, 1321, 1481, 1640)
	f(1000, 1000+64*200, 100_000, 13_800)
	f(0, 64*3, 64, 65, 129, 192)

	h := &headerCheck{header: func(_ context.Context, n uint64) (market.Head, error) {
		return market.Head{Number: n, Hash: market.Hash{2}}, []error{nil, errors.New("no node answers")}[n%2]
	}}
	h.spread(1, 2)
	err := h.check(t.Context(), market.Head{Number: 2, Hash: market.Hash{1}})
	if err == nil || !strings.Contains(err.Error(), "block 2 is 0x01") {
		t.Errorf("another hash: %v", err)
	}
	err = h.check(t.Context(), market.Head{Number: 3, Hash: market.Hash{1}})
	if err == nil || !strings.Contains(err.Error(), "no node answers; give --no-headers") {
		t.Errorf("a node that fails: %v", err)
	}
	if err := new(headerCheck).check(t.Context(), market.Head{Number: 2, Hash: market.Hash{1}}); err != nil {
		t.Errorf("without nodes: %v", err)
	}
}

// TestArchiveCommands: a chain is built from its archive without a node: by command, by
// a node whose store is of the format before, and in another directory from a file.
func TestArchiveCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	s := newArchiveStage(t)
	at := []string{"--data", s.data, "--config", s.config}
	s.tidemark("its archive is empty", append([]string{"chains", "rebuild", "1"}, at...)...)
	head := s.fill()
	said := s.tidemark("", append([]string{"chains", "rebuild", "1"}, at...)...)
	if !strings.Contains(said, fmt.Sprintf("to %d in ", head.Number)) {
		t.Errorf("chains rebuild says %s", said)
	}
	want := s.state()
	if len(want) < 1000 {
		t.Fatalf("%d rows are no state", len(want))
	}

	for _, format := range []string{"4", "2"} { // one that could be opened, one that could not
		db := s.database()
		if err := db.Set([]byte("\x00format"), []byte(format), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		// A row that only the older format has.
		if err := db.Set([]byte{1, 1, 0x10, 0xff, 0xff, 0xff, 0xfe}, []byte("old"), pebble.Sync); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s.serve(head.Number)
		if !maps.Equal(want, s.state()) {
			t.Errorf("the store of format %s has another state after its upgrade", format)
		}
	}

	file := filepath.Join(t.TempDir(), "chain1.spans")
	s.tidemark("", "archive", "export", file, "--chain", "1", "--data", s.data)
	s.tidemark("exists", "archive", "export", file, "--chain", "1", "--data", s.data)
	s.tidemark("has no archive", "archive", "export", file+"2", "--chain", "43114", "--data", s.data)
	other := newArchiveStage(t)
	to := []string{"--data", other.data, "--config", other.config}
	imports := append([]string{"archive", "import", file, "--chain", "1"}, to...)
	other.tidemark("give --no-headers to compare nothing", imports...)
	if said := other.tidemark("", append(imports, "--no-headers")...); !strings.Contains(said, "no block hash") {
		t.Errorf("archive import says %s", said)
	}
	other.tidemark("already", append(imports, "--no-headers")...)
	other.tidemark("", append([]string{"chains", "rebuild", "1"}, to...)...)
	if len(other.state()) < 1000 {
		t.Error("the imported archive gives no state")
	}
}

// Damage of an archive is a finding of the check, with its directory, file and blocks.
func TestCheckArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates a market")
	}
	s := newArchiveStage(t)
	s.fill()
	f := func(name string, want ...string) {
		t.Helper()
		got, err := checkArchives(s.data)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %q, %v; want %q", name, got, err, want)
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q; want %q", name, got[i], want[i])
			}
		}
	}
	f("a whole archive")

	files, err := filepath.Glob(filepath.Join(s.data, archiveDir, "1", "*.spans"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	f("a byte that flipped", "archive/1: segment "+filepath.Base(files[0])+" of the archive is damaged from block ")

	text[3] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	f("no header", "archive/1: no segment in ")
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	f("an empty directory")

	s.data = filepath.Join(t.TempDir(), "a[b") // a bad pattern
	f("no archives")
	if err := os.MkdirAll(filepath.Join(s.data, archiveDir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.data, archiveDir, "1", filepath.Base(files[0])), text, 0o600); err != nil {
		t.Fatal(err)
	}
	f("a directory that is named like a pattern", "archive/1: no segment in ")
}
