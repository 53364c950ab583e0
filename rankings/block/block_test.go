package block

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a dump with its file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func sampleDirectory() *Directory {
	first, second := NewOrder(2), NewOrder(0)
	first.Add(0x40590000_00000000, 7, LeafNumber(3, 0), 0x1122334455667788, 300, 280)
	first.Add(0x40690000_00000000, 9, LeafNumber(2, 5), 0x99aabbccddeeff00, 256, 0)
	first.AddBase(LeafNumber(2, 5), 256)
	first.AddBase(LeafNumber(2, 7), 299)
	return &Directory{
		Chain: 42161, Generation: 3, Positions: 900, Pools: 12, Orders: []Order{first, second},
		Retired: []Retired{{LeafNumber(1, 4), 2}},
	}
}

func TestGolden(t *testing.T) {
	golden(t, "leaf", dumpLeaf(AppendLeaf(nil, []uint32{1000, 1003, 1001, 1007, 1000, 1002}), nil))
	golden(t, "leaf-of-one", dumpLeaf(AppendLeaf(nil, []uint32{77}), nil))
	golden(t, "leaf-wide", dumpLeaf(AppendLeaf(nil, []uint32{0, 1<<32 - 1, 5}), nil))
	relative, b := sampleRelative()
	golden(t, "leaf-relative", dumpLeaf(relative, b.read))
	golden(t, "leaf-relative-2", dumpLeaf(oldRelative, b.read))
	golden(t, "directory", dumpDirectory(sampleDirectory().Append(nil)))
}

func TestLeafRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := func(rows int, base, span uint32) {
		t.Helper()
		ids := make([]uint32, rows)
		for i := range ids {
			ids[i] = base + r.Uint32N(max(span, 1))
		}
		b := AppendLeaf([]byte("prefix"), ids)
		got, err := DecodeLeaf(b[len("prefix"):], []uint32{42}, nil)
		if err != nil || string(b[:6]) != "prefix" || got[0] != 42 || !slices.Equal(got[1:], ids) {
			t.Fatalf("%d rows from %d within %d: %v, %v", rows, base, span, err, got)
		}
	}

	f(1, 0, 0)
	f(1, 1<<32-1, 0)
	f(4096, 5, 0)
	f(4096, 0, 1<<32-1)
	f(256, 1<<31, 1<<31)

	for span := uint32(1); span != 0; span <<= 1 {
		f(1, 3, span)
		f(2, 3, span)
		f(3+r.IntN(900), 0, span)
	}
}

// TestDamage flips every bit of a block and truncates it to every length.
func TestDamage(t *testing.T) {
	f := func(name string, b []byte, decode func([]byte) error) {
		t.Helper()
		if err := decode(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		for i := range b {
			if decode(b[:i]) == nil {
				t.Fatalf("%s: the first %d bytes of %d decode", name, i, len(b))
			}
			for bit := range 8 {
				c := bytes.Clone(b)
				c[i] ^= 1 << bit
				if decode(c) == nil {
					t.Fatalf("%s: decodes with bit %d of byte %d flipped", name, bit, i)
				}
			}
		}

		if decode(append(bytes.Clone(b), 0)) == nil {
			t.Fatalf("%s: decodes with a byte more", name)
		}
	}

	f("leaf", AppendLeaf(nil, []uint32{9, 8, 7, 1000}), decodeLeaf)
	f("directory", sampleDirectory().Append(nil), decodeDirectory)
}

func decodeLeaf(b []byte) error      { _, err := DecodeLeaf(b, nil, nil); return err }
func decodeDirectory(b []byte) error { _, err := DecodeDirectory(b); return err }

// seal overwrites the last four bytes of b with the right checksum.
func seal(b []byte) []byte {
	if len(b) >= checksumSize {
		body := b[:len(b)-checksumSize]
		binary.LittleEndian.PutUint32(b[len(body):], crc32.Checksum(body, castagnoli))
	}
	return b
}

// TestRefusals decodes blocks with a right checksum and wrong content.
func TestRefusals(t *testing.T) {
	f := func(want string, b []byte, at int, value byte, decode func([]byte) error) {
		t.Helper()
		c := bytes.Clone(b)
		c[at] = value
		if err := decode(seal(c)); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("byte %d set to %d: got %v; want %q", at, value, err, want)
		}
	}

	leaf := AppendLeaf(nil, []uint32{9, 8, 7, 1000})
	f("version 4", leaf, 0, 4, decodeLeaf)
	f("width 33", leaf, 1, 33, decodeLeaf)
	f("bytes; want 24", leaf, 1, 32, decodeLeaf)
	f("0 rows", leaf, 2, 0, decodeLeaf)
	f("65284 rows", leaf, 3, 255, decodeLeaf)

	directory := sampleDirectory().Append(nil)
	entry := directoryHeader + 8
	f("format", directory, 7, 9, decodeDirectory)
	f("order 2 of 3", directory, 32, 3, decodeDirectory)
	f("2 retired", directory, 36, 2, decodeDirectory)
	f("retired", directory, 32, 1, decodeDirectory)
	f("for 200 leaves", directory, directoryHeader, 200, decodeDirectory)
	f("it has 0 rows", directory, entry+entrySize+29, 0, decodeDirectory)
	f("64812 rows", directory, entry+29, 253, decodeDirectory)
	f("536 of its 300 rows", directory, entry+31, 2, decodeDirectory)
	f("after the directory's 3", directory, entry+10, 64, decodeDirectory)
	f("below", directory, entry+7, 0x41, decodeDirectory)
	base := entry + 2*entrySize
	f("base 0 of 2: it has 0 rows", directory, base+9, 0, decodeDirectory)
	f("base 1 of 2: its number", directory, base+baseSize+2, 64, decodeDirectory)
	f("for 2 leaves and 200 bases", directory, directoryHeader+4, 200, decodeDirectory)
}

