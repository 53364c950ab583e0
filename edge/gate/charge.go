package gate

import (
	"strconv"
	"time"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// The 503s of metering. Nothing was charged, and a retry one second later may
// succeed.
var (
	errLease = render.Unavailable(
		"units for this account could not be reserved in time; nothing was charged", time.Second)
	errStalled = render.Unavailable("metering is not available", time.Second)
)

// errQuota is the 429 for a month with fewer units left than the request costs.
func errQuota(t *Ticket) *render.Error {
	q := t.Quota()
	reserved := ""
	if q.Reserved > 0 {
		reserved = "; " + strconv.FormatInt(q.Reserved, 10) + " are reserved for requests that may " +
			"have been answered before a crash"
	}
	return render.OverQuota("monthly quota exceeded: "+strconv.FormatInt(q.Left, 10)+" of "+
		strconv.FormatInt(q.Limit, 10)+" units are left and this request costs more"+reserved+
		"; the quota resets at "+t.Span.Reset, time.Duration(q.ResetInNs))
}

// Reserve holds the units of a request before its work begins. An account's
// first request after an idle second waits here for one synced write; no other
// request waits.
func (g *Gate) Reserve(t *Ticket, units int64) *render.Error {
	v := g.book.Reserve(t, units)
	if v == accounts.Unleased {
		v = g.awaitLease(t, units, false)
	}
	return g.refusal(t, v)
}

// ReservePart holds the units of the next part of a long answer, which is sent at
// now. When the account's lease is used up it waits for the next one, so that a long
// answer goes no faster than usage is written. The ticket must hold no units.
func (g *Gate) ReservePart(t *Ticket, now time.Time, units int64) *render.Error {
	g.book.Renew(t, g.clock.At(now))
	v := g.book.Reserve(t, units)
	if v == accounts.Unleased || v == accounts.Exhausted {
		v = g.awaitLease(t, units, true)
	}
	return g.refusal(t, v)
}

// refusal returns the error of a verdict, nil when the units are held.
func (g *Gate) refusal(t *Ticket, v accounts.Verdict) *render.Error {
	switch v {
	case accounts.Granted:
		return nil
	case accounts.OverQuota:
		g.metrics.quota.Inc()
		return errQuota(t)
	case accounts.Stalled:
		g.metrics.stalled.Inc()
		return errStalled
	}

	g.metrics.lease.Inc()
	return errLease
}

// awaitLease asks metering for a lease and retries until the units are held,
// are refused, or LeaseWait has passed. renewed is whether it goes on when the lease
// that there is was used up.
func (g *Gate) awaitLease(t *Ticket, units int64, renewed bool) accounts.Verdict {
	g.metrics.waits.Inc()
	timeout := time.After(g.LeaseWait)

	for {
		select {
		case <-g.book.RequestLease(t.Key.Cell):
		case <-timeout:
			return accounts.Unleased
		}

		// If the month has ended meanwhile, the lease is one of the next.
		g.book.Renew(t, g.clock.At(time.Now()))
		v := g.book.Reserve(t, units)
		if v != accounts.Unleased && !(renewed && v == accounts.Exhausted) {
			return v
		}
	}
}

// maxShareAge is how old an answer of the other nodes may be for /v1/usage, shareWait how
// long a newer one is waited for, and sharePause the pause between two looks at it.
const (
	maxShareAge = 2 * time.Second
	shareWait   = time.Second
	sharePause  = 5 * time.Millisecond
)

// AwaitShare waits until it is known what other nodes have of the account's month, but
// not longer than shareWait. A node that is alone knows.
func (g *Gate) AwaitShare(t *Ticket, now time.Time) {
	if !g.book.Shared() {
		return
	}
	for end := now.Add(shareWait); now.Before(end); now = time.Now() {
		s := t.Key.Cell.Share(t.Span.Month)
		if s != nil && now.Sub(s.At) < maxShareAge {
			return
		}
		g.book.RenewLease(t.Key.Cell)
		time.Sleep(sharePause)
	}
}

// Settle ends an admitted request that a route answered, or a part of a long answer. It
// bills charged of the reserved units, releases the others and returns what it billed, for
// the headers. charged is at most what was reserved. The first part counts as the request.
func (g *Gate) Settle(t *Ticket, r accounts.Route, charged int64) (billed int64) {
	return g.book.Settle(t, r, charged)
}
