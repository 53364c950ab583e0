package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

const (
	// repairEvery is the pause after a part of a hole was fetched, since the head comes
	// first, and repairAgain the one after that failed.
	repairEvery = 2 * time.Second
	repairAgain = time.Minute
	// scrubEvery paces the check of checksums: a gigabyte in a day.
	scrubEvery = 5 * time.Minute
	// tellEvery keeps a log readable while an archive cannot be read.
	tellEvery = time.Minute
)

// ErrEnd is the error of a feed without nodes at the end of its archive.
var ErrEnd = errors.New("the archive ends here")

// Feed gives what an archive has, and what follows it from live. Next and Close are
// for one goroutine.
type Feed struct {
	archive *Archive
	live    feed.Feed // nil: none
	log     *slog.Logger

	reader *Reader     // nil: none
	given  market.Head // the last block that the reader gave
	head   market.Head // of the chain, as live saw it

	repaired, scrubbed time.Time
	told               time.Time // that the archive cannot be read
}

var _ feed.Feed = (*Feed)(nil)

// NewFeed makes a feed of an archive and of the nodes that it was fetched from. With
// live nil, Next returns ErrEnd at the archive's end.
func NewFeed(a *Archive, live feed.Feed) *Feed {
	return &Feed{archive: a, live: live, log: a.cfg.Log}
}

// Close closes the live feed. The archive stays open.
func (f *Feed) Close() error {
	f.closeReader()
	if f.live == nil {
		return nil
	}
	return f.live.Close()
}

// Next returns the archived span that follows the cursor, else what live says. Blocks
// that the ledger refused are read from live.
func (f *Feed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	at := c.Anchors[0]
	if c.Refused <= at.Number {
		span, err := f.archived(&c)
		if span != nil || err != nil && f.live == nil {
			return f.replayed(span), err
		}
		f.tellUnread(err)
	}
	if f.live == nil {
		return feed.Step{}, f.endError(at)
	}

	f.closeReader()
	c.Until = f.archive.baseAfter(at.Number)
	step, err := f.live.Next(ctx, c)
	if step.Head.Number > 0 {
		f.head = step.Head
	}
	if err == nil && step.Span == nil && step.RevertTo == nil && !step.Confirmed.IsZero() {
		f.maintain(ctx)
	}
	return step, err
}

// tellUnread logs that blocks of the archive cannot be read, so that they are fetched.
func (f *Feed) tellUnread(err error) {
	if now := time.Now(); err != nil && now.Sub(f.told) >= tellEvery {
		f.told = now
		f.log.Error("cannot read the archive; its blocks are fetched from the nodes",
			"chain", f.archive.cfg.Chain, "error", err)
	}
}

// endError says why a replay without nodes cannot go on.
func (f *Feed) endError(at market.Head) error {
	st := f.archive.Status()
	if st.Head.Number <= at.Number {
		return ErrEnd
	}
	from := at.Number + 1
	for _, hole := range st.Holes {
		if hole.From <= from && from <= hole.To {
			return fmt.Errorf("the archive lacks blocks %s", hole)
		}
	}

	if from <= st.Base.Number {
		return fmt.Errorf("the archive lacks blocks %s", Range{from, st.Base.Number})
	}
	return fmt.Errorf("the archive has other blocks after %d than the ledger at %s", at.Number, at.Hash)
}

// archived returns the span of the archive that follows the ledger's head, nil when there
// is none. Damage is cut out, so that the blocks are fetched.
func (f *Feed) archived(c *feed.Cursor) (*market.Span, error) {
	at := c.Anchors[0]
	begins := f.reader == nil || f.reader.version != f.archive.currentVersion() || f.given != at
	if begins {
		f.closeReader()
		var err error
		if f.reader, err = f.archive.ReadAfter(at); f.reader == nil {
			return nil, err
		}
	}

	span, err := f.reader.Next()
	var damage *Damage
	if errors.As(err, &damage) {
		err = f.archive.CutOut(damage)
	}
	if span == nil || begins && !goesOn(c, span) { // at the end, after an error, or on another branch
		f.closeReader()
		return nil, err
	}
	f.given = span.Head()
	return span, nil
}

// goesOn reports whether a span surely follows the ledger's head. The ledger may be on
// another branch than the archive, as after a kill between the writes of the two: only
// equal hashes show that it is not. A ledger without a block follows any.
func goesOn(c *feed.Cursor, span *market.Span) bool {
	at := c.Anchors[0]
	empty := len(c.Anchors) == 1 && at.Hash.IsZero()
	return checkFollows(at, span) == nil && (empty || !at.Hash.IsZero() && span.Parent == at.Hash)
}

func (f *Feed) closeReader() {
	if f.reader != nil {
		f.reader.Close()
	}
	f.reader = nil
}

// replayed is the step of an archived span.
func (f *Feed) replayed(span *market.Span) feed.Step {
	if span == nil {
		return feed.Step{}
	}
	st := f.archive.tail()
	step := feed.Step{Span: span, Archived: true, Head: st.head, Finalized: st.finalized}
	if f.head.Number > step.Head.Number {
		step.Head = f.head
	}
	span.Final = span.Final || span.To <= st.finalized && span.To+market.UndoBlocks <= st.head.Number
	return step
}

// maintain uses the time at the head: it fetches what is missing, and checks sums.
func (f *Feed) maintain(ctx context.Context) {
	now := time.Now()
	if now.Sub(f.scrubbed) >= scrubEvery {
		f.scrubbed = now
		if err := f.archive.Scrub(); err != nil {
			f.log.Warn("the check of the archive found a fault", "chain", f.archive.cfg.Chain, "error", err)
		}
	}
	hole := f.archive.firstHole()
	if hole == nil || now.Sub(f.repaired) < repairEvery {
		return
	}

	f.repaired = now
	if err := f.fillHole(ctx, hole); err != nil {
		f.repaired = now.Add(repairAgain)
		f.log.Warn("cannot fetch what the archive lacks; trying again", "chain", f.archive.cfg.Chain,
			"from", hole.after.Number+1, "to", hole.until, "error", err)
	}
}

// fillHole fetches the first part of a hole from live.
func (f *Feed) fillHole(ctx context.Context, h *hole) error {
	step, err := f.live.Next(ctx, feed.Cursor{Anchors: []market.Head{h.after}, Until: h.until})
	switch {
	case err != nil:
		return err
	case step.Span == nil:
		return fmt.Errorf("the nodes have nothing after block %d %s", h.after.Number, h.after.Hash)
	}
	if err := f.archive.Append(h.after, step.Span); err != nil {
		return err
	}

	if err := f.archive.Sync(); err != nil {
		return err
	}
	if f.archive.firstHole() == nil {
		f.log.Info("the archive is whole again", "chain", f.archive.cfg.Chain)
	}
	return nil
}
