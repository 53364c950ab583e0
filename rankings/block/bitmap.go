package block

import "math/bits"

// Bitmap is a set of numbers from 0 to n-1 with fast rank and select: how many
// members are below a number, and which member is the k-th. Both take some 10 ns
// at any size, because it keeps a count for every 512 bits besides the words:
//
//	words  |0101..|..64 bits..|      |      |      |      |      |      |      | ...
//	ranks  |0                                                           |17      ...
//
// Fill it with Set or through Words, then call Seal, before any other method but
// Has and Len.
type Bitmap struct {
	words []uint64
	ranks []uint32 // members before every eighth word, and the total as the last entry
	n     uint32
}

const (
	wordBits   = 64
	rankWords  = 8
	rankStride = rankWords * wordBits
)

// NewBitmap returns an empty set of numbers below n.
func NewBitmap(n uint32) *Bitmap {
	return &Bitmap{words: make([]uint64, (uint64(n)+wordBits-1)/wordBits), n: n}
}

// Set adds i.
func (b *Bitmap) Set(i uint32) { b.words[i/wordBits] |= 1 << (i % wordBits) }

// SetWhere adds, for every id that is in members, the place of the id in ids, counted from
// first on. It takes about 1 ns an id.
func (b *Bitmap) SetWhere(first uint32, ids []uint32, members *Bitmap) {
	word, bit := b.words[first/wordBits:], first%wordBits
	for len(ids) > 0 {
		n := min(len(ids), int(wordBits-bit))
		var set uint64
		for i, id := range ids[:n] {
			set |= members.words[id/wordBits] >> (id % wordBits) & 1 << i
		}

		word[0] |= set << bit
		word, ids, bit = word[1:], ids[n:], 0
	}
}

// CopyRange adds first+i for every i below n for which from has at+i.
func (b *Bitmap) CopyRange(first uint32, from *Bitmap, at, n uint32) {
	for n > 0 {
		count := min(n, wordBits-first%wordBits)
		b.words[first/wordBits] |= from.bitsAt(at, count) << (first % wordBits)
		first, at, n = first+count, at+count, n-count
	}
}

// XorRange toggles first+i for every i below n for which from has at+i.
func (b *Bitmap) XorRange(first uint32, from *Bitmap, at, n uint32) {
	for n > 0 {
		count := min(n, wordBits-first%wordBits)
		b.words[first/wordBits] ^= from.bitsAt(at, count) << (first % wordBits)
		first, at, n = first+count, at+count, n-count
	}
}

// EqualRange reports whether the n numbers from first on are members where those from at on
// are members of other.
func (b *Bitmap) EqualRange(first uint32, other *Bitmap, at, n uint32) bool {
	for n > 0 {
		count := min(n, wordBits)
		if b.bitsAt(first, count) != other.bitsAt(at, count) {
			return false
		}
		first, at, n = first+count, at+count, n-count
	}
	return true
}

// bitsAt returns the count bits from i on, the lowest first; count is 1 to 64.
func (b *Bitmap) bitsAt(i, count uint32) uint64 {
	w, shift := i/wordBits, i%wordBits
	word := b.words[w] >> shift
	if shift+count > wordBits {
		word |= b.words[w+1] << (wordBits - shift)
	}
	return word & (1<<count - 1)
}

// Words returns the words, low bit first. The caller may change them, except bits
// from n on, which must stay 0.
func (b *Bitmap) Words() []uint64 { return b.words }

// Seal counts the members. It must be called again after every change.
func (b *Bitmap) Seal() {
	b.ranks = make([]uint32, 0, len(b.words)/rankWords+2)
	total := uint32(0)
	for i, w := range b.words {
		if i%rankWords == 0 {
			b.ranks = append(b.ranks, total)
		}
		total += uint32(bits.OnesCount64(w))
	}
	b.ranks = append(b.ranks, total)
}

// Len returns n, the bound of the numbers.
func (b *Bitmap) Len() uint32 { return b.n }

// Count returns the number of members.
func (b *Bitmap) Count() uint32 { return b.ranks[len(b.ranks)-1] }

// Has reports whether i, which is below n, is a member.
func (b *Bitmap) Has(i uint32) bool { return b.words[i/wordBits]>>(i%wordBits)&1 != 0 }

// Rank returns the number of members below i, for any i.
func (b *Bitmap) Rank(i uint32) uint32 {
	if i >= b.n {
		return b.Count()
	}

	w := i / wordBits
	r := b.ranks[w/rankWords]
	for _, word := range b.words[w&^(rankWords-1) : w] {
		r += uint32(bits.OnesCount64(word))
	}
	return r + uint32(bits.OnesCount64(b.words[w]&(1<<(i%wordBits)-1)))
}

// Select returns the k-th member, counted from 0; k must be below Count.
func (b *Bitmap) Select(k uint32) uint32 {
	lo := b.findStride(k)
	k -= b.ranks[lo]
	for w := lo * rankWords; ; w++ {
		ones := uint32(bits.OnesCount64(b.words[w]))
		if k < ones {
			return uint32(w*wordBits) + selectInWord(b.words[w], k)
		}
		k -= ones
	}
}

// SelectRange sets dst to the members from the k-th on; there must be as many.
func (b *Bitmap) SelectRange(dst []uint32, k uint32) {
	if len(dst) == 0 {
		return
	}

	first := b.Select(k)
	w := int(first / wordBits)
	word := b.words[w] &^ (1<<(first%wordBits) - 1)
	for i := range dst {
		for word == 0 {
			w++
			word = b.words[w]
		}
		dst[i] = uint32(w*wordBits + bits.TrailingZeros64(word))
		word &= word - 1
	}
}

// findStride returns the index of the last entry of ranks that is at most k. It
// starts where that would be if members were evenly spread, and doubles its step
// until it has passed the entry.
func (b *Bitmap) findStride(k uint32) int {
	last := len(b.ranks) - 1
	lo := int(uint64(k) * uint64(last) / uint64(b.Count()))
	hi := lo + 1

	// Widen downwards, then upwards, until [lo, hi) holds the entry.
	for step := 1; b.ranks[lo] > k; step *= 2 {
		lo, hi = max(lo-step, 0), lo
	}
	for step := 1; hi < last && b.ranks[hi] <= k; step *= 2 {
		lo, hi = hi, min(hi+step, last)
	}

	for hi-lo > 1 {
		if mid := int(uint(lo+hi) >> 1); b.ranks[mid] <= k {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// selectInWord returns the position of the k-th set bit of w, counted from 0.
func selectInWord(w uint64, k uint32) uint32 {
	// Halve the word until 8 bits are left, then clear the bits before the k-th.
	place := uint32(0)
	for half := uint32(32); half >= 8; half /= 2 {
		if ones := uint32(bits.OnesCount64(w & (1<<half - 1))); k >= ones {
			k -= ones
			w >>= half
			place += half
		}
	}

	for ; k > 0; k-- {
		w &= w - 1
	}
	return place + uint32(bits.TrailingZeros64(w))
}
