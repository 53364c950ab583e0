package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	v.cmd = nil
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
		path := filepath.Join(dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[10] ^= 1
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if name == "" {
		t.Fatal("the accounts' store has no table after an orderly stop")
	}
	return name
}
