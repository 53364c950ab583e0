package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// Chain is what a node has of one chain in the cluster. Its methods may be called by any
// goroutine. Start waits until Next has returned, so the context of that has to end first.
type Chain struct {
	c       *Cluster
	id      market.ChainID
	subject string
	writes  bool
	hasRoom func() bool
	metrics *chainMetrics

	ctx  context.Context // ends with Stop
	stop context.CancelFunc
	wake chan struct{} // a cut was stored, or this node is to write; of capacity 1
	told atomic.Pointer[[]byte]

	// What status.go tells of the chain.
	number      atomic.Uint64             // of at
	behindSince atomic.Pointer[time.Time] // nil: this node has what the writer told of
	writerState atomic.Pointer[writerState]
	newest      atomic.Pointer[rankings.ChainSnapshot] // that this node knows of as the writer
	wanted      atomic.Uint64

	pinsMu sync.Mutex
	pins   map[string]pinned // that other nodes told of, by their names

	mu sync.Mutex // held by Start, Next and Append
	// seen is the last message of the subject that this node knows of, also one of a cut
	// that was never finished.
	seen uint64
	at   Place // of the last cut that this node took or appended
	// body is where the parts of cuts are put together, and plain where they are unpacked.
	body, plain []byte
	// quiet: nothing was heard since the last look at the stream.
	quiet bool

	lead lead
}

// Event is what Next returns. Exactly one field is set. A Cut is valid until the next call
// of Next.
type Event struct {
	Cut   *Cut
	Beat  []byte // what the writer tells
	Elect bool   // this node has everything and is to write
}

