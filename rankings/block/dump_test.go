package block

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// dumper prints the fields of a block, one a line: offset, bytes, meaning.
type dumper struct {
	strings.Builder
	b  []byte
	at int
}

// printField prints the next n bytes and returns them as a number. A format that
// ends in "=" gets the number appended.
func (d *dumper) printField(n int, format string, args ...any) uint64 {
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

// dumpLeaf returns an annotated dump of a leaf for people to read, or the error
// if it does not decode.
func dumpLeaf(b []byte, bases BaseReader) string {
	ids, err := DecodeLeaf(b, nil, bases)
	if err != nil {
		return err.Error() + "\n"
	}

	d := &dumper{b: b}
	if isRelative(byte(d.printField(1, "version ="))) {
		d.printCode()
	} else {
		d.printField(1, "width =")
		d.printField(2, "rows =")
		d.printField(4, "base =")
	}
	for d.at < len(b)-checksumSize {
		d.printField(min(8, len(b)-checksumSize-d.at), "ids")
	}

	d.printField(checksumSize, "crc")
	fmt.Fprintf(d, "ids %v\n", ids)
	return d.String()
}

// printCode prints what a relative leaf has before its places.
func (d *dumper) printCode() {
	c, _, _ := readCode(d.b) // it was decoded
	d.printField(1, "code: %d low bits, runs %v, shift %d", c.k, c.runs, c.shift)
	d.printField(2, "rows =")
	bases := d.printField(1, "bases =")
	if d.b[0] == relativeVersion {
		d.printField(1, "literal =")
		d.printField(1, "width =")
	}

	for range bases {
		v, n := binary.Uvarint(d.b[d.at:])
		d.printField(n, "  base %+d", unzigzag(v))
	}
}

// dumpDirectory returns an annotated dump of a directory; see dumpLeaf.
func dumpDirectory(b []byte) string {
	directory, err := DecodeDirectory(b)
	if err != nil {
		return err.Error() + "\n"
	}

	d := &dumper{b: b}
	version := d.printField(8, "magic")
	d.printField(8, "chain =")
	d.printField(8, "generation =")
	d.printField(4, "positions =")
	d.printField(4, "pools =")
	d.printField(4, "orders =")
	d.printField(4, "retired =")

	for i := range directory.Orders {
		leaves, bases := d.printField(4, "order %d: leaves =", i), uint64(0)
		if version == directoryMagic {
			bases = d.printField(4, "  bases =")
		}
		for range leaves {
			d.printEntry()
		}
		for range bases {
			d.printLeafNumber()
			d.printField(2, "  base, rows =")
		}
	}
	for range directory.Retired {
		d.printLeafNumber()
		d.printField(8, "  retired, last used by generation =")
	}

	d.printField(checksumSize, "crc")
	return d.String()
}

func (d *dumper) printEntry() {
	d.printField(8, "  key")
	d.printLeafNumber()
	d.printField(8, "  hash")
	d.printField(4, "  first =")
	d.printField(2, "  rows =")
	d.printField(2, "  pass =")
}

func (d *dumper) printLeafNumber() {
	v := binary.LittleEndian.Uint64(d.b[d.at:])
	d.printField(8, "  leaf %d of generation %d", v&(1<<leafIndexBits-1), v>>leafIndexBits)
}
