package accounts

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"tidemark/rankings/ahead"
)

// Issued is what a key is from when it is issued on. It is immutable.
type Issued struct {
	Hash    Hash // of the whole key; the index finds it by Prefix
	Cell    *Cell
	Kind    Kind
	Origins []string // canonical; browser keys only

	ID        uint64
	Prefix    Prefix
	Label     string
	CreatedAt int64 // Unix ms
}

// Key is a key of a book. The fields that every request reads come first, in one cache
// line.
type Key struct {
	revokedAt atomic.Int64 // Unix ms; 0: active
	used      atomic.Int64 // minutes since 1970; 0: never
	Issued

	dirty link[Key] // on the book's list of keys to drain

	_ [40]byte // pads to three whole cache lines, so that the first is never split
}

// RevokedAt returns when the key was revoked, in Unix ms; 0: it is active.
func (k *Key) RevokedAt() int64 { return k.revokedAt.Load() }

// UsedMinute returns when the key was last used, in minutes since 1970; 0: never.
func (k *Key) UsedMinute() int64 { return k.used.Load() }

// Allows reports whether a browser at that origin may use the key.
func (k *Key) Allows(origin []byte) bool {
	for _, o := range k.Origins {
		if o == string(origin) {
			return true
		}
	}

	// Browsers send the canonical form. Other forms are converted to it.
	canonical, ok := headerOrigin(origin)
	if !ok {
		return false
	}
	for _, o := range k.Origins {
		if o == canonical {
			return true
		}
	}
	return false
}

// Reason says why a key was refused. Clients get the same answer for all of them.
type Reason uint8

const (
	Accepted Reason = iota
	Malformed
	Unknown
	Revoked
	Suspended
)

// Book holds every key and account of a node in memory.
type Book struct {
	keys     index[Key]
	cells    slab[*Cell] // of the accounts that have keys
	origins  index[listing]
	calendar atomic.Pointer[Calendar]
	// aliveUntil is the time, on the quota clock, until which units may be spent
	// after the last synced write.
	aliveUntil atomic.Int64
	// diskFull: writes fail because the disk has too little space.
	diskFull atomic.Bool
	whenFull WhenFull // set before the first request
	// shared: other nodes spend the same quotas; set before the first request. cutOff:
	// they cannot be asked for units.
	shared bool
	cutOff atomic.Bool
	// burst is the share of burst limits that accounts without one of their own have,
	// packed; 0: this node is alone.
	burst atomic.Uint64

	dirtyCells list[Cell]
	dirtyKeys  list[Key]
	asking     list[Cell] // for tokens of a burst limit that nodes share
	wake       chan struct{}
}

// listing counts the active keys that list an origin.
type listing struct {
	origin string
	active atomic.Int64
}

// WhenFull says what happens on a full disk to requests that no durable lease
// covers, for accounts with a quota.
type WhenFull string

const (
	// Refuse answers 503. It is the default.
	Refuse WhenFull = "refuse"
	// ServeUncharged answers them without billing or counting units.
	ServeUncharged WhenFull = "serve-uncharged"
)

// NewBook makes an empty book.
func NewBook(c *Calendar) *Book {
	b := &Book{wake: make(chan struct{}, 1)}
	b.calendar.Store(c)
	return b
}

// Calendar returns the calendar by which requests are charged.
func (b *Book) Calendar() *Calendar { return b.calendar.Load() }

// SetCalendar replaces the calendar (meter).
func (b *Book) SetCalendar(c *Calendar) {
	if b.calendar.Load() != c {
		b.calendar.Store(c)
	}
}

// SetAlive allows spending until a time of the quota clock; 0 stops it at once
// (meter).
func (b *Book) SetAlive(until int64) { b.aliveUntil.Store(until) }

// SetWhenFull sets what happens on a full disk. Call it before the first request.
func (b *Book) SetWhenFull(w WhenFull) { b.whenFull = w }

// SetDiskFull notes whether writes fail because the disk is full (meter). It has an
// effect only after the time set by SetAlive.
func (b *Book) SetDiskFull(full bool) { b.diskFull.Store(full) }