// Chain returns the node's end of a chain. mayWrite says that this node writes the
// chain when no other does, while hasRoom says that its disk has room for that.
func (c *Cluster) Chain(id market.ChainID, mayWrite bool, hasRoom func() bool) (*Chain, error) {
	ch := &Chain{
		c: c, id: id, subject: fmt.Sprintf("cut.%d", id), wake: make(chan struct{}, 1),
		writes: mayWrite, hasRoom: hasRoom, metrics: newChainMetrics(c.cfg.Metrics, id),
		pins: make(map[string]pinned),
	}
	ch.addGauges(c.cfg.Metrics)
	ch.ctx, ch.stop = context.WithCancel(c.ctx)
	if err := ch.listen(); err != nil {
		return nil, err
	}
	if mayWrite {
		c.work.Go(func() { ch.campaign(ch.ctx) })
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.chains[id] = ch
	return ch, nil
}

// listen has what other nodes say of the chain heard.
func (ch *Chain) listen() error {
	for _, s := range []struct {
		subject string
		hear    nats.MsgHandler
		whom    string
		writers bool // only nodes that may write the chain answer
	}{
		{ch.beatSubject(), ch.hear, "the writer of", false},
		{ch.wantSubject(), ch.hearWant, "the followers of", false},
		{ch.pinSubject(), ch.hearPinned, "what nodes pin of", false},
		{ch.yieldSubject(), ch.hearYield, "who leaves", true},
	} {
		if s.writers && !ch.writes {
			continue
		}

		if _, err := ch.c.nc.Subscribe(s.subject, s.hear); err != nil {
			return fmt.Errorf("cannot listen to %s chain %d: %w", s.whom, ch.id, err)
		}
	}
	return nil
}

// ErrOutdated is the error of an append to a chain that another node has continued, and of
// a value of a bucket that another one came before.
var ErrOutdated = errors.New("another node writes the chain")

// Tee appends a cut of a chain that this node writes. It is the Tee of the store.
func (c *Cluster) Tee(id market.ChainID, batch, note []byte) (place []byte, err error) {
	c.mu.Lock()
	ch := c.chains[id]
	c.mu.Unlock()
	if ch == nil {
		return nil, fmt.Errorf("chain %d is not in the cluster", id)
	}
	at, err := ch.Append(batch, note)
	if err != nil {
		return nil, err
	}
	return at.Encode(), nil
}

// Start begins at a place, as the store has it. Next goes on from there.
func (ch *Chain) Start(stored []byte) error {
	at, err := DecodePlace(stored)
	if err != nil {
		return err
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.Resign()
	ch.seen = at.Sequence
	ch.moveTo(at)
	return nil
}

// MayWrite reports whether this node writes the chain when no other does.
func (ch *Chain) MayWrite() bool { return ch.writes }

// Stop ends an append that waits for the servers, and gives the leadership back.
func (ch *Chain) Stop() { ch.stop() }

// Beginning is what the stream has of a chain.
type Beginning int

// The beginnings of a chain in the stream.
const (
	NoCuts   Beginning = iota
	FirstCut           // every cut is there, and the first one follows nothing
	LaterCut           // the first cuts were removed, or follow what another node had
)

// Beginning returns what the stream has of the chain. A stream that was made anew while
// this node runs is an error: its generations have the numbers of others.
func (ch *Chain) Beginning(ctx context.Context) (Beginning, error) {
	if err := ch.c.Joined(); err != nil {
		return NoCuts, err
	}
	if _, err := ch.c.streamInfo(ctx); err != nil {
		return NoCuts, err
	}

	m, err := ch.messageAfter(ctx, 0)
	if err != nil || m == nil {
		return NoCuts, err
	}
	h, _, err := decodeHeader(m.Data)
	if err == nil && h.number == 1 && h.part == 0 && h.before == (Hash{}) {
		return FirstCut, nil
	}
	return LaterCut, nil
}

// streamInfo returns what the leader of the stream says of it. A stream that was made anew
// while this node runs is an error.
func (c *Cluster) streamInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := c.stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	if !info.Created.Equal(c.made) {
		return nil, errAnew
	}
	return info, nil
}

// errAnew is the error of a stream that was deleted and made again.
var errAnew = broken("stream %s was made anew; start this node again", streamName)

// FreshPlace returns a place that no other data has, for a node with data of a chain that
// the stream has not. Its first cut follows that place.
func FreshPlace() (p Place) {
	rand.Read(p.Hash[:])
	return p
}

const (
	// pollEvery is how often a follower looks for cuts when nobody tells it of one. The
	// messages that do are not stored and may be lost.
	pollEvery = 500 * time.Millisecond
	// retryPause follows a request that failed.
	retryPause = 200 * time.Millisecond
)

// Next waits for what comes next on the chain. Requests that fail are repeated: while
// there are no servers, nothing comes. An error is ErrBroken or that of ctx.
func (ch *Chain) Next(ctx context.Context) (Event, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for {
		leads := ch.Leads()
		cut, err := ch.nextCut(ctx, leads)
		switch {
		case cut != nil:
			ch.moveTo(cut.Place)
			return Event{Cut: cut}, nil
		case ctx.Err() != nil:
			return Event{}, ctx.Err()
		case errors.Is(err, ErrBroken):
			ch.metrics.broken.Inc()
			return Event{}, err
		}

		pause := retryPause
		if err == nil {
			ch.lead.ready.Store(true)
			switch {
			case ch.Leads() && leads:
				return Event{Elect: true}, nil
			case ch.Leads():
				continue // since the look, which was that of a follower
			}
			pause = pollEvery
		}
		if told := ch.told.Swap(nil); told != nil {
			return Event{Beat: *told}, nil
		}
		ch.quiet = false
		select {
		case <-ctx.Done():
			return Event{}, ctx.Err()
		case <-ch.wake:
		case <-time.After(pause):
			ch.quiet = true
		}
	}
}

// nextCut returns the cut after ch.at, or nil if the stream ends there. leads says that this
// node is to write once there is none.
func (ch *Chain) nextCut(ctx context.Context, leads bool) (*Cut, error) {
	a := assembly{after: ch.at, body: ch.body, plain: ch.plain}
	defer func() { ch.body, ch.plain = keepBody(a.body), keepBody(a.plain) }()
	last := ch.at.Sequence
	for {
		m, err := ch.newestAfter(ctx, last, leads)
		if err != nil {
			return nil, err
		}
		if m == nil {
			ch.seen = last
			return nil, ch.checkEnd(ctx, last)
		}

		last = m.Sequence
		if cut, err := a.add(m.Sequence, m.Data); cut != nil || err != nil {
			ch.seen = last
			return cut, err
		}
	}
}

// maxKeptBody bounds the memory that is kept for the next cut. The first cut of a chain
// and those of a node that catches up are larger than those of a refresh.
const maxKeptBody = 16 << 20

func keepBody(body []byte) []byte {
	if cap(body) > maxKeptBody {
		return nil
	}
	return body[:0]
}

// checkEnd finds out, before this node may write, whether the stream has what this node
// has: servers that were set up anew, or that lost their files, do not.
func (ch *Chain) checkEnd(ctx context.Context, last uint64) error {
	if ch.lead.ready.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := ch.c.streamInfo(ctx)
	if err != nil {
		return err
	}
	if info.State.LastSeq < last {
		return broken("the stream ends at message %d; this node has chain %d up to message %d",
			info.State.LastSeq, ch.id, last)
	}
	if last == 0 || last < info.State.FirstSeq {
		return nil
	}

	m, err := ch.c.stream.GetMsg(ctx, last)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // it was removed after a snapshot
	}
	if err != nil {
		return err
	}
	if h, _, err := decodeHeader(m.Data); m.Subject != ch.subject || err != nil ||
		last == ch.at.Sequence && h.hash != ch.at.Hash {
		return broken("message %d of the stream is not the cut %d of chain %d that this node has",
			last, ch.at.Number, ch.id)
	}
	return nil
}

