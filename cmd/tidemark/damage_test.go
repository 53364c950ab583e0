package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A flipped byte in a table of accounts is a finding that names the file, the
// keys and the backup, and a refusal to start.
func TestDamagedAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	v := newVictim(t, 1000)
	v.start()
	v.customer("acme", "growth")
	saved := filepath.Join(t.TempDir(), "saved")
	var answer any
	v.ask("POST", "/backup?dir="+saved, nil, &answer)
	v.stop()
	table := flipTable(t, filepath.Join(v.dir, accountsDir))

	f := func(wants []string, args ...string) {
		t.Helper()
		command := exec.Command("tidemark", args...)
		command.Env = append(os.Environ(), smallMarket...)
		out, err := command.CombinedOutput()
		if err == nil {
			t.Errorf("%v succeeds: %s", args, out)
		}
		for _, want := range wants {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("%v says %s; want %q", args, out, want)
			}
		}
	}

	wants := []string{
		"accounts in " + filepath.Join(v.dir, accountsDir) + " are damaged: file ", table, ", keys 00",
		"restore the backup of ", "tidemark restore " + saved + " --data " + v.dir,
	}
	f(append(wants, "1 findings in"), "check", "--data", v.dir)
	f(wants, "serve", "--config", v.dir+".toml", "--data", v.dir, "--listen", "127.0.0.1:0",
		"--ops-listen", "127.0.0.1:0")
}

// A damaged MANIFEST of the market store is a finding, and does not keep a node from
// starting: it says what it does, builds the chains again, and has its accounts.
func TestDamagedMarket(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	v := newVictim(t, 1000)
	v.start()
	key := v.customer("acme", "growth")
	v.stop()

	manifests, err := filepath.Glob(filepath.Join(v.dir, marketDir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, path := range manifests {
		flipByte(t, path, 20)
	}

	out, err := exec.Command("tidemark", "check", "--data", v.dir).CombinedOutput()
	if want := "moves the damaged files to " + filepath.Join(v.dir, marketDir) + ".damaged"; err == nil ||
		!bytes.Contains(out, []byte(want)) {
		t.Errorf("check says %s, %v; want %q", out, err, want)
	}
	v.start()
	status := 0
	for end := time.Now().Add(startTimeout); status != 200 && time.Now().Before(end); {
		status, _, err = request(v.url+"/v1/pools?chainId=1&limit=1", key)
	}
	if status != 200 || err != nil {
		t.Errorf("a page is answered %d, %v", status, err)
	}
	if aside, err := os.ReadDir(filepath.Join(v.dir, marketDir) + ".damaged"); err != nil || len(aside) == 0 {
		t.Errorf("set aside are %v, %v", aside, err)
	}
}

// A missing table of the market store is a finding that names the file, its keys and the
// chains with keys there, and what can be done; what else is wrong is found all the same.
func TestMissingMarketTable(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	v := newVictim(t, 1000)
	for range 2 { // the second start flushes what the first one committed
		v.start()
		v.stop()
	}
	tables, err := filepath.Glob(filepath.Join(v.dir, marketDir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	if err := os.Remove(tables[0]); err != nil {
		t.Fatal(err)
	}

	out, err := exec.Command("tidemark", "check", "--data", v.dir).CombinedOutput()
	for _, want := range []string{
		"file " + tables[0] + ", keys 0", ": it is missing; chains with keys there: [1",
		"builds those that it cannot read again from their feeds", "`tidemark chains resync 1`", " findings in ",
	} {
		if err == nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("check says %s, %v; want %q", out, err, want)
		}
	}
}

// flipByte flips a bit of a file.
func flipByte(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// flipTable flips a byte of the first record of every table in a directory and
// returns the name of one.
func flipTable(t *testing.T, dir string) (name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".sst") {
			continue
		}
		name = entry.Name()
		flipByte(t, filepath.Join(dir, name), 10)
	}

	if name == "" {
		t.Fatal("the accounts' store has no table after an orderly stop")
	}
	return name
}
