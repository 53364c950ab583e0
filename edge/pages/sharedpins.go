package pages

import (
	"slices"
	"sync"
	"time"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// In a cluster a walk goes on at any node. Nodes have the same generations, so a node
// that pins a cut tells the others, and they pin theirs. One that is behind pins them
// once it has them. One that is ahead can do so for a moment after they were replaced.

// A node that has just started has none of the older ones. It says so, and new walks do not
// join what was pinned before.

// Walk is a cut that a node keeps for walks, as it tells the other nodes.
type Walk struct {
	Generations []query.Generation // ascending by chain
	Accounts    []uint64           // whose pin it is
	Age         time.Duration      // since it was pinned
}

// sharedPins is what pins have besides in a cluster. It is used while they are locked.
type sharedPins struct {
	tellWalk func(*Walk)
	seen     map[market.ChainID]*rankings.View // on the board, at the last update
	replaced map[market.ChainID]replacedView
	awaited  []awaitedWalk
	joinFrom time.Time // new walks join no cut that was made before: a node lacks it

	wake    chan struct{} // for updateShared; of capacity 1
	stop    chan struct{}
	watches sync.WaitGroup
}

// replacedView is a view that another one has followed.
type replacedView struct {
	view *rankings.View
	at   time.Time
}

// awaitedWalk is a walk on generations of which this node lacks one.
type awaitedWalk struct {
	*Walk
	until time.Time
}

// startSharing begins to tell other nodes of cuts.
func (p *pins) startSharing(tell func(*Walk)) {
	s := &sharedPins{
		tellWalk: tell, seen: map[market.ChainID]*rankings.View{},
		replaced: map[market.ChainID]replacedView{},
		wake:     make(chan struct{}, 1), stop: make(chan struct{}),
	}
	p.shared = s
	p.board.Watch(s.wake)

	s.watches.Go(func() {
		timer := time.NewTimer(tellEvery)
		defer timer.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-s.wake:
			case <-timer.C:
			}
			if next := p.updateShared(time.Now()); next > 0 {
				timer.Reset(next)
			}
		}
	})
}

// updateSoon has updateShared called.
func (s *sharedPins) updateSoon() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// stopSharing ends what startSharing began.
func (s *sharedPins) stopSharing() {
	if s != nil {
		close(s.stop)
		s.watches.Wait()
	}
}

// updateShared notes which views were replaced, pins what is awaited, and tells the other
// nodes again of what walks use here. It returns when to do so again if the board does not
// change before; 0: never.
func (p *pins) updateShared(now time.Time) (next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared
	s.noteReplaced(p.board.Load(), now)
	s.awaited = slices.DeleteFunc(s.awaited, func(w awaitedWalk) bool {
		return p.pinWalk(w.Walk, now) || !now.Before(w.until)
	})

	for _, c := range p.cuts {
		if (c.answers > 0 || c.usedHere.After(c.told)) && now.Sub(c.told) >= tellEvery {
			s.tell(c, now, p.accountsOf(c)...)
		}
	}

	switch {
	case len(s.replaced) > 0 || len(s.awaited) > 0:
		return updateEvery
	case len(p.cuts) > 0:
		return tellEvery
	}
	return 0
}

func (s *sharedPins) noteReplaced(board *rankings.Snapshot, now time.Time) {
	for i := range board.Chains {
		c := &board.Chains[i]
		last := s.seen[c.ID]
		if s.seen[c.ID] = c.View; last != nil && last != c.View {
			s.replaced[c.ID] = replacedView{last, now}
		}
	}

	for chain, r := range s.replaced {
		if now.Sub(r.at) >= replacedFor {
			delete(s.replaced, chain)
		}
	}
}

// tell tells the other nodes that a cut is the pin of accounts.
func (s *sharedPins) tell(c *cut, now time.Time, accounts ...uint64) {
	c.told = now
	s.tellWalk(&Walk{
		Generations: appendGenerations(nil, c.views), Accounts: accounts, Age: now.Sub(c.made),
	})
	s.updateSoon() // which finds out when to tell again
}

