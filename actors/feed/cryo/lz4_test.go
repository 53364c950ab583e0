package cryo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

func options(t *testing.T, list ...parquet.WriterOption) parquet.WriterOption {
	t.Helper()
	c, err := parquet.NewWriterConfig(list...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// relabel has the files of a directory say the older LZ4 instead of LZ4_RAW, as some
// writers did of the same pages.
func relabel(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}

	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		meta := table.Metadata()
		for i := range meta.RowGroups {
			for k := range meta.RowGroups[i].Columns {
				meta.RowGroups[i].Columns[k].MetaData.Codec = format.Lz4
			}
		}
		footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
		if err != nil {
			t.Fatal(err)
		}
		old := binary.LittleEndian.Uint32(text[len(text)-8:])
		text = append(text[:len(text)-8-int(old)], footer...)
		text = append(binary.LittleEndian.AppendUint32(text, uint32(len(footer))), magic...)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lz4Block is a block of text that packs a little.
func lz4Block(t *testing.T, n int) (plain, packed []byte) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(n)))
	plain = make([]byte, n)
	for i := range plain {
		plain[i] = byte(random.UintN(5))
	}
	packed = make([]byte, lz4.CompressBlockBound(n))
	size, err := lz4.CompressBlock(plain, packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plain, packed[:size]
}

func framed(size int, parts ...[]byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// LZ4 is read as one block, or as Hadoop's where the codec says so; what does not fill
// the page, or has more, is refused.
func TestDecodeLZ4(t *testing.T) {
	one, packedOne := lz4Block(t, 700)
	two, packedTwo := lz4Block(t, 300)
	both := append(bytes.Clone(one), two...)

	f := func(name string, codec format.CompressionCodec, src, want []byte, size int) {
		t.Helper()
		dst := make([]byte, size)
		err := decodeLZ4(dst, src, codec)
		if (err == nil) != (want != nil) || want != nil && !bytes.Equal(dst, want) {
			t.Errorf("%s: %v", name, err)
		}
	}

	f("raw", format.Lz4Raw, packedOne, one, 700)
	f("raw, as the older codec", format.Lz4, packedOne, one, 700)
	f("a block of Hadoop", format.Lz4, framed(700, packedOne), one, 700)
	f("a block in two parts", format.Lz4, framed(1000, packedOne, packedTwo), both, 1000)
	f("two blocks", format.Lz4, append(framed(700, packedOne), framed(300, packedTwo)...), both, 1000)
	last, packedLast := []byte{9}, []byte{0x10, 9}
	f("a last byte of its own", format.Lz4, append(framed(700, packedOne), framed(1, packedLast)...),
		append(bytes.Clone(one), last...), 701)
	f("a single byte", format.Lz4Raw, packedLast, last, 1)
	f("nothing", format.Lz4Raw, nil, []byte{}, 0)
	f("nothing, as a block", format.Lz4Raw, []byte{0}, []byte{}, 0)
	f("nothing, as an empty block of Hadoop", format.Lz4, framed(0), []byte{}, 0)
	f("an empty part", format.Lz4, framed(700, nil, packedOne), one, 700)
	f("an empty block", format.Lz4, append(framed(0), framed(700, packedOne)...), one, 700)

	f("too short", format.Lz4Raw, packedOne, nil, 701)
	f("too long", format.Lz4Raw, packedOne, nil, 699)
	f("cut", format.Lz4Raw, packedOne[:100], nil, 700)
	f("framed, as the newer codec", format.Lz4Raw, framed(700, packedOne), nil, 700)
	f("a part is missing", format.Lz4, framed(1000, packedOne), nil, 1000)
	f("a part that is none", format.Lz4, framed(700, packedOne[:100], packedOne), nil, 700)
	f("a block is missing", format.Lz4, framed(700, packedOne), nil, 1000)
	f("more than the page", format.Lz4, append(framed(700, packedOne), 1), nil, 700)
	f("a block larger than the page", format.Lz4, framed(701, packedOne), nil, 700)
	f("the size of a part is cut", format.Lz4, framed(700, packedOne)[:7], nil, 700)
	err := decodeLZ4(make([]byte, 700), packedOne[:100], format.Lz4Raw)
	if err == nil || !strings.Contains(err.Error(), "a page is no LZ4_RAW: lz4: ") {
		t.Errorf("cut: %v; want the reason", err)
	}
}

// A damaged page is refused, and its file is named.
func TestDamagedLZ4(t *testing.T) {
	dir := newFixture().write(t, ".parquet", parquet.Compression(&parquet.Lz4Raw))
	path := filepath.Join(dir, "ethereum__blocks__00000100_to_00000399.parquet")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	text[200] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, config)
	if err == nil {
		err = s.Each(t.Context(), nil)
	}
	if err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "not those that were written") {
		t.Errorf("%v; want the file's name and that it is damaged", err)
	}
}

