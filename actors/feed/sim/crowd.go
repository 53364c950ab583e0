package sim

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Workload is what makes a simulated chain fit for measurements: people who
// behave otherwise, and blocks after the history that cost the same in every
// refresh. Only the bench suite has one; see NewWorkload.
type Workload struct {
	// Crowd is how people behave, where it is not as by default.
	Crowd Crowd `json:"crowd"`
	// Behind is how much later than their own times blocks come: a history
	// that ended Behind ago goes on where it ended.
	Behind time.Duration `json:"behind,omitempty"`
	// Brisk: after the history blocks come briskSpeed times as fast as the
	// clock, prices move faster still, and every core pool is traded in every
	// minute: no Every leaves the native currency's price where it was.
	Brisk bool `json:"brisk,omitempty"`
	// Calm: after the history prices stand still, and all that happens is
	// trade in a hundredth of the pools every Every, after calmLull.
	Calm bool `json:"calm,omitempty"`
}

// Identity tells histories of other crowds apart; empty for the built-in one.
func (w *Workload) Identity() string {
	if w.Crowd == (Crowd{}) {
		return ""
	}
	return fmt.Sprintf("%+v", w.Crowd)
}

// NewWorkload is New with a Workload. Its history depends on the Crowd, and on
// nothing else of it.
func NewWorkload(cfg Config, w Workload) (*Feed, error) {
	all := settings{cfg, w}
	if err := all.check(); err != nil {
		return nil, err
	}
	all.setDefaults()
	return &Feed{cfg: all, wake: make(chan struct{}, 1)}, nil
}

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

func (c *Crowd) setDefaults() {
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
		within("wallets", c.Wallets, 10_000), within("awake", c.Awake, MaxPools),
		within("sleepy", c.Sleepy, 1000), within("busyDays", c.BusyDays, max(days-1, 0)),
		within("early", c.Early, 900),
	)
}

// quietMs is the length of the quiet part of the history, in ms.
func (c *settings) quietMs() int64 {
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
