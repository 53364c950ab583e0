package storage

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
)

// When the native price moves, what selling a token yields moves with it, for nearly all
// tokens, and a row of prices has nothing else that does. So a commit writes one patch with
// the steps of all those rows: the difference, in units of the last place, to the yield of
// before times the factor of the native price.
//
// A row is written when its step would be long, when anything else of it changes, when so
// few rows changed that their turns would cost more, or when it is its turn: commit n writes
// the chunks whose number is n modulo patchTurns, those of their rows that were patched
// since they were written. So a reader needs the patches of as many commits, each under its
// number modulo patchTurns. If a row is written while a patch of it still counts, the patch
// of that commit says so (stepWritten): steps before are in the row.
const (
	patchTurns  = 16
	maxStepLen  = 7 // bytes; a row has 20 to 30
	stepWritten = 0 // other steps are zigzag plus one
)

// pricePatch is what a commit changed of rows that it did not write.
type pricePatch struct {
	number uint64  // of the commit
	factor float64 // of the native price
	chunks []patchedChunk
	steps  []uint64 // of all rows
}

// patchedChunk has the steps of some rows of a chunk.
type patchedChunk struct {
	chunk uint32
	rows  uint64 // the first one by the lowest bit
	first int    // of its steps
}

// codePatch walks a patch. What is read takes the memory that p has.
func codePatch(c *field.Coder, p *pricePatch) {
	c.U64("number", &p.number)
	c.F64("factor", &p.factor)
	n := c.Count("chunks", len(p.chunks))
	if c.Read {
		p.chunks, p.steps = slices.Grow(p.chunks[:0], n)[:n], p.steps[:0]
	}

	next := uint32(0)
	for i := range p.chunks {
		k := &p.chunks[i]
		after := k.chunk - next
		c.U32("after", &after)
		c.U64("rows", &k.rows)
		c.Require("rows", k.rows != 0 && after <= math.MaxUint32-next)
		if k.chunk, next = next+after, next+after+1; c.Failed() {
			return
		}
		p.codeSteps(c, k)
	}
}

func (p *pricePatch) codeSteps(c *field.Coder, k *patchedChunk) {
	n := bits.OnesCount64(k.rows)
	if c.Read {
		k.first = len(p.steps)
		p.steps = slices.Grow(p.steps, n)[:k.first+n]
	}
	for i := range p.steps[k.first : k.first+n] {
		c.U64("step", &p.steps[k.first+i])
	}
}

// lastRow returns the last row that has a step.
func (k *patchedChunk) lastRow() uint32 {
	return k.chunk*market.ChunkLen + uint32(bits.Len64(k.rows)) - 1
}

// add adds the step of a row above all others.
func (p *pricePatch) add(row uint32, step uint64) {
	chunk := row / market.ChunkLen
	if n := len(p.chunks); n == 0 || p.chunks[n-1].chunk != chunk {
		p.chunks = append(p.chunks, patchedChunk{chunk: chunk, first: len(p.steps)})
	}
	p.chunks[len(p.chunks)-1].rows |= 1 << (row % market.ChunkLen)
	p.steps = append(p.steps, step)
}

// eachOf calls visit for the rows of a chunk, ascending.
func (p *pricePatch) eachOf(k *patchedChunk, visit func(row uint32, step uint64)) {
	at := k.first
	for rest := k.rows; rest != 0; rest &= rest - 1 {
		visit(k.chunk*market.ChunkLen+uint32(bits.TrailingZeros64(rest)), p.steps[at])
		at++
	}
}

// chunk returns the steps of a chunk; ok is false if there are none.
func (p *pricePatch) chunk(number uint32) (k patchedChunk, ok bool) {
	i, ok := slices.BinarySearchFunc(p.chunks, number, func(k patchedChunk, number uint32) int {
		return cmp.Compare(k.chunk, number)
	})
	if !ok {
		return k, false
	}
	return p.chunks[i], true
}

// counts reports whether the steps of a chunk are not in its rows after a number of commits,
// because the last turn of the chunk was before the patch.
func (p *pricePatch) counts(chunk uint32, commit uint64) bool {
	sinceTurn := (commit + patchTurns - uint64(chunk)%patchTurns) % patchTurns
	return commit-p.number < sinceTurn
}

// expectedExit is what a yield is expected to be after a factor, as the bits of a float.
func expectedExit(exit, factor float64) uint64 {
	if expected := exit * factor; market.Known(expected) {
		return math.Float64bits(expected)
	}
	return math.Float64bits(exit)
}

// stepOf returns the step between two prices; ok is false if the row has to be written.
func stepOf(was, is *market.Price, factor float64) (step uint64, ok bool) {
	x, y := *was, *is
	x.Usd, x.ExitUsd, y.Usd, y.ExitUsd = 0, 0, 0, 0
	if x != y || !market.SameValue(was.Usd, is.Usd) || !market.Known(was.ExitUsd) || !market.Known(is.ExitUsd) {
		return 0, false
	}

	diff := int64(math.Float64bits(is.ExitUsd) - expectedExit(was.ExitUsd, factor))
	step = field.Zigzag(diff)
	return step + 1, step < 1<<(7*maxStepLen)-1
}

// applyStep brings a price to the one after a step.
func applyStep(p *market.Price, step uint64, factor float64) {
	diff := field.Unzigzag(step - 1)
	p.ExitUsd = math.Float64frombits(expectedExit(p.ExitUsd, factor) + uint64(diff))
}
