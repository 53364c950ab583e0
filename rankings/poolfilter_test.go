package rankings

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/market"
)

// The tags of hooks tell addresses apart, and the one of no hooks is 0.
func TestHookTag(t *testing.T) {
	if got := hookTag(new(market.Address)); got != 0 {
		t.Errorf("no hooks have the tag %d", got)
	}

	random, seen := rand.New(rand.NewPCG(1, 2)), map[uint32]bool{}
	for range 1000 {
		var a market.Address
		for i := range a {
			a[i] = byte(random.Uint32())
		}
		tag := hookTag(&a)
		if seen[tag] || tag == 0 {
			t.Errorf("%s has the tag %d, as another", a, tag)
		}
		seen[tag] = true
	}

	zero := market.Address{16: 1}
	binary.LittleEndian.PutUint32(zero[12:], -hookTag(&zero))
	if got := hookTag(&zero); got != 1 {
		t.Errorf("an address whose bytes mix to 0 has the tag %d; want 1", got)
	}
}
