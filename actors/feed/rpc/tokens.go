package rpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

const (
	// maxTokens bounds the metadata that is kept; past it all is read again when
	// it is needed.
	maxTokens = 1 << 16
	// callGas bounds what a hostile token can make of an answer: memory costs
	// gas, and this much buys about 700 kB.
	callGas = 1_000_000
	// maxText is how many bytes of a symbol or name are kept, more than are
	// ever shown.
	maxText = 1024
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

// The functions that describe a token, by their selectors, and one that every
// position manager answers.
var (
	selectors = [3]string{
		selector("symbol()"), selector("name()"), selector("decimals()"),
	}
	nextTokenID = selector("nextTokenId()")
)

func selector(signature string) string { return topic(signature).String()[:10] }

// tokens is what is known of currencies.
type tokens struct {
	known   map[market.Address]market.TokenMeta
	missing map[market.Address]*missingToken
	strikes map[market.Address]int
	// repaired are to be told with the next span; told were, and are again after
	// the ledger has taken back a span.
	repaired, told []market.TokenMeta
}

// missingToken is a token whose decimals could not be read.
type missingToken struct {
	due   time.Time
	pause time.Duration
}

// fetchTokens returns the metadata of every currency of a pool that is created
// in the span, each once, and what was missing before and is known now. They
// may have been seen in earlier spans too.
func (f *Feed) fetchTokens(ctx context.Context, s *market.Span) ([]market.TokenMeta, error) {
	wanted := currencies(s)
	var unread []market.Address
	for _, a := range wanted {
		if _, known := f.tokens.known[a]; !known && !a.IsZero() {
			unread = append(unread, a)
		}
	}
	if len(f.tokens.known)+len(unread) > maxTokens {
		clear(f.tokens.known)
		return f.fetchTokens(ctx, s)
	}
	if err := f.readTokens(ctx, unread, s.To); err != nil {
		return nil, err
	}

	var out []market.TokenMeta
	for _, a := range wanted {
		if a.IsZero() {
			out = append(out, f.nativeToken())
			continue
		}
		out = append(out, f.tokens.known[a])
	}
	out = append(out, f.tokens.repaired...)
	f.tokens.told = append(f.tokens.told, f.tokens.repaired...)
	f.tokens.repaired = nil
	return out, nil
}

// currencies returns those of the pools that a span creates, each once.
func currencies(s *market.Span) (list []market.Address) {
	seen := make(map[market.Address]bool)
	for i := range s.Blocks {
		for _, l := range s.Blocks[i].Logs {
			e, ok := l.Event.(market.Initialize)
			if !ok {
				continue
			}

			for _, a := range []market.Address{e.Currency0, e.Currency1} {
				if !seen[a] {
					seen[a] = true
					list = append(list, a)
				}
			}
		}
	}
	return list
}

func (f *Feed) nativeToken() market.TokenMeta {
	return market.TokenMeta{Symbol: &f.cfg.NativeSymbol, Name: &f.cfg.NativeName, Decimals: 18}
}

// readTokens reads the metadata of tokens. While the nodes fail as such it is an
// error; a token that only itself cannot be read is noted as missing, unless
// prices hang on it.
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

	if f.tokens.strikes == nil || len(f.tokens.strikes) > maxMissing {
		f.tokens.strikes = make(map[market.Address]int)
	}
	waiting := false
	for _, a := range left {
		f.tokens.strikes[a]++
		waiting = waiting || f.tokens.strikes[a] < tokenStrikes || f.isRequired(a)
	}
	if waiting {
		return err
	}
	for _, a := range left {
		f.keepToken(market.TokenMeta{Address: a, BadDecimals: true})
	}
	return nil
}

func (f *Feed) isRequired(a market.Address) bool {
	_, configured := f.cfg.Decimals[a]
	return !configured && slices.Contains(f.cfg.Required, a)
}

// probeCalls asks for something that every node with the chain's state can tell.
func (f *Feed) probeCalls(ctx context.Context, need uint64) error {
	return f.trySources(ctx, Backfill, need, func(s *source) error {
		var answer *hexBytes
		msg := map[string]string{"to": f.cfg.PositionManager.String(), "data": nextTokenID}
		err := s.Call(ctx, &answer, "eth_call", msg, "latest")
		if callReverted(err) {
			return nil
		}
		return err
	})
}

// callTokens reads the metadata of tokens from one source and returns those that
// it failed at.
func (f *Feed) callTokens(
	ctx context.Context, s *source, list []market.Address,
) (left []market.Address, err error) {
	answers := make([]*hexBytes, len(selectors)*len(list))
	calls := make([]endpoint.Call, 0, len(answers))
	for i, a := range list {
		for k, data := range selectors {
			msg := map[string]string{"to": a.String(), "data": data, "gas": hex(callGas)}
			calls = append(calls, endpoint.Call{
				Method: "eth_call", Args: []any{msg, "latest"},
				Result: &answers[len(selectors)*i+k],
			})
		}
	}
	if err := s.Ask(ctx, calls); err != nil {
		return list, err
	}

	for i, a := range list {
		at := len(selectors) * i
		if failed := nodeFailure(calls[at:][:len(selectors)]); failed != nil {
			left, err = append(left, a), failed
			continue
		}
		t := market.TokenMeta{Address: a, Symbol: text(answers[at]), Name: text(answers[at+1])}
		decimals, ok := small(answers[at+2])
		if t.BadDecimals = !ok || decimals > market.MaxDecimals; !t.BadDecimals {
			t.Decimals = uint8(decimals)
		}
		if t.BadDecimals && f.isRequired(a) {
			left = append(left, a)
			err = absentError("decimals of %s, on which prices hang: set them by decimals = [\"%s=…\"] "+
				"under [[chains]]", a, a)
			continue
		}
		f.keepToken(t)
	}
	return left, err
}

