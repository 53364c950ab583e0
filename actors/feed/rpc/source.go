package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// Role is what an endpoint is used for.
type Role string

// The roles. A fallback is asked when no other endpoint answers.
const (
	Backfill Role = "backfill" // ranges of settled blocks
	Live     Role = "live"     // heads and the blocks near them
	Fallback Role = "fallback"
)

// EndpointConfig is one URL of a chain. Without roles it has the first two. A
// ws or wss URL tells of new heads and is asked nothing.
type EndpointConfig struct {
	Name                  string // in logs and metrics; empty: its place in the list
	URL                   string
	Roles                 []Role
	RequestsPerSecond     float64
	ComputeUnitsPerSecond float64
	Timeout               time.Duration
	Transport             http.RoundTripper // nil: connections of its own
}

func (c *EndpointConfig) has(r Role) bool {
	return slices.Contains(c.Roles, r) || len(c.Roles) == 0 && r != Fallback
}

// source is an endpoint and what was learnt of the chain through it. Requests in
// flight at once learn together; what the heads showed belongs to the goroutine of
// Next.
type source struct {
	*endpoint.Endpoint
	backfill, live, fallback bool

	checked    atomic.Int64  // when it last answered with our chain id, unix seconds
	head       atomic.Uint64 // the number that it last reported
	forked     atomic.Bool   // its last head was another block than the one adopted
	blooms     atomic.Bool   // a header of it had a bloom filter that was not empty
	wrongTimes atomic.Bool   // its logs were dated otherwise than their headers
	goodTimes  atomic.Int64  // ranges whose sampled times were right
	ranges     rangeSize
	health     health

	lows    lowest
	highest uint64    // the head before it fell; 0: it did not
	lagged  time.Time // when it last rose to there again
	probed  time.Time // when its backends were last probed
}

// health is how often a source fails, and what was said of it.
type health struct {
	mu          sync.Mutex
	failureRate float64 // lately, from 0 to 1
	warned      map[endpoint.Kind]*warning
}

// lowest is the lowest head that a URL reported in the last minutes: behind a load
// balancer, that of the backend that lags most. An empty answer for blocks above it
// may only mean that the backend does not have them.
type lowest struct {
	now, before uint64 // of this window and the one before it
	since       time.Time
}

const lowestWindow = 2 * time.Minute

func (l *lowest) saw(head uint64, at time.Time) {
	if l.since.IsZero() || at.Sub(l.since) > lowestWindow {
		l.before, l.now, l.since = l.now, head, at
	}
	l.now = min(l.now, head)
	if l.before == 0 {
		l.before = l.now
	}
}

// get returns 0 when no head was seen yet.
func (l *lowest) get() uint64 { return min(l.now, l.before) }

// sawHead notes a head. One that rises again to where it was before it fell
// shows that some backend lags.
func (s *source) sawHead(number uint64, at time.Time) {
	if head := s.head.Load(); number < head && s.highest < head {
		s.highest = head
	}
	if s.highest > 0 && number >= s.highest {
		s.highest, s.lagged = 0, at
	}
	s.head.Store(number)
	s.lows.saw(number, at)
}

// laggardKept is how long a source counts as one with backends that lag.
const laggardKept = 10 * time.Minute

// fellBack reports whether the source's heads went back and forth lately.
func (s *source) fellBack(now time.Time) bool {
	return !s.lagged.IsZero() && now.Sub(s.lagged) < laggardKept
}

// recheckChain is how long an answer to eth_chainId is good for: what stands
// behind a URL changes rarely.
const recheckChain = time.Hour

