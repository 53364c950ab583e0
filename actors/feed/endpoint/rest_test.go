package endpoint

import (
	"errors"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	f := func(failures int, rand float64, want time.Duration) {
		t.Helper()
		if got := Pause(failures, rand); got != want {
			t.Errorf("Pause(%d, %g) = %s; want %s", failures, rand, got, want)
		}
	}

	f(0, 0, firstPause/2)
	f(1, 0, firstPause/2)
	f(1, 0.5, firstPause*3/4)
	f(4, 0, 4*firstPause)
	f(7, 0, longestPause/2)
	f(9, 0, longestPause/2)
	f(1<<60, 0.5, longestPause*3/4)
}

// An endpoint rests after a failure, longer after each in a row, and at least as long as
// it asked for; failures while it rests are of the same fault.
func TestRests(t *testing.T) {
	v := &virtual{now: time.Unix(1_800_000_000, 0)}
	e, err := New(Config{URL: "http://127.0.0.1:1", Clock: v.clock()})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, err error, failures int, pause time.Duration) {
		t.Helper()
		n, got := e.Failed(err, 0)
		if n != failures || got != pause || e.RestsUntil() != v.now.Add(pause) || e.healthy() != (n == 0) {
			t.Errorf("%s: %d failures, a rest of %s until %s; want %d, %s", what, n, got, e.RestsUntil(), failures, pause)
		}
	}

	if !e.healthy() || !e.RestsUntil().Before(v.now) {
		t.Error("a new endpoint rests")
	}
	broken := errors.New("broken")
	f("the first", broken, 1, firstPause/2)
	v.now = v.now.Add(firstPause / 4)
	f("another while it rests", broken, 1, firstPause/4)
	v.now = v.now.Add(firstPause/4 - 1)
	f("a moment before the rest is over", broken, 1, 1)
	v.now = v.now.Add(1)
	f("when the rest is over", broken, 2, firstPause)
	f("it asks for more", &Error{Kind: Limited, RetryAfter: time.Minute}, 2, time.Minute)
	f("it asks for less", &Error{Kind: Limited, RetryAfter: time.Second}, 2, time.Minute)
	f("it asks for too much", &Error{Kind: Limited, RetryAfter: time.Hour}, 2, maxRetryAfter)

	v.now = e.RestsUntil().Add(calmAfter)
	if e.Calmed(); e.healthy() {
		t.Error("a minute after its rest it counts as healthy")
	}
	v.now = v.now.Add(1)
	if e.Calmed(); !e.healthy() {
		t.Error("more than a minute after its rest it does not count as healthy")
	}
	f("after a calm time", broken, 1, firstPause/2)
	if e.Succeeded(); !e.healthy() {
		t.Error("after a success it does not count as healthy")
	}
	v.now = e.RestsUntil()
	f("after a success", broken, 1, firstPause/2)
}
