package load

import "time"

// Pace is a constant rate of requests a second. When a request is due depends
// on nothing but how many were due before it.
type Pace float64

// At returns when request hit is due, counted from the start.
func (p Pace) At(hit uint64) time.Duration {
	return time.Duration(float64(hit) / float64(p) * float64(time.Second))
}

// Wait returns how long after elapsed request hit is due; 0 or less is now.
func (p Pace) Wait(elapsed time.Duration, hit uint64) time.Duration { return p.At(hit) - elapsed }

// split is the pace of each of n workers.
func (p Pace) split(n int) Pace { return p / Pace(n) }
