package rpc

import (
	"net/http"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// A range is dated from its headers alone once its node dated logs wrongly: where times do
// not fit their range, or a header says otherwise.
func TestDistrustedTimes(t *testing.T) {
	c := busy(200)
	n := newNode(t, c)
	f := func(what string, distrusted bool, headers int, spoil func(l *follower, blocks []rawBlock)) {
		t.Helper()
		l := follow(t, nil, n)
		r := l.readRangeOf(1, 60)
		spoil(l, r.blocks)
		before := n.calls["eth_getBlockByNumber"]
		if err := l.f.dateBlocks(t.Context(), r); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, b := range r.blocks {
			if b.Time != c.blocks[b.Number].time || !b.dated {
				t.Errorf("%s: block %d has the time %d; want %d", what, b.Number, b.Time, c.blocks[b.Number].time)
			}
		}

		s := l.f.sources[0]
		got, wrong := n.calls["eth_getBlockByNumber"]-before, s.wrongTimes.Load()
		if wrong != distrusted || got != headers {
			t.Errorf("%s: distrusted %t, %d headers were read; want %t, %d", what, wrong, got, distrusted, headers)
		}
		if good := s.goodTimes.Load(); good != 0 && distrusted || good != 1 && headers == 3 {
			t.Errorf("%s: %d ranges were right", what, good)
		}
	}
	l := follow(t, nil, n)
	for range 2 {
		l.f.distrustTimes(l.f.sources[0], l.readRangeOf(1, 60))
	}
	if got := strings.Count(l.log.String(), "dates logs otherwise"); got != 1 {
		t.Errorf("a node whose times are wrong is warned of %d times; want once", got)
	}
	all := len(follow(t, nil, n).readRangeOf(1, 60).blocks)

	f("right times", false, 3, func(*follower, []rawBlock) {})
	f("a time of no sample that does not fit", true, all, func(_ *follower, b []rawBlock) { b[1].Time = 0 })
	f("a time of the sample", true, 3+all, func(_ *follower, b []rawBlock) { b[0].Time++ })
	f("of a node that erred before", true, all, func(l *follower, b []rawBlock) {
		b[1].Time++
		l.f.sources[0].wrongTimes.Store(true)
	})
	f("no times", false, all, func(_ *follower, b []rawBlock) { undate(b) })
	f("one without a time", false, 4, func(_ *follower, b []rawBlock) { b[1].dated, b[1].Time = false, 0 })
}

// A range is not dated from headers of other blocks than its logs', nor where a node fails.
func TestRangesThatCannotBeDated(t *testing.T) {
	n := newNode(t, busy(200))
	l := follow(t, nil, n)
	r := l.readRangeOf(1, 60)
	r.blocks[0].hash = word{1}
	err := l.f.dateBlocks(t.Context(), r)
	fails(t, "logs of another block", err, ", its logs are of "+market.Hash{1}.String())

	r = l.readRangeOf(1, 60)
	r.blocks[0].Time++ // so that all headers are wanted after the sample
	asked := 0
	n.answer = func(string, object) any {
		if asked++; asked > 3 {
			return fail(-32000, "not now")
		}
		return nil
	}
	fails(t, "after a wrong sample", l.f.dateBlocks(t.Context(), r), "cannot date blocks 1 to 60: rpc-1: ")
	n.status = http.StatusBadGateway
	fails(t, "a node that fails", l.f.dateBlocks(t.Context(), r), "cannot date blocks 1 to 60: rpc-1: ")
}
