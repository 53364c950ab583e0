package block

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// based is an order as it was at an earlier generation.
type based struct {
	bases  []Base
	leaves map[uint64][]uint32
	ranks  []uint32
}

// baseOn cuts an order into leaves of a length, and numbers them.
func baseOn(ids []uint32, length, rows int) *based {
	b := &based{leaves: map[uint64][]uint32{}, ranks: make([]uint32, rows)}
	for rank, id := range ids {
		b.ranks[id] = uint32(rank) + 1
	}
	var o Order
	for n, leaf := range slices.Collect(slices.Chunk(ids, length)) {
		number := LeafNumber(7, 2*n)
		b.leaves[number] = leaf
		o.AddBase(number, uint32(len(leaf)))
	}
	b.bases = o.Bases
	return b
}

func (b *based) read(number uint64) ([]uint32, error) {
	ids, there := b.leaves[number]
	if !there {
		return nil, errors.New("no such base")
	}
	return ids, nil
}

func shuffled(r *rand.Rand, n int) []uint32 {
	ids := make([]uint32, n)
	for i, p := range r.Perm(n) {
		ids[i] = uint32(p)
	}
	return ids
}

// TestRelativeRoundTrip codes leaves of rows that moved in every way.
func TestRelativeRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	all := shuffled(r, 9000)
	var coder Relative
	f := func(name string, length int, change func(ids []uint32) []uint32, most int) {
		t.Helper()
		b := baseOn(all, length, len(all)+100)
		bases := b.bases[1:min(1+MaxBases, len(b.bases))]
		for rank, id := range all {
			if i := uint32(rank); i < bases[0].First || i >= bases[len(bases)-1].First+bases[len(bases)-1].Rows {
				b.ranks[id] = 0
			}
		}

		ids := change(slices.Clone(all[length+50 : length+50+1000]))
		leaf := coder.Append([]byte("prefix"), ids, b.ranks, bases)[len("prefix"):]
		got, err := DecodeLeaf(leaf, []uint32{42}, b.read)
		if err != nil || got[0] != 42 || !slices.Equal(got[1:], ids) {
			t.Fatalf("%s: %v; other rows, or none", name, err)
		}
		if len(leaf) > most {
			t.Errorf("%s: %d bytes; want at most %d, whole it has %d", name, len(leaf), most, WholeSize(ids))
		}
	}

	swapNear := func(ids []uint32) []uint32 {
		for i := range len(ids) - 40 {
			j := i + r.IntN(40)
			ids[i], ids[j] = ids[j], ids[i]
		}
		return ids
	}
	f("as before", 1000, func(ids []uint32) []uint32 { return ids }, 30)
	f("one row elsewhere", 1000, func(ids []uint32) []uint32 {
		return append(slices.Delete(ids, 3, 4), ids[3])
	}, 40)
	f("near", 1000, swapNear, 1100)
	f("near, small bases", 300, swapNear, 1100)
	f("rows without a base", 1000, func(ids []uint32) []uint32 {
		return slices.Insert(ids, 500, 9000, 9001, 9050)
	}, 70)
	f("rows of no base alone", 1000, func([]uint32) []uint32 { return []uint32{9000, 9001, 9050} }, 40)
	f("few rows of a base", 1000, func(ids []uint32) []uint32 { return ids[940:] }, 100)
	f("far", 1000, func(ids []uint32) []uint32 {
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		return ids
	}, 1700)
	f("backwards", 1000, func(ids []uint32) []uint32 { slices.Reverse(ids); return ids }, 600)
	for range 300 {
		f("random", 20+r.IntN(1500), func(ids []uint32) []uint32 {
			for range r.IntN(1000) {
				i, id := r.IntN(len(ids)), uint32(r.IntN(9100))
				if !slices.Contains(ids, id) {
					ids[i] = id
				}
			}
			return ids[:1+r.IntN(len(ids))]
		}, 10_000)
	}
}

