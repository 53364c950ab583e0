package block

import "math/bits"

// skipCode is how the skips of a leaf are coded: the byte in its header.
type skipCode byte

func (c skipCode) lowBits() int      { return int(c &^ (codeRuns | codeGrowing | codeDifferences)) }
func (c skipCode) runs() bool        { return c&codeRuns != 0 }
func (c skipCode) growing() bool     { return c&codeGrowing != 0 }
func (c skipCode) differences() bool { return c&codeDifferences != 0 }

// chooseCode returns the code with which the skips take the fewest bits. If that is one of
// differences, they are replaced by these.
func chooseCode(skips []uint32, spare []uint32) (best skipCode) {
	last := uint32(0)
	for i, v := range skips {
		spare[i] = uint32(zigzag(int64(v) - int64(last)))
		last = v
	}
	plain, plainBits := codeOf(skips)
	best, bits := codeOf(spare[:len(skips)])
	if plainBits <= bits {
		return plain
	}
	copy(skips, spare)
	return best | codeDifferences
}

// codeOf returns the code with which some numbers take the fewest bits, and how many, by a
// count of those of each length: the exact sums would have to be made for each code.
func codeOf(skips []uint32) (best skipCode, least int) {
	var lengths [33]int
	runBits, zeros := 0, uint64(0)
	for _, v := range skips {
		lengths[bits.Len32(v)]++
		if v == 0 {
			zeros++
			continue
		}
		runBits += gammaBits(zeros + 1)
		zeros = 0
	}
	if zeros > 0 {
		runBits += gammaBits(zeros + 1)
	}

	least = 1 << 62
	try := func(code skipCode, sum int) {
		if sum < least {
			best, least = code, sum
		}
	}
	longest := len(lengths) - 1
	for longest > 0 && lengths[longest] == 0 {
		longest--
	}
	for k := range min(longest, maxLowBits) + 1 {
		rice, growing := 0, 0
		riceLess, growingLess := runBits, runBits
		for i, n := range lengths[1 : longest+1] {
			if n > 0 {
				middle := uint32(3 << i >> 1) // as if all were in the middle of their length
				rice, growing = rice+n*riceBits(middle, k), growing+n*growingBits(middle, k)
				riceLess, growingLess = riceLess+n*riceBits(middle-1, k), growingLess+n*growingBits(middle-1, k)
			}
		}
		low, none := skipCode(k), lengths[0]*(k+1)
		try(low, rice+none)
		try(low|codeGrowing, growing+none)
		try(low|codeRuns, riceLess)
		try(low|codeRuns|codeGrowing, growingLess)
	}
	return best, least
}

func riceBits(v uint32, k int) int {
	if q := v >> k; q < riceEscape {
		return int(q) + 1 + k
	}
	return riceEscape + skipBits
}

func growingBits(v uint32, k int) int { return 2*bits.Len32(v+1<<k) - 1 - k }

func gammaBits(v uint64) int { return 2*bits.Len64(v) - 1 }

// skips appends all skips of a leaf.
func (w *bitWriter) skips(skips []uint32, code skipCode) {
	zeros := uint64(0)
	for _, v := range skips {
		if code.runs() {
			if v == 0 {
				zeros++
				continue
			}
			w.gamma(zeros + 1)
			zeros = 0
			v--
		}

		if code.growing() {
			w.growing(v, code.lowBits())
		} else {
			w.rice(v, code.lowBits())
		}
	}
	if zeros > 0 {
		w.gamma(zeros + 1)
	}
}

func (w *bitWriter) rice(v uint32, k int) {
	if q := v >> k; q < riceEscape {
		w.put(1<<q-1|uint64(v&(1<<k-1))<<(q+1), int(q)+1+k)
		return
	}
	w.put(1<<riceEscape-1|uint64(v)<<riceEscape, riceEscape+skipBits)
}

func (r *bitReader) rice(k int) uint32 {
	word := r.peek()
	q := bits.TrailingZeros64(^word)
	if q < riceEscape {
		r.at += q + 1 + k
		return uint32(q)<<k | uint32(word>>(q+1)&(1<<k-1))
	}
	r.at += riceEscape + skipBits
	return uint32(word >> riceEscape & (1<<skipBits - 1))
}

func (w *bitWriter) growing(v uint32, k int) {
	v += 1 << k
	n := bits.Len32(v) - 1
	more := n - k
	w.put(1<<more|uint64(v&(1<<n-1))<<(more+1), more+1+n)
}

