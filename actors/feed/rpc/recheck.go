package rpc

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"tidemark/rankings/market"
)

// Some nodes answer that a range has no logs when they lack its last blocks.
// Ranges near the head are therefore read again later, from another node where
// there is one. Until then the ledger can take them back.

const (
	// recentAge is how old the last block of a range must be, beside the head,
	// not to be read again: no backend in use lags by half an hour.
	recentAge = 30 * time.Minute
	// firstAgain and lastAgain are after how long a range is read again.
	firstAgain = 10 * time.Second
	lastAgain  = 3 * time.Minute
	// maxReadings bounds the ranges that wait: half an hour of a chain with four
	// blocks a second in ranges of 100, were it all read at once.
	maxReadings = 128
)

// reading is a range to be read again.
type reading struct {
	from, to uint64
	logs     int
	digest   uint64
	source   *source
	due      time.Time
	last     bool // the next reading is the last one

	open   bool       // more blocks may be gathered
	until  int64      // up to this time of the chain, unix seconds
	blocks []rawBlock // what was gathered, for their digest
}

// isRecent reports whether a piece ends so near the head of then that a backend may
// not have had it.
func (p *piece) isRecent() bool { return p.seen-p.span.Time < int64(recentAge/time.Second) }

// keepReading has a range read again later.
func (f *Feed) keepReading(from, to uint64, blocks []rawBlock, s *source) {
	logs, sum := digest(blocks)
	f.recheck = append(f.recheck, reading{
		from: from, to: to, logs: logs, digest: sum, source: s,
		due: f.cfg.Clock.Now().Add(firstAgain),
	})
	if len(f.recheck) > maxReadings {
		f.recheck = slices.Delete(f.recheck, 0, 1)
	}
}

// gatherAge is how long the blocks of a reading may be gathered, by the chain's time.
const gatherAge = time.Minute

// gatherReading has blocks that were taken from logs alone read again later, together
// with those shortly before them.
func (f *Feed) gatherReading(from, to uint64, blocks []rawBlock) {
	until := blocks[0].Time + int64(gatherAge/time.Second)
	if n := len(f.recheck); n > 0 && f.recheck[n-1].open && blocks[len(blocks)-1].Time <= f.recheck[n-1].until {
		r := &f.recheck[n-1]
		r.to, r.blocks = to, append(r.blocks, blocks...)
		r.logs, r.digest = digest(r.blocks)
		r.due = f.cfg.Clock.Now().Add(firstAgain)
		return
	}

	f.keepReading(from, to, blocks, f.sourcesFor(Live)[0])
	r := &f.recheck[len(f.recheck)-1]
	r.open, r.until, r.blocks = true, until, slices.Clone(blocks)
}

// digest identifies the events of blocks.
func digest(blocks []rawBlock) (logs int, sum uint64) {
	h := fnv.New64a()
	for i := range blocks {
		b := &blocks[i]
		fmt.Fprintf(h, "%d %x;", b.Number, b.hash)
		for _, l := range b.Logs {
			fmt.Fprintf(h, "%d %x %+v;", l.Index, b.Txs[l.Tx].Hash, l.Event)
			logs++
		}
	}
	return logs, h.Sum64()
}

// dropReadings forgets readings of blocks that the ledger takes back.
func (f *Feed) dropReadings(above uint64) {
	f.recheck = slices.DeleteFunc(f.recheck, func(r reading) bool { return r.to > above })
	f.dropAhead()
	f.proofs = proofs{rootsHold: f.proofs.rootsHold}
}

// dueReading returns the place of the first range that is due; -1: none is.
func (f *Feed) dueReading(now time.Time) int {
	return slices.IndexFunc(f.recheck, func(r reading) bool {
		return !r.due.After(now) && (!r.last || r.to <= f.settled.until)
	})
}

// readAgain reads the first range that is due once more. It returns the anchor
// to go back to: 0, the newest, unless events were missing.
func (f *Feed) readAgain(ctx context.Context, anchors []market.Head) int {
	now := f.cfg.Clock.Now()
	i := f.dueReading(now)
	if i < 0 {
		return 0
	}
	r := &f.recheck[i]
	r.open, r.blocks = false, nil
	read, err := f.askOther(ctx, r)
	if err != nil {
		f.noteError(fmt.Errorf("cannot read blocks %d to %d again: %w", r.from, r.to, err))
		r.due = now.Add(firstAgain)
		return 0
	}

	logs, sum := digest(read.blocks)
	switch {
	case sum == r.digest && r.last:
		f.recheck = slices.Delete(f.recheck, i, i+1)
	case sum == r.digest:
		r.last, r.due = true, now.Add(lastAgain)
	case logs < r.logs:
		r.due = now.Add(firstAgain) // now the other answer was short
	default:
		return f.recoverMissed(r, logs, anchors)
	}
	return 0
}

// askOther reads a range from another source than before where there is one.
func (f *Feed) askOther(ctx context.Context, r *reading) (read *rangeRead, err error) {
	list := f.sourcesFor(Backfill)
	if i := slices.Index(list, r.source); i >= 0 {
		list = append(slices.Delete(list, i, i+1), r.source)
	}

	var failed joined
	for _, s := range list {
		err := f.useSource(ctx, s, func(s *source) (err error) {
			if head := s.head.Load(); r.to > head && head > 0 {
				return absentError("block %d", r.to)
			}
			read, err = f.askRange(ctx, s, r.from, r.to)
			return err
		})
		if err == nil || ctx.Err() != nil {
			return read, err
		}
		failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
	}

	return nil, failed
}

// recoverMissed returns the newest anchor before a range that was answered without some
// of its events. From there its blocks are read one by one.
func (f *Feed) recoverMissed(r *reading, logs int, anchors []market.Head) int {
	f.m.missed.Inc()
	f.cfg.Log.Warn("a node had answered without some events; the blocks are read again",
		"chain", f.cfg.Chain, "endpoint", r.source.Name, "from", r.from, "to", r.to,
		"events_before", r.logs, "events_now", logs)

	for i, a := range anchors {
		if a.Number < r.from && (!a.Hash.IsZero() || i == len(anchors)-1) {
			f.singlyBelow = max(f.singlyBelow, r.to+1)
			return i
		}
	}

	f.cfg.Log.Error("the ledger cannot take those blocks back; it needs `tidemark chains resync`",
		"chain", f.cfg.Chain, "from", r.from, "to", r.to)
	f.dropReadings(r.from - 1)
	return 0
}
