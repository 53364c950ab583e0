package rankings

import (
	"encoding/binary"
	"math/bits"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// IsFiltered reports whether the question has other filters than the default
// ones or none; see PositionQuestion.IsFiltered.
func (q *PoolQuestion) IsFiltered() bool { return !q.isDefault() && !q.isOpen() }

// isDefault reports whether the filters are the default ones.
func (q *PoolQuestion) isDefault() bool { return !q.hasFilter() && !q.IncludeRisky }

// isOpen reports whether nothing is filtered.
func (q *PoolQuestion) isOpen() bool { return !q.hasFilter() && q.IncludeRisky }

// hasFilter reports whether a filter is set that the default question leaves out.
func (q *PoolQuestion) hasFilter() bool {
	return q.MinTVLUsd > 0 || q.Search != "" || q.Key.IsSet()
}

// filter returns the question's filter over a warm view.
func (q *PoolQuestion) filter(v *View) *filter {
	c := v.columns
	f := &filter{n: v.State.Pools.Len()}
	if !q.IncludeRisky && q.Search == "" {
		f.require(c.safePools)
	}
	if q.MinTVLUsd > 0 {
		f.require(atLeast(c.tvl, q.MinTVLUsd))
	}
	for _, set := range q.Key.pools(v) {
		f.require(set)
	}

	if q.Search != "" {
		f.filterSearch(v, q.Search)
	}
	return f
}

// pools returns a set of pools for each part of the filter. A pool that is in all
// of them passes.
func (f *KeyFilter) pools(v *View) (sets []*block.Bitmap) {
	c := v.columns
	if len(f.Tokens) > 0 {
		sets = append(sets, v.poolsOf(f.Tokens))
	}
	if f.Fee != nil {
		sets = append(sets, equalTo(c.fee, *f.Fee))
	}

	if f.Hooked {
		sets = append(sets, c.hooked)
	}
	if f.Hooks != nil {
		sets = append(sets, v.poolsWithHooks(f.Hooks))
	}
	return sets
}

// poolsOf returns the pools that have all tokens, by the list of the token that
// has the fewest pools.
func (v *View) poolsOf(tokens []market.Address) *block.Bitmap {
	c, found := v.columns, block.NewBitmap(v.State.Pools.Len())
	var rows [2]uint32
	var sides []uint32
	for i := range tokens {
		row, there := v.Token(tokens[i])
		if !there {
			return found
		}
		list := c.byToken.Candidates(row)
		if rows[i] = row; i == 0 || len(list) < len(sides) {
			sides = list
		}
	}

	first, last := rows[0], rows[len(tokens)-1]
	for _, side := range sides {
		a, b := c.sides.At(side&^1), c.sides.At(side|1)
		if (a == first || b == first) && (a == last || b == last) {
			found.Set(side / 2)
		}
	}
	return found
}

// poolsWithHooks returns the pools whose hooks are at an address. Tags are
// compared first, since records are read out of sequence.
func (v *View) poolsWithHooks(hooks *market.Address) *block.Bitmap {
	set := equalTo(v.columns.hookTag, hookTag(hooks))
	if hooks.IsZero() {
		return set
	}

	for w, word := range set.Words() {
		for at := word; at != 0; at &= at - 1 {
			bit := at & -at
			if v.State.Pools.At(uint32(w*64+bits.TrailingZeros64(bit))).Hooks != *hooks {
				word &^= bit
			}
		}
		set.Words()[w] = word
	}
	return set
}

// hookTag returns 32 bits of an address; 0 only for that of no hooks.
func hookTag(a *market.Address) uint32 {
	tag := binary.LittleEndian.Uint32(a[16:])
	for i := 0; i < 16; i += 4 {
		tag = tag*0x9e3779b1 + binary.LittleEndian.Uint32(a[i:])
	}
	if tag == 0 && !a.IsZero() {
		return 1
	}
	return tag
}
