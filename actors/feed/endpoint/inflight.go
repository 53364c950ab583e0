package endpoint

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// mostInFlight is how many requests of AskAtOnce an endpoint without a limit has
	// under way: at 100 ms and 100 calls in each, 96,000 calls a second.
	mostInFlight = 96
	// leastInFlight lets the next request wait for the limit while one is answered.
	leastInFlight = 2
	// reserved is how much of a limit they may have reserved at once. What else is
	// asked for, as the head, waits for as long.
	reserved = time.Second
)

// AskAtOnce is Ask for more calls than one request takes: several requests are under
// way at once, as many as the limits leave work for. All of one caller's go before those
// of the next, so that the first is not held up by those behind it. After an error of
// one request the others still end; their answers are kept.
func (e *Endpoint) AskAtOnce(ctx context.Context, calls []Call) error {
	size := max(e.pace.callsThatFit(calls[:min(len(calls), e.batch.get())]), 1)
	errs := make([]error, (len(calls)+size-1)/size)
	var work sync.WaitGroup
	for i := range errs {
		part := calls[i*size : min((i+1)*size, len(calls))]
		turn := e.inFlight.queue(e.pace.inFlight(part))
		work.Go(func() {
			if errs[i] = e.inFlight.await(ctx, turn); errs[i] == nil {
				errs[i] = e.Ask(ctx, part)
			}
			e.inFlight.leave(turn, e.pace.inFlight(part))
		})
	}
	work.Wait()

	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inFlight returns how many requests such as these calls may be under way at once.
func (p *pace) inFlight(calls []Call) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := float64(mostInFlight)
	if p.calls.Limiter != nil {
		n = min(n, float64(p.calls.Limit())*reserved.Seconds()/float64(len(calls)))
	}
	if p.units.Limiter != nil {
		n = min(n, float64(p.units.Limit())*reserved.Seconds()/float64(max(unitsOf(calls), 1)))
	}
	return max(int(n), leastInFlight)
}

// inFlight counts requests that are under way and lets the next begin, first come,
// first served.
type inFlight struct {
	mu      sync.Mutex
	busy    int
	waiting []chan struct{} // each closed when its turn has come
}

// queue takes a place in the queue for one of most requests.
func (f *inFlight) queue(most int) (turn chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	turn = make(chan struct{})
	f.waiting = append(f.waiting, turn)
	f.next(most)
	return turn
}

// await waits for a turn.
func (f *inFlight) await(ctx context.Context, turn chan struct{}) error {
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives up a turn, whether it has come or not, to one of most requests.
func (f *inFlight) leave(turn chan struct{}, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.waiting, turn); i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
		return
	}
	f.busy--
	f.next(most)
}

// next lets waiting requests begin. The caller holds mu.
func (f *inFlight) next(most int) {
	for f.busy < most && len(f.waiting) > 0 {
		close(f.waiting[0])
		f.waiting = slices.Delete(f.waiting, 0, 1)
		f.busy++
	}
}
