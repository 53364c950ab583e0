package endpoint

import "sync"

const (
	// firstBatch is how many calls go into one request until a provider refuses
	// that many: what public nodes commonly take.
	firstBatch = 50
	// mostBatch is how many are tried: what large plans take.
	mostBatch = 100
	// regrow is after how many requests a smaller batch is tried larger: the
	// refusal may have had another reason.
	regrow = 32
	// forget is after how many requests a size that was refused is tried again.
	forget = 4096
)

// batch learns how many calls one request may hold: after a refusal as many as were
// taken before, or half, and then by bisecting between what was taken and what was
// refused.
type batch struct {
	mu      sync.Mutex
	size    int
	good    int // the largest that was taken
	ceiling int // the largest size that was not refused yet
	calm    int // requests since size changed
	age     int // requests since ceiling changed
}

func newBatch() batch { return batch{size: firstBatch, ceiling: mostBatch} }

func (b *batch) get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// refused notes that k calls were too many.
func (b *batch) refused(k int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ceiling, b.age = max(1, min(b.ceiling, k-1)), 0
	if b.good >= k {
		b.good = 0
	}
	b.size, b.calm = max(1, min(b.size, max(k/2, b.good))), 0
}

// shrink halves the size for now, as after a refusal because of the rate.
func (b *batch) shrink() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size, b.calm = max(1, b.size/2), 0
}

// answered notes that a request of k calls was answered.
func (b *batch) answered(k int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.good = max(b.good, k)
	b.calm++
	if b.age++; b.age >= forget {
		b.ceiling, b.age = mostBatch, 0
	}
	if b.calm >= regrow && b.size < b.ceiling {
		b.size, b.calm = (b.size+b.ceiling+1)/2, 0
	}
}
