package accounts

// Ticket is an authenticated request from its admission to its settlement. It is a
// plain value, used only by the goroutine that serves the request.
type Ticket struct {
	Key   *Key
	Terms *Terms
	Span  *Span // the month it is charged to
	Now   int64 // quota clock at admission
	Burst Burst
	book  *Book
	share BurstShare // of the burst limit
	held  int64
	free  bool // this part is not charged, whatever the answer
	// counted: the request is in the account's counts. A long answer is settled in
	// parts, and is one request.
	counted bool
}

// Admit starts a request: it fixes the month and notes the use of the key.
func (b *Book) Admit(k *Key, now int64) Ticket {
	b.Touch(k, now)
	return Ticket{
		Key: k, Terms: k.Cell.Terms(), Span: b.calendar.Load().At(now), Now: now,
		book: b, share: b.BurstOf(k.Cell),
	}
}

// Renew brings a ticket to a later time: units that are reserved from now on are of
// that time's month and the account's present terms, and are charged even if earlier ones
// were not. None may be held.
func (b *Book) Renew(t *Ticket, now int64) {
	t.free = false
	t.Terms, t.Span, t.Now = t.Key.Cell.Terms(), b.calendar.Load().At(now), now
}

// TakeToken takes a burst token. It returns false if there is none; see Ticket.Burst.
func (t *Ticket) TakeToken() bool {
	if t.share.Nodes > 0 && t.Terms.Paced() {
		t.book.noteAsked(t.Key.Cell)
	}
	t.Burst = t.Key.Cell.takeToken(t.Terms, t.share, t.Now)
	return t.Burst.RetryNs == 0
}

// PutBackToken gives back the token of TakeToken, for a request that was refused
// before its work began.
func (t *Ticket) PutBackToken() {
	t.Key.Cell.putToken(t.Terms, t.share)
	t.PeekBurst()
}

// Nodes returns how many nodes share the burst limit; 0: this one has it alone.
func (t *Ticket) Nodes() int64 { return t.share.Nodes }

// PeekBurst sets Burst without taking a token, for a request that is refused before
// TakeToken.
func (t *Ticket) PeekBurst() { t.Burst = t.Key.Cell.peekBurst(t.Terms, t.share, t.Now) }

// Reserve holds units before the request is processed. Only Granted holds any. An
// account without a burst limit that used up its lease is Unleased, not Exhausted:
// it waits for the next flush. So does every account when there was none for long, or
// none since its terms changed.
func (b *Book) Reserve(t *Ticket, units int64) Verdict {
	if until := b.aliveUntil.Load(); t.Now > until {
		switch {
		case b.diskFull.Load():
			return b.reserveWhenFull(t, units)
		case until == 0:
			return Stalled
		}
		// The last write is long ago: the process did not run, or the disk hangs. The
		// next flush tells which.
		return Unleased
	}

	v := b.holdUnits(t, units)
	if v != Granted {
		return b.withoutUnits(t, units, v)
	}
	return v
}

// holdUnits holds units of the account's month.
func (b *Book) holdUnits(t *Ticket, units int64) Verdict {
	c, m := t.Key.Cell, t.Span.Month
	v := c.slot(m).reserve(m, t.Terms.Plan.MonthlyUnits, units)
	if v == Granted {
		t.held += units
		b.markDirty(c)
	}
	return v
}

// reserveWhenFull is Reserve on a full disk. A durable lease may still be spent,
// because it counts as used already. An account without a quota needs no lease; if
// it has no slot for the month yet, it is Unleased until metering has read the month.
func (b *Book) reserveWhenFull(t *Ticket, units int64) Verdict {
	v := b.holdUnits(t, units)
	switch {
	case v == Granted || v == OverQuota || t.Terms.Plan.MonthlyUnits == 0:
		return v
	case b.whenFull == ServeUncharged:
		t.free = true
		return Granted
	}
	return Stalled
}

// Settle ends the request, or a part of a long answer. Of the units held, it bills
// charged to the route and gives the others back. It returns the units billed, which
// is 0 for a request that is served without a charge. It may be called with no units
// held.
func (b *Book) Settle(t *Ticket, r Route, charged int64) (billed int64) {
	if t.free {
		charged = 0
	}
	if charged > t.held {
		panic("BUG: more units are charged than were held")
	}

	c, m := t.Key.Cell, t.Span.Month
	requests := int64(1)
	if t.counted {
		requests = 0
	}
	t.counted = true
	c.count(m, r, Count{requests, charged})
	c.slot(m).release(m, t.held-charged)
	t.held = 0
	b.markDirty(c)
	return charged
}

// Quota is the state of the month's quota, for headers.
type Quota struct {
	Limit, Left int64
	Reserved    int64 // units that count as used but were never billed
	ResetInNs   int64
}

// Quota returns the current state of the account's month. Limit is 0 for an account
// without a quota.
func (t *Ticket) Quota() Quota {
	q := Quota{Limit: t.Terms.Plan.MonthlyUnits, ResetInNs: max(t.Span.EndNs-t.Now, 0)}
	if q.Limit > 0 {
		c, m := t.Key.Cell, t.Span.Month
		q.Left = q.Limit - c.slot(m).spent(m)
		q.Reserved = c.Reserved(m)
		if s := c.Share(m); s != nil {
			q.Left -= s.Elsewhere
			q.Reserved += s.Reserved
		}
		q.Left = max(q.Left, 0)
	}
	return q
}

// Seconds rounds a duration up to whole seconds.
func Seconds(ns int64) int64 { return ceilDiv(ns, 1_000_000_000) }