// A column's pages fill it: what is behind the last one is refused, also a single byte.
func TestPagesFillColumn(t *testing.T) {
	plain, packed := lz4Block(t, 500)
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 500, CompressedPageSize: int32(len(packed))}
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}

	page := append(header, packed...)
	f := func(behind string, want string) {
		t.Helper()
		text := append(append([]byte(magic), page...), behind...)
		meta := format.ColumnMetaData{
			Codec: format.Lz4Raw, DataPageOffset: 4, TotalCompressedSize: int64(len(text) - 4),
		}
		out := bytes.NewBufferString(magic)
		err := unpackChunk(out, bytes.NewReader(text), &meta)
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("with %q behind the page: %s; want %s", behind, got, want)
		}
		if err == nil && (!bytes.HasSuffix(out.Bytes(), plain) || meta.DataPageOffset != 4 ||
			meta.Codec != format.Uncompressed || meta.TotalUncompressedSize != int64(out.Len()-4)) {
			t.Errorf("%d bytes, %+v", out.Len(), meta)
		}
	}

	f("", "<nil>")
	f("\x15", "a page's header")
	f("\x15\x00", "a page's header")
}

// What a page's header says is checked before it is believed.
func TestPageHeaders(t *testing.T) {
	plain, packed := lz4Block(t, 500)
	f := func(change func(*format.PageHeader), want string) {
		t.Helper()
		h := format.PageHeader{
			Type: format.DataPage, UncompressedPageSize: 500, CompressedPageSize: int32(len(packed)),
			CRC: int32(crc32.ChecksumIEEE(packed)),
		}
		change(&h)
		text, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, rest, err := unpackPage(&out, append(append(text, packed...), "next"...), format.Lz4Raw)
		if got := fmt.Sprint(errors.Join(err)); !strings.Contains(got, want) {
			t.Errorf("%+v: %s; want %s", h, got, want)
		}
		if err == nil && (string(rest) != "next" || !bytes.HasSuffix(out.Bytes(), plain)) {
			t.Errorf("%+v: %d bytes are left and %d were written", h, len(rest), out.Len())
		}
	}

	f(func(*format.PageHeader) {}, "<nil>")
	f(func(h *format.PageHeader) { h.CRC = 0 }, "<nil>")
	f(func(h *format.PageHeader) { h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{}) }, "<nil>")
	f(func(h *format.PageHeader) { h.CRC++ }, "not those that were written")
	f(func(h *format.PageHeader) { h.CompressedPageSize = -1 }, "a page has -1 bytes")
	f(func(h *format.PageHeader) { h.CompressedPageSize += 5 }, "a page has")
	f(func(h *format.PageHeader) { h.UncompressedPageSize = -1 }, "a row group is larger than")
	f(func(h *format.PageHeader) { h.UncompressedPageSize = mostUnpacked + 1 }, "a row group is larger than")
	f(func(h *format.PageHeader) { h.UncompressedPageSize = 501 }, "a page is no LZ4_RAW: 500 bytes; want 501")
	f(func(h *format.PageHeader) {
		h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{DefinitionLevelsByteLength: 501})
	}, "levels of 501 bytes")
	f(func(h *format.PageHeader) {
		h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{RepetitionLevelsByteLength: -1})
	}, "levels of -1 bytes")
}

// A column is where its metadata says, also one without pages; a dictionary is before its pages.
func TestPlacesOfColumns(t *testing.T) {
	_, packed := lz4Block(t, 500)
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 500, CompressedPageSize: int32(len(packed))}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	chunk := append(text, packed...)
	f := func(what, want string, meta format.ColumnMetaData) {
		t.Helper()
		meta.Codec = format.Lz4Raw
		out := new(bytes.Buffer)
		err := unpackChunk(out, bytes.NewReader(append([]byte("PAR1"), chunk...)), &meta)
		if got := fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %s", what, got, want)
		}
		if err == nil && (out.Len() > 500) != (meta.TotalCompressedSize > 0) {
			t.Errorf("%s: %d bytes are written, the metadata is %+v", what, out.Len(), meta)
		}
	}
	size := int64(len(chunk))

	f("a column", "<nil>", format.ColumnMetaData{DataPageOffset: 4, TotalCompressedSize: size})
	f("with a dictionary behind", "<nil>",
		format.ColumnMetaData{DataPageOffset: 4, DictionaryPageOffset: 99, TotalCompressedSize: size})
	f("without pages", "<nil>", format.ColumnMetaData{DataPageOffset: 4})
	f("beyond the file", "EOF", format.ColumnMetaData{DataPageOffset: 5, TotalCompressedSize: size})
	f("before the file", "bytes from -1; at most", format.ColumnMetaData{DataPageOffset: -1, TotalCompressedSize: size})
	f("of no size", "-1 bytes from 4; at most", format.ColumnMetaData{DataPageOffset: 4, TotalCompressedSize: -1})
	f("too large", fmt.Sprintf("%d bytes from 4; at most", mostUnpacked+1),
		format.ColumnMetaData{DataPageOffset: 4, TotalCompressedSize: mostUnpacked + 1})
}

