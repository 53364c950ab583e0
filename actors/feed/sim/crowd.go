package sim

import (
	"cmp"
	"fmt"
	"math"
)

// Crowd is how people behave where it is not as in the built-in market: it
// gives a market of another shape, by the same rules and events. A field that
// is 0 is the built-in market's.
type Crowd struct {
	// Leave is how many of a thousand changes of open positions close them.
	Leave int `json:"leave,omitempty"`
	// Width is how wide ranges are, in thousandths of what they are elsewhere.
	Width int `json:"width,omitempty"`
	// Wallets is how many people own positions, for a thousand positions.
	Wallets int `json:"wallets,omitempty"`
	// Awake is how many of the most popular pools are traded on every day, and
	// Sleepy how many of a thousand others at least.
	Awake  int `json:"awake,omitempty"`
	Sleepy int `json:"sleepy,omitempty"`
	// Zipf: the k-th pool is as popular as 1/k, instead of k^(-3/4).
	Zipf bool `json:"zipf,omitempty"`
	// BusyDays is how long the last, dense part of the history is; with it,
	// Early is how many of a thousand actions and pools come before. In that
	// time the core pools are traded, and their founders collect, three times
	// a day.
	BusyDays int `json:"busyDays,omitempty"`
	Early    int `json:"early,omitempty"`
}

func (c *Crowd) fill() {
	c.Leave = cmp.Or(c.Leave, 300)
	c.Width = cmp.Or(c.Width, 1000)
	c.Wallets = cmp.Or(c.Wallets, 450)
	c.Awake = cmp.Or(c.Awake, wakeful)
	c.Sleepy = cmp.Or(c.Sleepy, sleepyPermille)
}

// check refuses behaviour of which no market can be made.
func (c *Crowd) check(days int) error {
	within := func(what string, v, most int) error {
		if v < 0 || v > most {
			return fmt.Errorf("cannot simulate a crowd with %s %d; at least 0, at most %d", what, v, most)
		}
		return nil
	}
	return cmp.Or(
		within("leave", c.Leave, 900), within("width", c.Width, 10_000),
		within("wallets", c.Wallets, 10_000), within("awake", c.Awake, maxPools),
		within("sleepy", c.Sleepy, 1000), within("busyDays", c.BusyDays, max(days-1, 0)),
		within("early", c.Early, 900),
	)
}

// quietMs is the length of the quiet part of the history, in ms.
func (c *Config) quietMs() int64 {
	return int64(c.Days-c.Crowd.BusyDays) * dayMs
}

// popular throws one of the n pools that there are, by its rank.
func (s *scene) popular(n uint64) uint64 {
	if s.cfg.Crowd.Zipf {
		return s.zipf(n)
	}
	return s.skewed(n)
}

// zipf returns 0 to n-1, the k-th about 1/k as often as the first: the inverse
// of the integral of 1/x. Between two ticks of the exponential it is a line.
func (d *dice) zipf(n uint64) uint64 {
	const parts = 1 << 20 // of a tick
	all := uint64(math.Round(math.Log(float64(n+1)) * ticksOfE * parts))
	x := d.below(all)
	at := exp(int64(x / parts))
	between := float64(at*0.0001) * float64(x%parts) / parts
	return min(uint64(at+between), n) - 1
}

// ticksOfE is how many ticks are a factor of e.
const ticksOfE = 10_000.5
