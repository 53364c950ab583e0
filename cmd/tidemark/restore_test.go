package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A checkpoint with a link in it is not restored: the copy would be the same link, and a node
// would write to where it leads. Nothing is made then.
func TestRestoreOfLinks(t *testing.T) {
	f := func(want string, spoil func(checkpoint string) error) {
		t.Helper()
		checkpoint, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
		for _, part := range []string{marketDir, accountsDir} {
			if err := os.Mkdir(filepath.Join(checkpoint, part), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := spoil(checkpoint); err != nil {
			t.Fatal(err)
		}

		err := (&RestoreCmd{Dir: checkpoint, Data: data}).Run()
		want = filepath.Join(checkpoint, want) + "; a checkpoint has directories and regular files only"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if _, err := os.Lstat(data); err == nil {
			t.Errorf("%s is made", data)
		}
	}

	f("market has the mode L---------", func(checkpoint string) error {
		elsewhere := t.TempDir()
		market := filepath.Join(checkpoint, marketDir)
		if err := os.Remove(market); err != nil {
			return err
		}
		return os.Symlink(elsewhere, market)
	})
	f("accounts/000001.log has the mode L---------", func(checkpoint string) error {
		return os.Symlink("../accounts.proof", filepath.Join(checkpoint, accountsDir, "000001.log"))
	})
	f("market/pipe has the mode p---------", func(checkpoint string) error {
		return syscall.Mkfifo(filepath.Join(checkpoint, marketDir, "pipe"), 0o600)
	})
}

// A backup is not restored into itself: the copy would be copied too, without end.
func TestRestoreWithinBackup(t *testing.T) {
	saved, elsewhere := t.TempDir(), t.TempDir()
	below, link := filepath.Join(saved, "below"), filepath.Join(elsewhere, "link")
	if err := errors.Join(os.Mkdir(below, 0o700), os.Symlink(below, link)); err != nil {
		t.Fatal(err)
	}

	for _, data := range []string{below, filepath.Join(below, "data"), link, filepath.Join(link, "new", "data")} {
		c := RestoreCmd{Dir: saved, Data: data}
		if err := c.checkTarget(); err == nil || !strings.Contains(err.Error(), "is within the checkpoint") {
			t.Errorf("a restore into %s: %v", data, err)
		}
	}
	c := RestoreCmd{Dir: saved, Data: filepath.Join(elsewhere, "data")}
	if err := c.checkTarget(); err != nil {
		t.Errorf("a restore beside the backup: %v", err)
	}
}
