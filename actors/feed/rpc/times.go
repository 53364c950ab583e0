package rpc

import (
	"context"
	"fmt"

	"tidemark/rankings/market"
)

// goodEnough is after how many ranges with right times one block of a range is
// compared with its header instead of three.
const goodEnough = 8

// dateBlocks gives every block of a range its time: that of its logs, or that of
// its header where the node's logs have no times or wrong ones.
func (f *Feed) dateBlocks(ctx context.Context, r *rangeRead) error {
	s := r.source
	if !s.wrongTimes.Load() && !timesFit(r.blocks, r.before.Time, int64(*r.last.Time)) {
		f.distrustTimes(s, r)
	}
	if s.wrongTimes.Load() {
		undate(r.blocks)
	}
	sample := sampleDated(r.blocks, s.goodTimes.Load() >= goodEnough, r.from)

	wrong, err := f.readTimes(ctx, r, sample)
	if err != nil {
		return err
	}
	if wrong {
		f.distrustTimes(s, r)
		undate(r.blocks)
		_, err = f.readTimes(ctx, r, nil)
		return err
	}
	if len(sample) > 0 {
		s.goodTimes.Add(1)
	}
	return nil
}

// timesFit reports whether the times of dated blocks lie between those of the
// block before the range and of its last one, and never fall.
func timesFit(blocks []rawBlock, before, last int64) bool {
	for i := range blocks {
		b := &blocks[i]
		if !b.dated {
			continue
		}
		if b.Time < before || b.Time > last || b.Time == 0 {
			return false
		}
		before = b.Time
	}
	return true
}

func (f *Feed) distrustTimes(s *source, r *rangeRead) {
	if s.wrongTimes.Swap(true) {
		return
	}
	f.cfg.Log.Warn("a node dates logs otherwise than their blocks; headers are read instead",
		"chain", f.cfg.Chain, "endpoint", s.Name, "from", r.from, "to", r.to)
}

func undate(blocks []rawBlock) {
	for i := range blocks {
		blocks[i].dated = false
	}
}

// sampleDated returns the places of dated blocks to compare with their headers:
// the first, the middle and the last, or one of them by turns.
func sampleDated(blocks []rawBlock, one bool, turn uint64) (sample []int) {
	var dated []int
	for i := range blocks {
		if blocks[i].dated {
			dated = append(dated, i)
		}
	}

	switch n := len(dated); {
	case n == 0:
		return nil
	case one:
		return dated[turn%uint64(n):][:1]
	case n <= 3:
		return dated
	default:
		return []int{dated[0], dated[n/2], dated[n-1]}
	}
}

// readTimes reads the headers of the sample and of blocks that are not dated,
// dates those, and reports whether the sample was dated wrongly.
func (f *Feed) readTimes(ctx context.Context, r *rangeRead, sample []int) (wrong bool, err error) {
	wanted := sample
	for i := range r.blocks {
		if !r.blocks[i].dated {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 {
		return false, nil
	}
	numbers := make([]uint64, len(wanted))
	for k, i := range wanted {
		numbers[k] = r.blocks[i].Number
	}
	var headers []*wireHeader
	err = f.trySources(ctx, Backfill, r.to, func(s *source) (err error) {
		headers, err = s.readHeaders(ctx, numbers)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot date blocks %d to %d: %w", r.from, r.to, err)
	}

	for k, i := range wanted {
		b, h := &r.blocks[i], headers[k]
		if h.Hash != b.hash {
			return false, movedError("block %d is %s, its logs are of %s", b.Number,
				market.Hash(h.Hash), market.Hash(b.hash))
		}
		if b.dated && b.Time != int64(*h.Time) {
			wrong = true
		}
		b.Time, b.dated = int64(*h.Time), true
	}
	return wrong, nil
}
