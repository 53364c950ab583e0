package cryo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// smallFiles are Parquet files of three rows, each with another compression.
func smallFiles(t testing.TB) (list [][]byte) {
	t.Helper()
	type row struct {
		Number uint32  `parquet:"number,optional"`
		Bytes  []byte  `parquet:"bytes,optional,dict"`
		Float  float64 `parquet:"float"`
	}

	for _, codec := range []parquet.WriterOption{
		parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Lz4Raw),
		parquet.Compression(&parquet.Zstd),
	} {
		var file bytes.Buffer
		rows := []row{{1, []byte("one"), 1}, {2, nil, 2}, {3, []byte("one"), 3}}
		if err := parquet.Write(&file, rows, codec); err != nil {
			t.Fatal(err)
		}
		list = append(list, file.Bytes())
	}
	return list
}

// readSmall reads a file that was one of smallFiles.
func readSmall(t *testing.T, text []byte) (rows int, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	err = eachRow(path, []column{{"number", false}, {"bytes", true}, {"float", true}}, func([]cell) error {
		rows++
		return nil
	})
	return rows, err
}

// A damaged file is refused, or gives some rows. The library panics on some of them, when it
// opens them and when it reads a page.
func TestDamagedParquet(t *testing.T) {
	damaged, whole := 0, smallFiles(t)[0]
	for at := range whole {
		text := bytes.Clone(whole)
		text[at] ^= 0xff
		if _, err := readSmall(t, text); err != nil && strings.Contains(err.Error(), "it is damaged: ") {
			damaged++
		}
	}
	if damaged == 0 {
		t.Error("the library panics no longer: guarded is not needed")
	}
}

// A footer that cannot be in the file is refused before there is room for it.
func TestLongFooter(t *testing.T) {
	whole := smallFiles(t)[0]
	most := uint32(len(whole) - 12)
	f := func(n uint32, want string) {
		t.Helper()
		text := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(text[len(text)-8:], n)
		_, err := readSmall(t, text)
		tell(t, fmt.Sprintf("a footer of %d bytes", n), err, want)
	}

	f(most+1, fmt.Sprintf("row 0: it is no Parquet file: a footer of %d bytes; cannot exceed %d", most+1, most))
	f(1<<32-1, "row 0: it is no Parquet file: a footer of 4294967295 bytes; ")
	f(most, "row 0: it is no Parquet file: reading parquet file metadata: ")
	for n := range 12 {
		if _, err := readSmall(t, whole[len(whole)-n:]); err == nil {
			t.Errorf("%d bytes are a file", n)
		}
	}
}

// FuzzParquet holds that no bytes of a file make reading it panic, or give rows that it has
// no room for.
func FuzzParquet(f *testing.F) {
	for _, file := range smallFiles(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if rows, _ := readSmall(t, text); rows > 1<<20 {
			t.Errorf("%d bytes have %d rows", len(text), rows)
		}
	})
}
