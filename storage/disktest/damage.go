package disktest

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// List returns the names in a directory, sorted.
func List(t *testing.T, fs vfs.FS, dir string) []string {
	t.Helper()
	names, err := fs.List(dir)
	check(t, err)
	slices.Sort(names)
	return names
}

// FlipBit flips some bit of a file that is not empty, and returns the place of its byte.
func FlipBit(t *testing.T, fs vfs.FS, path string, rng *rand.Rand) (at int64) {
	t.Helper()
	info, err := fs.Stat(path)
	check(t, err)
	if info.Size() == 0 {
		return 0
	}

	at = rng.Int64N(info.Size())
	FlipBitAt(t, fs, path, at, 1<<rng.IntN(8))
	return at
}

// FlipBitAt flips a bit of a byte.
func FlipBitAt(t *testing.T, fs vfs.FS, path string, at int64, bit byte) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	check(t, err)
	defer f.Close()

	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); !errors.Is(err, io.EOF) {
		check(t, err)
	}
	b[0] ^= bit
	_, err = f.WriteAt(b, at)
	check(t, err)
}

// Resize cuts a file, or adds zeros to it; to -1 removes it.
func Resize(t *testing.T, fs vfs.FS, path string, to int64) {
	t.Helper()
	f, err := fs.Open(path)
	check(t, err)
	content, err := io.ReadAll(f)
	check(t, errors.Join(err, f.Close(), fs.Remove(path)))
	if to < 0 {
		return
	}

	content = append(content, make([]byte, max(0, to-int64(len(content))))...)
	w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	check(t, err)
	_, err = w.Write(content[:to])
	check(t, errors.Join(err, w.Close()))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
