package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// A rebuild touches no archive before it has the lock of the data: a node that is starting
// may have it open.
func TestRebuildLocksFirst(t *testing.T) {
	mask := syscall.Umask(0) // the command narrows it
	defer syscall.Umask(mask)
	s := newArchiveStage(t)
	l, _ := s.loaded()
	store, err := l.openStopped(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	code, _, stderr := runCommand(t, "chains", "rebuild", "1", "--data", s.data, "--config", s.config)
	_, err = os.Stat(filepath.Join(s.data, archiveDir))
	if code != 1 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("beside a store that is open: code %d, %s; the archive: %v; want none", code, stderr, err)
	}
}

// A rebuild and an import work on the data directory of the configuration, where no other is
// named.
func TestCommandsTakeConfiguredData(t *testing.T) {
	mask := syscall.Umask(0) // the commands narrow it
	defer syscall.Umask(mask)
	s := newArchiveStage(t)
	text, err := os.ReadFile(s.config)
	if err == nil {
		err = os.WriteFile(s.config, fmt.Appendf(nil, "data = %q\n%s", s.data, text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	s.fill()

	code, stdout, stderr := runCommand(t, "chains", "rebuild", "1", "--config", s.config)
	if code != 0 || !strings.HasPrefix(stdout, "chain 1: ") {
		t.Errorf("chains rebuild ended with %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = runCommand(t, "archive", "export", "--chain", "1", "--data", s.data, "spans")
	if code != 0 {
		t.Fatalf("archive export ended with %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = runCommand(t, "archive", "import", "spans", "--no-headers", "--config", s.config)
	if !strings.Contains(stdout+stderr, archivePath(s.data, 1)) {
		t.Errorf("archive import ended with %d: %s%s; want it in %s", code, stdout, stderr, s.data)
	}
	if _, err := os.Stat("data"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another data directory was made: %v", err)
	}
}

// The commands of archives and rebuilds say what they did, to people and to programs, and
// why they cannot.
func TestWhatArchiveCommandsSay(t *testing.T) {
	mask := syscall.Umask(0) // the commands narrow it
	defer syscall.Umask(mask)
	s, other := newArchiveStage(t), newArchiveStage(t)
	f := func(code int, want string, args ...string) string {
		t.Helper()
		got, stdout, stderr := runCommand(t, args...)
		if got != code || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("%v ended with %d: %s%s; want %d: %s", args, got, stdout, stderr, code, want)
		}
		return stdout
	}
	at := func(s *archiveStage, args ...string) []string {
		return append(args, "--data", s.data, "--config", s.config)
	}

	f(1, "cannot rebuild chain 1: its archive is empty; start the node", at(s, "chains", "rebuild", "1")...)
	f(1, "cannot rebuild chain 5: chain 5 is not in the configuration", at(s, "chains", "rebuild", "5")...)
	f(1, "cannot rebuild chain 1: it has no archive: archive is false, or the feed is sim",
		"chains", "rebuild", "1", "--data", s.data)
	head := s.fill()
	var result rebuilt
	if err := json.Unmarshal([]byte(f(0, "", at(s, "chains", "rebuild", "1", "--json")...)), &result); err != nil {
		t.Fatal(err)
	}
	_, c := s.loaded()
	if result.ChainID != 1 || result.FromBlock != c.StartBlock || result.ToBlock != head.Number ||
		result.Events < 1000 || result.EventsPerSecond != float64(result.Events)/result.Seconds {
		t.Errorf("%+v; want blocks %d to %d", result, c.StartBlock, head.Number)
	}
	f(0, fmt.Sprintf("chain 1: %d events of blocks %d to %d in ", result.Events, c.StartBlock, head.Number),
		at(s, "chains", "rebuild", "1")...)

	// A store of a format that cannot be read any more is begun anew.
	db := s.database()
	if err := errors.Join(db.Set([]byte("\x00format"), []byte("2"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	f(0, fmt.Sprintf("chain 1: %d events of blocks ", result.Events), at(s, "chains", "rebuild", "1")...)
	f(1, filepath.Join(s.data, accountsDir)+" holds no accounts", "check", "--data", s.data)

	file := filepath.Join(t.TempDir(), "chain1.spans")
	said := f(0, fmt.Sprintf("%s: ", file), "archive", "export", file, "--chain", "1", "--data", s.data)
	archived, bytes, _ := strings.Cut(strings.TrimPrefix(said, file+": "), ", ")
	if !strings.Contains(archived, fmt.Sprintf(" events of blocks %d to ", c.StartBlock)) || !strings.HasSuffix(bytes, " bytes\n") {
		t.Errorf("the export says %s", said)
	}
	f(1, "exists", "archive", "export", file, "--chain", "1", "--data", s.data)
	f(1, "chain 43114 has no archive in "+s.data, "archive", "export", file+"2", "--chain", "43114", "--data", s.data)

	// What cannot be imported leaves nothing behind.
	fresh := filepath.Join(t.TempDir(), "fresh")
	f(1, "no-such.spans: ", "archive", "import", "no-such.spans", "--data", fresh)
	f(1, "cannot read "+other.config, "archive", "import", other.config, "--chain", "1", "--data", fresh)
	f(1, "name it with --chain ID", "archive", "import", t.TempDir(), "--format", "cryo", "--data", fresh)
	f(1, "no such file", "archive", "import", fresh, "--format", "cryo", "--chain", "1", "--data", fresh)
	if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("imports that failed have made %s (%v)", fresh, err)
	}

	imports := at(other, "archive", "import", file)
	f(1, "give --no-headers to compare nothing", imports...)
	f(1, "chain 5 is not in the configuration", at(other, "archive", "import", file, "--chain", "5")...)
	f(1, "", at(other, "archive", "import", other.config, "--chain", "1", "--no-headers")...)
	said = f(0, "no block hash was compared with a node: --no-headers was given; `tidemark verify` compares the ledger",
		append(imports, "--no-headers")...)
	if !strings.Contains(said, ": "+archived+", ") {
		t.Errorf("the import says %s; want %s", said, archived)
	}
	f(1, "already", append(imports, "--no-headers")...)
	f(1, "the archive has blocks", at(other, "archive", "import", t.TempDir(), "--chain", "1", "--format", "cryo",
		"--no-headers")...)
	f(1, "cannot export the archive of chain 1: no block after ", "archive", "export", file+"3", "--chain", "1", "--data", other.data)

	if err := os.RemoveAll(filepath.Join(other.data, archiveDir)); err != nil {
		t.Fatal(err)
	}
	said = f(0, "no block hash was compared with a node: the configuration has no nodes",
		"archive", "import", file, "--data", fresh)
	if !strings.HasPrefix(said, `the feed is sim; set feed = "rpc" to serve what was imported`) &&
		!strings.Contains(said, "\nthe feed is sim; set feed") {
		t.Errorf("an import beside a simulated market says %s", said)
	}
	// The directory is one of the feed that serves what was imported.
	f(0, "chain 1: ", "chains", "rebuild", "1", "--config", other.config, "--data", fresh)
}
