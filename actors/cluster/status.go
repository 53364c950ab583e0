package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// writerState is what the writer of a chain tells of itself with every beat.
type writerState struct {
	Node     string
	Cut      uint64
	Snapshot rankings.ChainSnapshot
	at       time.Time // when it was heard
}

const (
	// writerStateHeader of a beat has the state of the writer.
	writerStateHeader = "Tidemark-Writer"
	// heardFor is how long a writer is believed to write without a word, and a node to
	// pin what it told of: several refreshes, and longer than another node needs to take
	// over.
	heardFor = 15 * time.Second
)

// Status returns what this node knows of the chain.
func (ch *Chain) Status() rankings.Membership {
	m := rankings.Membership{Cut: ch.number.Load()}
	newest, told := ch.newest.Load(), ch.writerState.Load()
	switch {
	case ch.Leads():
		m.Writer = ch.c.cfg.Name
	case told != nil:
		if time.Since(told.at) < heardFor {
			m.Writer = told.Node
		}
		m.LagCuts = max(told.Cut, m.Cut) - m.Cut
		newest = &told.Snapshot
	}

	if since := ch.behindSince.Load(); since != nil && m.LagCuts > 0 {
		m.LagMillis = time.Since(*since).Milliseconds()
	}
	if newest != nil {
		m.Snapshot = *newest
	}
	return m
}

// Status returns what this node knows of a chain; ok is false if it does not share it.
func (c *Cluster) Status(id market.ChainID) (m rankings.Membership, ok bool) {
	c.mu.Lock()
	ch := c.chains[id]
	c.mu.Unlock()
	if ch == nil {
		return m, false
	}
	return ch.Status(), true
}

// moveTo notes the last cut that this node has.
func (ch *Chain) moveTo(at Place) {
	ch.at = at
	ch.number.Store(at.Number)
	if told := ch.writerState.Load(); told == nil || at.Number >= told.Cut {
		ch.behindSince.Store(nil)
	}
}

func (ch *Chain) beatSubject() string { return fmt.Sprintf("beat.%d", ch.id) }

// Tell tells the followers where the writer stands. It does not wait.
func (ch *Chain) Tell(text []byte) {
	said := writerState{Node: ch.c.cfg.Name, Cut: ch.number.Load()}
	if newest := ch.newest.Load(); newest != nil {
		said.Snapshot = *newest
	}

	header, err := json.Marshal(&said)
	if err == nil {
		err = ch.c.Tell(ch.beatSubject(), writerStateHeader, string(header), text)
	}
	if err != nil && ch.ctx.Err() == nil {
		ch.c.cfg.Log.Debug("cannot tell followers", "chain", ch.id, "error", err)
	}
}

func (ch *Chain) hear(m *nats.Msg) {
	told := writerState{at: time.Now()}
	if json.Unmarshal([]byte(m.Header.Get(writerStateHeader)), &told) == nil {
		ch.writerState.Store(&told)
		if told.Cut > ch.number.Load() {
			ch.behindSince.CompareAndSwap(nil, &told.at)
		}
	}
	ch.told.Store(&m.Data)
	ch.wakeUp()
}

func (ch *Chain) wakeUp() {
	select {
	case ch.wake <- struct{}{}:
	default:
	}
}

func (ch *Chain) wantSubject() string { return fmt.Sprintf("want.%d", ch.id) }

// Want asks the writer for a snapshot of a cut or a later one, because this node cannot
// take that cut. It does not wait.
func (ch *Chain) Want(number uint64) {
	err := ch.c.nc.Publish(ch.wantSubject(), strconv.AppendUint(nil, number, 10))
	if err != nil && ch.ctx.Err() == nil {
		ch.c.cfg.Log.Debug("cannot ask for a snapshot", "chain", ch.id, "error", err)
	}
}

// Wanted returns the newest cut that another node wants a snapshot of; 0: none.
func (ch *Chain) Wanted() uint64 { return ch.wanted.Load() }

func (ch *Chain) hearWant(m *nats.Msg) {
	number, err := strconv.ParseUint(string(m.Data), 10, 64)
	if err == nil && number <= ch.number.Load() {
		ch.wanted.Store(max(number, ch.wanted.Load()))
	}
}

// NoteSnapshot notes the newest snapshot of the chain, of which this node then tells.
func (ch *Chain) NoteSnapshot(s *Snapshot) {
	ch.newest.Store(&rankings.ChainSnapshot{
		Cut: s.Place.Number, Bytes: s.Bytes, MadeAt: s.Made.UnixMilli(),
	})
}
