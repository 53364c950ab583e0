package pages

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// pins keeps generations for walks, whose pages must all be from one cut however
// many generations are published meanwhile. A cut is the views of all chains that
// could be served at one moment.
//
// What is kept is bounded: at most limits.pins cuts, each for limits.pin after the
// last answer from it and for maxPin in all. Walks share cuts: a new walk joins one
// that is younger than joinPin, or one of any age that has the newest generations
// still, which is then as good as new. Every account has one pin, which is the cut
// that it asked for last. If there is no room for a new cut, the oldest that is
// nobody's pin makes room; if there is none, the walk has to wait.
//
// A cut holds the columns and the directories of its views, those chunks of their
// records that were written since, and on disk their leaves. Everything else it
// shares with the newer generations. That is about 60 bytes a position at once, and
// up to 300 when all records have changed: BenchmarkPin in package rankings.
type pins struct {
	limits *atomic.Pointer[Limits]
	board  *rankings.Board
	onDrop func() // called when a cut was dropped

	mu        sync.Mutex
	cuts      []*cut // oldest first
	byAccount map[uint64]*cut
	timer     *time.Timer // of the next sweep; nil: there are no cuts
	shared    *sharedPins // with other nodes; nil: there are none

	refused *metrics.Counter
}

func newPins(cfg *Config, limits *atomic.Pointer[Limits], onDrop func()) *pins {
	p := &pins{
		limits: limits, board: cfg.Board, onDrop: onDrop, byAccount: map[uint64]*cut{},
		refused: cfg.Metrics.NewCounter(`tidemark_edge_pins_refused_total`),
	}
	cfg.Metrics.NewGauge(`tidemark_edge_pins`, func() float64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return float64(len(p.cuts))
	})
	if cfg.TellWalk != nil {
		p.startSharing(cfg.TellWalk)
	}
	return p
}

// pinNewest returns a cut for a new walk: a young one of the same chains, or views, which
// are the newest. The caller must end the answer.
func (p *pins) pinNewest(account uint64, views []*rankings.View) (*cut, *render.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.dropExpired(now)
	for _, c := range slices.Backward(p.cuts) {
		if now.Sub(c.made) < joinPin && p.isEverywhere(c) &&
			c.hasChainsOf(views) && !c.lacksColumnsOf(views) {
			return p.beginAnswer(c, account, now), nil
		}
	}
	return p.addOrRenew(account, views, now)
}

// pinNamed returns a cut of views, whose generations the question names and which nobody
// has pinned yet. The caller must end the answer.
func (p *pins) pinNamed(account uint64, views []*rankings.View) (*cut, *render.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addOrRenew(account, views, time.Now())
}

// findPinned returns the cut with the named generations of a chain, or of all chains
// when chain is 0; nil if it is not kept. The caller must end the answer.
func (p *pins) findPinned(account uint64, chain market.ChainID, named []query.Generation) *cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.dropExpired(now)
	if c := p.lookUp(chain, named, now); c != nil {
		return p.beginAnswer(c, account, now)
	}
	return nil
}

// lookUp is findPinned without an answer that begins.
func (p *pins) lookUp(chain market.ChainID, named []query.Generation, now time.Time) *cut {
	for _, c := range slices.Backward(p.cuts) {
		if now.Before(c.end(p.limits.Load())) && areNamed(c.viewsOf(chain), named) {
			return c
		}
	}
	return nil
}

// beginAnswer makes a cut the pin of an account and counts an answer from it.
func (p *pins) beginAnswer(c *cut, account uint64, now time.Time) *cut {
	isNew := p.assign(c, account)
	c.used, c.usedHere = now, now
	c.answers++
	if isNew && p.shared != nil {
		p.shared.tell(c, now, account)
	}
	return c
}

// assign makes a cut the pin of an account. It reports false if it is that already.
func (p *pins) assign(c *cut, account uint64) bool {
	old := p.byAccount[account]
	if old == c {
		return false
	}
	if old != nil {
		old.accounts--
	}
	p.byAccount[account] = c
	c.accounts++
	return true
}

// pinOf returns the cut that is the pin of an account; nil: it has none.
func (p *pins) pinOf(account uint64) *cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byAccount[account]
}

// giveBack makes a cut, if it is still kept, the pin of an account again, whose question
// for another one was refused.
func (p *pins) giveBack(account uint64, before *cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isNew := slices.Contains(p.cuts, before) && p.assign(before, account)
	if isNew && p.shared != nil {
		p.shared.tell(before, time.Now(), account)
	}
}

// endAnswer ends an answer from a cut.
func (p *pins) endAnswer(c *cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.used = time.Now()
	c.answers--
	p.dropExpired(c.used)
}

