package quota

import (
	"time"

	"tidemark/storage/accounts"
)

// session is a month of an account on this node, from its first use in this process. Its
// fields are guarded by the ledger's lock.
type session struct {
	cell  *accounts.Cell
	month accounts.Month

	// start and startCounts are the totals of the cell at the first use. Units that it
	// spends from then on are within leases of this process.
	start       int64
	startCounts counts
	// allowed is how many units the cell may spend, all in all. It is raised only after
	// the bucket has the lease, and lowered before.
	allowed  int64
	spent    int64  // as last told
	reported counts // totals in the store of this node
	idle     bool
	outage   int64 // units that were allowed while the servers could not be asked; once a month

	// Of the bucket, once joined.
	joined bool
	base   int64  // what the node's part counted before this process
	carry  counts // what the node's part had beyond startCounts
	lost   int64
	// revision is the newest that was read or written, by the request under way alone.
	revision uint64

	size      int64 // of the next lease
	grantedAt time.Time
	refusedAt time.Time // when there were no more units
	syncedAt  time.Time // when the bucket was last read or written
	asks      bool      // a lease is wanted
	asked     bool      // the request under way is for one
	changed   bool      // there is something to report
	damaged   bool      // the bucket has a record that cannot be read
	busy      bool      // a request to the servers is under way
	queued    bool      // in Ledger.queue
	inLine    bool      // in Ledger.reports
}

const (
	// minLease and maxLease bound a lease, in units. A kill costs the quota at most one.
	minLease = 50
	maxLease = 10_000
	// firstShare: the first lease is at most this part of a quota. Of a plan with few units and
	// any number of requests a second one node would have all, and the others none.
	firstShare = 100
	// shortLease and longLease are how long leases last whose size is changed.
	shortLease = 500 * time.Millisecond
	longLease  = 2 * time.Second
	// leasePause is the pause between two leases while there is something left.
	leasePause = 50 * time.Millisecond
	// reportEvery is the pause between reports of an account in use. A kill loses the bill
	// of at most so much.
	reportEvery = time.Second
	// askAgain is the pause after which a node asks again for units of a quota that is
	// used up: another node may have given some back.
	askAgain = time.Second
)

// begin fixes the totals at the first use.
func (s *session) begin(t *accounts.Tally) {
	s.start, s.startCounts, s.allowed, s.spent = t.Lease, t.Routes, t.Lease, t.Lease
	s.reported = t.Routes

	plan := &s.cell.Terms().Plan
	s.size = plan.RequestsPerSecond
	if plan.MonthlyUnits > 0 {
		s.size = min(s.size, plan.MonthlyUnits/firstShare)
	}
	s.size = min(max(s.size, minLease), maxLease)
}

// left is what the cell may still spend.
func (s *session) left() int64 { return s.allowed - s.spent }

// low reports whether it is time to take another lease.
func (s *session) low(now time.Time) bool {
	return s.left() < minLease/2 || s.left() < s.size/2 && now.Sub(s.grantedAt) >= leasePause
}

// resize chooses the size of the lease that is taken now.
func (s *session) resize(now time.Time) {
	switch lasted := now.Sub(s.grantedAt); {
	case s.grantedAt.IsZero():
	case lasted < shortLease:
		s.size = min(2*s.size, maxLease)
	case lasted > longLease:
		s.size = max(s.size/2, minLease)
	}
	s.grantedAt = now
}

// reportDue reports whether the servers are to be told now.
func (s *session) reportDue(now time.Time) bool {
	return s.changed && (s.idle || now.Sub(s.syncedAt) >= reportEvery)
}

// join continues the part that an earlier process of the node had, if there is one. What
// was leased stays used; the bill is the higher one of part and store.
func (s *session) join(p *part) {
	billed := s.startCounts
	s.base, s.carry = 0, counts{}
	if p != nil {
		had := p.counts()
		s.carry = beyond(&had, &s.startCounts)
		addCounts(&billed, &s.carry)
		s.base = p.used()
	}
	s.base = max(s.base, s.start, unitsOf(&billed))
	s.lost = s.base - unitsOf(&billed)
}

// part returns what the bucket is to have of this node with a lease of more units.
func (s *session) part(process string, more int64) *part {
	p := &part{Process: process, Lost: s.lost}
	billed := s.reported
	addCounts(&billed, &s.carry)
	p.setCounts(&billed)
	p.Lease = s.base + s.allowed - s.start + more - p.Billed
	return p
}

// wanted returns the size of the lease to take, 0 if none is wanted. The last units of a
// quota are taken in smaller leases, so that no node holds them all.
func (s *session) wanted(limit, used int64, nodes int) int64 {
	room := max(limit-used, 0)
	if !s.asks || s.idle {
		return 0
	}
	want := s.size - s.left()
	return max(min(want, room, max(room/int64(2*nodes), minLease)), 0)
}

// share is what the cell is told.
func (s *session) share(r *record, node string) *accounts.Share {
	sh := &accounts.Share{
		Month: s.month, Allowance: s.allowed, At: s.syncedAt,
		Elsewhere: r.usedBut(node) + s.base - s.start,
		Routes:    s.carry, Reserved: s.lost - max(s.start-unitsOf(&s.startCounts), 0),
	}
	for name, p := range r.Nodes {
		if name != node {
			c := p.counts()
			addCounts(&sh.Routes, &c)
			sh.Reserved += p.Lost
		}
	}
	sh.Reserved = max(sh.Reserved, 0)
	return sh
}
