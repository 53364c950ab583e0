package stream

import (
	"testing"
	"time"
	"unsafe"
)

// setClock returns a time as time.Now would, had the wall clock been set by so many seconds
// in between: its monotonic reading stays.
func setClock(t time.Time, seconds int64) time.Time {
	// The first word has a mark, 33 bits of seconds, and 30 bits of nanoseconds.
	word := (*uint64)(unsafe.Pointer(&t))
	*word = uint64(int64(*word) + seconds<<30)
	return t
}

// TestClockIsSet checks that streams pay for every minute, and for no other, when the wall
// clock is set back or forward.
func TestClockIsSet(t *testing.T) {
	for _, by := range []int64{0, -3600, 3600, -30, 30} {
		s := newStage(t)
		s.begin()
		s.now = time.Now()
		a := s.open("a", "positions=1-1", "")

		const minutes = 10
		for second := range minutes*60 + 30 {
			now := s.now.Add(time.Duration(second) * time.Second)
			if second > 90 {
				now = setClock(now, by)
			}
			s.hub.Poll(now)
			a.read()
		}
		if a.paid != minutes {
			t.Errorf("set by %d s, %d minutes are paid; want %d", by, a.paid, minutes)
		}
	}
}