// prefixHash returns a key's place in the index, from the random characters of its
// prefix. It is known before the SHA-256, so the key's memory can be fetched while
// that is computed.
func prefixHash(key []byte) uint64 {
	h := binary.LittleEndian.Uint64(key[PrefixLen-8:]) ^ uint64(key[tagLen])<<7
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// Add adds a key, and returns its number (writer). Its origins are listed if the key is
// active and its account is not suspended.
func (b *Book) Add(issued *Issued, revokedAt, usedMinute int64) (number uint32) {
	k := b.keys.elements.next()
	k.Issued = *issued
	k.revokedAt.Store(revokedAt)
	k.used.Store(usedMinute)

	number = b.keys.add(prefixHash(k.Prefix[:]), b.numberOf(k.Cell))
	if revokedAt == 0 && !k.Cell.Terms().Suspended {
		b.CountOrigins(k, 1)
	}
	return number
}

// Key returns the key with a number.
func (b *Book) Key(number uint32) *Key { return b.keys.elements.at(number) }

// numberOf returns the number of a cell in the book, which the first key of the account
// adds (writer).
func (b *Book) numberOf(c *Cell) uint32 {
	if c.number == 0 {
		*b.cells.next() = c
		c.number = b.cells.add() + 1
	}
	return c.number - 1
}

// Revoke revokes a key for every later request (writer).
func (b *Book) Revoke(k *Key, at int64) {
	if k.revokedAt.Load() == 0 && !k.Cell.Terms().Suspended {
		b.CountOrigins(k, -1)
	}
	k.revokedAt.Store(at)
}

// CountOrigins changes the count of active keys at each origin of a key (writer): by +1
// when the key becomes usable, by -1 when it no longer is.
func (b *Book) CountOrigins(k *Key, by int64) {
	for _, o := range k.Origins {
		h := originHash([]byte(o))
		l, _ := b.origins.find(h, func(l *listing) bool { return l.origin == o })
		if l == nil {
			l = b.origins.elements.next()
			l.origin = o
			b.origins.add(h, 0)
		}
		l.active.Add(by)
	}
}

// SetTerms replaces an account's terms for every later request, and wakes metering
// to adjust its lease (writer).
func (b *Book) SetTerms(c *Cell, t *Terms) {
	c.terms.Store(t)
	b.RenewLease(c)
}

// FitBucket has the burst bucket of an account be no emptier than its new terms can make it
// (writer): what a slower plan has used up would otherwise take as long to refill.
func (b *Book) FitBucket(c *Cell, now int64) {
	c.fitBucket(c.Terms(), b.BurstOf(c), now)
}

// Listed reports whether an active browser key lists the origin of a header.
func (b *Book) Listed(origin []byte) bool {
	if b.isListed(string(origin)) {
		return true
	}
	canonical, ok := headerOrigin(origin)
	return ok && b.isListed(canonical)
}

func (b *Book) isListed(origin string) bool {
	l, _ := b.origins.find(originHash([]byte(origin)), func(l *listing) bool {
		return l.origin == origin
	})
	return l != nil && l.active.Load() > 0
}

// originHash is FNV-1a, which is enough because only operators add origins.
func originHash(s []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range s {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Expect asks for what Resolve looks at first. Of many keys it is hardly ever in the
// processor's cache.
func (b *Book) Expect(header []byte) {
	if len(header) == KeyLen {
		b.keys.ask(prefixHash(header))
	}
}

// Resolve finds the key in a header: one probe, then its hash. It also returns the key
// with Revoked and Suspended, and nil with Malformed and Unknown. The hash covers the
// checksum, which therefore only tells Malformed from Unknown.
func (b *Book) Resolve(header []byte) (*Key, Reason) {
	if len(header) != KeyLen {
		return nil, Malformed
	}

	// The first key with this prefix hash is nearly always the right one: ask for it and
	// its cell while the hash is computed.
	at := prefixHash(header)
	k, cell := b.keys.find(at, func(*Key) bool { return true })
	if k == nil {
		return nil, notIssued(header)
	}
	ahead.Line(k)
	(*b.cells.at(cell)).ask(b.calendar.Load().This.Month)

	hash := HashKey(header)
	if k.Hash != hash {
		k, _ = b.keys.find(at, func(k *Key) bool { return k.Hash == hash })
	}

	switch {
	case k == nil:
		return nil, notIssued(header)
	case k.Cell.Terms().Suspended:
		return k, Suspended
	case k.revokedAt.Load() != 0:
		return k, Revoked
	}
	return k, Accepted
}

// notIssued returns why a key that the book does not have was refused.
func notIssued(header []byte) Reason {
	if _, ok := ParseKey(header); !ok {
		return Malformed
	}
	return Unknown
}

const minuteNs = 60_000_000_000

// Touch notes the use of a key, at most once a minute.
func (b *Book) Touch(k *Key, now int64) {
	minute := now / minuteNs
	if k.used.Load() >= minute {
		return
	}
	k.used.Store(minute)
	b.dirtyKeys.add(k, &k.dirty)
}

// markDirty puts a cell on the list of cells to drain.
func (b *Book) markDirty(c *Cell) { b.dirtyCells.add(c, &c.dirty) }

// Dirty appends the cells marked since the last call, each once, and unmarks them
// (meter). A later change marks a cell again.
func (b *Book) Dirty(dst []*Cell) []*Cell {
	return slices.AppendSeq(dst, b.dirtyCells.takeAll(func(c *Cell) *link[Cell] { return &c.dirty }))
}

// DirtyKeys does the same for the keys noted by Touch (meter).
func (b *Book) DirtyKeys(dst []*Key) []*Key {
	return slices.AppendSeq(dst, b.dirtyKeys.takeAll(func(k *Key) *link[Key] { return &k.dirty }))
}

// RequestLease asks metering for a lease, and returns a channel that is closed when
// metering has tried. Only a request that the lease does not cover waits for that.
func (b *Book) RequestLease(c *Cell) <-chan struct{} {
	ch := c.woken.Load()
	for ch == nil {
		fresh := make(chan struct{})
		c.woken.CompareAndSwap(nil, &fresh) // or another request was first
		ch = c.woken.Load()
	}
	b.RenewLease(c)
	return *ch
}

func (b *Book) wakeMeter() {
	select {
	case b.wake <- struct{}{}:
	default: // a wake is pending already
	}
}

// Wakes returns the channel on which metering is woken to look at cells.
func (b *Book) Wakes() <-chan struct{} { return b.wake }