// growing reads what bitWriter.growing wrote; more zeros than that one writes are a number
// that no skip is.
func (r *bitReader) growing(k int) uint32 {
	word := r.peek()
	more := bits.TrailingZeros64(word)
	if more > skipBits {
		return 1 << skipBits
	}
	n := more + k
	r.at += more + 1 + n
	return (1<<n | uint32(word>>(more+1)&(1<<n-1))) - 1<<k
}

// groupWords is how many words of a placeSet have a count of their own.
const groupWords = 8

// placeSet is the places of the rows of a leaf that are still to come.
type placeSet struct {
	words  []uint64
	counts [MaxBases * MaxLeafRows / wordBits / groupWords]uint32 // by group of words
	first  int                                                    // groups before it are empty

	last, below uint32 // the place that was taken out last, and how many were below it
}

// reset makes an empty set of places below n.
func (p *placeSet) reset(n uint32) {
	words := int(n+wordBits-1) / wordBits
	if cap(p.words) < words {
		p.words = make([]uint64, words)
	}
	p.words, p.first = p.words[:words], 0
	clear(p.words)
}

func (p *placeSet) add(place uint32) { p.words[place/wordBits] |= 1 << (place % wordBits) }

// addRun adds n places from one on.
func (p *placeSet) addRun(from, n uint32) {
	for n > 0 {
		at := from % wordBits
		some := min(n, wordBits-at)
		p.words[from/wordBits] |= ^uint64(0) >> (wordBits - some) << at
		from, n = from+some, n-some
	}
}

// seal counts the places; none may be added after it.
func (p *placeSet) seal() {
	clear(p.counts[:])
	p.last, p.below = noPlace, 0
	for i, word := range p.words {
		p.counts[i/groupWords] += uint32(bits.OnesCount64(word))
	}
}

// remove takes a place of the set out of it and returns how many are below.
func (p *placeSet) remove(place uint32) (below uint32) {
	at, bit := int(place/wordBits), uint64(1)<<(place%wordBits)
	below = uint32(bits.OnesCount64(p.words[at] & (bit - 1)))
	if p.last/wordBits == uint32(at) { // most are near the one before
		before := p.words[at] & (1<<(p.last%wordBits) - 1)
		below += p.below - uint32(bits.OnesCount64(before))
	} else {
		below += p.belowWord(at)
	}

	p.words[at] &^= bit
	p.counts[at/groupWords]--
	p.last, p.below = place, below
	return below
}

// belowWord returns how many places are in the words before one.
func (p *placeSet) belowWord(at int) (below uint32) {
	for p.counts[p.first] == 0 {
		p.first++
	}
	group := at / groupWords
	for _, n := range p.counts[p.first:group] {
		below += n
	}
	for _, word := range p.words[group*groupWords : at] {
		below += uint32(bits.OnesCount64(word))
	}
	return below
}

// take takes the place out that so many of the set, which has more, are below.
func (p *placeSet) take(below uint32) (place uint32) {
	at := p.last / wordBits
	if below == p.below && p.last != noPlace && p.words[at]>>(p.last%wordBits) != 0 {
		// Nearly all follow the one before.
		place = p.last + uint32(bits.TrailingZeros64(p.words[at]>>(p.last%wordBits)))
	} else {
		place = p.find(below)
	}

	p.words[place/wordBits] &^= 1 << (place % wordBits)
	p.counts[place/wordBits/groupWords]--
	p.last, p.below = place, below
	return place
}

// find returns the place that so many are below.
func (p *placeSet) find(below uint32) uint32 {
	for p.counts[p.first] == 0 {
		p.first++
	}
	group := p.first
	for below >= p.counts[group] {
		below -= p.counts[group]
		group++
	}

	at := group * groupWords
	for {
		n := uint32(bits.OnesCount64(p.words[at]))
		if below < n {
			return uint32(at)*wordBits + selectInWord(p.words[at], below)
		}
		below -= n
		at++
	}
}

// putRuns appends the runs of the set.
func (p *placeSet) putRuns(w *bitWriter) {
	run, has := uint64(1), false
	for _, word := range p.words {
		for left := wordBits; left > 0; {
			same := bits.TrailingZeros64(word)
			if has {
				same = bits.TrailingZeros64(^word)
			}
			same = min(same, left)
			run, left, word = run+uint64(same), left-same, word>>same
			if left > 0 {
				w.gamma(run)
				run, has = 0, !has
			}
		}
	}

	if has {
		w.gamma(run)
	}
}
