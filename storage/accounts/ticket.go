package accounts

// Ticket is one authenticated request from its admission to its settlement.
// It is a plain value of the goroutine that serves the request.
type Ticket struct {
	Key   *Key
	Terms *Terms
	Span  *Span // the month it is charged to
	Now   int64 // quota clock at admission
	Burst Burst
	held  int64
	free  bool // served without a charge, whatever the answer
}

// Admit starts the account of a request: its month is fixed, its key was used.
func (b *Book) Admit(k *Key, now int64) Ticket {
	b.Touch(k, now)
	return Ticket{Key: k, Terms: k.Cell.Terms(), Span: b.calendar.Load().At(now), Now: now}
}

// Take takes a burst token; false when there is none (see Ticket.Burst).
func (t *Ticket) Take() bool {
	t.Burst = t.Key.Cell.take(t.Terms, t.Now)
	return t.Burst.RetryNs == 0
}

// Look fills in the bucket's state without taking a token, for an answer that
// was refused before it came to that.
func (t *Ticket) Look() { t.Burst = t.Key.Cell.look(t.Terms, t.Now) }

// Reserve holds units before the work. Only Granted holds any. An account
// without a burst limit that has outrun its lease is Unleased, not Exhausted:
// waiting for the next flush is all that paces it.
func (b *Book) Reserve(t *Ticket, units int64) Verdict {
	if t.Now > b.aliveUntil.Load() {
		if b.diskFull.Load() {
			return b.reserveWhenFull(t, units)
		}
		return Stalled
	}

	v := b.hold(t, units)
	if v == Exhausted {
		b.mark(t.Key.Cell)
		if !t.Terms.Paced() {
			return Unleased
		}
	}
	return v
}

// hold takes units from the account's month.
func (b *Book) hold(t *Ticket, units int64) Verdict {
	c, m := t.Key.Cell, t.Span.Month
	v := c.slot(m).reserve(m, t.Terms.Plan.MonthlyUnits, units)
	if v == Granted {
		t.held += units
		b.mark(c)
	}
	return v
}

// reserveWhenFull is Reserve while nothing can be written for want of space.
// What a lease covers was noted as perhaps used before. An account without a
// quota needs no note; when it has no slot yet it is Unleased until the metering
// side has read its month.
func (b *Book) reserveWhenFull(t *Ticket, units int64) Verdict {
	v := b.hold(t, units)
	switch {
	case v == Granted || v == OverQuota || t.Terms.Plan.MonthlyUnits == 0:
		return v
	case b.whenFull == ServeUncharged:
		t.free = true
		return Granted
	}
	return Stalled
}

// Settle ends the request: charged of the units that were held are billed to
// the route, the others given back. It returns what was billed, which is less
// than charged for a request that is served without a charge. It may be called
// with nothing held.
func (b *Book) Settle(t *Ticket, r Route, charged int64) (billed int64) {
	if t.free {
		charged = 0
	}
	if charged > t.held {
		panic("BUG: charged more units than were held")
	}
	c, m := t.Key.Cell, t.Span.Month
	c.count(m, r, charged)
	c.slot(m).release(m, t.held-charged)
	t.held = 0
	b.mark(c)
	return charged
}

// Quota is what is left of the month, for headers.
type Quota struct {
	Limit, Left int64
	Reserved    int64 // of what is not left, what was never billed
	ResetInNs   int64
}

// Quota reads the account's month now. Limit is 0 for an account without one.
func (t *Ticket) Quota() Quota {
	q := Quota{Limit: t.Terms.Plan.MonthlyUnits, ResetInNs: max(t.Span.EndNs-t.Now, 0)}
	if q.Limit > 0 {
		c, m := t.Key.Cell, t.Span.Month
		q.Left = max(q.Limit-c.slot(m).spent(m), 0)
		q.Reserved = c.Reserved(m)
	}
	return q
}

// Seconds rounds a duration up to whole seconds.
func Seconds(ns int64) int64 { return ceilDiv(ns, 1_000_000_000) }
