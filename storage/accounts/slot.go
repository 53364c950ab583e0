package accounts

import "sync/atomic"

// Verdict is the answer to a reservation.
type Verdict uint8

const (
	// Granted: the units are held until the request is settled.
	Granted Verdict = iota
	// OverQuota: fewer units than asked for are left this month.
	OverQuota
	// Unleased: the account has no lease now; wait for one (Book.Want), ask again.
	Unleased
	// Exhausted: the lease is used up before the next flush.
	Exhausted
	// Stalled: nothing can be written durably, so nothing may be spent.
	Stalled
)

// Count is what a route was used.
type Count struct{ Requests, Units int64 }

// Tally is a month of an account: absolute totals, so that writing one twice
// changes nothing.
type Tally struct {
	Month Month
	// Lease is how many units may have been used; never below what was billed.
	Lease  int64
	Routes [NumRoutes]Count
}

// Billed is the sum of the routes' units.
func (t *Tally) Billed() (units int64) {
	for i := range t.Routes {
		units += t.Routes[i].Units
	}
	return units
}

// Reserved is what counts as used beyond the bill, when no request is under way.
func (t *Tally) Reserved() int64 { return max(t.Lease-t.Billed(), 0) }

// slot is what may be spent in one month of a cell; doc.go draws the word.
type slot struct {
	word  atomic.Uint64
	lease atomic.Int64
}

const (
	spentBits = 48
	spentMask = 1<<spentBits - 1

	epochShift = spentBits
	epochBits  = 7
	epochOne   = 1 << epochShift
	epochMask  = (1<<epochBits - 1) << epochShift

	monthShift = epochShift + epochBits
	monthMask  = 1<<8 - 1

	openBit = 1 << 63
)

func closedWord(m Month, spent int64) uint64 {
	return uint64(m&monthMask)<<monthShift | uint64(spent)
}

func isMonth(word uint64, m Month) bool {
	return word>>monthShift&monthMask == uint64(m&monthMask)
}

// nextEpoch is a word that says the same and is another: what compares with the
// word before fails. An epoch comes back after 128 lowered leases, one a flush.
func nextEpoch(word uint64) uint64 {
	return word&^epochMask | (word+epochOne)&epochMask
}

func spentOf(word uint64) int64 { return int64(word & spentMask) }

// reserve holds units in the month. A lease read just before it was given
// back and taken anew cannot let more pass: a new lease reaches at least
// MaxUnits above what is spent, or to the quota, which is checked here too.
func (s *slot) reserve(m Month, quota, units int64) Verdict {
	for {
		w := s.word.Load()
		if !isMonth(w, m) {
			return Unleased
		}

		// The quota is checked first: it is final, and waiting for a lease is not.
		if quota > 0 && spentOf(w)+units > quota {
			return OverQuota
		}
		if w&openBit == 0 {
			return Unleased
		}
		if quota > 0 && spentOf(w)+units > s.lease.Load() {
			return Exhausted
		}

		if s.word.CompareAndSwap(w, w+uint64(units)) {
			return Granted
		}
	}
}

// release gives back units that were held in the month. A slot that has gone
// on to another month has forgotten them already.
func (s *slot) release(m Month, units int64) {
	for units > 0 {
		w := s.word.Load()
		if !isMonth(w, m) || s.word.CompareAndSwap(w, w-uint64(units)) {
			return
		}
	}
}

// spent is what was used and is held in the month.
func (s *slot) spent(m Month) int64 {
	if w := s.word.Load(); isMonth(w, m) {
		return spentOf(w)
	}
	return 0
}

// open lets units be reserved up to the lease, which is durable (meter).
func (s *slot) open(lease int64) {
	s.lease.Store(lease)
	for {
		w := s.word.Load()
		if w&openBit != 0 || s.word.CompareAndSwap(w, w|openBit) {
			return
		}
	}
}

// lower takes back what is left of a lease above a bound (meter). A reservation
// that has read the old lease and not yet taken its units finds the word
// changed, and looks again. What was taken before may be above the bound.
func (s *slot) lower(lease int64) {
	s.lease.Store(lease)
	for {
		w := s.word.Load()
		if s.word.CompareAndSwap(w, nextEpoch(w)) {
			return
		}
	}
}

// shut refuses reservations from now on, and forgets what was left of the
// lease (meter).
func (s *slot) shut() {
	for {
		w := s.word.Load()
		if w&openBit == 0 {
			return
		}
		if s.word.CompareAndSwap(w, w&^openBit) {
			s.lease.Store(spentOf(w))
			return
		}
	}
}
