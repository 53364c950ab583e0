package storage

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestPacking: what was packed comes back, what repeats takes less room, and a pause comes
// between every two parts. What begins otherwise was not packed.
func TestPacking(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	f := func(what string, raw []byte, most, pauses int) {
		t.Helper()
		paused := 0
		packed := appendPacked([]byte("prefix"), raw, func() { paused++ })
		packed, ok := bytes.CutPrefix(packed, []byte("prefix"))
		if !ok || len(packed) > most || paused != pauses {
			t.Errorf("%s: %d bytes and %d pauses; want at most %d and %d", what, len(packed), paused, most, pauses)
		}
		if got, err := unpack(packed); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: read back are %d bytes, %v; want %d", what, len(got), err, len(raw))
		}
	}

	random := make([]byte, 3*packedBytes+1)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	f("nothing", nil, 2, 0)
	f("a byte", []byte{5}, 20, 1)
	f("as much as fits", random[:packedBytes], packedBytes+20, 1)
	f("a byte more", random[:packedBytes+1], packedBytes+40, 2)
	f("what does not repeat", random, len(random)+80, 4)
	f("what repeats", bytes.Repeat(random[:100], 300), 500, 1)

	for _, plain := range [][]byte{{}, {0x80}, {0x80, 1}, {0, 0x80}, []byte("as it is")} {
		if got, err := unpack(plain); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%x, which is not packed, is read as %x, %v", plain, got, err)
		}
	}
	packed := appendPacked(nil, random, nil)
	for _, damaged := range [][]byte{packed[:len(packed)-1], packed[:3], append(packed[:len(packed):len(packed)], 0)} {
		if got, err := unpack(damaged); err == nil {
			t.Errorf("%d damaged bytes are read as %d", len(damaged), len(got))
		}
	}
}

// FuzzUnpack: nothing that is unpacked makes it panic.
func FuzzUnpack(f *testing.F) {
	f.Add(appendPacked(nil, []byte("what repeats, what repeats, what repeats"), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, err := unpack(b)
		if err != nil {
			return
		}
		if again, err := unpack(appendPacked(nil, raw, nil)); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("%x is unpacked as %x, which comes back as %x, %v", b, raw, again, err)
		}
	})
}
