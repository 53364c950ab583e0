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
// without a burst limit that has outrun its lease is Asleep, not Exhausted:
// waiting for the next flush is all that paces it.
func (b *Book) Reserve(t *Ticket, units int64) Verdict {
	if t.Now > b.aliveUntil.Load() {
		return Stalled
	}
	c := t.Key.Cell
	v := c.slot(t.Span.Month).reserve(t.Span.Month, t.Terms.Plan.MonthlyUnits, units)
	switch v {
	case Granted:
		t.held += units
		b.mark(c)
	case Exhausted:
		b.mark(c)
		if !t.Terms.Paced() {
			return Asleep
		}
	}
	return v
}

// Settle ends the request: charged of the units that were held are billed to
// the route, the others given back. It may be called with nothing held.
func (b *Book) Settle(t *Ticket, r Route, charged int64) {
	if charged > t.held {
		panic("BUG: charged more units than were held")
	}
	c, m := t.Key.Cell, t.Span.Month
	c.count(m, r, charged)
	c.slot(m).release(m, t.held-charged)
	t.held = 0
	b.mark(c)
}

// Quota is what is left of the month, for headers.
type Quota struct {
	Limit, Left int64
	ResetInNs   int64
}

// Quota reads the account's month now. Limit is 0 for an account without one.
func (t *Ticket) Quota() Quota {
	q := Quota{Limit: t.Terms.Plan.MonthlyUnits, ResetInNs: max(t.Span.EndNs-t.Now, 0)}
	if q.Limit > 0 {
		spent := t.Key.Cell.slot(t.Span.Month).spent(t.Span.Month)
		q.Left = max(q.Limit-spent, 0)
	}
	return q
}

// Seconds rounds a duration up to whole seconds.
func Seconds(ns int64) int64 { return ceilDiv(ns, 1_000_000_000) }
