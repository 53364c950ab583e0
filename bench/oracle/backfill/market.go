package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/crypto/sha3"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The contracts and tokens of the market.
var (
	manager   = market.Address{0xaa}
	positions = market.Address{0xbb}
	stables   = []market.Address{{0xc1}, {0xc2}, {0xc3}}
	wrapped   = market.Address{0xd0}
)

const (
	genesis   = int64(1_750_000_000 / 3600 * 3600)
	blockTime = 12 // seconds
)

// recording is a market's history: spans in order, as a provider's logs give them.
type recording struct {
	spans  []*market.Span
	events int
	head   market.Head
}

// record simulates a market of about so many events. Pools get the ids that the
// contract would give them, blocks the hashes and times of the mock chain.
func record(events, days int) (*recording, error) {
	end := time.Unix(genesis, 0).Add(time.Duration(days) * 24 * time.Hour)
	source, err := sim.New(sim.Config{
		Chain: 1, Seed: 1, Positions: max(events/15, 200), Pools: max(events*80/45_000, 80), Days: days,
		Actions: events * 4 / 5, Genesis: genesis, StartBlock: 1, PositionManager: positions,
		Stables: stables, Wrapped: wrapped, Frozen: true, Now: func() time.Time { return end },
		BlockTime: blockTime * time.Second,
	})
	if err != nil {
		return nil, err
	}
	defer source.Close()

	g := ledger.New(ledger.Config{Chain: 1, PositionManager: positions, Start: 1})
	r, ids := new(recording), make(map[market.PoolID]market.PoolID)
	for {
		step, err := source.Next(context.Background(),
			feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
		if err != nil {
			return nil, err
		}
		if err := apply(g, step.Span); err != nil {
			return nil, err
		}
		r.add(step.Span, ids)
		if r.head.Number == step.Head.Number {
			return r, nil
		}
	}
}

// eventsAfter returns how many events the blocks after a number have.
func (r *recording) eventsAfter(number uint64) (n int) {
	for _, s := range r.spans {
		for i := range s.Blocks {
			if s.Blocks[i].Number > number {
				n += len(s.Blocks[i].Logs)
			}
		}
	}
	return n
}

func apply(g *ledger.Ledger, s *market.Span) error {
	for _, piece := range ledger.CutHours(s, g.Head().Time) {
		if hour := market.HourOf(piece.Time); hour > market.HourOf(g.Head().Time) {
			g.BeginHour(hour, nil, nil)
		}
		if _, err := g.Apply(&piece); err != nil {
			return err
		}
	}
	g.Changes()
	g.Forget(s.To)
	return nil
}

// add keeps a span with the ids, hashes and times of the mock chain.
func (r *recording) add(s *market.Span, ids map[market.PoolID]market.PoolID) {
	out := *s
	out.Parent, out.Hash, out.Time, out.Final = hashOf(s.From-1), hashOf(s.To), timeOf(s.To), true

	out.Blocks = make([]market.Block, len(s.Blocks))
	for i, b := range s.Blocks {
		b.Time = timeOf(b.Number)
		logs := make([]market.Log, len(b.Logs))
		for k, l := range b.Logs {
			l.Event = withPoolID(l.Event, ids)
			logs[k] = l
		}
		b.Logs = logs
		out.Blocks[i] = b
		r.events += len(logs)
	}
	r.spans, r.head = append(r.spans, &out), out.Head()
}

// withPoolID gives an event the pool id that its key hashes to.
func withPoolID(e market.Event, ids map[market.PoolID]market.PoolID) market.Event {
	switch e := e.(type) {
	case market.Initialize:
		ids[e.Pool] = poolID(&e)
		e.Pool = ids[e.Pool]
		return e

	case market.ModifyLiquidity:
		e.Pool = ids[e.Pool]
		return e
	case market.Swap:
		e.Pool = ids[e.Pool]
		return e
	case market.Donate:
		e.Pool = ids[e.Pool]
		return e
	case market.ProtocolFeeUpdated:
		e.Pool = ids[e.Pool]
		return e
	}
	return e
}

// hashOf and timeOf are those of the mock chain's blocks.
func hashOf(number uint64) (h market.Hash) {
	return keccak(binary.BigEndian.AppendUint64([]byte("block"), number))
}

func timeOf(number uint64) int64 { return genesis + blockTime*int64(number) }

func keccak(b []byte) (h market.Hash) {
	k := sha3.NewLegacyKeccak256()
	k.Write(b)
	k.Sum(h[:0])
	return h
}

// memoryFeed gives out a recording: what the ledger takes when nothing holds it up.
type memoryFeed struct{ r *recording }

// Next implements feed.Feed.
func (f *memoryFeed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	at := c.Anchors[0].Number
	step, err := f.step(at)
	if err == nil && step.Span == nil {
		<-ctx.Done()
		err = ctx.Err()
	}
	return step, err
}

// step returns the span that follows a block; none after the last.
func (f *memoryFeed) step(at uint64) (feed.Step, error) {
	step := feed.Step{Head: f.r.head, Finalized: f.r.head.Number}
	if at == f.r.head.Number {
		return step, nil
	}
	for _, s := range f.r.spans {
		if s.From == at+1 {
			span := *s
			step.Span, step.SpanConfirmed = &span, time.Now()
			return step, nil
		}
	}
	return step, fmt.Errorf("no span begins after block %d", at)
}

// Close implements feed.Feed.
func (f *memoryFeed) Close() error { return nil }

// endingFeed is one that ends as an archive without nodes does.
type endingFeed struct{ memoryFeed }

// Next implements feed.Feed.
func (f *endingFeed) Next(_ context.Context, c feed.Cursor) (feed.Step, error) {
	step, err := f.step(c.Anchors[0].Number)
	if err == nil && step.Span == nil {
		err = archive.ErrEnd
	}
	return step, err
}
