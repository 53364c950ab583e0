package rpc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/rankings/market"
)

const (
	// maxTokens bounds the metadata that is kept; past it all is read again when
	// it is needed.
	maxTokens = 1 << 16
	// tokenStrikes is how often a node that answers other calls may fail at one
	// token. Then the span goes on without its metadata, so that a hostile token
	// cannot stop the chain.
	tokenStrikes = 3
	// firstReread is after how long missing metadata is read again; the pause
	// grows tenfold up to lastReread.
	firstReread = time.Minute
	lastReread  = 24 * time.Hour
	// rereadAtOnce and maxMissing bound what hostile tokens can make of that.
	rereadAtOnce = 16
	maxMissing   = 4096
)

// tokens is what is known of currencies. Spans that are read at once share it.
type tokens struct {
	mu      sync.Mutex
	known   map[market.Address]market.TokenMeta
	missing map[market.Address]*missingToken
	strikes map[market.Address]int
	// repaired is to be told with the next span. told was, and is told again after
	// the ledger has taken back a span.
	repaired, told []market.TokenMeta
}

// missingToken is a token whose decimals could not be read.
type missingToken struct {
	due   time.Time
	pause time.Duration
}

// fetchTokens returns the metadata of every currency of a pool that is created
// in the span, each once. They may have been seen in earlier spans too.
func (f *Feed) fetchTokens(ctx context.Context, s *market.Span) ([]market.TokenMeta, error) {
	wanted := currencies(s)
	known, unread := f.tokens.find(wanted)
	for len(unread) > 0 {
		if err := f.readTokens(ctx, unread, s.To); err != nil {
			return nil, err
		}
		known, unread = f.tokens.find(wanted)
	}

	var out []market.TokenMeta
	for _, a := range wanted {
		if a.IsZero() {
			out = append(out, market.NativeToken(f.cfg.NativeSymbol, f.cfg.NativeName))
			continue
		}
		out = append(out, known[a])
	}
	return out, nil
}

// find returns what is known of currencies, and those of which nothing is.
func (t *tokens) find(list []market.Address) (
	known map[market.Address]market.TokenMeta, unread []market.Address,
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known)+len(list) > maxTokens {
		clear(t.known)
	}

	known = make(map[market.Address]market.TokenMeta, len(list))
	for _, a := range list {
		if meta, ok := t.known[a]; ok {
			known[a] = meta
		} else if !a.IsZero() {
			unread = append(unread, a)
		}
	}
	return known, unread
}

// takeRepaired returns what was missing and is known now, to be told once.
func (t *tokens) takeRepaired() (list []market.TokenMeta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, t.repaired = t.repaired, nil
	t.told = append(t.told, list...)
	return list
}

// currencies returns those of the pools that a span creates, each once.
func currencies(s *market.Span) (list []market.Address) {
	seen := make(map[market.Address]bool)
	add := func(a market.Address) {
		if !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}

	for i := range s.Blocks {
		for _, l := range s.Blocks[i].Logs {
			if e, ok := l.Event.(market.Initialize); ok {
				add(e.Currency0)
				add(e.Currency1)
			}
		}
	}
	return list
}

// readTokens reads the metadata of tokens. While the nodes fail as such it is an
// error. If they answer but for a token, that is noted as missing, unless prices
// need it.
func (f *Feed) readTokens(ctx context.Context, list []market.Address, need uint64) error {
	if len(list) == 0 {
		return nil
	}
	left := list
	err := f.trySources(ctx, Backfill, need, func(s *source) (err error) {
		left, err = f.callTokens(ctx, s, left)
		return err
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if probe := f.probeCalls(ctx, need); probe != nil {
		return fmt.Errorf("%w (and no node answers eth_call: %w)", err, probe)
	}

	if f.strikeTokens(left) {
		return err
	}
	for _, a := range left {
		f.keepToken(market.TokenMeta{Address: a, BadDecimals: true})
	}
	return nil
}

// strikeTokens counts a failure at tokens and reports whether the chain waits for
// one of them.
func (f *Feed) strikeTokens(list []market.Address) (waiting bool) {
	t := &f.tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.strikes == nil || len(t.strikes) > maxMissing {
		t.strikes = make(map[market.Address]int)
	}
	for _, a := range list {
		t.strikes[a]++
		waiting = waiting || t.strikes[a] < tokenStrikes || f.isRequired(a)
	}
	return waiting
}

func (f *Feed) isRequired(a market.Address) bool {
	_, configured := f.cfg.Decimals[a]
	return !configured && slices.Contains(f.cfg.Required, a)
}

// keepToken notes metadata, with the configured decimals, and what is missing.
func (f *Feed) keepToken(m market.TokenMeta) {
	if d, ok := f.cfg.Decimals[m.Address]; ok {
		m.Decimals, m.BadDecimals = d, false
	}
	t := &f.tokens
	t.mu.Lock()
	defer t.mu.Unlock()

	t.known[m.Address] = m
	delete(t.strikes, m.Address)
	if m.DecimalsKnown() {
		delete(t.missing, m.Address)
		return
	}
	if t.missing == nil {
		t.missing = make(map[market.Address]*missingToken)
	}

	missed := t.missing[m.Address]
	if missed == nil && len(t.missing) < maxMissing {
		missed = &missingToken{pause: firstReread / 10}
		t.missing[m.Address] = missed
	}
	if missed != nil {
		missed.pause = min(10*missed.pause, lastReread)
		missed.due = f.cfg.Clock.Now().Add(missed.pause)
	}
}

// rereadTokens reads missing metadata again when it is due. What is found goes
// out with the next span.
func (f *Feed) rereadTokens(ctx context.Context, missing []market.Address, need uint64) {
	_, unread := f.tokens.find(missing)
	for _, a := range unread {
		f.keepToken(market.TokenMeta{Address: a, BadDecimals: true})
	}
	due := f.tokens.takeDue(f.cfg.Clock.Now())
	if len(due) == 0 {
		return
	}
	err := f.trySources(ctx, Backfill, need, func(s *source) error {
		_, err := f.callTokens(ctx, s, due)
		return err
	})
	if err != nil {
		f.noteError(fmt.Errorf("cannot read missing tokens: %w", err))
	}

	for _, a := range f.tokens.repair(due) {
		f.cfg.Log.Info("a token's missing metadata was read", "chain", f.cfg.Chain, "token", a.String())
	}
}

// takeDue returns missing tokens that are due, and puts them off.
func (t *tokens) takeDue(now time.Time) (due []market.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for a, m := range t.missing {
		if !m.due.After(now) {
			due = append(due, a)
		}
	}

	slices.SortFunc(due, func(a, b market.Address) int {
		return cmp.Compare(string(a[:]), string(b[:]))
	})
	due = due[:min(len(due), rereadAtOnce)]
	for _, a := range due {
		t.missing[a].due = now.Add(firstReread)
	}
	return due
}

// repair returns those tokens that are known now, which are told with the next span.
func (t *tokens) repair(list []market.Address) (found []market.Address) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range list {
		if m, ok := t.known[a]; ok && m.DecimalsKnown() {
			t.repaired, found = append(t.repaired, m), append(found, a)
		}
	}
	return found
}

// tellAgain has repaired tokens told once more: the ledger took back a span and
// what it learnt with it.
func (t *tokens) tellAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.repaired, t.told = append(t.told, t.repaired...), nil
}
