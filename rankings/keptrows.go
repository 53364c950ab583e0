package rankings

import (
	"math/bits"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// keptRows has what is kept of the open rows, by chunk and within a chunk in their order. A
// generation takes it from the one before and writes it over in place, so that a chunk
// whose rows neither opened nor closed costs nothing. One that needs more room moves to the
// end:
//
//	rows   | chunk 0, room 22 | chunk 1, room 19 | ... | chunk 1 again, room 20 | spare
//	start  |0                 |42 ...
type keptRows struct {
	rows  []value.Kept
	start []uint32 // by chunk
	room  []uint8  // by chunk: entries
}

// spareKept is how many entries there are for chunks that need more room, at least, before
// all move to other memory; a million positions need 30 MB of it.
const spareKept = 1 << 14

// newKeptRows makes room for the open rows.
func newKeptRows(open *block.Bitmap) keptRows {
	words := open.Words()
	k := keptRows{
		rows:  make([]value.Kept, 0, int(open.Count())+spareKept),
		start: make([]uint32, 0, len(words)), room: make([]uint8, 0, len(words)),
	}
	k.resize(words)
	return k
}

// of returns the entries of a chunk with n open rows.
func (k *keptRows) of(w uint32, n int) []value.Kept {
	from := k.start[w]
	return k.rows[from : int(from)+n]
}

// growing is the room that a chunk has beside its rows when it moves, since positions were
// opened there: it is the last one, or will soon be asked again.
const growing = 4

// resize makes room for the open rows, which words marks. The entries of a chunk that moves
// are to be filled again. It returns false if there is not enough memory.
func (k *keptRows) resize(words []uint64) bool {
	n := min(len(k.start), len(words))
	k.start, k.room = k.start[:n], k.room[:n]
	for w, word := range words {
		need := bits.OnesCount64(word)
		if w < n && need <= int(k.room[w]) {
			continue
		}

		if w < n {
			need = min(need+growing, market.ChunkLen)
		}
		from := len(k.rows)
		if from+need > cap(k.rows) {
			return false
		}
		k.rows = k.rows[:from+need]
		if w < n {
			k.start[w], k.room[w] = uint32(from), uint8(need)
		} else {
			k.start, k.room = append(k.start, uint32(from)), append(k.room, uint8(need))
		}
	}
	return true
}

// moved returns all entries in other memory, without the room that chunks have left.
func (k *keptRows) moved(open *block.Bitmap, pause func()) keptRows {
	other := newKeptRows(open)
	for w, word := range open.Words() {
		if w%(index.StrideRows/market.ChunkLen) == 0 {
			pause()
		}
		if n := bits.OnesCount64(word); w < len(k.start) {
			copy(other.of(uint32(w), n), k.of(uint32(w), min(n, int(k.room[w]))))
		}
	}
	return other
}
