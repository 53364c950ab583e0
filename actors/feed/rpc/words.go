package rpc

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// words reads the fields of an event in order: the indexed ones from the
// topics, then those of the data, 32 bytes each. The first field that is out
// of its bounds is kept as err and what follows is of no meaning.
type words struct {
	topics []word
	data   []byte // a multiple of 32 bytes
	err    error
}

func (w *words) next() (v word) {
	if len(w.topics) > 0 {
		v, w.topics = w.topics[0], w.topics[1:]
		return v
	}
	if len(w.data) < len(v) {
		panic("BUG: an event's shape has fewer words than its decoder reads")
	}
	copy(v[:], w.data)
	w.data = w.data[len(v):]
	return v
}

// want notes that a field is out of its bounds. As a method it would take any, which
// allocates for the fields that are right too.
func want[T any](w *words, ok bool, field string, got T) {
	if !ok && w.err == nil {
		w.err = fmt.Errorf("%s is out of bounds: %v", field, got)
	}
}

// extended returns the next word, of which the first n bytes must all be
// fill: 0, or those of the sign.
func (w *words) extended(n int, signed bool) word {
	v, fill := w.next(), byte(0)
	if signed && v[n] >= 0x80 {
		fill = 0xff
	}
	if bytes.Count(v[:n], []byte{fill}) != n {
		want(w, false, "integer", market.Hash(v))
	}
	return v
}

func (w *words) address() (a market.Address) {
	v := w.extended(12, false)
	copy(a[:], v[12:])
	return a
}

func (w *words) unsigned(bits int) uint32 {
	v := w.extended(32-bits/8, false)
	return binary.BigEndian.Uint32(v[28:])
}

func (w *words) unsigned64() uint64 {
	v := w.extended(24, false)
	return binary.BigEndian.Uint64(v[24:])
}

func (w *words) unsigned128() clmath.U128 {
	v := w.extended(16, false)
	return clmath.U128{
		Lo: binary.BigEndian.Uint64(v[24:]), Hi: binary.BigEndian.Uint64(v[16:]),
	}
}

func (w *words) unsigned256() (u clmath.U256) {
	v := w.next()
	u.SetBytes32(v[:])
	return u
}

func (w *words) signed128() clmath.I128 {
	v := w.extended(16, true)
	return clmath.I128{
		Lo: binary.BigEndian.Uint64(v[24:]), Hi: int64(binary.BigEndian.Uint64(v[16:])),
	}
}

func (w *words) signed24() int32 {
	v := w.extended(29, true)
	return int32(binary.BigEndian.Uint32(v[28:])<<8) >> 8
}

func (w *words) tick() int32 {
	t := w.signed24()
	want(w, clmath.MinTick <= t && t <= clmath.MaxTick, "tick", t)
	return t
}

func (w *words) sqrtPrice() clmath.U256 {
	u := w.unsigned256()
	if u.Lt(&clmath.MinSqrtPrice) || u.Gt(&clmath.MaxSqrtPrice) {
		want(w, false, "sqrtPriceX96", u.Dec())
	}
	return u
}