// Columns of one file may be compressed otherwise, and pages of the second version not at all.
func TestMixedCodecs(t *testing.T) {
	type row struct {
		A uint64 `parquet:"a,lz4"`
		B uint64 `parquet:"b,zstd"`
		C string `parquet:"c,uncompressed"`
	}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{uint64(i), uint64(2 * i), fmt.Sprint("row ", i)}
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}

	n := 0
	err := eachRow(path, []column{{name: "a"}, {name: "b"}, {name: "c"}}, func(c []cell) error {
		if c[0].num != uint64(n) || c[1].num != uint64(2*n) || string(c[2].bytes) != fmt.Sprint("row ", n) {
			return fmt.Errorf("%d, %d, %q", c[0].num, c[1].num, c[2].bytes)
		}
		n++
		return nil
	})
	if err != nil || n != 1000 {
		t.Errorf("%d rows, %v", n, err)
	}

	h := &format.PageHeader{UncompressedPageSize: 3}
	h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{IsCompressed: thrift.New(false)})
	if plain, err := unpackBody(h, []byte("abc"), format.Lz4Raw); err != nil || string(plain) != "abc" {
		t.Errorf("a page that is not compressed is %q, %v", plain, err)
	}
}

// Row groups are unpacked one by one, and of each only the columns that are read: what a file
// takes in memory does not grow with it.
func TestRowGroupsOfLZ4(t *testing.T) {
	type row struct {
		Wide string `parquet:"wide,lz4"`
		A    uint64 `parquet:"a,lz4"`
		B    uint64 `parquet:"b,lz4"`
	}
	const wide, perGroup = 1000, 100
	rows := make([]row, 10*perGroup)
	for i := range rows {
		rows[i] = row{strings.Repeat(fmt.Sprint(i%10), wide), uint64(i), uint64(2 * i)}
	}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(perGroup)); err != nil {
		t.Fatal(err)
	}

	n := 0
	err := eachRow(path, []column{{name: "b"}, {name: "a"}}, func(c []cell) error {
		if c[0].num != uint64(2*n) || c[1].num != uint64(n) {
			return fmt.Errorf("%d, %d", c[0].num, c[1].num)
		}
		n++
		return nil
	})
	if err != nil || n != len(rows) {
		t.Errorf("%d rows, %v; want %d", n, err, len(rows))
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.NewReader(text)
	table, err := openParquet(file, file.Size())
	if err != nil || len(table.RowGroups()) != 10 {
		t.Fatal(table.RowGroups(), err)
	}
	f := func(least, most int, wanted ...int) {
		t.Helper()
		copied, err := unpack(file, table.Metadata(), 3, wanted)
		if len(copied) < least || len(copied) > most || err != nil {
			t.Errorf("columns %v take %d bytes, %v; want %d to %d", wanted, len(copied), err, least, most)
		}
	}
	f(perGroup*wide, 2*perGroup*wide, 0, 1, -1)
	f(perGroup*8, perGroup*wide/10, 1, -1, 2)
}

// A page without a value has no bytes.
func TestEmptyPage(t *testing.T) {
	h := format.PageHeader{Type: format.DataPage}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	kind, rest, err := unpackPage(new(bytes.Buffer), append(text, "next"...), format.Lz4Raw)
	if err != nil || kind != format.DataPage || string(rest) != "next" {
		t.Errorf("%s, %q is left, %v", kind, rest, err)
	}
}

// What is left behind a column's last page is no page, however little it is.
func TestBytesBehindPages(t *testing.T) {
	_, packed := lz4Block(t, 500)
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 500, CompressedPageSize: int32(len(packed))}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	page := append(text, packed...)

	for behind := range 3 {
		chunk := append(bytes.Clone(page), make([]byte, behind)...)
		meta := format.ColumnMetaData{Codec: format.Lz4Raw, TotalCompressedSize: int64(len(chunk))}
		err := unpackChunk(new(bytes.Buffer), bytes.NewReader(chunk), &meta)
		if (err == nil) != (behind == 0) {
			t.Errorf("%d bytes behind the page: %v", behind, err)
		}
	}
}
