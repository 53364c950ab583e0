package rpc

import (
	"fmt"
	"testing"
)

// show prints the pieces of a plan in order, then its first block that is not planned.
func (p *plan) show() (text string) {
	for _, q := range p.pieces {
		text += fmt.Sprintf("%d-%d ", q.from, q.to)
	}
	return text + fmt.Sprint(p.next)
}

// Pieces follow each other without a gap, up to the end that is asked for. One that waits
// is taken again before a new one, and cut if fewer blocks are asked for than it has; one
// whose logs are read is not cut.
func TestPlan(t *testing.T) {
	p := newPlan(100)
	f := func(size, end, from, to uint64, want string) *piece {
		t.Helper()
		q := p.take(size, end)
		if q == nil && to > 0 || q != nil && (q.from != from || q.to != to) || p.show() != want {
			t.Fatalf("%d blocks up to %d: %+v, planned %s; want %d to %d and %s", size, end, q, p.show(), from, to, want)
		}
		return q
	}

	if p.first() != nil {
		t.Error("an empty plan has a first piece")
	}
	f(10, 99, 0, 0, "100")
	a := f(10, 100, 100, 100, "100-100 101")
	a.state = isRead
	b := f(10, 110, 101, 110, "100-100 101-110 111")
	f(10, 110, 101, 110, "100-100 101-110 111")
	f(9, 110, 101, 109, "100-100 101-109 110-110 111")
	b.state = hasFailed
	f(3, 200, 110, 110, "100-100 101-109 110-110 111")

	b.retry()
	f(4, 200, 101, 104, "100-100 101-104 105-109 110-110 111")
	b.read = &rangeRead{}
	f(2, 200, 101, 104, "100-100 101-104 105-109 110-110 111")
	for _, q := range p.pieces {
		q.state = isRead
	}
	f(5, 112, 111, 112, "100-100 101-104 105-109 110-110 111-112 113")

	if p.first() != a {
		t.Errorf("the first piece is %+v", p.first())
	}
	p.drop()
	if p.first() != b || p.show() != "101-104 105-109 110-110 111-112 113" {
		t.Errorf("without the first piece %s is planned", p.show())
	}
}

// A range has as many blocks as have some thousand logs, by the density of those that were
// read, of which the newest counts by its weight.
func TestPlanLearns(t *testing.T) {
	p := newPlan(1)
	f := func(from, to uint64, logs int, density float64, size uint64) {
		t.Helper()
		p.learn(&rangeRead{from: from, to: to, logs: logs})
		if diff := p.density - density; diff > 1e-9 || diff < -1e-9 || p.size(1000) != size {
			t.Errorf("%d logs in blocks %d to %d: %v a block, then %d blocks; want %v and %d",
				logs, from, to, p.density, p.size(1000), density, size)
		}
	}

	if got := p.size(1000); got != 1000 {
		t.Errorf("before anything is known %d blocks are asked for; want all", got)
	}
	f(1, 10, 0, 0, 1000)
	f(11, 20, 100, 0.3*10, 1000)
	f(21, 30, 400, 3+0.3*37, rangeLogs*10/141)
	f(31, 31, 1_000_000, 14.1+0.3*(1_000_000-14.1), 1)
}
