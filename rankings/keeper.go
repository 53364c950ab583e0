package rankings

import "slices"

// Keeper pins generations of a chain for readers that are not in this process. It is for
// one goroutine. The zero value has none.
type Keeper struct{ kept map[uint64]*viewState }

// Keep pins the named generations and no others. It can pin that of v and earlier ones
// that are pinned, or were published just before v.
func (k *Keeper) Keep(v *View, named []uint64) {
	for generation, state := range k.kept {
		if !slices.Contains(named, generation) {
			state.pins.Add(-1)
			delete(k.kept, generation)
		}
	}

	for _, state := range v.pinnable() {
		if k.kept[state.generation] == nil && slices.Contains(named, state.generation) {
			if k.kept == nil {
				k.kept = make(map[uint64]*viewState)
			}
			state.pins.Add(1)
			k.kept[state.generation] = state
		}
	}
}

// Pinned returns the generations that others than the Keeper have pinned, ascending.
func (k *Keeper) Pinned(v *View) (generations []uint64) {
	for _, state := range v.pinnable() {
		own := int64(0)
		if k.kept[state.generation] == state {
			own = 1
		}
		if state.pins.Load() > own {
			generations = append(generations, state.generation)
		}
	}
	return generations
}

// pinnable returns what counts the pins of v and of earlier generations, oldest first.
func (v *View) pinnable() []*viewState { return append(slices.Clone(v.older), v.shared) }
