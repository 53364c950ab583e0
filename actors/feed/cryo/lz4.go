package cryo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// mostUnpacked bounds what is unpacked in memory: the wanted columns of one row group. Those
// of 1,000 blocks, which cryo puts into a file, have some tens of MB, and 100 MB where all
// logs of busy blocks were extracted. A file may have any number of row groups.
const mostUnpacked = 512 << 20

// openParquet opens a Parquet file.
func openParquet(f io.ReaderAt, size int64) (*parquet.File, error) {
	if err := checkFooter(f, size); err != nil {
		return nil, err
	}
	table, err := parquet.OpenFile(f, size)
	if err != nil {
		return nil, fmt.Errorf("it is no Parquet file: %w", err)
	}
	return table, nil
}

// checkFooter refuses a file whose last bytes say that its footer is longer than the file:
// the library makes room for it first, which may be 4 GiB.
func checkFooter(f io.ReaderAt, size int64) error {
	const lengths = 4 + len(magic) // at the end, behind the footer
	end := make([]byte, lengths)
	if size < int64(len(magic)+lengths) {
		return nil // the library says why it is none
	}
	if _, err := f.ReadAt(end, size-int64(lengths)); err != nil {
		return err
	}
	if n, most := binary.LittleEndian.Uint32(end), size-int64(len(magic)+lengths); int64(n) > most {
		return fmt.Errorf("it is no Parquet file: a footer of %d bytes; cannot exceed %d", n, most)
	}
	return nil
}

func hasLZ4(group *format.RowGroup) bool {
	return slices.ContainsFunc(group.Columns, func(c format.ColumnChunk) bool {
		return isLZ4(c.MetaData.Codec)
	})
}

func isLZ4(c format.CompressionCodec) bool { return c == format.Lz4 || c == format.Lz4Raw }

const magic = "PAR1"

// openGroup returns a row group of a file, of which some columns will be read. Of one that is
// compressed with LZ4, cryo's default, it is a copy in memory whose pages are not compressed.
// For such pages the library gives bytes that are not theirs: its codec decodes into memory
// of its own, which is then left aside if what came has the size that the page's header says.
func openGroup(
	f io.ReaderAt, table *parquet.File, i int, wanted []int,
) (group parquet.RowGroup, err error) {
	meta := table.Metadata()
	if !hasLZ4(&meta.RowGroups[i]) {
		return table.RowGroups()[i], nil
	}

	err = guarded(func() error {
		text, err := unpack(f, meta, i, wanted)
		if err != nil {
			return err
		}
		copied, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
		if err == nil {
			group = copied.RowGroups()[0]
		}
		return err
	})
	return group, err
}

// unpack returns a file with one row group of another, without LZ4, without the columns that
// are not wanted, and without what only speeds up a search: indexes of pages and Bloom filters.
func unpack(f io.ReaderAt, meta *format.FileMetaData, group int, wanted []int) ([]byte, error) {
	one := meta.RowGroups[group]
	columns := slices.Clone(one.Columns)
	out := bytes.NewBufferString(magic)
	for i := range columns {
		c := &columns[i]
		if !slices.Contains(wanted, i) {
			c.MetaData.TotalCompressedSize = 0
		}
		if err := unpackChunk(out, f, &c.MetaData); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.MetaData.PathInSchema, err)
		}
		*c = format.ColumnChunk{MetaData: c.MetaData}
	}

	one.Columns, one.FileOffset, one.Ordinal = columns, int64(len(magic)), 0
	one.TotalCompressedSize = int64(out.Len() - len(magic))
	copied := *meta
	copied.RowGroups, copied.NumRows = []format.RowGroup{one}, one.NumRows

	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &copied)
	if err != nil {
		return nil, err
	}
	out.Write(footer)
	text := binary.LittleEndian.AppendUint32(out.Bytes(), uint32(len(footer)))
	return append(text, magic...), nil
}

// unpackChunk appends the pages of a column and says in its metadata where they are.
func unpackChunk(out *bytes.Buffer, f io.ReaderAt, meta *format.ColumnMetaData) error {
	start, size := meta.DataPageOffset, meta.TotalCompressedSize
	if at := meta.DictionaryPageOffset; at > 0 && at < start {
		start = at
	}
	if start < 0 || size < 0 || size > mostUnpacked {
		return fmt.Errorf("%d bytes from %d; at most %d are read", size, start, mostUnpacked)
	}
	pages := make([]byte, size)
	if _, err := f.ReadAt(pages, start); err != nil {
		return err
	}

	begin := out.Len()
	meta.DictionaryPageOffset, meta.DataPageOffset, meta.IndexPageOffset = 0, 0, 0
	for len(pages) > 0 {
		at := int64(out.Len())
		kind, rest, err := unpackPage(out, pages, meta.Codec)
		if err != nil {
			return err
		}
		pages = rest
		if kind == format.DictionaryPage {
			meta.DictionaryPageOffset = at
		} else if meta.DataPageOffset == 0 {
			meta.DataPageOffset = at
		}
	}

	meta.TotalCompressedSize = int64(out.Len() - begin)
	meta.TotalUncompressedSize = meta.TotalCompressedSize
	meta.BloomFilterOffset, meta.BloomFilterLength = 0, 0
	if isLZ4(meta.Codec) {
		meta.Codec = format.Uncompressed
	}
	return nil
}

