package block

import "math/bits"

// Bitmap is a set of the numbers 0 to n-1 that answers how many members stand
// before a number and which one is the k-th, both in some ten nanoseconds at
// any size: beside the words stands a count for every 512 bits.
//
//	words  |0101..|..64 bits..|      |      |      |      |      |      |      | ...
//	ranks  |0                                                           |17      ...
//
// Fill it with Set, or through Words, then call Seal; the questions come after.
type Bitmap struct {
	words []uint64
	ranks []uint32 // members before every eighth word; the last entry is all
	n     uint32
}

const (
	wordBits   = 64
	rankWords  = 8
	rankStride = rankWords * wordBits
)

// NewBitmap returns the empty set of numbers below n.
func NewBitmap(n uint32) *Bitmap {
	return &Bitmap{words: make([]uint64, (uint64(n)+wordBits-1)/wordBits), n: n}
}

// Set adds i.
func (b *Bitmap) Set(i uint32) { b.words[i/wordBits] |= 1 << (i % wordBits) }

// Words gives the words, low bit first; bits from n on must stay 0.
func (b *Bitmap) Words() []uint64 { return b.words }

// Seal counts the members. It must be called again after a change.
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

// Rank returns the number of members below i, which is at most n.
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

// Select returns the member before which k others stand; k is below Count.
func (b *Bitmap) Select(k uint32) uint32 {
	lo := b.stride(k)
	k -= b.ranks[lo]
	for w := lo * rankWords; ; w++ {
		ones := uint32(bits.OnesCount64(b.words[w]))
		if k < ones {
			return uint32(w*wordBits) + selectWord(b.words[w], k)
		}
		k -= ones
	}
}

// stride returns the last entry of ranks that is at most k. It looks first
// where that is if members are evenly spread, and then twice as far each time.
func (b *Bitmap) stride(k uint32) int {
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

// selectWord returns the place of the bit of w before which k others stand.
func selectWord(w uint64, k uint32) uint32 {
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
