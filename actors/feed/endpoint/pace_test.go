package endpoint

import (
	"testing"
	"time"
)

// Whatever was asked before, no second has more calls than the plan allows: not the
// first, and not the one after a pause. In the long run most of the plan is used.
func TestNoSecondIsAboveThePlan(t *testing.T) {
	f := func(perSecond float64, batch int) {
		t.Helper()
		p := newPace(perSecond, 0)
		calls := make([]Call, batch)
		calls = calls[:p.callsThatFit(calls)]
		start := time.Unix(1_800_000_000, 0)
		now, resumed := start, start.Add(40*time.Second)
		var sent []time.Time // of each call
		for now.Before(resumed.Add(20 * time.Second)) {
			if now.Sub(start) > 20*time.Second && now.Before(resumed) {
				now = resumed
			}
			now = now.Add(p.calls.take(now, len(calls)))
			for range calls {
				sent = append(sent, now)
			}
		}

		first := 0
		for i, at := range sent {
			for at.Sub(sent[first]) >= time.Second {
				first++
			}
			if n := i - first + 1; float64(n) > perSecond {
				t.Fatalf("%g calls a second in requests of %d: %d in the second before %s",
					perSecond, len(calls), n, at.Sub(start))
			}
		}
		if used := float64(len(sent)) / (40 * perSecond); used < 0.85 {
			t.Errorf("%g calls a second in requests of %d: only %.2f of them are used",
				perSecond, len(calls), used)
		}
	}

	f(1, 100)
	f(4, 1)
	f(12, 2)
	f(25, 1)
	f(25, 100)
	f(100, 7)
	f(1000, 100)
}

// As many calls go into a request as may be sent at once: by their number, and by what
// they cost. One always does.
func TestCallsThatFit(t *testing.T) {
	f := func(perSecond, units float64, method string, most int) {
		t.Helper()
		p := newPace(perSecond, units)
		for _, n := range []int{1, most, most + 1, 2*most + 1} {
			calls := make([]Call, n)
			for i := range calls {
				calls[i].Method = method
			}
			if got := p.callsThatFit(calls); got != min(n, most) {
				t.Errorf("%g calls, %g units a second: %d of %d %s fit; want %d", perSecond, units, got, n, method, min(n, most))
			}
		}
	}

	f(120, 0, "eth_call", 11)
	f(1, 0, "eth_call", 1)
	f(0, 1200, "eth_blockNumber", 10)
	f(0, 1200, "eth_getLogs", 1)
	f(0, 1800, "eth_getLogs", 2)
	f(0, 1, "eth_unknown", 3)
	f(0, 1, "eth_getBlockReceipts", 1)
	f(24, 1200, "eth_blockNumber", 3)
	p := newPace(0, 0)
	if n := p.callsThatFit(make([]Call, 100)); n != 100 {
		t.Errorf("without limits %d of 100 calls fit", n)
	}
	if got := unitsOf([]Call{{Method: "eth_getLogs"}, {Method: "eth_chainId"}, {Method: "eth_unknown"}}); got != 101 {
		t.Errorf("they cost %d units; want 101", got)
	}
}

// A limit that is not known is searched for after the first refusal: from half of what was
// asked, doubling until the next one, and then by small steps, the smaller the nearer it is
// to what was refused.
func TestPaceIsLearnt(t *testing.T) {
	p := newPace(0, 0)
	now := time.Unix(1_800_000_000, 0)
	f := func(after time.Duration, refused bool, want float64) {
		t.Helper()
		if now = now.Add(after); refused {
			p.refused(now)
		} else {
			p.tick(now, 1)
		}
		got := 0.0
		if p.calls.Limiter != nil {
			got = float64(p.calls.Limit())
			if burst := 1 + int(got/burstPart); p.calls.Burst() != burst {
				t.Errorf("at %g calls a second the burst is %d; want %d", got, p.calls.Burst(), burst)
			}
		}
		if got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%g calls a second; want %g", got, want)
		}
	}

	p.tick(now, 99)
	f(500*time.Millisecond, false, 0)
	f(0, true, cut*100/2)
	f(0, true, cut*100/2)
	f(999*time.Millisecond, false, 42.5)
	f(time.Millisecond, false, 85)
	f(time.Second, false, 170)
	f(999*time.Millisecond, true, 170)
	f(time.Millisecond, true, cut*170)
	f(time.Second, false, cut*170*growth)
	f(time.Second, false, cut*170*growth*growth)
	f(time.Second, false, cut*170*growth*growth*creep)
	for range 100 {
		now = now.Add(time.Second)
		p.refused(now)
	}
	f(0, false, slowestPace)

	// What was asked in the second before counts too, and the search begins somewhere.
	p = newPace(0, 0)
	p.tick(now, 300)
	f(time.Second, false, 0)
	f(0, true, cut*300/2)
	p = newPace(0, 0)
	p.tick(now, 1)
	f(0, true, firstPace)
}

// A configured limit is used in part after a refusal, and whole again some time later.
func TestPaceOfAPlan(t *testing.T) {
	f := func(calls, units float64, b func(*pace) *bucket) {
		t.Helper()
		p := newPace(calls, units)
		now := time.Unix(1_800_000_000, 0)
		hold := func(part float64) {
			t.Helper()
			limit := b(p)
			want := limit.base * part
			if got := float64(limit.Limit()); got < want*7/8-1e-6 || got > want*7/8+1e-6 ||
				limit.Burst() != max(limit.least, 1+int(want/burstPart)) {
				t.Errorf("%g a second, bursts of %d; want %g of %g", got, limit.Burst(), part, limit.base)
			}
		}
		second := func() {
			now = now.Add(time.Second)
			p.tick(now, 1)
		}

		p.tick(now, 1)
		second()
		hold(1)
		p.refused(now)
		hold(cut)
		second()
		hold(cut * growth)
		second()
		hold(cut * growth * growth)
		second()
		hold(cut * growth * growth * creep)
		for range 20 {
			second()
		}
		hold(1)
		for range 100 {
			now = now.Add(time.Second)
			p.refused(now)
		}
		hold(slowestPace)
	}

	f(240, 0, func(p *pace) *bucket { return &p.calls })
	f(1, 0, func(p *pace) *bucket { return &p.calls })
	f(0, 1, func(p *pace) *bucket { return &p.units })
	f(0, 24_000, func(p *pace) *bucket { return &p.units })
}

// A spell of refusals does not slow an endpoint down for long: the pace that was refused
// last is approached with care, and left behind once it was passed.
func TestPaceAfterASpell(t *testing.T) {
	f := func(calls float64, refusals int, pace func(*pace) float64, want float64) {
		t.Helper()
		p := newPace(calls, 0)
		now := time.Unix(1_800_000_000, 0)
		p.tick(now, 50)
		for range refusals {
			now = now.Add(time.Second)
			p.refused(now)
		}
		for range 120 {
			now = now.Add(time.Second)
			p.tick(now, 1)
		}
		if got := pace(p); got < want {
			t.Errorf("two minutes after %d refusals: %g; want at least %g", refusals, got, want)
		}
	}
	learnt := func(p *pace) float64 { return float64(p.calls.Limit()) }

	f(0, 10, learnt, 100)
	f(0, 20, learnt, 50)
	f(25, 20, func(p *pace) float64 { return p.factor }, 1)
}
