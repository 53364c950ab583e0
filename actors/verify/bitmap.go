package verify

import (
	"fmt"

	"tidemark/rankings/clmath"
)

// tickBitmap is the field of a check of 256 ticks at once.
const tickBitmap = "tickBitmap"

// addBitmap adds every word of a pool's tickBitmap: whoever does not know a tick
// finds it nowhere else. With a spacing of 60 that is 116 words, with 1 it is 6,932.
func (c *comparison) addBitmap(pool uint32, at slot) {
	spacing := c.st.Pools.At(pool).TickSpacing
	refs := c.st.TickLists.At(pool)
	last, _ := bitOf(clmath.MaxTick, spacing)

	for k, _ := bitOf(clmath.MinTick, spacing); k <= last; k++ {
		var want word
		for len(refs) > 0 {
			of, bit := bitOf(refs[0].Tick, spacing)
			if of != k {
				break
			}
			want[31-bit/8] |= 1 << (bit % 8)
			refs = refs[1:]
		}
		c.add(bitmapSlot(at, k), check{
			what: "tick", field: tickBitmap, pool: pool, want: want, bitmap: k,
		})
	}
}

// bitOf returns the word of the tickBitmap that a tick is in, and the bit of it.
func bitOf(tick, spacing int32) (k int32, bit uint8) {
	place := clmath.Aligned(tick, spacing) / spacing
	return place >> 8, uint8(place)
}

// differTicks notes every tick that either has and the other has not.
func (c *comparison) differTicks(k check, have word) {
	p := c.st.Pools.At(k.pool)
	says := map[bool]string{true: "yes", false: "no"}

	for bit := range 256 {
		mask := byte(1) << (bit % 8)
		ledger, contract := k.want[31-bit/8]&mask != 0, have[31-bit/8]&mask != 0
		if ledger == contract {
			continue
		}

		tick := (k.bitmap<<8 + int32(bit)) * p.TickSpacing
		c.reportDifference(check{
			what: "tick", id: fmt.Sprintf("%s/%d", p.ID, tick), field: "initialised", pool: k.pool,
		}, says[ledger], says[contract])
	}
}