// unpackPage appends the first of the pages and returns what it is and the others.
func unpackPage(
	out *bytes.Buffer, pages []byte, codec format.CompressionCodec,
) (kind format.PageType, rest []byte, err error) {
	var h format.PageHeader
	protocol := new(thrift.CompactProtocol)
	r := protocol.NewReaderFromBytes(pages)
	if err := thrift.NewDecoder(r).Decode(&h); err != nil {
		return 0, nil, fmt.Errorf("a page's header: %w", err)
	}
	body := pages[r.BytesRead():]
	if h.CompressedPageSize < 0 || int(h.CompressedPageSize) > len(body) {
		return 0, nil, fmt.Errorf("a page has %d bytes of %d", h.CompressedPageSize, len(body))
	}
	body, rest = body[:h.CompressedPageSize], body[h.CompressedPageSize:]
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(body) {
		return 0, nil, errors.New("a page's bytes are not those that were written")
	}
	if h.UncompressedPageSize < 0 || int(h.UncompressedPageSize) > mostUnpacked-out.Len() {
		return 0, nil, fmt.Errorf("a row group is larger than %d bytes: extract with "+
			"`cryo --row-group-size 100000`, or with `--compression zstd 3`", mostUnpacked)
	}

	if isLZ4(codec) {
		if body, err = unpackBody(&h, body, codec); err != nil {
			return 0, nil, err
		}
	}
	header, err := thrift.Marshal(protocol, &h)
	out.Write(header)
	out.Write(body)
	return h.Type, rest, err
}

// unpackBody returns a page without its compression, as its header says from then on.
// Levels of the second version are never compressed.
func unpackBody(
	h *format.PageHeader, body []byte, codec format.CompressionCodec,
) (plain []byte, err error) {
	levels, packed := 0, true
	if h.DataPageHeaderV2.Valid {
		v2 := &h.DataPageHeaderV2.V
		levels = int(v2.RepetitionLevelsByteLength) + int(v2.DefinitionLevelsByteLength)
		packed = !v2.IsCompressed.Valid || v2.IsCompressed.V
		v2.IsCompressed = thrift.New(false)
	}
	if levels < 0 || levels > min(len(body), int(h.UncompressedPageSize)) {
		return nil, fmt.Errorf("a page has levels of %d bytes", levels)
	}

	if plain = body; packed {
		plain = make([]byte, h.UncompressedPageSize)
		copy(plain, body[:levels])
		err = decodeLZ4(plain[levels:], body[levels:], codec)
	}
	h.CompressedPageSize, h.UncompressedPageSize = int32(len(plain)), int32(len(plain))
	h.CRC = 0
	return plain, err
}

// decodeLZ4 fills dst. The codec LZ4_RAW, which cryo writes, is one LZ4 block; the older
// LZ4 is Hadoop's blocks, or in files of some writers one LZ4 block too.
func decodeLZ4(dst, src []byte, codec format.CompressionCodec) error {
	if len(dst) == 0 || codec == format.Lz4 && decodeHadoop(dst, src) {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = fmt.Errorf("%d bytes; want %d", n, len(dst))
	}
	if err != nil {
		return fmt.Errorf("a page is no %s: %w", codec, err)
	}
	return nil
}

// decodeHadoop fills dst from Hadoop's blocks: each its size, then parts of it, each the
// size of an LZ4 block and the LZ4 block, until the block is whole. Sizes are 4 bytes,
// high first.
func decodeHadoop(dst, src []byte) (ok bool) {
	size := func() (n int) { // more than there is if it is cut short
		if len(src) < 4 {
			return math.MaxInt
		}
		n = int(binary.BigEndian.Uint32(src))
		src = src[4:]
		return n
	}

	for len(dst) > 0 {
		block := size()
		if block > len(dst) {
			return false
		}
		for block > 0 {
			part := size()
			if part > len(src) {
				return false
			}
			n, err := lz4.UncompressBlock(src[:part], dst[:block])
			if err != nil {
				return false
			}
			dst, src, block = dst[n:], src[part:], block-n
		}
	}
	return len(src) == 0
}
