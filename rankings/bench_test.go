package rankings_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// The corpus of the benchmarks is that of the figures: a million positions a
// chain, 35 % of them open, 50,000 pools of unequal size, 250,000 owners. The
// three chains share their records.
const benchPositions, benchPools = 1_000_000, 50_000

type benchmark struct {
	*world
	views []*rankings.View
	*decoded
}

// decoded holds decoded leaves, as the edge's cache does.
type decoded struct {
	leaves map[market.ChainID]map[uint64][]uint32
}

func (d *decoded) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	return d.leaves[chain][number], nil
}

func (d *decoded) put(chain market.ChainID, p *block.Publication) {
	if d.leaves[chain] == nil {
		d.leaves[chain] = map[uint64][]uint32{}
	}
	for _, l := range p.Leaves {
		d.leaves[chain][l.Number], _ = block.DecodeLeaf(l.Bytes, nil, nil)
	}
}

// buildChains builds views of three chains that have the same rows, and keeps their leaves.
func (d *decoded) buildChains(w *world) (views []*rankings.View) {
	for _, chain := range []market.ChainID{1, 42161, 43114} {
		st := *w.state()
		st.Chain = chain
		v, p := rankings.Build(nil, &st, 1)
		views = append(views, v)
		d.put(chain, p)
	}
	return views
}

var bench = sync.OnceValue(func() *benchmark {
	w := newWorld(1, 1, benchPools, benchPositions, nil)
	for i := range w.positions.Len() {
		p := w.positions.Mut(i)
		p.Pool = uint32(benchPools * w.Float64() * w.Float64() * w.Float64())
		p.MintedAt = uint32(w.now - w.Int64N(90*market.Day))
		p.Deposited0, p.Deposited1 = clmath.U128{Lo: w.Uint64() >> 1}, clmath.U128{Lo: w.Uint64() >> 1}
		p.GasUnknown = false
		if p.IsOpen() {
			p.SetLiquidity(clmath.U128{Lo: w.Uint64() >> w.IntN(10)})
		} else {
			p.SetClose([2]market.ClosePrice{{Usd: w.Float64()}, {Usd: w.Float64()}})
		}
		p.CloseNativeUsd = 1
	}
	b := &benchmark{world: w, decoded: &decoded{map[market.ChainID]map[uint64][]uint32{}}}
	b.views = b.buildChains(w)
	return b
})

// loop runs f b.N times and reports the CPU time of one run, which depends less
// on other work on the machine than elapsed time.
func loop(b *testing.B, f func()) {
	b.ReportAllocs()
	var before, after syscall.Rusage
	n := 0
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		f()
		n++
	}
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(used)/float64(n), "cpu-ns/op")
}

// BenchmarkBuild is a generation of one chain, values included, after every
// pool moved; after one in a hundred did and with it the native price, on which
// every row depends; and after that one in a hundred alone. The chain goes back and
// forth between two states, since a generation takes over what the one before keeps.
func BenchmarkBuild(b *testing.B) {
	w := bench()
	before := w.state()
	view, _ := rankings.Build(nil, before, 1)
	gen := uint64(1)
	f := func(name string, pools, native float64) {
		for i := range w.pools.Len() {
			if w.Float64() < pools {
				w.moveTo(i, int32(w.IntN(400))-200)
			}
		}
		w.prices.Mut(0).Usd *= native
		w.now += 12
		states := [2]*market.State{before, w.state()}
		b.Run(name, func(b *testing.B) {
			loop(b, func() {
				gen++
				var p *block.Publication
				view, p = rankings.Build(view, states[gen%2], gen)
				b.ReportMetric(float64(p.Size()), "bytes")
				b.ReportMetric(float64(len(p.Directory)), "directory-bytes")
			})
		})
		before = states[1]
	}

	f("every pool", 1, 1)
	f("native price", 0.01, 1.001)
	f("one pool in 100", 0.01, 1)
}

// BenchmarkPin is the memory that a kept generation takes beside the newest one,
// when one pool in a hundred moves and a thousand positions change a generation.
func BenchmarkPin(b *testing.B) {
	w := bench()
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}

	for b.Loop() {
		// Its records are not those of the shared views.
		for i := uint32(0); i < w.positions.Len(); i += market.ChunkLen {
			w.positions.Mut(i).Collected0.Lo++
		}

		pinned, _ := rankings.Build(w.views[0], w.state(), 2)
		newest := pinned
		for gen := uint64(3); gen < 13; gen++ {
			for range w.pools.Len() / 100 {
				w.moveTo(w.Uint32N(w.pools.Len()), int32(w.IntN(400))-200)
			}
			for range 1000 {
				w.positions.Mut(w.Uint32N(w.positions.Len())).Collected0.Lo++
			}
			w.now += 12
			newest, _ = rankings.Build(newest, w.state(), gen)
		}

		with := held()
		runtime.KeepAlive(pinned)
		pinned = nil
		b.ReportMetric(float64(with-held()), "pin-bytes")
		runtime.KeepAlive(newest)
	}
}

