package chain

import (
	"fmt"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// Advance takes one step of the feed into the ledger. After an error the ledger is at the
// end of the last piece of the step that it could apply whole, and Refused decides whether
// the chain goes on.
func (c *Chain) Advance(step feed.Step, now time.Time) error {
	if !step.Confirmed.IsZero() {
		c.Confirm(c.ledger.Head(), step.Confirmed)
	}

	if step.RevertTo != nil {
		if err := c.revert(*step.RevertTo); err != nil {
			return err
		}
	}

	if step.Span != nil {
		c.skipHours(step, now)
		if err := c.applySpan(step.Span, step.Archived); err != nil {
			return err
		}
		if !step.SpanConfirmed.IsZero() {
			c.Confirm(c.ledger.Head(), step.SpanConfirmed)
		}
		c.status.LastIndexedAt = now.UnixMilli()
	}

	c.ledger.Forget(step.Finalized)
	if c.Archive != nil && !step.Archived {
		c.Archive.NoteFinalized(step.Finalized)
	}
	if c.ledger.Head().Number >= c.refused.to {
		c.refused = refusal{}
		c.goOn()
	}
	c.updateStatus(step)
	return nil
}

// skipHours tells the ledger which hours will be too old to be kept when it arrives at
// the head, whatever may be undone then. A head in the future is not believed.
func (c *Chain) skipHours(step feed.Step, now time.Time) {
	c.ledger.SkipHours(storage.FirstKeptDay(min(step.Head.Time, now.Unix()), 0))
}

// applySpan cuts the span where hours begin and applies the pieces: the record of
// an hour is solved from the state before its first block.
func (c *Chain) applySpan(span *market.Span, archived bool) error {
	if !c.WantsState && !archived { // the logs of real nodes can be read again
		span.Strict = !c.refused.certain
	}
	before := c.ledger.Head()
	pieces := ledger.CutHours(span, before.Time)
	for i, piece := range pieces {
		// All blocks of a piece with events are of the hour in which it ends.
		if hour := market.HourOf(piece.Time); hour > market.HourOf(c.ledger.Head().Time) {
			c.beginHour(hour)
		}

		quarantined, err := c.ledger.Apply(&piece)
		if err != nil {
			c.keepSpans(before, pieces[:i], archived)
			return err
		}
		c.ledger.EachTouched(c.pricer.Forget)

		for _, q := range quarantined {
			c.Log.Error("pool is quarantined: an event contradicts those before it",
				"chain", c.ID(), "pool", q.Pool.String(), "reason", q.Why)
		}

		c.Metrics.spans.Inc()
		for i := range piece.Blocks {
			c.Metrics.events.Add(len(piece.Blocks[i].Logs))
			c.backlog += len(piece.Blocks[i].Logs)
		}
	}

	c.keepSpans(before, []market.Span{*span}, archived)
	return nil
}

// keepSpans adds what was applied after a block to the archive. An error fails the
// next commit, so that the store never has what the archive lacks.
func (c *Chain) keepSpans(before market.Head, spans []market.Span, archived bool) {
	if c.Archive == nil || archived {
		return
	}
	for i := range spans {
		if err := c.Archive.Append(before, &spans[i]); err != nil && c.unkept == nil {
			c.unkept = err
		}
		before = spans[i].Head()
	}
}

// beginHour records the prices that the hour's events are valued at, and what
// stays known through it.
func (c *Chain) beginHour(hour uint32) {
	before, changed := c.ledger.Present(), c.hourPrices[:0]
	compare := func(token uint32, p value.HourPrice) {
		record := ledger.HourPriceOf(token, &p.Price)
		record.PriceLostAt, record.TrustLostAt = p.PriceLostAt, p.TrustLostAt
		if !sameRecord(record, ledger.HourRecord(token, before.Tokens.At(token))) {
			changed = append(changed, record)
		}
	}

	pools := c.pricer.BeginHour(before, &c.Prices, c.external(), hour, compare)
	c.hourPrices = changed
	c.ledger.BeginHour(hour, changed, pools)
}

func (c *Chain) external() []value.FeedPrice {
	if c.External == nil {
		return nil
	}
	return c.External()
}

// sameRecord also compares where the prices come from: a position that closes
// in the hour keeps that, and a token may find or lose a second market while
// its price stands.
func sameRecord(a, b ledger.HourPrice) bool {
	alike := market.SameValue(a.Usd, b.Usd)
	a.Usd, b.Usd = 0, 0
	return alike && a == b
}

func (c *Chain) revert(to market.Head) error {
	from := c.ledger.Head()
	if c.view != nil && to.Number < c.view.State.Head.Number {
		c.reverted = true
	}
	for c.ledger.Head().Number > to.Number {
		if err := c.ledger.Revert(); err != nil {
			return fmt.Errorf("cannot revert from block %d to %d: %w", from.Number, to.Number, err)
		}
		c.ledger.EachTouched(c.pricer.Forget)
	}
	c.pricer.Revert(c.ledger.Present())

	if at := c.ledger.Head(); at.Number != to.Number || at.Hash != to.Hash {
		return fmt.Errorf("revert from block %d ends at %d %s; the feed named %d %s",
			from.Number, at.Number, at.Hash, to.Number, to.Hash)
	}

	if c.Archive != nil {
		if err := c.Archive.Revert(from.Number, to); err != nil && c.unkept == nil {
			c.unkept = err
		}
	}
	c.Metrics.reverts.Inc()
	c.Log.Warn("the chain was reorganised; its blocks are replaced", "chain", c.ID(),
		"from", to.Number+1, "to", from.Number, "blocks", from.Number-to.Number)
	return nil
}

// updateStatus tells the board where ledger and chain stand.
func (c *Chain) updateStatus(step feed.Step) {
	c.status.FailingSince, c.status.FeedError = 0, ""
	c.status.LastIndexed = c.indexedHead()
	if step.Head.Number > 0 {
		c.status.ChainHead = step.Head
	}

	c.status.ETASeconds, c.status.Progress = 0, nil
	if p := step.Progress; p != nil {
		c.status.ETASeconds = int64(p.ETA.Seconds())
		c.status.Progress = &rankings.Progress{
			FromBlock: p.From, ToBlock: p.To, AtBlock: p.At, Events: p.Events,
			RequestsPerSecond: p.RequestsPerSecond,
		}
	}

	c.status.QuarantinedPools = c.ledger.QuarantinedPools()
	behind := c.status.ChainHead.Time - c.status.LastIndexed.Time
	c.setSyncing(time.Duration(behind)*time.Second > c.UnavailableAfter)
	c.publishStatus()
}

// indexedHead returns the newest block that was indexed: none while the ledger is at its
// start, whose time is not known.
func (c *Chain) indexedHead() market.Head {
	if at := c.ledger.Head(); at.Time != 0 {
		return at
	}
	return market.Head{}
}

// setSyncing notes whether the chain is too far behind to publish, and tells when
// that changes.
func (c *Chain) setSyncing(syncing bool) {
	switch {
	case syncing && !c.status.Syncing:
		log := c.Log
		if _, behind, known := c.status.Lag(); known {
			log = log.With("behind", time.Duration(behind)*time.Second)
		}
		log.Info("chain is behind and catches up", "chain", c.ID(), "block", c.status.LastIndexed.Number,
			"head", c.status.ChainHead.Number)
	case !syncing && c.status.Syncing:
		c.Log.Info("chain has caught up", "chain", c.ID(), "block", c.status.LastIndexed.Number,
			"head", c.status.ChainHead.Number)
	}

	c.status.Syncing = syncing
}

// Confirm notes that head was the chain's at a time, and with it the view if it
// was computed from that block.
func (c *Chain) Confirm(head market.Head, at time.Time) {
	c.confirmed = confirmation{head, at.UnixMilli()}
	c.status.ConfirmedAt = at.UnixMilli()
	if c.view != nil && c.view.State.Head == head {
		c.view.Confirm(at.UnixMilli())
	}
}
