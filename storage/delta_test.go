package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestDeltas: a delta makes the directory, is short where little differs, and is refused where
// it was cut or belongs to another one.
func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n int) (b []byte) {
		for len(b) < n {
			b = binary.LittleEndian.AppendUint64(b, r.Uint64())
		}
		return b[:n]
	}
	var d differ
	f := func(what string, was, is []byte, most int) {
		t.Helper()
		prefix := []byte("prefix")
		delta := d.appendDelta(prefix, was, is)
		if !bytes.HasPrefix(delta, prefix) {
			t.Fatalf("%s: the delta lost what stood before it", what)
		}

		delta = delta[len(prefix):]
		got, err := applyDelta(was, delta)
		if err != nil || !bytes.Equal(got, is) {
			t.Errorf("%s: %d bytes are made, %v; want the %d", what, len(got), err, len(is))
		}
		if len(delta) > most {
			t.Errorf("%s: the delta has %d bytes; want at most %d", what, len(delta), most)
		}
		for n := range min(len(delta), 300) {
			if _, err := applyDelta(was, delta[:n]); !errors.Is(err, errDelta) {
				t.Fatalf("%s: the first %d of %d bytes are applied: %v", what, n, len(delta), err)
			}
		}
		if _, err := applyDelta(was, append(delta, 0)); !errors.Is(err, errDelta) {
			t.Errorf("%s: a delta with a byte too many is applied: %v", what, err)
		}
	}

	a, b := random(64<<10), random(1000)
	f("the same", a, a, 10)
	f("nothing", a, nil, 1)
	f("from nothing", nil, b, len(b)+6)
	f("another", a, b, len(b)+6)
	f("a part in between", a, append(append(a[:32<<10:32<<10], b...), a[32<<10:]...), len(b)+20)
	f("a part less", a, append(a[:32<<10:32<<10], a[33<<10:]...), 20)
	f("two parts that changed places", a, append(a[32<<10:len(a):len(a)], a[:32<<10]...), 24)
	fields := bytes.Clone(a)
	for i := 0; i < len(fields); i += 32 {
		copy(fields[i:], random(8))
	}
	f("a field of each entry", a, fields, len(a)/32*11+20)
	for range 200 {
		is := bytes.Clone(a[:r.IntN(5000)])
		for range r.IntN(40) {
			if at := r.IntN(len(is) + 1); at < len(is) {
				is[at]++
			}
		}
		f("some bytes", a[:r.IntN(5000)], is, len(is)+len(is)/leastCopied+20)
	}

	if _, err := applyDelta(a, binary.AppendUvarint(nil, maxDirectory+1)); !errors.Is(err, errDelta) {
		t.Errorf("a delta of %d bytes is applied: %v", maxDirectory+1, err)
	}
}
