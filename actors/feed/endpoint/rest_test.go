package endpoint

import (
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
