package value

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// corpus is a chain of the size that the figures are set for: zipf pool
// sizes, a third of the positions open, 15 % of the pools swapped this week.
func corpus(pools, tokens, positions int) *market.State {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld()
	for i := range tokens - 2 {
		w.tokens.Append(market.Token{
			Address:  market.Address{0: 1, 17: byte(i >> 16), 18: byte(i >> 8), 19: byte(i)},
			Decimals: []uint8{6, 8, 18}[i%3],
		})
	}

	for i := range pools - 1 {
		token, by := uint32(2+i%(tokens-2)), w.eth
		switch i % 10 {
		case 0, 1, 2:
			by = w.usd
		case 3:
			by = uint32(2 + r.IntN(tokens-2))
		}
		if token == by {
			by = w.usd
		}
		index := w.pool(token, by, 0.5+r.Float64())
		pool := w.pools.Mut(index)
		pool.LastSwapAt = testNow - int64(r.IntN(46))*market.Day
		pool.FeeGrowthGlobal0X128 = clmath.U256{0, r.Uint64(), 1}
		pool.FeeGrowthGlobal1X128 = clmath.U256{0, r.Uint64(), 1}
		for hour := range uint32(24 * (i & 1)) {
			if i%20 == 1 {
				w.volume(index, market.HourOf(testNow)-24+hour, 100, 1)
			}
		}
	}

	zipf := rand.NewZipf(r, 1.1, 20, uint64(pools-1))
	for i := range positions {
		index := uint32(zipf.Uint64())
		tick := w.pools.At(index).Tick
		lower := tick - int32(r.IntN(4000)) + 600
		position := w.open(index, lower, lower+1+int32(r.IntN(4000)), 1e20*r.Float64())
		p := w.positions.Mut(position)
		p.Deposited0, p.Deposited1 = u128(1e18*r.Float64()), u128(1e18*r.Float64())
		p.Withdrawn0, p.Collected1 = u128(1e17*r.Float64()), u128(1e16*r.Float64())
		p.GasWei = u128(1e16)
		if i%100 >= 35 {
			p.ClosedAt = uint32(testNow - market.Day)
			p.SetClose([2]market.ClosePrice{{Usd: 1}, {Usd: 2}})
			p.CloseNativeUsd = 2000
			last := len(w.ranges[index]) - 1
			w.ranges[index] = w.ranges[index][:last]
		}
	}

	return w.state()
}

// cpu reports the processor time of the loop that ran since start, which a
// busy machine does not lengthen, in milliseconds a loop.
func cpu(b *testing.B, start syscall.Timeval) {
	end := spent()
	us := (end.Sec-start.Sec)*1e6 + end.Usec - start.Usec
	b.ReportMetric(float64(us)/1e3/float64(b.N), "cpu-ms/op")
}

func spent() syscall.Timeval {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return use.Utime
}

func BenchmarkPrices(b *testing.B) {
	st := corpus(100_000, 60_000, 1_000_000)
	p := DefaultParams()
	p.Stables = []market.Address{st.Tokens.At(1).Address}
	start := spent()
	for b.Loop() {
		Prices(st, &p, nil, func() {})
	}
	cpu(b, start)
}

func BenchmarkPositions(b *testing.B) {
	const n = 1_000_000
	st := corpus(100_000, 60_000, n)
	var f Figures
	b.ReportAllocs()
	start := spent()
	for b.Loop() {
		ranker := NewRanker(st)
		for i := range uint32(n) {
			ranker.Rank(i, &f)
		}
	}
	cpu(b, start)
}

func BenchmarkPosition(b *testing.B) {
	f := func(name string, pick func(*Metrics) bool) {
		st := corpus(1000, 600, 10_000)
		var m Metrics
		var i uint32
		for Position(st, i, &m); !pick(&m); Position(st, i, &m) {
			i++
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Position(st, i, &m)
			}
		})
	}

	f("in range", func(m *Metrics) bool { return m.Open && m.InRange })
	f("out of range", func(m *Metrics) bool { return m.Open && !m.InRange })
	f("closed", func(m *Metrics) bool { return !m.Open })
}

func BenchmarkStats(b *testing.B) {
	const pools = 100_000
	st := corpus(pools, 60_000, 1_000_000)
	b.ReportAllocs()
	start := spent()
	for b.Loop() {
		for i := range uint32(pools) {
			Stats(st, i)
		}
	}
	cpu(b, start)
}

func BenchmarkExplain(b *testing.B) {
	st := corpus(100_000, 60_000, 100_000)
	p := DefaultParams()
	p.Stables = []market.Address{st.Tokens.At(1).Address}
	start := spent()
	for i := uint32(0); b.Loop(); i = (i + 100) % 100_000 {
		Explain(st, &p, nil, i)
	}
	cpu(b, start)
}
