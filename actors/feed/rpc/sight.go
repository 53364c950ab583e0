package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/rankings/market"
)

// sight is a chain's head as one URL showed it.
type sight struct {
	wireHeader
	node *node
	at   time.Time // when it was asked for: it was the head then or later
}

// look asks every URL for its head, all at once so that a slow one costs its
// own time only, and returns the highest; the first URL's where some agree.
// URLs that rest after a failure are left out while others answer.
func (f *Feed) look(ctx context.Context) (*sight, error) {
	nodes := f.awake()
	sights, errs := make([]*sight, len(nodes)), make([]error, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() {
			sights[i], errs[i] = n.look(ctx, f.cfg.Chain)
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var best *sight
	var failed joined
	for i, n := range nodes {
		if errs[i] != nil {
			f.fail(n, errs[i])
			failed = append(failed, fmt.Errorf("%s: %w", n.name, errs[i]))
			continue
		}
		n.calmDown(f.cfg.Clock.Now())
		if best == nil || *sights[i].Number > *best.Number {
			best = sights[i]
		}
	}
	if best == nil {
		return nil, fmt.Errorf("cannot read the head: %w", failed)
	}
	return best, nil
}

// awake returns the URLs that do not rest, in the configured order, or the one
// whose rest ends first.
func (f *Feed) awake() (nodes []*node) {
	now, soonest := f.cfg.Clock.Now(), f.nodes[0]
	for _, n := range f.nodes {
		if !n.until.After(now) {
			nodes = append(nodes, n)
		}
		if n.until.Before(soonest.until) {
			soonest = n
		}
	}
	if len(nodes) == 0 {
		nodes = append(nodes, soonest)
	}
	return nodes
}

// try calls do with the URLs in order until one succeeds: first those that
// have reported block need. A URL that fails rests, except when it merely does
// not have something; errTooMuch is returned at once.
func (f *Feed) try(ctx context.Context, need uint64, do func(*node) error) error {
	var errs joined
	nodes := f.awake()
	for _, has := range []bool{true, false} {
		for _, n := range nodes {
			if n.head >= need != has {
				continue
			}
			err := f.on(ctx, n, do)
			if err == nil || ctx.Err() != nil || errors.Is(err, errTooMuch) {
				return err
			}
			errs = append(errs, fmt.Errorf("%s: %w", n.name, err))
		}
	}
	return errs
}

func (f *Feed) on(ctx context.Context, n *node, do func(*node) error) error {
	err := n.check(ctx, f.cfg.Chain)
	if err == nil {
		err = do(n)
	}
	switch {
	case err == nil:
		n.calmDown(f.cfg.Clock.Now())
		f.now.url.Store(&n.name)
	case ctx.Err() != nil, errors.Is(err, errTooMuch):
	case errors.Is(err, errNotThere), errors.Is(err, errMoved):
		f.note(fmt.Errorf("%s: %w", n.name, err))
	default:
		f.fail(n, err)
	}
	return err
}

// fail lets a URL rest, longer at every failure in a row and at least as long
// as it asked for itself, and has its chain id read again after that.
func (f *Feed) fail(n *node, err error) {
	n.failures++
	n.checked = false
	rest := max(pause(n.failures, f.cfg.Rand()), time.Duration(n.after.Swap(0)))
	n.until = f.cfg.Clock.Now().Add(rest)
	f.m.failures.Inc()
	f.note(fmt.Errorf("%s: %w", n.name, err))
	f.cfg.Log.Warn("a node failed", "chain", f.cfg.Chain, "node", n.name, "error", err,
		"failures", n.failures, "rest", rest.Round(time.Millisecond))
}

// check makes sure that the node is on our chain, once after every failure.
func (n *node) check(ctx context.Context, chain market.ChainID) error {
	if n.checked {
		return nil
	}
	var id *quantity
	if err := n.call(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if id == nil || market.ChainID(*id) != chain {
		return fmt.Errorf("the node is on chain %s; want %d", id, chain)
	}
	n.checked = true
	return nil
}

// calmDown forgets the failures of a node that has answered for a while.
func (n *node) calmDown(now time.Time) {
	if now.Sub(n.until) > longestPause {
		n.failures = 0
	}
}

// headTimeout bounds a look at the head: a URL that hangs must not keep the
// others waiting.
const headTimeout = 5 * time.Second

func (n *node) look(ctx context.Context, chain market.ChainID) (*sight, error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	if err := n.check(ctx, chain); err != nil {
		return nil, err
	}
	at := n.clock.Now()
	var h *wireHeader
	if err := n.call(ctx, &h, "eth_getBlockByNumber", "latest", false); err != nil {
		return nil, err
	}
	if h == nil || h.Number == nil {
		return nil, fmt.Errorf("the head: %w", errNotThere)
	}
	if err := h.check(uint64(*h.Number)); err != nil {
		return nil, err
	}
	n.head = uint64(*h.Number)
	return &sight{*h, n, at}, nil
}