// nodeFailure returns the first error of calls that is not the token's own.
func nodeFailure(calls []endpoint.Call) error {
	for i := range calls {
		if err := endpoint.CallError(&calls[i]); err != nil && !callReverted(err) {
			return err
		}
	}
	return nil
}

// keepToken notes metadata, with the configured decimals, and what is missing.
func (f *Feed) keepToken(t market.TokenMeta) {
	if d, ok := f.cfg.Decimals[t.Address]; ok {
		t.Decimals, t.BadDecimals = d, false
	}

	f.tokens.known[t.Address] = t
	delete(f.tokens.strikes, t.Address)
	if !t.BadDecimals {
		delete(f.tokens.missing, t.Address)
		return
	}
	if f.tokens.missing == nil {
		f.tokens.missing = make(map[market.Address]*missingToken)
	}

	m := f.tokens.missing[t.Address]
	if m == nil && len(f.tokens.missing) < maxMissing {
		m = &missingToken{pause: firstReread / 10}
		f.tokens.missing[t.Address] = m
	}
	if m != nil {
		m.pause = min(10*m.pause, lastReread)
		m.due = f.cfg.Clock.Now().Add(m.pause)
	}
}

// rereadTokens reads missing metadata again when it is due. What is found goes
// out with the next span.
func (f *Feed) rereadTokens(ctx context.Context, missing []market.Address, need uint64) {
	for _, a := range missing {
		if _, known := f.tokens.known[a]; !known {
			f.keepToken(market.TokenMeta{Address: a, BadDecimals: true})
		}
	}
	now := f.cfg.Clock.Now()
	var due []market.Address
	for a, m := range f.tokens.missing {
		if !m.due.After(now) {
			due = append(due, a)
		}
	}
	if len(due) == 0 {
		return
	}
	slices.SortFunc(due, func(a, b market.Address) int {
		return cmp.Compare(string(a[:]), string(b[:]))
	})
	due = due[:min(len(due), rereadAtOnce)]

	for _, a := range due {
		f.tokens.missing[a].due = now.Add(firstReread)
	}
	err := f.trySources(ctx, Backfill, need, func(s *source) error {
		_, err := f.callTokens(ctx, s, due)
		return err
	})
	if err != nil {
		f.noteError(fmt.Errorf("cannot read missing tokens: %w", err))
	}
	for _, a := range due {
		if t := f.tokens.known[a]; !t.BadDecimals {
			f.tokens.repaired = append(f.tokens.repaired, t)
			f.cfg.Log.Info("a token's missing metadata was read", "chain", f.cfg.Chain, "token", a.String())
		}
	}
}

// tellAgain has repaired tokens told once more: the ledger took back a span and
// what it learnt with it.
func (t *tokens) tellAgain() { t.repaired, t.told = append(t.told, t.repaired...), nil }

// text reads a string as contracts return it: encoded as the ABI says, or as
// 32 bytes filled with zeros. It is nil when the answer is neither.
func text(answer *hexBytes) *string {
	if answer == nil || len(*answer) < 32 {
		return nil
	}

	b := []byte(*answer)
	if len(b) == 32 {
		b = b[:len(strings.TrimRight(string(b), "\x00"))]
	} else {
		at, ok := lowWord(b)
		if !ok || at > uint64(len(b)-32) {
			return nil
		}
		size, ok := lowWord(b[at:])
		if !ok || size > uint64(len(b))-at-32 {
			return nil
		}
		b = b[at+32:][:size]
	}

	s := strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "")
	return &s
}

// callReverted reports whether err is how a contract's own code ended.
func callReverted(err error) bool {
	if err == nil || !endpoint.IsAnswer(err) {
		return false
	}
	e := endpoint.AsError(err)
	text := strings.ToLower(e.Text)
	for _, sign := range []string{
		"revert", "opcode", "instruction", "out of gas", "stack", "jump", "execution", "vm ",
	} {
		if strings.Contains(text, sign) {
			return !strings.Contains(text, "timeout")
		}
	}

	return e.Code == revertedCode
}

// revertedCode is the JSON-RPC error of a call that reverted with data.
const revertedCode = 3

// small reads an unsigned integer below 2^64.
func small(answer *hexBytes) (uint64, bool) {
	if answer == nil || len(*answer) < 32 {
		return 0, false
	}
	return lowWord(*answer)
}

func lowWord(b []byte) (uint64, bool) {
	return binary.BigEndian.Uint64(b[24:32]),
		[24]byte(b[:24]) == [24]byte{}
}
