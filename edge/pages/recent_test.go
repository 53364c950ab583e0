package pages

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRecent compares random operations with a slice in the order of last use. Odd
// values must not be evicted.
func TestRecent(t *testing.T) {
	const max = 5
	type pair struct {
		key   string
		value int
	}
	evictable := func(v int) bool { return v%2 == 0 }
	for seed := range uint64(20) {
		r, random := newRecent[int](max), rand.New(rand.NewPCG(seed, 1))
		var model []pair // the most recently used first
		find := func(key string) int {
			return slices.IndexFunc(model, func(p pair) bool { return p.key == key })
		}

		for step := range 500 {
			key, value := fmt.Sprint(random.IntN(8)), random.IntN(100)
			at := find(key)
			switch random.IntN(5) {
			case 0:
				got, ok := r.get(key)
				if ok != (at >= 0) || ok && got != model[at].value {
					t.Fatalf("seed %d, step %d: get %s: got %d, %v of %v", seed, step, key, got, ok, model)
				}
				if at >= 0 {
					p := model[at]
					model = slices.Insert(slices.Delete(model, at, at+1), 0, p)
				}
			case 1:
				r.drop(key, evictable)
				if at >= 0 && evictable(model[at].value) {
					model = slices.Delete(model, at, at+1)
				}
			case 2:
				if step%20 == 0 {
					r.dropAll(evictable)
					model = slices.DeleteFunc(model, func(p pair) bool { return evictable(p.value) })
				}
			default:
				want := true
				if at >= 0 {
					model = slices.Delete(model, at, at+1)
				} else if len(model) == max {
					last := len(model) - 1
					for last >= 0 && !evictable(model[last].value) {
						last--
					}
					if want = last >= 0; want {
						model = slices.Delete(model, last, last+1)
					}
				}
				if want {
					model = slices.Insert(model, 0, pair{key, value})
				}
				if got := r.put(key, value, evictable); got != want {
					t.Fatalf("seed %d, step %d: put %s: got %v; want %v", seed, step, key, got, want)
				}
			}

			if r.order.Len() != len(model) || len(r.byKey) != len(model) {
				t.Fatalf("seed %d, step %d: %d values are kept; want %v", seed, step, r.order.Len(), model)
			}
		}
	}
}