// TestFarthestPlaces codes rows of the two ends of as many bases as there can be.
func TestFarthestPlaces(t *testing.T) {
	const rows = MaxBases * MaxLeafRows
	all := shuffled(rand.New(rand.NewPCG(8, 8)), rows)
	b := baseOn(all, MaxLeafRows, rows)

	var coder Relative
	f := func(name string, ids []uint32) {
		t.Helper()
		got, err := DecodeLeaf(coder.Append(nil, ids, b.ranks, b.bases), nil, b.read)
		if err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s: %v; other rows, or none", name, err)
		}
	}

	turns := []uint32{}
	for i := range 2000 {
		turns = append(turns, all[i], all[rows-1-i])
	}
	f("in turns", turns)
	f("the end, then the beginning", append(slices.Clone(all[rows-1000:]), all[:1000]...))
	backwards := slices.Clone(all[rows-MaxLeafRows:])
	slices.Reverse(backwards)
	f("the end backwards, then the beginning", append(backwards[:3000], all[:1000]...))
}

// sampleRelative is a leaf of two bases.
func sampleRelative() (leaf []byte, b *based) {
	ids := make([]uint32, 80)
	for i := range ids {
		ids[i] = uint32(i) * 3
	}
	b = baseOn(ids, 40, 1000)
	moved := slices.Insert(slices.Clone(ids[20:70]), 7, 999)
	moved[30], moved[31] = moved[31], moved[30]
	var coder Relative
	return coder.Append(nil, moved, b.ranks, b.bases), b
}

// oldRelative is the leaf of sampleRelative as version 2 has it.
var oldRelative = []byte{
	0x02, 0x83, 0x33, 0x00, 0x02, 0x80, 0x80, 0x80, 0x07, 0x04,
	0xdf, 0xf9, 0xff, 0xff, 0x3f, 0x1f, 0x00, 0x00, 0x80, 0x27, 0xa9, 0xc0, 0x01,
	0xb5, 0x5d, 0x11, 0x44,
}

func TestRelativeRefusals(t *testing.T) {
	leaf, b := sampleRelative()
	decode := func(leaf []byte) error {
		_, err := DecodeLeaf(leaf, nil, b.read)
		return err
	}
	f := func(want string, at int, value byte) {
		t.Helper()
		c := bytes.Clone(leaf)
		c[at] = value
		if err := decode(seal(c)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d set to %d: got %v; want %q", at, value, err, want)
		}
	}

	f("25 low bits", 1, 25)
	f("0 rows", 2, 0)
	f("64563 rows", 3, 252)
	f("9 bases", 4, 9)
	f("after 21 ones", 5, 21)
	f("rows of 33 bits", 6, 33)
	f("no such base", 7, 1)
	f("rows in their places", 2, 20)
	f("do not end with its bytes", len(leaf)-5, leaf[len(leaf)-5]|128)
	if _, err := DecodeLeaf(leaf, nil, nil); err == nil || !strings.Contains(err.Error(), "want a whole leaf") {
		t.Errorf("without a reader of bases: %v", err)
	}
	if err := decode(seal(bytes.Clone(leaf[:9]))); err == nil {
		t.Error("a leaf without rows decodes")
	}

	// A base that has become shorter has no row at a place.
	b.leaves[b.bases[1].Number] = b.leaves[b.bases[1].Number][:3]
	if err := decode(leaf); err == nil {
		t.Error("decodes with a base that is too short")
	}
}

func FuzzDecodeRelative(f *testing.F) {
	leaf, b := sampleRelative()
	f.Add(leaf)
	f.Add(oldRelative)
	f.Add([]byte{3, codeRuns | codeSlow, 3, 0, 0, 19, 32, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})

	f.Fuzz(func(t *testing.T, leaf []byte) {
		leaf = seal(bytes.Clone(leaf))
		ids, err := DecodeLeaf(leaf, nil, b.read)
		if err != nil {
			return
		}
		if len(ids) == 0 || len(ids) > MaxLeafRows {
			t.Fatalf("%x decodes to %d rows", leaf, len(ids))
		}
		dumpLeaf(leaf, b.read)
	})
}

func BenchmarkRelative(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	all := shuffled(r, 9000)
	on := baseOn(all, 1300, len(all))
	ids := slices.Clone(all[2000:3300])
	for i := range len(ids) - 300 {
		j := i + r.IntN(300)
		ids[i], ids[j] = ids[j], ids[i]
	}

	var coder Relative
	leaf := coder.Append(nil, ids, on.ranks, on.bases[:4])
	b.Run("encode", func(b *testing.B) {
		var dst []byte
		for b.Loop() {
			dst = coder.Append(dst[:0], ids, on.ranks, on.bases[:4])
		}
	})
	b.Run("decode", func(b *testing.B) {
		var dst []uint32
		for b.Loop() {
			dst, _ = DecodeLeaf(leaf, dst[:0], on.read)
		}
	})
}