func TestDirectoryRoundTrip(t *testing.T) {
	b := sampleDirectory().Append([]byte("prefix"))
	got, err := DecodeDirectory(b[len("prefix"):])
	if err != nil {
		t.Fatal(err)
	}
	if again := got.Append([]byte("prefix")); !bytes.Equal(again, b) {
		t.Fatalf("got %x; want %x", again, b)
	}
}

// A directory of version 1 has no bases: all of its leaves were whole.
func TestDirectoryWithoutBases(t *testing.T) {
	d := sampleDirectory()
	d.Orders[0].BaseOnItself()
	old := binary.LittleEndian.AppendUint64(nil, magicWithout)
	rest := d.Append(nil)[8:]
	take := func(n int) { old, rest = append(old, rest[:n]...), rest[n:] }
	leave := func(n int) { rest = rest[n:] }

	take(directoryHeader - 8 + 4)
	leave(4) // how many bases
	take(2 * entrySize)
	leave(2 * baseSize)
	take(4)
	leave(4)
	take(len(rest))

	got, err := DecodeDirectory(seal(old))
	if err != nil || !bytes.Equal(got.Append(nil), d.Append(nil)) {
		t.Fatalf("%v; got %v; want %v", err, got, d)
	}
}

func TestLeafNumber(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic for a leaf number that does not fit")
		}
	}()
	LeafNumber(1, 1<<leafIndexBits)
}

// TestCuts checks the bounds of leaves, and that moving a row changes few of them.
func TestCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	ids := make([]uint32, 200_000)
	for i, p := range r.Perm(len(ids)) {
		ids[i] = uint32(p)
	}

	cut := func() map[uint64]int {
		leaves := map[uint64]int{}
		for rest := ids; len(rest) > 0; {
			n, hash := CutLeaf(rest)
			if n > MaxLeafRows || n < MinLeafRows && n < len(rest) {
				t.Fatalf("leaf of %d rows, %d left", n, len(rest))
			}
			leaves[hash] = n
			rest = rest[n:]
		}
		return leaves
	}

	before := cut()
	if mean := len(ids) / len(before); mean < 900 || mean > 1600 {
		t.Fatalf("%d rows a leaf", mean)
	}

	for range 20 {
		from, to := r.IntN(len(ids)), r.IntN(len(ids)-1)
		id := ids[from]
		ids = slices.Delete(ids, from, from+1)
		ids = slices.Insert(ids, to, id)

		after, fresh := cut(), 0
		for hash := range after {
			if before[hash] == 0 {
				fresh++
			}
		}
		if fresh == 0 || fresh > 8 {
			t.Fatalf("a row moved from %d to %d: %d of %d leaves are new", from, to, fresh, len(after))
		}
		before = after
	}
}

func TestBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	f := func(n uint32, density float64) {
		t.Helper()
		b, members := NewBitmap(n), []uint32{}
		for i := range n {
			if r.Float64() < density {
				b.Set(i)
				members = append(members, i)
			}
		}

		b.Seal()
		if b.Len() != n || int(b.Count()) != len(members) {
			t.Fatalf("%d of %d; want %d of %d", b.Count(), b.Len(), len(members), n)
		}

		for k := range members {
			got := make([]uint32, min(len(members)-k, 9))
			if b.SelectRange(got, uint32(k)); !slices.Equal(got, members[k:k+len(got)]) {
				t.Fatalf("n %d: members from %d are %d; want %d", n, k, got, members[k:k+len(got)])
			}
		}

		rank := 0
		for i := range n {
			if int(b.Rank(i)) != rank {
				t.Fatalf("n %d: rank(%d) = %d; want %d", n, i, b.Rank(i), rank)
			}
			if b.Has(i) {
				if members[rank] != i || b.Select(uint32(rank)) != i {
					t.Fatalf("n %d: select(%d) = %d; want %d", n, rank, b.Select(uint32(rank)), i)
				}
				rank++
			}
		}
		if int(b.Rank(n)) != len(members) {
			t.Fatalf("rank(%d) = %d; want %d", n, b.Rank(n), len(members))
		}
	}

	for _, n := range []uint32{0, 1, 63, 64, 65, 511, 512, 513, 1024, 10_000} {
		for _, density := range []float64{0, 0.001, 0.3, 0.97, 1} {
			f(n, density)
		}
	}
}