// errReplaced reports that views were replaced on the board: try the newer ones.
var errReplaced = render.Unavailable(
	"rankings changed repeatedly while they were pinned", retryAfter)

// addOrRenew makes a cut of views for a walk of an account, or renews the one that there is.
func (p *pins) addOrRenew(
	account uint64, views []*rankings.View, now time.Time,
) (*cut, *render.Error) {
	i := slices.IndexFunc(p.cuts, func(c *cut) bool {
		return slices.EqualFunc(c.views, views, isSameGeneration)
	})
	if i < 0 {
		c, err := p.add(views, now, account)
		if err != nil {
			return nil, err
		}
		return p.beginAnswer(c, account, now), nil
	}

	if slices.ContainsFunc(views, p.isLost) {
		return nil, errReplaced // they are not the newest any more
	}
	c := p.cuts[i]
	p.renew(c, now)
	p.beginAnswer(c, account, now)
	if p.shared != nil && c.told != now {
		p.shared.tell(c, now, account) // of its new age
	}
	return c, nil
}

// renew makes a cut as young as one of the same views that is made later.
func (p *pins) renew(c *cut, made time.Time) {
	c.made = made
	i := slices.Index(p.cuts, c)
	p.cuts = append(slices.Delete(p.cuts, i, i+1), c)
}

// add makes a cut of views for accounts, in the place of another one if there is no room.
func (p *pins) add(
	views []*rankings.View, now time.Time, accounts ...uint64,
) (*cut, *render.Error) {
	spare := -1
	if len(p.cuts) >= p.limits.Load().Pins {
		if spare = p.findSpare(accounts); spare < 0 {
			p.refused.Inc()
			return nil, render.Unavailable("as many generations as possible are pinned, by walks "+
				"and by answers under way", max(p.nextEnd().Sub(now), retryAfter))
		}
	}

	// A view can be pinned while it is published. When a second one has followed it,
	// its leaves may be gone.
	for _, v := range views {
		v.Pin()
	}
	if slices.ContainsFunc(views, p.isLost) {
		unpin(views)
		return nil, errReplaced
	}
	if spare >= 0 {
		p.drop(spare)
	}

	c := &cut{views: slices.Clone(views), made: now, used: now}
	p.cuts = append(p.cuts, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.limits.Load().Pin, p.sweep)
	}
	return c, nil
}

// findSpare returns the index of the oldest cut that is the pin of none but accounts and
// that no answer is made from, or -1.
func (p *pins) findSpare(accounts []uint64) int {
	return slices.IndexFunc(p.cuts, func(c *cut) bool {
		others := c.accounts
		for _, account := range accounts {
			if p.byAccount[account] == c {
				others--
			}
		}
		return c.answers == 0 && others == 0
	})
}

// isLost reports whether the leaves of a view may be gone, if nobody has pinned it: with
// the second generation after it. A node alone asks for the newest again before that.
func (p *pins) isLost(v *rankings.View) bool {
	c, ok := p.board.Load().Chain(v.State.Chain)
	if !ok || c.View == nil {
		return true
	}
	return c.View != v && (p.shared == nil || c.View.Generation != v.Generation+1)
}

// dropExpired drops the cuts whose time has passed.
func (p *pins) dropExpired(now time.Time) {
	for i := len(p.cuts) - 1; i >= 0; i-- {
		if c := p.cuts[i]; c.answers == 0 && !now.Before(c.end(p.limits.Load())) {
			p.drop(i)
		}
	}
}

// drop unpins a cut.
func (p *pins) drop(i int) {
	c := p.cuts[i]
	p.cuts = slices.Delete(p.cuts, i, i+1)
	for account, of := range p.byAccount {
		if of == c {
			delete(p.byAccount, account)
		}
	}

	unpin(c.views)
	p.onDrop()
}

// sweep drops cuts that nobody asks for any more.
func (p *pins) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.dropExpired(now)
	if len(p.cuts) == 0 {
		p.timer = nil
		return
	}
	p.timer.Reset(max(p.nextEnd().Sub(now), minSweep))
}

// nextEnd returns when the first cut ends if nobody asks for it.
func (p *pins) nextEnd() time.Time {
	l := p.limits.Load()
	first := p.cuts[0].end(l)
	for _, c := range p.cuts[1:] {
		if end := c.end(l); end.Before(first) {
			first = end
		}
	}
	return first
}

// close drops all cuts. No answer may be under way.
func (p *pins) close() {
	p.shared.stopSharing()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shared = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	for len(p.cuts) > 0 {
		p.drop(0)
	}
}