// BenchmarkPage is a page of 20 of the three chains merged, filters by
// default, no page twice, and of one that follows another.
func BenchmarkPage(b *testing.B) {
	w := bench()
	f := func(name string, next func(r *rand.Rand, total uint64) uint64) {
		r := rand.New(rand.NewPCG(1, 2))
		b.Run(name, func(b *testing.B) {
			loop(b, func() {
				q := rankings.DefaultPositionQuestion()
				q.Sort = rankings.PositionSort(r.IntN(8))
				s, _ := rankings.SearchPositions(w.views, &q)
				total, _ := s.Total()
				if p, err := s.Page(w, next(r, total), 20); err != nil || len(p.Rows) != 20 {
					b.Fatal(len(p.Rows), err)
				}
			})
		})
	}

	f("first", func(*rand.Rand, uint64) uint64 { return 0 })
	f("any", func(r *rand.Rand, total uint64) uint64 { return r.Uint64N(total - 20) })

	// A walk goes from page to page, and begins where it ended.
	b.Run("next", func(b *testing.B) {
		q := rankings.DefaultPositionQuestion()
		q.Sort = rankings.ByPnl
		s, _ := rankings.SearchPositions(w.views, &q)
		offset, page := uint64(0), rankings.Page{}
		loop(b, func() {
			if page.End == nil {
				offset = 0
			}
			var err error
			if page, err = s.PageAfter(w, page.End, offset, 20); err != nil {
				b.Fatal(err)
			}
			offset += 20
		})
	})
}

// BenchmarkFilter is the first question with a filter: its count up to 25,000
// rows and its first page.
func BenchmarkFilter(b *testing.B) {
	w := bench()
	r := rand.New(rand.NewPCG(1, 2))
	f := func(name string, ask func(q *rankings.PositionQuestion)) {
		b.Run(name, func(b *testing.B) {
			loop(b, func() {
				q := rankings.DefaultPositionQuestion()
				q.Sort = rankings.PositionSort(r.IntN(8))
				ask(&q)
				s, err := rankings.SearchPositions(w.views, &q)
				if err != nil {
					b.Fatal(err)
				}
				c := s.Count(25_000)
				for !c.Step(1 << 16) {
				}
				if _, err := c.Search().Page(w, 0, 20); err != nil {
					b.Fatal(err)
				}
			})
		})
	}

	f("floors", func(q *rankings.PositionQuestion) {
		q.MinPoolTVLUsd, q.MinValueUsd = 1e6*r.Float64(), 100*r.Float64()
	})

	f("rare", func(q *rankings.PositionQuestion) {
		q.Status, q.MinPoolTVLUsd = rankings.AnyStatus, 999_900+100*r.Float64()
	})

	f("owner", func(q *rankings.PositionQuestion) { q.Owner = w.owners.At(w.Uint32N(w.owners.Len())) })
	f("pool", func(q *rankings.PositionQuestion) { q.Pool = &w.pools.At(w.Uint32N(w.pools.Len())).ID })
	f("fee", func(q *rankings.PositionQuestion) { q.Key.Fee, q.MinValueUsd = new(uint32(3000)), r.Float64() })
	f("hooks", func(q *rankings.PositionQuestion) { q.Key.Hooks = &market.Address{19: 1 + byte(r.IntN(2))} })
	f("tokens", func(q *rankings.PositionQuestion) {
		p := w.pools.At(w.Uint32N(w.pools.Len()))
		q.Key.Tokens = []market.Address{w.tokens.At(p.Currency0).Address, w.tokens.At(p.Currency1).Address}
	})
	f("rare token", func(q *rankings.PositionQuestion) { q.Key.Tokens = []market.Address{{9}} })
	b.Run("yardstick", func(b *testing.B) { loop(b, w.plainPass()) })
}

// plainPass returns one pass of a plain loop over three columns of the same rows,
// which is what filters are measured by.
func (w *benchmark) plainPass() func() {
	var columns [3][]float64
	for i := range columns {
		for range 3 * w.positions.Len() {
			columns[i] = append(columns[i], w.Float64())
		}
	}

	found := 0
	return func() {
		for i, x := range columns[0] {
			if x > 0.2 && columns[1][i] > 0.3 && columns[2][i] > 0.4 {
				found++
			}
		}
	}
}

// BenchmarkLaterPage is a page within the first 10,000 rows of a filter that
// admits more rows than are counted, after many other pages of it.
func BenchmarkLaterPage(b *testing.B) {
	w := bench()
	r := rand.New(rand.NewPCG(1, 2))
	q := rankings.DefaultPositionQuestion()
	q.MinPoolTVLUsd, q.MinValueUsd = 2000, 1e-9

	s, err := rankings.SearchPositions(w.views, &q)
	if err != nil {
		b.Fatal(err)
	}

	loop(b, func() {
		walk := s.Walk(r.Uint64N(10_000), 20)
		for done := false; !done; {
			if done, err = walk.Step(w, 4096); err != nil {
				b.Fatal(err)
			}
		}
		if s = walk.Search(); len(walk.Page().Rows) != 20 {
			b.Fatal(len(walk.Page().Rows))
		}
	})
}

// BenchmarkSelection finds every row of a wide filter, so that any page of it
// is a seek.
func BenchmarkSelection(b *testing.B) {
	w := bench()
	loop(b, func() {
		q := rankings.DefaultPositionQuestion()
		q.Status, q.Sort, q.MinPoolTVLUsd = rankings.AnyStatus, rankings.ByPnl, 500
		s, _ := rankings.SearchPositions(w.views, &q)
		sel := s.Select()
		for done := false; !done; {
			done, _ = sel.Step(w, 1<<16)
		}
	})
}