func (p *pins) accountsOf(c *cut) (accounts []uint64) {
	for account, of := range p.byAccount {
		if of == c {
			accounts = append(accounts, account)
		}
	}
	slices.Sort(accounts)
	return accounts
}

// isEverywhere reports whether every node can have a cut: no node started after it was made.
func (p *pins) isEverywhere(c *cut) bool {
	return p.shared == nil || !c.made.Before(p.shared.joinFrom)
}

// HearWalk pins what another node has pinned, so that the walk can go on here.
func (p *Pages) HearWalk(w *Walk) { p.pins.hear(w) }

// HearStart notes that another node has started, which has nothing that was pinned before.
func (p *Pages) HearStart() {
	p.pins.mu.Lock()
	defer p.pins.mu.Unlock()
	if s := p.pins.shared; s != nil {
		s.joinFrom = time.Now()
	}
}

func (p *pins) hear(w *Walk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.shared, time.Now()
	if s == nil {
		return // closed
	}
	p.dropExpired(now)
	if !p.pinWalk(w, now) && len(s.awaited) < maxAwaited {
		s.awaited = append(s.awaited, awaitedWalk{w, now.Add(awaitFor)})
		s.updateSoon()
	}
}

// pinWalk makes the cut of a walk the pin of its accounts, if there is room for it. It
// reports false if this node lacks a generation of it.
func (p *pins) pinWalk(w *Walk, now time.Time) bool {
	made := now.Add(-w.Age)
	c := p.lookUp(0, w.Generations, now)
	if c == nil {
		views := p.findViews(w.Generations)
		if views == nil {
			return false
		}
		var err *render.Error
		if c, err = p.add(views, now, w.Accounts...); err != nil {
			return err != errReplaced
		}
		c.made = made
	} else if made.Sub(c.made) >= renewedBy {
		p.renew(c, made)
	}

	for _, account := range w.Accounts {
		p.assign(c, account)
	}
	c.used = now
	return true
}

// findViews returns the views of generations, nil if there is one that cannot be pinned.
func (p *pins) findViews(generations []query.Generation) []*rankings.View {
	board := p.board.Load()
	views := make([]*rankings.View, 0, len(generations))
	for _, g := range generations {
		if c, ok := board.Chain(g.Chain); ok && c.View != nil && c.View.Generation == g.Number {
			views = append(views, c.View)
		} else if v := p.justReplaced(g.Chain); v != nil && v.Generation == g.Number {
			views = append(views, v)
		} else {
			return nil
		}
	}
	return views
}

// restoreNamed returns views with those that are named in the place of the newest, where
// they were replaced a moment ago. It does not change views.
func (p *pins) restoreNamed(views []*rankings.View, named []query.Generation) []*rankings.View {
	if p.shared == nil {
		return views
	}
	p.mu.Lock()
	defer p.mu.Unlock()

	views = slices.Clone(views)
	for i, v := range views {
		was := p.justReplaced(v.State.Chain)
		if was != nil && slices.Contains(named, generationOf(was)) {
			views[i] = was
		}
	}
	return views
}

// justReplaced returns the view of a chain that was replaced a moment ago, if it can still be
// pinned; nil: there is none.
func (p *pins) justReplaced(chain market.ChainID) *rankings.View {
	if v := p.shared.replaced[chain].view; v != nil && !p.isLost(v) {
		return v
	}
	return nil
}

// AwaitGenerations waits until this node has the generations that a stream goes on behind: it
// may come from a node that is ahead.
func (p *Pages) AwaitGenerations(of []query.Generation) { p.pins.awaitNamed(of, maxStreamBehind) }

// awaitNamed waits until this node has the named generations, if it is about to have them: it
// may be behind the node that named them.
func (p *pins) awaitNamed(named []query.Generation, most uint64) {
	if p.shared == nil {
		return
	}
	isComing := func(g query.Generation) bool {
		c, ok := p.board.Load().Chain(g.Chain)
		if !ok || c.View == nil {
			return false
		}
		now := c.View.Generation
		return now < g.Number && g.Number <= now+most
	}

	end := time.Now().Add(awaitFor)
	for slices.ContainsFunc(named, isComing) && time.Now().Before(end) {
		time.Sleep(pollEvery)
	}
}