const (
	// appendTimeout is longer than servers take to elect a leader (4 to 9 s after a
	// kill). A writer that has waited so long follows again.
	appendTimeout = 20 * time.Second
	// appendTry bounds one attempt. An answer takes milliseconds; one that was lost in a
	// partition is waited for no longer than this after the end of it.
	appendTry = 500 * time.Millisecond
)

// Append stores the next cut of a chain that this node writes. It fails with ErrOutdated
// if another node has continued the chain. After any error the chain must be started
// again, because the cut may be in the stream.
func (ch *Chain) Append(batch, note []byte) (Place, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	started := time.Now()
	messages, hash, err := encodeCut(ch.at, batch, note)
	if err != nil {
		return Place{}, err
	}

	ctx, cancel := context.WithTimeout(ch.ctx, appendTimeout)
	defer cancel()
	for part, message := range messages {
		id := fmt.Sprintf("%d.%d.%d.%x", ch.id, ch.at.Number+1, part, hash[:8])
		sequence, err := ch.appendMessage(ctx, message, id)
		if err != nil {
			return Place{}, fmt.Errorf("cannot append cut %d of chain %d: %w", ch.at.Number+1, ch.id, err)
		}
		ch.seen = sequence
		ch.metrics.bytes.Add(len(message))
	}

	ch.moveTo(Place{Sequence: ch.seen, Number: ch.at.Number + 1, Hash: hash})
	ch.metrics.append.Update(time.Since(started).Seconds())
	return ch.at, nil
}

// appendMessage stores one message after ch.seen.
func (ch *Chain) appendMessage(ctx context.Context, message []byte, id string) (sequence uint64, err error) {
	sequence, err = ch.c.publish(ctx, &nats.Msg{Subject: ch.subject, Data: message},
		jetstream.WithMsgID(id), jetstream.WithExpectStream(streamName),
		jetstream.WithExpectLastSequencePerSubject(ch.seen))
	if errors.Is(err, ErrOutdated) {
		ch.metrics.refused.Inc()
	}
	return sequence, err
}
