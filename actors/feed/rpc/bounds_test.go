package rpc

import (
	"context"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// The zero value of what is optional is the documented default.
func TestConfigDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	if c.MaxLogRange != 2000 || c.RangesInFlight != 12 || c.FetchAheadBytes != 256<<20 || c.Poll != time.Second ||
		c.Metrics == nil || c.Log == nil || c.Rand == nil || c.Clock.Now == nil {
		t.Errorf("%+v", c)
	}
	if c := (Config{MaxLogRange: 7}).withDefaults(); c.MaxLogRange != 7 {
		t.Errorf("a range of 7 blocks became %d", c.MaxLogRange)
	}
}

// A range is read again while it ended within half an hour of the head.
func TestRecentRanges(t *testing.T) {
	f := func(ageSeconds int64, want bool) {
		t.Helper()
		p := piece{seen: 10_000, span: &market.Span{Time: 10_000 - ageSeconds}}
		if got := p.isRecent(); got != want {
			t.Errorf("a range that ended %d s before the head is recent: %v; want %v", ageSeconds, got, want)
		}
	}

	f(0, true)
	f(1799, true)
	f(1800, false)
}

// Readings of the blocks that are taken back are forgotten, and no others; so is what was
// read ahead.
func TestDroppedReadings(t *testing.T) {
	f := &Feed{recheck: []reading{{from: 1, to: 9}, {from: 10, to: 10}, {from: 11, to: 11}, {from: 5, to: 20}}}
	ctx, cancel := context.WithCancel(t.Context())
	f.ahead = &ahead{ctx: ctx, cancel: cancel}
	f.dropReadings(10)
	if f.ahead != nil || ctx.Err() == nil {
		t.Error("what follows the blocks that are taken back is still read")
	}
	if len(f.recheck) != 2 || f.recheck[0].to != 9 || f.recheck[1].to != 10 {
		t.Errorf("kept %+v; want the two up to block 10", f.recheck)
	}
}

// A source serves the roles that it has.
func TestRoles(t *testing.T) {
	f := func(live, backfill bool) {
		t.Helper()
		s := &source{live: live, backfill: backfill}
		if s.serves(Live) != live || s.serves(Backfill) != backfill {
			t.Errorf("live %v, backfill %v: serves %v and %v", live, backfill, s.serves(Live), s.serves(Backfill))
		}
	}

	f(false, false)
	f(true, false)
	f(false, true)
	f(true, true)
}