// checkChain makes sure that the node serves our chain.
func (f *Feed) checkChain(ctx context.Context, s *source) error {
	now := f.cfg.Clock.Now()
	if now.Unix()-s.checked.Load() < int64(recheckChain/time.Second) {
		return nil
	}

	var id *quantity
	if err := s.Call(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if id == nil || market.ChainID(*id) != f.cfg.Chain {
		return &endpoint.Error{
			Kind: endpoint.WrongChain,
			Text: fmt.Sprintf("the node is on chain %s; want %d", id, f.cfg.Chain),
		}
	}

	s.checked.Store(now.Unix())
	return nil
}

// sourcesFor returns the sources with a role that do not rest, in the
// configured order with fallbacks last, or the one whose rest ends first.
func (f *Feed) sourcesFor(r Role) (list []*source) {
	now := f.cfg.Clock.Now()
	var soonest *source
	for _, fallback := range []bool{false, true} {
		for _, s := range f.sources {
			if s.fallback != fallback || !s.fallback && !s.serves(r) {
				continue
			}
			if !s.RestsUntil().After(now) {
				list = append(list, s)
			}
			if soonest == nil || s.RestsUntil().Before(soonest.RestsUntil()) {
				soonest = s
			}
		}
	}

	if len(list) == 0 {
		list = append(list, soonest)
	}

	return list
}

func (s *source) serves(r Role) bool { return r == Live && s.live || r == Backfill && s.backfill }

// readyAt returns when the first source with a role may be asked again.
func (f *Feed) readyAt(r Role) time.Time { return f.sourcesFor(r)[0].RestsUntil() }

// trySources calls do with the sources in order until one succeeds: first those that
// have reported block need and are not on another fork. A source that fails
// rests, except when it merely does not have something; when none has it, all
// are asked again.
func (f *Feed) trySources(ctx context.Context, r Role, need uint64, do func(*source) error) error {
	list := f.nearest(r, need)

	var errs joined
	for range absentTries {
		errs = errs[:0]
		for _, s := range list {
			err := f.useSource(ctx, s, do)
			if err == nil || ctx.Err() != nil {
				return err
			}
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
		if !allErrors(errs, isAbsent) {
			break
		}
	}
	return errs
}

// nearest returns the sources with a role, those first that likely have a block.
func (f *Feed) nearest(r Role, need uint64) []*source {
	list := f.sourcesFor(r)
	if len(list) == 1 {
		return list
	}
	distances := make(map[*source]int, len(list)) // they may change meanwhile
	for _, s := range list {
		distances[s] = s.distance(need)
	}
	slices.SortStableFunc(list, func(a, b *source) int { return distances[a] - distances[b] })
	return list
}

// distance orders sources by how likely they have a block.
func (s *source) distance(need uint64) (d int) {
	if s.head.Load() < need {
		d++
	}
	if s.forked.Load() {
		d += 2
	}

	if s.health.isPoor() {
		d += 4
	}
	if s.fallback {
		d += 8
	}
	return d
}

const (
	// oneFailure and oneSuccess are how much one of them changes a source's failure
	// rate; above highFailureRate other sources are asked first.
	oneFailure      = 0.3
	oneSuccess      = 0.05
	highFailureRate = 0.2
)

func (h *health) isPoor() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failureRate > highFailureRate
}

func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failureRate -= oneSuccess * h.failureRate
}

func (h *health) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failureRate += oneFailure * (1 - h.failureRate)
}

// useSource calls do with one source and keeps account of what came of it.
func (f *Feed) useSource(ctx context.Context, s *source, do func(*source) error) error {
	err := f.checkChain(ctx, s)
	if err == nil {
		err = do(s)
	}

	switch {
	case err == nil:
		f.noteSuccess(s)
	case ctx.Err() != nil:
	case isPassing(err):
		f.noteError(fmt.Errorf("%s: %w", s.Name, err))
	default:
		f.noteFailure(s, err)
	}

	return err
}

// isPassing reports whether a failure says nothing against the node: it does
// not have a block yet, or the chain moved.
func isPassing(err error) bool {
	kind := endpoint.KindOf(err)
	return kind == endpoint.Absent || kind == endpoint.Inconsistent || errors.Is(err, context.Canceled)
}

func (f *Feed) noteSuccess(s *source) {
	s.Succeeded()
	s.health.succeeded()
	f.status.name.Store(&s.Name)
	f.noteRecovery(s)
}

// noteFailure lets a source rest.
func (f *Feed) noteFailure(s *source, err error) {
	if endpoint.KindOf(err) == endpoint.WrongChain {
		s.checked.Store(0)
	}
	s.health.failed()
	failures, rest := s.Failed(err, f.cfg.Rand())
	f.m.countFailure(s.Name, endpoint.KindOf(err))
	f.noteError(fmt.Errorf("%s: %w", s.Name, err))
	f.warnOfFailure(s, err, failures, rest)
}

// Ask sends calls to the first endpoint that answers them. It may be used beside
// Next.
func (f *Feed) Ask(ctx context.Context, calls []endpoint.Call) error {
	var errs joined
	for _, s := range f.sources {
		err := f.checkChain(ctx, s)
		if err == nil {
			err = s.Ask(ctx, calls)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
	}
	return errs
}
