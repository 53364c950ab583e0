package accounts

import "sync/atomic"

// Verdict is the answer to a reservation.
type Verdict uint8

const (
	// Granted: the units are held until the request is settled.
	Granted Verdict = iota
	// OverQuota: fewer units than asked for are left this month.
	OverQuota
	// Unleased: the account has no lease, or nothing was written for long. Wait for one
	// (Book.RequestLease) and try again.
	Unleased
	// Exhausted: the lease was used up before the next flush.
	Exhausted
	// Stalled: the last write failed or found no space, so no units may be spent.
	Stalled
)

// Count is the usage of a route.
type Count struct{ Requests, Units int64 }

// Tally is a month of an account, in absolute totals: writing one twice changes
// nothing.
type Tally struct {
	Month Month
	// Lease is how many units may have been used; never below what was billed.
	Lease  int64
	Routes [NumRoutes]Count
}

// Billed returns the sum of the units of all routes.
func (t *Tally) Billed() (units int64) {
	for i := range t.Routes {
		units += t.Routes[i].Units
	}
	return units
}

// Reserved returns the units that count as used but were not billed. It is exact
// while no request is running.
func (t *Tally) Reserved() int64 { return max(t.Lease-t.Billed(), 0) }

// NoLease is the lease of a month that was opened without a quota. An account that gets one
// later waits for its first lease.
const NoLease = -1

// slot holds the units of one month of a cell. doc.go shows the layout of word.
type slot struct {
	word  atomic.Uint64
	lease atomic.Int64
}

const (
	spentBits = 48
	spentMask = 1<<spentBits - 1

	monthShift = spentBits
	monthMask  = 1<<8 - 1

	openBit = 1 << 56

	// epochOne begins another epoch. Nothing lies above the epochs, which repeat after
	// 128 leases lowered or given back, at most one a flush.
	epochOne = 1 << 57
)

func closedWord(m Month, spent int64) uint64 {
	return uint64(m&monthMask)<<monthShift | uint64(spent)
}

func isMonth(word uint64, m Month) bool {
	return word>>monthShift&monthMask == uint64(m&monthMask)
}

func spentOf(word uint64) int64 { return int64(word & spentMask) }

// reserve holds units of the month. If the lease is given back and taken again after
// it was read, no unit too many is granted: shut begins another epoch.
func (s *slot) reserve(m Month, quota, units int64) Verdict {
	for {
		w := s.word.Load()
		if !isMonth(w, m) {
			return Unleased
		}

		// The quota is checked first: waiting for a lease would not help.
		if quota > 0 && spentOf(w)+units > quota {
			return OverQuota
		}
		if w&openBit == 0 {
			return Unleased
		}
		if quota > 0 {
			switch lease := s.lease.Load(); {
			case lease == NoLease:
				return Unleased
			case spentOf(w)+units > lease:
				return Exhausted
			}
		}

		if s.word.CompareAndSwap(w, w+uint64(units)) {
			return Granted
		}
	}
}

// release gives back units that were held in the month. If the slot has moved on
// to another month, it no longer counts them.
func (s *slot) release(m Month, units int64) {
	for units > 0 {
		w := s.word.Load()
		if !isMonth(w, m) || s.word.CompareAndSwap(w, w-uint64(units)) {
			return
		}
	}
}

// spent returns the units used and held in the month.
func (s *slot) spent(m Month) int64 {
	if w := s.word.Load(); isMonth(w, m) {
		return spentOf(w)
	}
	return 0
}

// open allows reservations up to a durable lease (meter).
func (s *slot) open(lease int64) {
	s.lease.Store(lease)
	s.word.Or(openBit)
}

// lower reduces the lease (meter). A reservation that has read the old lease and
// not yet taken its units fails its compare-and-swap and tries again. Units taken
// before may exceed the new lease.
func (s *slot) lower(lease int64) {
	s.lease.Store(lease)
	s.word.Add(epochOne)
}

// shut refuses reservations from now on and drops the rest of the lease (meter). A
// reservation that has read the old lease fails, also if another one is opened by then.
func (s *slot) shut() {
	if was := s.word.And(^uint64(openBit)); was&openBit != 0 {
		s.word.Add(epochOne)
		s.lease.Store(spentOf(was))
	}
}
