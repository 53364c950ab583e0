package cryo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// cell is one value of a row.
type cell struct {
	null  bool
	text  bool   // bytes is text: bytes are 0x and hex in it
	bytes []byte // valid until the next row
	num   uint64
}

// whole returns a number; a value that is none is read as 0 otherwise.
func (c *cell) whole(name string) (uint64, error) {
	if c.bytes != nil {
		return 0, fmt.Errorf("column %s: %.80q is no whole number", name, c.bytes)
	}
	return c.num, nil
}

// binary returns bytes of any length.
func (c *cell) binary() ([]byte, error) {
	if !c.text {
		return c.bytes, nil
	}
	text, ok := strings.CutPrefix(string(c.bytes), "0x")
	if !ok {
		return nil, fmt.Errorf("%.80q is not 0x and hex digits", c.bytes)
	}
	return hex.DecodeString(text)
}

// fixed reads as many bytes as dst has.
func (c *cell) fixed(dst []byte) error {
	b, err := c.binary()
	if err == nil && len(b) != len(dst) {
		err = fmt.Errorf("%d bytes; want %d", len(b), len(dst))
	}
	copy(dst, b)
	return err
}

// column is what is read of a dataset.
type column struct {
	name     string
	optional bool // a file may lack it, and then all of it is null
}

// eachRow calls do with the named cells of every row of a file.
func eachRow(path string, columns []column, do func([]cell) error) error {
	read := eachObject
	if filepath.Ext(path) == ".parquet" {
		read = eachParquet
	}
	rows := 0
	err := read(path, columns, func(cells []cell) error {
		rows++
		return do(cells)
	})

	if err != nil {
		return fmt.Errorf("%s, row %d: %w", path, rows, err)
	}
	return nil
}

func eachParquet(path string, columns []column, do func([]cell) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var table *parquet.File
	err = guarded(func() (err error) {
		table, err = openParquet(f, info.Size())
		return err
	})
	if err != nil {
		return err
	}

	places := make([]int, len(columns))
	for i, c := range columns {
		leaf, ok := table.Schema().Lookup(c.name)
		if places[i] = leaf.ColumnIndex; !ok {
			if places[i] = -1; !c.optional {
				return fmt.Errorf("it has no column %s", c.name)
			}
		}
	}

	for i := range table.RowGroups() {
		group, err := openGroup(f, table, i, places)
		if err != nil {
			return err
		}
		if err := eachOfGroup(group, places, do); err != nil {
			return err
		}
	}
	return nil
}

// guarded has the library read, which panics on some damaged files.
func guarded(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	return read()
}

// eachOfGroup reads the wanted columns of a row group side by side.
func eachOfGroup(group parquet.RowGroup, places []int, do func([]cell) error) error {
	readers := make([]columnReader, len(places))
	for i, place := range places {
		if place >= 0 {
			chunk := group.ColumnChunks()[place]
			readers[i] = columnReader{pages: chunk.Pages(), text: isText(chunk.Type())}
			defer readers[i].pages.Close()
		}
	}

	cells := make([]cell, len(places))
	for range group.NumRows() {
		for i := range readers {
			if cells[i] = (cell{null: true}); readers[i].pages == nil {
				continue
			}
			v, err := readers[i].next()
			if err != nil {
				return err
			}
			if cells[i], err = cellOf(v, readers[i].text); err != nil {
				return err
			}
		}
		if err := do(cells); err != nil {
			return err
		}
	}
	return nil
}

func isText(t parquet.Type) bool {
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	_, isString := logical.Value.(*format.StringType)
	return isString
}

// columnReader reads the values of one column.
type columnReader struct {
	pages  parquet.Pages
	text   bool
	values parquet.ValueReader
	buf    [256]parquet.Value
	left   []parquet.Value
}

func (r *columnReader) next() (parquet.Value, error) {
	for len(r.left) == 0 {
		if err := guarded(r.fill); err != nil {
			return parquet.Value{}, err
		}
	}

	v := r.left[0]
	r.left = r.left[1:]
	return v, nil
}

// fill reads the next values, if any, of the present page or of the next one.
func (r *columnReader) fill() error {
	if r.values == nil {
		page, err := r.pages.ReadPage()
		if err != nil {
			return err
		}
		r.values = page.Values()
	}

	n, err := r.values.ReadValues(r.buf[:])
	if r.left = r.buf[:n]; err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err != nil {
		r.values = nil
	}
	return nil
}

func cellOf(v parquet.Value, text bool) (c cell, err error) {
	if v.IsNull() {
		return cell{null: true}, nil
	}

	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		c.bytes, c.text = v.ByteArray(), text
	case parquet.Int32:
		c.num = uint64(v.Uint32())
	case parquet.Int64:
		c.num = v.Uint64()
	case parquet.Double:
		c.num, err = wholeNumber(v.Double())
	default:
		err = fmt.Errorf("a value is a %s", v.Kind())
	}
	return c, err
}

// wholeNumber reads a number that was written as a float, as cryo does on request.
func wholeNumber(x float64) (uint64, error) {
	if x < 0 || x >= 1<<53 || x != math.Trunc(x) {
		return 0, fmt.Errorf("%g is no exact whole number", x)
	}
	return uint64(x), nil
}

// names lists columns for a message.
func names(columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}
