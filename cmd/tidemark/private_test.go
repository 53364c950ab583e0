package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Nobody but the node's user can read anything in a data directory, whoever
// made it and however open it was.
func TestDataIsPrivate(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	v := newVictim(t, 1000)
	if err := os.Chmod(v.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	v.start()
	v.customer("acme", "growth")
	checkPrivate(t, v.dir)

	saved := filepath.Join(t.TempDir(), "saved")
	var answer any
	v.ask("POST", "/backup?dir="+saved, nil, &answer)
	checkPrivate(t, saved)
}

func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0

	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // the node removes files while we look
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		files++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s; want nothing for others", path, info.Mode())
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files in %s, %v", files, dir, err)
	}
}
