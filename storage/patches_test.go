package storage

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
	"tidemark/storage/disktest"
)

// patchRig commits prices of a chain whose native price is that of token 0.
type patchRig struct {
	t      *testing.T
	s      *Store
	prices market.Table[market.Price]
	st     market.State
	rows   int    // in the last batch
	patch  string // likewise
}

const patchedTokens = 20 * market.ChunkLen

func newPatchRig(t *testing.T, s *Store) *patchRig {
	r := &patchRig{t: t, st: market.State{Chain: 1}}
	r.use(s)
	for i := range patchedTokens {
		r.prices.Append(market.Price{Usd: 2, ExitUsd: float64(i) + 0.1, OnlyPool: market.NoIndex})
	}
	return r
}

// use commits to a store.
func (r *patchRig) use(s *Store) {
	r.s = s

	s.opts.Tee = func(_ market.ChainID, batch, _ []byte) ([]byte, error) {
		r.rows, r.patch = 0, ""
		return nil, eachRecord(batch, func(op pebble.InternalKeyKind, key, _ []byte) error {
			_, rest, _ := parseChain(key)
			switch kind(rest[0]) {
			case kindPatch:
				does := map[bool]string{true: "set", false: "delete"}[op == pebble.InternalKeyKindSet]
				r.patch += fmt.Sprintf(", %s patches %x", does, rest[1:])
			case tables[pricesIndex].about().kind:
				if op == pebble.InternalKeyKindSet {
					r.rows++
				}
			}
			return nil
		})
	}
}

// commit commits the rows that changed and returns which keys of prices were written: how
// many rows, and the patch.
func (r *patchRig) commit(changed []uint32) string {
	r.t.Helper()
	r.st.Head.Number++
	st := r.st
	st.Prices = r.prices.Freeze()
	must(r.s.Commit(&Cut{State: &st, Prices: changed}))
	return fmt.Sprint(r.rows, r.patch)
}

// moveNative moves the native price and with it what selling every token yields.
func (r *patchRig) moveNative(by float64) (changed []uint32) {
	for i := range r.prices.Len() {
		p := r.prices.Mut(i)
		if i == 0 {
			p.Usd *= by
		}
		p.ExitUsd *= by
		changed = append(changed, i)
	}
	return changed
}

// holds compares what a reader sees with what was committed.
func (r *patchRig) holds() {
	r.t.Helper()
	cut, err := r.s.Restore(1)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range r.prices.Len() {
		if got, want := *cut.State.Prices.At(i), *r.prices.At(i); got != want {
			r.t.Fatalf("token %d has the price %+v; want %+v", i, got, want)
		}
	}
}

// TestPatches: what moves with the native price is in one record a commit, and rows are
// written again in turns, so that sixteen patches are enough.
func TestPatches(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	defer func() { closeTest(t, s) }()
	r := newPatchRig(t, s)
	f := func(what string, changed []uint32, want string) {
		t.Helper()
		if got := r.commit(changed); got != want {
			t.Errorf("%s: rows written: %s; want %s", what, got, want)
		}
		r.holds()
	}

	f("all are new", nil, fmt.Sprint(patchedTokens))
	f("nothing", nil, "0")
	// Chunk 3 has its turn in commit 3 and in every 16th after it, and so has chunk 19.
	f("the native price moves", r.moveNative(1.001), fmt.Sprint(1+2*market.ChunkLen, ", set patches 03"))
	f("again: the turn of chunk 4", r.moveNative(0.999), fmt.Sprint(1+market.ChunkLen, ", set patches 04"))
	f("the turn of chunk 5", nil, fmt.Sprint(market.ChunkLen))
	r.prices.Mut(70).Markets++
	f("a row that was patched, and the turn of chunk 6", []uint32{70}, fmt.Sprint(1+market.ChunkLen, ", set patches 06"))
	r.prices.Mut(71).ExitUsd++
	f("few rows", []uint32{71}, fmt.Sprint(1+market.ChunkLen, ", set patches 07"))
	r.prices.Mut(72).Usd = 9
	changed := r.moveNative(1.01)
	f("all of them again", changed, fmt.Sprint(2+market.ChunkLen, ", set patches 08"))
	for range 2 * patchTurns {
		r.commit(nil)
		r.holds()
	}
	f("all turns are over", nil, "0")

	f("the native price moves", r.moveNative(1.001), fmt.Sprint(1+market.ChunkLen, ", set patches 0a"))
	closeTest(t, s)
	s = openTest(t, disk)
	r.use(s)
	r.holds()
	if got := r.commit(nil); !strings.HasPrefix(got, fmt.Sprint(patchedTokens-market.ChunkLen-1, ",")) ||
		strings.Count(got, "delete patches") != 6 {
		t.Errorf("the first commit of a process: rows written: %s", got)
	}
	r.holds()

	f("the native price moves", r.moveNative(1.001), fmt.Sprint(1+market.ChunkLen, ", set patches 0c"))
	r.prices.Truncate(patchedTokens / 2)
	if got := r.commit(nil); !strings.Contains(got, "delete patches 0c") {
		t.Errorf("rows are taken away: rows written: %s", got)
	}
	r.holds()
}

