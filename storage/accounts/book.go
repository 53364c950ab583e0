package accounts

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Key is an issued key. What is plain is immutable. The fields stand in the
// order of their heat: those of every request fill one cache line.
type Key struct {
	Hash      Hash // what a header must have, whatever Prefix led to the key
	Cell      *Cell
	revokedAt atomic.Int64 // Unix ms; 0: active
	used      atomic.Int64 // minutes since 1970; 0: never
	dirty     atomic.Bool
	Kind      Kind
	Origins   []string // canonical; browser keys only

	ID        uint64
	Prefix    string // PrefixLen characters
	Label     string
	CreatedAt int64 // Unix ms
	next      *Key

	_ [48]byte // three whole cache lines, so that the first is never split
}

// RevokedAt is when the key was revoked, in Unix ms; 0 when it is active.
func (k *Key) RevokedAt() int64 { return k.revokedAt.Load() }

// UsedMinute is when the key was last used, in minutes since 1970; 0: never.
func (k *Key) UsedMinute() int64 { return k.used.Load() }

// Allows tells whether a browser at that origin may use the key. The header
// is compared as browsers write it first, and canonically when that fails.
func (k *Key) Allows(origin []byte) bool {
	for _, o := range k.Origins {
		if o == string(origin) {
			return true
		}
	}

	// Browsers write an origin in canonical form; others are compared as one.
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

// Reason is why a key was refused; all of them look alike from outside.
type Reason uint8

const (
	Accepted Reason = iota
	Malformed
	Unknown
	Revoked
	Suspended
)

// Book is every key and account of a node, in memory.
type Book struct {
	keys     index[Key]
	origins  index[listing]
	calendar atomic.Pointer[Calendar]
	// aliveUntil is the time, on the quota clock, up to which units may be
	// spent on the word of the last synced write.
	aliveUntil atomic.Int64
	// diskFull: nothing can be written for want of disk space.
	diskFull atomic.Bool
	whenFull WhenFull // set before the first request

	dirtyCells atomic.Pointer[Cell]
	dirtyKeys  atomic.Pointer[Key]
	wake       chan struct{}
}

// listing counts the active keys that list an origin.
type listing struct {
	origin string
	active atomic.Int64
}

// WhenFull says what happens on a full disk to requests of accounts with a
// quota that no durable lease covers.
type WhenFull string

const (
	// Refuse is a 503, and what happens when nothing is set.
	Refuse WhenFull = "refuse"
	// ServeUncharged answers them, and neither bills nor counts their units.
	ServeUncharged WhenFull = "serve-uncharged"
)

// NewBook makes an empty book.
func NewBook(c *Calendar) *Book {
	b := &Book{wake: make(chan struct{}, 1)}
	b.calendar.Store(c)
	return b
}

// Calendar is the month that admissions are charged to.
func (b *Book) Calendar() *Calendar { return b.calendar.Load() }

// SetCalendar replaces it (meter).
func (b *Book) SetCalendar(c *Calendar) {
	if b.calendar.Load() != c {
		b.calendar.Store(c)
	}
}

// SetAlive lets units be spent until a time of the quota clock; 0 stops all
// spending at once (meter).
func (b *Book) SetAlive(until int64) { b.aliveUntil.Store(until) }

// SetWhenFull sets what happens on a full disk; before the first request.
func (b *Book) SetWhenFull(w WhenFull) { b.whenFull = w }

// SetDiskFull says whether writes fail for want of disk space (meter). It
// matters while the book is not alive.
func (b *Book) SetDiskFull(full bool) { b.diskFull.Store(full) }

// prefixHash is where a key stands in the index: by the random characters of
// its prefix. They are known before its SHA-256 is, so that the memory it
// leads to arrives while that is computed.
func prefixHash(key []byte) uint64 {
	h := binary.LittleEndian.Uint64(key[PrefixLen-8:]) ^ uint64(key[tagLen])<<7
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// Add enters an issued key (writer). Its origins count when the key is active
// and its account is not suspended.
func (b *Book) Add(k *Key, revokedAt, usedMinute int64) {
	k.revokedAt.Store(revokedAt)
	k.used.Store(usedMinute)
	b.keys.add(prefixHash([]byte(k.Prefix)), k, k.Cell)
	if revokedAt == 0 && !k.Cell.Terms().Suspended {
		b.List(k, 1)
	}
}

// Revoke ends a key, at once for every request that follows (writer).
func (b *Book) Revoke(k *Key, at int64) {
	if k.revokedAt.Load() == 0 && !k.Cell.Terms().Suspended {
		b.List(k, -1)
	}
	k.revokedAt.Store(at)
}

// List adds to the count of active keys at each origin of a key (writer):
// +1 when it becomes usable, -1 when it ceases to be.
func (b *Book) List(k *Key, by int64) {
	for _, o := range k.Origins {
		h := originHash([]byte(o))
		l, _ := b.origins.find(h, func(l *listing) bool { return l.origin == o })
		if l == nil {
			l = &listing{origin: o}
			b.origins.add(h, l, nil)
		}
		l.active.Add(by)
	}
}

// SetTerms replaces an account's terms, at once for every request that
// follows, and has its lease looked at (writer).
func (b *Book) SetTerms(c *Cell, t *Terms) {
	c.terms.Store(t)
	b.mark(c)
	b.signal()
}

// Listed tells whether some active browser key lists the origin of a header.
func (b *Book) Listed(origin []byte) bool {
	if b.listed(string(origin)) {
		return true
	}
	canonical, ok := headerOrigin(origin)
	return ok && b.listed(canonical)
}

func (b *Book) listed(origin string) bool {
	l, _ := b.origins.find(originHash([]byte(origin)), func(l *listing) bool {
		return l.origin == origin
	})
	return l != nil && l.active.Load() > 0
}

// originHash is FNV-1a: only operators put origins in.
func originHash(s []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range s {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Resolve finds the key that a header carries: checksum, hash, one probe. The
// key is returned with Revoked and Suspended too, nil with the others. The
// slot is on its way from memory while the checksum is computed, and what it
// leads to while the hash is.
func (b *Book) Resolve(header []byte) (*Key, Reason) {
	if len(header) != KeyLen {
		return nil, Malformed
	}

	at := prefixHash(header)
	b.keys.prefetch(at)
	if _, ok := ParseKey(header); !ok {
		return nil, Malformed
	}

	// Any key of that place will do: what it leads to is fetched from memory
	// while the hash is computed.
	k, cell := b.keys.find(at, func(*Key) bool { return true })
	if k == nil {
		return nil, Unknown
	}
	prefetch(unsafe.Pointer(k))
	cell.prefetch(b.calendar.Load().This.Month)

	hash := HashKey(header)
	k, cell = b.keys.find(at, func(k *Key) bool { return k.Hash == hash })

	switch {
	case k == nil:
		return nil, Unknown
	case cell.Terms().Suspended:
		return k, Suspended
	case k.revokedAt.Load() != 0:
		return k, Revoked
	}
	return k, Accepted
}

const minuteNs = 60_000_000_000

// Touch notes that a key is used. It is written once a minute.
func (b *Book) Touch(k *Key, now int64) {
	minute := now / minuteNs
	if k.used.Load() >= minute {
		return
	}
	k.used.Store(minute)
	if k.dirty.CompareAndSwap(false, true) {
		push(&b.dirtyKeys, k, &k.next)
	}
}

// mark puts a cell on the list of those to drain.
func (b *Book) mark(c *Cell) {
	if !c.dirty.Load() && c.dirty.CompareAndSwap(false, true) {
		push(&b.dirtyCells, c, &c.next)
	}
}

// push is a stack that many push to and one takes as a whole, so that no
// element comes back while another goroutine still looks at it.
func push[T any](head *atomic.Pointer[T], e *T, next **T) {
	for {
		*next = head.Load()
		if head.CompareAndSwap(*next, e) {
			return
		}
	}
}

// Dirty appends the cells marked since the last call, each once, and unmarks
// them: what changes from now on marks them again (meter).
func (b *Book) Dirty(dst []*Cell) []*Cell {
	for c := b.dirtyCells.Swap(nil); c != nil; {
		next := c.next
		c.next = nil
		c.dirty.Store(false)
		dst = append(dst, c)
		c = next
	}
	return dst
}

// DirtyKeys does the same for keys used in a new minute (meter).
func (b *Book) DirtyKeys(dst []*Key) []*Key {
	for k := b.dirtyKeys.Swap(nil); k != nil; {
		next := k.next
		k.next = nil
		k.dirty.Store(false)
		dst = append(dst, k)
		k = next
	}
	return dst
}

// Want asks the metering side for a lease, and returns the channel that is
// closed when it has tried. The one place where a request waits.
func (b *Book) Want(c *Cell) <-chan struct{} {
	ch := c.woken.Load()
	for ch == nil {
		fresh := make(chan struct{})
		if c.woken.CompareAndSwap(nil, &fresh) {
			ch = &fresh
		} else {
			ch = c.woken.Load()
		}
	}
	b.mark(c)
	b.signal()
	return *ch
}

func (b *Book) signal() {
	select {
	case b.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Wakes is the channel that the metering side watches for Want.
func (b *Book) Wakes() <-chan struct{} { return b.wake }
