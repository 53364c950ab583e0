package endpoint

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// costs are the compute units of the methods that are used, as providers that
// sell them commonly count.
var costs = map[string]int{
	"eth_chainId": 0, "eth_blockNumber": 10, "eth_getTransactionReceipt": 15,
	"eth_getBlockByNumber": 16, "eth_getBlockByHash": 21, "eth_call": 26,
	"eth_getLogs": 75, "eth_getBlockReceipts": 500,
}

// defaultCost is that of a method that is not in the table.
const defaultCost = 26

const (
	// burstPart is which part of a second's allowance may be used at once, where
	// nothing was asked for a while.
	burstPart = 12
	// sparePart is which part of the allowance the even rate leaves unused, so that no
	// second has more calls than the plan allows, the first one neither. It is more
	// than a burst: calls of which the first are delayed arrive closer together.
	sparePart = 8
	// After a refusal the pace is multiplied by cut, at most once in growEvery. After
	// every growEvery without one it is multiplied by growth, or by creep when it is
	// near the pace that was refused last, since each refusal costs a pause. Above
	// pastLast that pace is none to be careful of: the provider refused for another reason,
	// such as a spell in which it answered nobody.
	cut       = 0.85
	growth    = 1.05
	creep     = 1.004
	nearLast  = 0.93
	pastLast  = 1.05
	growEvery = time.Second
	// slowestPace is what is asked of a provider that refuses everything: a part of the
	// configured limits or, without any, calls a second.
	slowestPace = 1.0 / 20
	// firstPace is where an unknown limit is searched from, doubling at every
	// growEvery until the next refusal.
	firstPace = 2.0
)

// pace spaces calls: by the configured limits of calls and compute units, and
// by what the provider's refusals taught.
type pace struct {
	mu     sync.Mutex
	calls  bucket
	units  bucket
	factor float64 // of the configured limits that is used
	search bool    // the learnt limit was never refused yet
	last   float64 // the factor or learnt pace that was refused last; 0: none

	changed time.Time // the last cut or growth
	second  time.Time // start of the second that is counted
	count   float64   // calls of that second
	before  float64   // calls of the one before it
}

// bucket is a limiter with the rate that it was configured with.
type bucket struct {
	*rate.Limiter         // nil: no limit
	base          float64 // a second
	least         int     // of a burst
}

func newBucket(perSecond float64, least int) bucket {
	if perSecond <= 0 {
		return bucket{least: least}
	}
	b := bucket{base: perSecond, least: least}
	b.Limiter = rate.NewLimiter(even(perSecond), b.burst(perSecond))
	return b
}

// even is the rate that leaves room for a burst in every second.
func even(perSecond float64) rate.Limit { return rate.Limit(perSecond - perSecond/sparePart) }

func (b *bucket) burst(perSecond float64) int { return max(b.least, 1+int(perSecond/burstPart)) }

// leastUnits lets every single call through a narrow limit at last. What a call costs
// is not split, so a second of such a limit may have one call too much.
const leastUnits = 100

func newPace(callsPerSecond, unitsPerSecond float64) *pace {
	return &pace{
		calls: newBucket(callsPerSecond, 1), units: newBucket(unitsPerSecond, leastUnits), factor: 1,
	}
}

// callsThatFit returns how many of the calls may go into one request.
func (p *pace) callsThatFit(calls []Call) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := len(calls)
	if p.calls.Limiter != nil {
		n = min(n, p.calls.Burst())
	}
	if p.units.Limiter == nil {
		return n
	}
	units := 0
	for i := range n {
		if units += cost(calls[i].Method); units > p.units.Burst() {
			return max(i, 1)
		}
	}
	return n
}

func cost(method string) int {
	if c, ok := costs[method]; ok {
		return c
	}
	return defaultCost
}

func unitsOf(calls []Call) (units int) {
	for i := range calls {
		units += cost(calls[i].Method)
	}
	return units
}

// wait takes what the calls cost and sleeps until they may be sent.
func (p *pace) wait(ctx context.Context, clock Clock, calls []Call) error {
	p.mu.Lock()
	now := clock.Now()
	p.tick(now, len(calls))
	delay := max(p.calls.take(now, len(calls)), p.units.take(now, unitsOf(calls)))
	p.mu.Unlock()

	return clock.Sleep(ctx, delay)
}

// take returns how long to wait for n tokens. More than a burst are taken in
// parts, of which the last is the longest wait.
func (b *bucket) take(now time.Time, n int) (delay time.Duration) {
	if b.Limiter == nil {
		return 0
	}
	for n > 0 {
		k := min(n, b.Burst())
		delay = b.ReserveN(now, k).DelayFrom(now)
		n -= k
	}
	return delay
}

// tick counts calls and lets the pace grow when it was not refused lately.
func (p *pace) tick(now time.Time, calls int) {
	if now.Sub(p.second) >= time.Second {
		p.before, p.count, p.second = p.count, 0, now
	}
	p.count += float64(calls)

	if now.Sub(p.changed) < growEvery || p.changed.IsZero() {
		return
	}
	p.changed = now
	switch {
	case p.factor < 1:
		p.setFactor(now, min(p.grown(p.factor), 1))
	case p.calls.base == 0 && p.search:
		p.learnRate(now, 2*float64(p.calls.Limit()))
	case p.calls.base == 0 && p.calls.Limiter != nil:
		p.learnRate(now, p.grown(float64(p.calls.Limit())))
	}
}

func (p *pace) grown(level float64) float64 {
	if level > nearLast*p.last && level < pastLast*p.last {
		return creep * level
	}
	return growth * level
}

// refused slows down after the provider said that it was asked too often.
func (p *pace) refused(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if now.Sub(p.changed) < growEvery {
		return
	}
	p.changed = now
	switch {
	case p.calls.base > 0 || p.units.base > 0:
		p.last = p.factor
		p.setFactor(now, max(p.factor*cut, slowestPace))
	case p.calls.Limiter == nil:
		p.search = true
		p.learnRate(now, max(firstPace, cut*max(p.before, p.count)/2))
	default:
		p.search, p.last = false, float64(p.calls.Limit())
		p.learnRate(now, max(cut*float64(p.calls.Limit()), slowestPace))
	}
}

// setFactor uses a part of the configured limits.
func (p *pace) setFactor(now time.Time, factor float64) {
	p.factor = factor
	for _, b := range []*bucket{&p.calls, &p.units} {
		if b.base > 0 {
			b.SetLimitAt(now, even(b.base*factor))
			b.SetBurstAt(now, b.burst(b.base*factor))
		}
	}
}

// learnRate limits calls to what an unlimited endpoint turned out to take.
func (p *pace) learnRate(now time.Time, perSecond float64) {
	if p.calls.Limiter == nil {
		p.calls.Limiter = rate.NewLimiter(rate.Limit(perSecond), p.calls.burst(perSecond))
		return
	}
	p.calls.SetLimitAt(now, rate.Limit(perSecond))
	p.calls.SetBurstAt(now, p.calls.burst(perSecond))
}