// TestPatchesOnAFailingDisk: rows that could not be read because the disk failed once are
// read the next time, whichever read it was that failed.
func TestPatchesOnAFailingDisk(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	r := newPatchRig(t, s)
	r.commit(nil)
	for range patchTurns - 1 { // more than a block of the database holds
		r.commit(r.moveNative(1.001))
	}
	s.opts.Tee = nil
	must(s.Compact())
	closeTest(t, s)
	last := r.prices.Len() - 1
	want := *r.prices.At(last)

	failed := 0
	for n := int64(0); ; n++ {
		var operations atomic.Int64
		var reading atomic.Bool
		s := openTest(t, disktest.FailingOn(disk, n, &operations, func(op errorfs.Op) bool {
			return reading.Load() && op.Kind == errorfs.OpFileReadAt
		}))
		cut, err := s.Restore(1)
		must(err)

		read := func() (got market.Price, err error) {
			defer catchDamage(&err)
			return *cut.State.Prices.At(last), nil
		}
		reading.Store(true)
		if _, err := read(); err != nil {
			failed++
		}
		reached := operations.Swap(afterStart) > n
		if got, err := read(); err != nil || got != want {
			t.Errorf("after read %d failed: %+v, %v; want %+v", n, got, err, want)
		}
		closeTest(t, s)
		if !reached {
			break
		}
	}
	if failed < 2 {
		t.Errorf("%d reads failed; want that of a row and that of patches", failed)
	}
}

// TestSteps: a step leads from one price to the next, to the bit, and nothing but the yield
// may differ.
func TestSteps(t *testing.T) {
	inf, unknown := math.Inf(1), market.Unknown
	f := func(was, is market.Price, factor float64, want bool) {
		t.Helper()
		step, ok := stepOf(&was, &is, factor)
		if ok != want {
			t.Errorf("a step from %+v to %+v: %t; want %t", was, is, ok, want)
		}
		if !ok {
			return
		}
		got := was
		if applyStep(&got, step, factor); math.Float64bits(got.ExitUsd) != math.Float64bits(is.ExitUsd) || step == stepWritten {
			t.Errorf("step %d leads from %v to %v; want %v", step, was.ExitUsd, got.ExitUsd, is.ExitUsd)
		}
	}
	exit := func(usd float64) market.Price { return market.Price{Usd: unknown, ExitUsd: usd} }

	f(exit(7), exit(7), 1, true)
	f(exit(7), exit(7), 1.1, false)
	f(exit(7), exit(7), 1.0001, true)
	f(exit(7), exit(7*1.1), 1.1, true)
	f(exit(7), exit(math.Nextafter(7*1.1, 8)), 1.1, true)
	f(exit(7), exit(math.Nextafter(7*1.1, 7)), 1.1, true)
	f(exit(0), exit(0), 1.1, true)
	f(exit(inf), exit(inf), 1.1, true)
	f(exit(inf), exit(0), 1.1, false)
	f(exit(0), exit(inf), 1.1, false)
	f(exit(math.MaxFloat64), exit(inf), 2, true)
	f(exit(unknown), exit(7), 1, false)
	f(exit(7), exit(unknown), 1, false)
	f(exit(7), market.Price{Usd: unknown, ExitUsd: 7, Markets: 1}, 1, false)
	f(exit(7), market.Price{Usd: 1, ExitUsd: 7}, 1, false)
	f(market.Price{Usd: 1, ExitUsd: 7}, market.Price{Usd: 1, ExitUsd: 7}, 1, true)
	f(market.Price{Usd: 1, ExitUsd: 7}, market.Price{Usd: 2, ExitUsd: 7}, 1, false)
	f(market.Price{Usd: 1, AsOf: 7}, market.Price{Usd: 1, AsOf: 8}, 1, false)
}