func FuzzDecodeLeaf(f *testing.F) {
	f.Add(AppendLeaf(nil, []uint32{9, 8, 7, 1000}))
	f.Add(AppendLeaf(nil, []uint32{0, 1<<32 - 1}))
	f.Add(AppendLeaf(nil, []uint32{7}))
	f.Add(AppendLeaf(nil, make([]uint32, MaxLeafRows)))
	f.Add(AppendLeaf(nil, []uint32{5, 4, 5, 5, 4, 5, 4, 4, 5}))

	f.Fuzz(func(t *testing.T, b []byte) {
		ids, err := DecodeLeaf(seal(bytes.Clone(b)), nil, nil)
		if err != nil {
			return
		}
		if again, err := DecodeLeaf(AppendLeaf(nil, ids), nil, nil); err != nil || !slices.Equal(again, ids) {
			t.Fatalf("%x decodes to %v, which decodes to %v, %v", b, ids, again, err)
		}
		dumpLeaf(seal(bytes.Clone(b)), nil)
	})
}

func FuzzDecodeDirectory(f *testing.F) {
	f.Add(sampleDirectory().Append(nil))
	f.Add((&Directory{}).Append(nil))
	f.Add((&Directory{Generation: 9, Orders: []Order{NewOrder(0), NewOrder(0)}}).Append(nil))
	f.Add((&Directory{Retired: []Retired{{1, 2}, {3, 4}}}).Append(nil))

	f.Fuzz(func(t *testing.T, b []byte) {
		b = seal(bytes.Clone(b))
		d, err := DecodeDirectory(b)
		if err != nil {
			return
		}
		again := d.Append(nil)
		if binary.LittleEndian.Uint64(b) == magicWithout {
			d, err = DecodeDirectory(again) // of all leaves as bases
			if b = again; err != nil {
				t.Fatal(err)
			}
			again = d.Append(nil)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x encodes to %x", b, again)
		}
		dumpDirectory(b)
	})
}

func BenchmarkDecodeLeaf(b *testing.B) {
	ids := make([]uint32, 1024)
	for i := range ids {
		ids[i] = uint32(i*2654435761) >> 12
	}
	leaf := AppendLeaf(nil, ids)
	b.SetBytes(int64(len(leaf)))
	var dst []uint32
	for b.Loop() {
		dst, _ = DecodeLeaf(leaf, dst[:0], nil)
	}
}

func BenchmarkBitmap(b *testing.B) {
	m := NewBitmap(1_000_000)
	for i := uint32(0); i < m.Len(); i += 3 {
		m.Set(i)
	}
	m.Seal()

	sum := uint32(0)
	b.Run("rank", func(b *testing.B) {
		for i := uint32(0); b.Loop(); i += 7919 {
			sum += m.Rank(i % m.Len())
		}
	})
	b.Run("select", func(b *testing.B) {
		for i := uint32(0); b.Loop(); i += 7919 {
			sum += m.Select(i % m.Count())
		}
	})
}

// SetWhere and CopyRange do to many bits what Set does to each, wherever they begin.
func TestBitmapRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + random.Uint32N(300)
		members := NewBitmap(n)
		for i := range n {
			if random.Uint32N(2) == 0 {
				members.Set(i)
			}
		}

		first, count := random.Uint32N(200), random.Uint32N(n+1)
		at := random.Uint32N(n - count + 1)
		want, copied, where := NewBitmap(first+count), NewBitmap(first+count), NewBitmap(first+count)
		ids := make([]uint32, count)
		for i := range count {
			if ids[i] = at + i; members.Has(at + i) {
				want.Set(first + i)
			}
		}

		copied.CopyRange(first, members, at, count)
		where.SetWhere(first, ids, members)
		if !slices.Equal(copied.Words(), want.Words()) || !slices.Equal(where.Words(), want.Words()) {
			t.Fatalf("%d of %d bits from %d to %d: %x and %x; want %x", count, n, at, first, copied.Words(),
				where.Words(), want.Words())
		}
	}
}

// Ranges of two sets are equal if they have the same members, wherever they begin.
func TestEqualRange(t *testing.T) {
	a, b := NewBitmap(300), NewBitmap(300)
	for i := range uint32(100) {
		a.Set(3*i - i%2)
	}
	b.CopyRange(0, a, 37, 263)
	f := func(first, at, n uint32, want bool) {
		t.Helper()
		if got := a.EqualRange(first, b, at, n); got != want {
			t.Errorf("%d numbers from %d on and from %d on: %t", n, first, at, got)
		}
	}

	f(37, 0, 263, true)
	f(101, 64, 199, true)
	f(101, 65, 0, true)
	f(37, 1, 200, false)
	c := NewBitmap(300)
	c.CopyRange(5, a, 37, 200)
	c.XorRange(5, b, 0, 200)
	if c.Seal(); c.Count() > 0 {
		t.Errorf("%d members of a set and none of the same", c.Count())
	}
	b.words[4] ^= 1 << 6 // 262
	f(37, 0, 262, true)
	f(37, 0, 263, false)
}
