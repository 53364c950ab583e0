package block

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// dumper writes the fields of a block, one a line: offset, bytes, meaning.
type dumper struct {
	strings.Builder
	b  []byte
	at int
}

// field takes the next n bytes and returns them as a number.
func (d *dumper) field(n int, format string, args ...any) uint64 {
	var word [8]byte
	copy(word[:], d.b[d.at:d.at+n])
	v := binary.LittleEndian.Uint64(word[:])
	fmt.Fprintf(d, "%04x  %-16x  %s", d.at, d.b[d.at:d.at+n], fmt.Sprintf(format, args...))
	if strings.HasSuffix(format, "=") {
		fmt.Fprintf(d, " %d", v)
	}
	d.WriteByte('\n')
	d.at += n
	return v
}

// DumpLeaf explains the bytes of a leaf. It is for people; a leaf that does
// not decode is answered with the error.
func DumpLeaf(b []byte) string {
	ids, err := DecodeLeaf(b, nil)
	if err != nil {
		return err.Error() + "\n"
	}

	d := &dumper{b: b}
	d.field(1, "version =")
	d.field(1, "width =")
	d.field(2, "rows =")
	d.field(4, "base =")
	for d.at < len(b)-checksumSize {
		d.field(min(8, len(b)-checksumSize-d.at), "ids")
	}

	d.field(checksumSize, "crc")
	fmt.Fprintf(d, "ids %v\n", ids)
	return d.String()
}

// DumpDirectory explains the bytes of a directory, as DumpLeaf.
func DumpDirectory(b []byte) string {
	directory, err := DecodeDirectory(b)
	if err != nil {
		return err.Error() + "\n"
	}

	d := &dumper{b: b}
	d.field(8, "magic")
	d.field(8, "chain =")
	d.field(8, "generation =")
	d.field(4, "positions =")
	d.field(4, "pools =")
	d.field(4, "orders =")
	d.field(4, "retired =")

	for i := range directory.Orders {
		leaves := d.field(4, "order %d: leaves =", i)
		for range leaves {
			d.entry()
		}
	}
	for range directory.Retired {
		d.number()
		d.field(8, "  retired, last used by generation =")
	}

	d.field(checksumSize, "crc")
	return d.String()
}

func (d *dumper) entry() {
	d.field(8, "  key")
	d.number()
	d.field(8, "  hash")
	d.field(4, "  first =")
	d.field(2, "  rows =")
	d.field(2, "  pass =")
}

func (d *dumper) number() {
	v := binary.LittleEndian.Uint64(d.b[d.at:])
	d.field(8, "  leaf %d of generation %d", v&(1<<leafOfBits-1), v>>leafOfBits)
}
