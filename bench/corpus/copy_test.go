package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// All files below a directory are read, and none is left out for what it is.
func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "market"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for name, size := range map[string]int{"heads": 3, "market/000001.sst": 70_000, "market/LOCK": 0} {
		want += int64(size)
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if got, err := readFiles(dir); got != want || err != nil {
		t.Errorf("read %d bytes, %v; want %d", got, err, want)
	}
	if _, err := readFiles(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there was read")
	}
}
