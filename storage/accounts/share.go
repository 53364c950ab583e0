package accounts

import "time"

// Share is a month of an account on one node of a cluster: what this node may spend, and
// what the other nodes have. It is immutable.
type Share struct {
	Month Month
	// Allowance is how many units this node may spend, all in all.
	Allowance int64
	// Elsewhere are the units that other nodes have billed or leased. They count as used.
	Elsewhere int64
	// Routes and Reserved are the part of the others in the account's usage.
	Routes   [NumRoutes]Count
	Reserved int64
	// At is when the others were asked, with its monotonic reading.
	At time.Time
}

// SetShare replaces the share of a month.
func (c *Cell) SetShare(s *Share) { c.share[s.Month&1].Store(s) }

// Share returns the share of a month, nil if nothing is known of it.
func (c *Cell) Share(m Month) *Share {
	if s := c.share[m&1].Load(); s != nil && s.Month == m {
		return s
	}
	return nil
}

// Add adds what the other nodes have to the totals of this one.
func (s *Share) Add(t *Tally) {
	for i := range s.Routes {
		t.Routes[i].Requests += s.Routes[i].Requests
		t.Routes[i].Units += s.Routes[i].Units
	}
}

// SetShared says that leases are shares of quotas that other nodes spend too. Call it
// before the first request.
func (b *Book) SetShared() { b.shared = true }

// Shared reports whether other nodes spend the same quotas.
func (b *Book) Shared() bool { return b.shared }

// SetCutOff notes whether the other nodes cannot be asked for units.
func (b *Book) SetCutOff(cutOff bool) { b.cutOff.Store(cutOff) }

// RenewLease has metering look at a cell again, because its share has changed.
func (b *Book) RenewLease(c *Cell) {
	b.markDirty(c)
	b.wakeMeter()
}

// withoutUnits returns the verdict on a request that the lease does not cover.
func (b *Book) withoutUnits(t *Ticket, units int64, v Verdict) Verdict {
	switch {
	case b.shared:
		return b.withoutShare(t, units, v)
	case v != Exhausted:
		return v
	}
	c := t.Key.Cell
	b.markDirty(c)
	// A lease that was sized by other terms, such as a smaller quota, says nothing of
	// these. SetTerms has asked for the next one.
	if !t.Terms.Paced() || c.sized.Load() != t.Terms {
		return Unleased
	}
	return v
}

// withoutShare is withoutUnits in a cluster. Units that were leased to other nodes are
// used until they are given back, so metering asks for them again. A request waits for
// units that may come, also one with a burst limit: the first lease is small.
func (b *Book) withoutShare(t *Ticket, units int64, v Verdict) Verdict {
	c, m, quota := t.Key.Cell, t.Span.Month, t.Terms.Plan.MonthlyUnits
	b.markDirty(c)
	if v == OverQuota || quota == 0 {
		return v
	}

	s, spent := c.Share(m), c.slot(m).spent(m)
	switch {
	case s != nil && spent+units > quota-s.Elsewhere:
		return OverQuota
	case b.cutOff.Load() && (s == nil || spent+units > s.Allowance):
		return Exhausted
	}
	return Unleased
}
