package storage

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/rankings/block"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// A chain of the size that the figures are for, with numbers as wide as real
// ones: prices of 96 fractional bits, fee growths of 128, amounts of 18
// decimals. One pool in a hundred is swapped in a refresh.
const (
	benchPools     = 100_000
	benchPositions = 1_000_000
	benchMoved     = benchPools / 100
)

type benchChain struct {
	*rand.Rand
	st      market.State
	pools   market.Table[market.Pool]
	days    market.Table[market.PoolDay]
	minutes market.Table[market.Minutes]
	hours   market.Table[market.HourBucket]
	stats   market.Table[market.PoolStats]
	leaves  []uint64
}

func (c *benchChain) wide(bits uint) clmath.U256 {
	v := clmath.U256{c.Uint64(), c.Uint64(), c.Uint64(), c.Uint64() | 1<<63}
	v.Rsh(&v, 256-bits)
	return v
}

func (c *benchChain) narrow(bits uint) clmath.U128 {
	v := c.wide(bits)
	n, _ := clmath.Narrow(&v)
	return n
}

func (c *benchChain) usd() float64 { return c.Float64() * 1e6 }

func (c *benchChain) swap(i uint32) (market.Pool, market.PoolDay, market.Minutes) {
	p, d, m := *c.pools.At(i), *c.days.At(i), *c.minutes.At(i)
	p.SqrtPriceX96, p.Tick = c.wide(100), int32(c.IntN(400_000))-200_000
	p.FeeGrowthGlobal0X128 = c.wide(120)
	p.LastSwapAt, p.Swaps, p.LastHour = c.st.Head.Time, p.Swaps+1, i
	d.Close, d.FeeGrowthGlobal0X128 = p.SqrtPriceX96, p.FeeGrowthGlobal0X128
	d.Amount0, d.Amount1, d.Tick = c.wide(80), c.wide(80), p.Tick
	d.VolumeUsd, d.FeesUsd, d.Swaps = c.usd(), c.usd(), d.Swaps+1
	m.Newest = (m.Newest + 1) % market.MinuteSlots
	m.Minute[m.Newest] = market.MinuteOf(c.st.Head.Time)
	m.Sqrt[m.Newest] = clmath.Float64(&p.SqrtPriceX96)
	return p, d, m
}

func (c *benchChain) hour(i uint32) market.HourBucket {
	return market.HourBucket{
		Pool: i, Hour: market.HourOf(c.st.Head.Time), Prev: i / 2, Swaps: 7,
		VolumeUsd: c.usd(), FeesUsd: c.usd(), Close: c.usd(),
	}
}

// ring is full, as that of a pool is that trades all the time.
func (c *benchChain) ring() (m market.Minutes) {
	for i := range m.Minute {
		m.Minute[i], m.Sqrt[i] = market.MinuteOf(c.st.Head.Time)-uint32(i), c.usd()
	}
	return m
}

func (c *benchChain) poolStats() market.PoolStats {
	return market.PoolStats{
		TVLUsd: c.usd(), VolumeUsd24h: c.usd(), VolumeUsd7d: c.usd(), FeesUsd24h: c.usd(),
		FeesUsd7d: c.usd(), FeeAPR: c.usd(), CurrentPrice: c.usd(),
	}
}

func (c *benchChain) position(i uint32) market.Position {
	open := i%20 < 7
	p := market.Position{
		ID: uint64(i), Pool: i % benchPools, Owner: i % 1000, TickLower: -int32(i%9000) * 60,
		TickUpper: int32(i%9000) * 60, LowerSlot: i % 1000, UpperSlot: i % 1000,
		Overflow: market.NoIndex, Entries: 2, FeeGrowthInside0LastX128: c.wide(120),
		FeeGrowthInside1LastX128: c.wide(256), Deposited0: c.narrow(70), Deposited1: c.narrow(70),
		GasWei: c.narrow(55), CostUsd: c.usd(), MintedAt: uint32(c.st.Head.Time) - i,
	}

	if open {
		p.SetLiquidity(c.narrow(75))
		return p
	}

	p.Withdrawn0, p.Withdrawn1, p.Collected0 = c.narrow(70), c.narrow(70), c.narrow(60)
	p.ClosedAt, p.CloseNativeUsd = uint32(c.st.Head.Time), c.usd()
	leg := market.ClosePrice{Usd: c.usd(), AsOf: c.st.Head.Time, Source: market.SourcePool}
	p.SetClose([2]market.ClosePrice{leg, leg})
	return p
}

// newBenchChain returns a chain and the cut that stores all of it.
func newBenchChain(pools, positions uint32) (*benchChain, *Cut) {
	c := &benchChain{Rand: rand.New(rand.NewPCG(1, 1))}
	c.st = market.State{Chain: 1, Native: market.NoIndex}
	c.st.Head = market.Head{Number: 1, Time: 1_700_000_000}
	ch := &ledger.Changes{}
	var tokens market.Table[market.Token]
	var owners market.Table[market.Address]
	var ticks market.Table[market.Tick]
	var rows market.Table[market.Position]
	for i := range uint32(1000) {
		tokens.Append(market.Token{HourUsd: c.usd(), HourAt: i})
		owners.Append(market.Address{byte(i), byte(i >> 8)})
		ticks.Append(market.Tick{Pool: market.NoIndex})
	}

	for i := range pools {
		id := c.wide(256)
		c.pools.Append(market.Pool{
			ID: id.Bytes32(), Currency0: i % 1000, Currency1: i / 7 % 1000,
			Fee: 3000, TickSpacing: 60, CreatedAt: 1_690_000_000, CreatedBlock: 21_000_000 + uint64(i),
			FeeGrowthGlobal1X128: c.wide(120), Liquidity: c.narrow(75), LastHour: market.NoIndex,
		})

		c.days.Append(market.PoolDay{
			Pool: i, Day: market.DayOf(c.st.Head.Time), Open: c.wide(100), High: c.wide(100),
			Low: c.wide(100), FeeGrowthGlobal1X128: c.wide(120), Liquidity: c.narrow(75),
			Price0Usd: c.usd(), Price1Usd: c.usd(),
		})

		c.minutes.Append(c.ring())
		c.hours.Append(c.hour(i))
		p, d, m := c.swap(i)
		*c.pools.Mut(i), *c.days.Mut(i), *c.minutes.Mut(i) = p, d, m
		c.stats.Append(c.poolStats())
		ch.Ops.Add(ledger.PoolDays.Put(d))
	}

	for i := range positions {
		rows.Append(c.position(i))
	}

	c.st.Tokens, c.st.Owners, c.st.Ticks = tokens.Freeze(), owners.Freeze(), ticks.Freeze()
	c.st.Positions = rows.Freeze()
	return c, &Cut{State: c.freeze(), Changes: ch, Publication: c.publish(2200)}
}

func (c *benchChain) freeze() *market.State {
	st := c.st
	st.Pools, st.Days, st.Minutes = c.pools.Freeze(), c.days.Freeze(), c.minutes.Freeze()
	st.Hours, st.Stats = c.hours.Freeze(), c.stats.Freeze()
	return &st
}

// publish replaces n leaves of 1,024 rows, the oldest first.
func (c *benchChain) publish(n int) *block.Publication {
	p := &block.Publication{Generation: c.st.Head.Number, Directory: make([]byte, 32*2200)}
	for i := range p.Directory {
		p.Directory[i] = byte(c.Uint64())
	}

	ids := make([]uint32, 1024)
	for i := range n {
		for k := range ids {
			ids[k] = c.Uint32N(benchPositions)
		}
		number := block.LeafNumber(p.Generation, i)
		p.Leaves = append(p.Leaves, block.NewLeaf{Number: number, Bytes: block.AppendLeaf(nil, ids)})
		c.leaves = append(c.leaves, number)
	}

	if len(c.leaves) > 2200 {
		p.Dead = c.leaves[:len(c.leaves)-2200]
		c.leaves = c.leaves[len(p.Dead):]
	}

	return p
}

// refresh swaps in moved pools and replaces leaves, with the undo of it all.
func (c *benchChain) refresh(moved, leaves int) *Cut {
	before := c.st.Head
	c.st.Head.Number++
	c.st.Head.Time += 12
	ch := &ledger.Changes{Head: c.st.Head}
	u := &ledger.Undo{
		Before: before, To: c.st.Head.Number, Rows: make([]uint32, ledger.TableCount()),
	}
	changed := make([]uint32, 0, moved)
	var savedPools []ledger.Saved[market.Pool]
	var savedDays []ledger.Saved[market.PoolDay]
	var savedMinutes []ledger.Saved[market.Minutes]
	var savedHours []ledger.Saved[market.HourBucket]
	for k := range moved {
		i := uint32(k*int(c.pools.Len())/moved + c.IntN(int(c.pools.Len())/moved))
		changed = append(changed, i)
		savedPools = append(savedPools, ledger.Saved[market.Pool]{Index: i, Row: *c.pools.At(i)})
		savedDays = append(savedDays, ledger.Saved[market.PoolDay]{Index: i, Row: *c.days.At(i)})
		savedMinutes = append(savedMinutes, ledger.Saved[market.Minutes]{Index: i, Row: *c.minutes.At(i)})
		savedHours = append(savedHours, ledger.Saved[market.HourBucket]{Index: i, Row: *c.hours.At(i)})
		p, d, m := c.swap(i)
		*c.pools.Mut(i), *c.days.Mut(i), *c.minutes.Mut(i) = p, d, m
		*c.hours.Mut(i), *c.stats.Mut(i) = c.hour(i), c.poolStats()
		ch.Ops.Add(ledger.PoolDays.Put(d))
	}

	ledger.Pools.SetChanged(ch, changed)
	ledger.Days.SetChanged(ch, changed)
	ledger.Minutes.SetChanged(ch, changed)
	ledger.Hours.SetChanged(ch, changed)
	ledger.Pools.SetSaved(u, savedPools)
	ledger.Days.SetSaved(u, savedDays)
	ledger.Minutes.SetSaved(u, savedMinutes)
	ledger.Hours.SetSaved(u, savedHours)
	ch.UndoPut = []*ledger.Undo{u}
	if u.To > 256 {
		ch.UndoDrop = []uint64{u.To - 256}
	}

	cut := &Cut{State: c.freeze(), Changes: ch, Stats: changed, Publication: c.publish(leaves)}
	return cut
}

// BenchmarkCommit is a refresh of a chain with 100,000 pools and as many
// leaves as its orders have at a million positions: MB/commit is everything
// that Pebble writes, log, flushes and compactions; WAL-MB the log alone.
func BenchmarkCommit(b *testing.B) {
	f := func(name string, moved, leaves int) {
		b.Run(name, func(b *testing.B) {
			s := openBench(b)
			c, all := newBenchChain(benchPools, 10_000)
			must(s.Commit(all))
			must(s.db.Flush())
			start := s.Usage()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				cut := c.refresh(moved, leaves)
				b.StartTimer()
				must(s.Commit(cut))
			}

			b.StopTimer()
			must(s.db.Flush())
			end := s.Usage()
			per := 1e-6 / float64(b.N)
			b.ReportMetric(float64(written(end)-written(start))*per, "MB/commit")
			b.ReportMetric(float64(end.LogBytes-start.LogBytes)*per, "WAL-MB/commit")
			b.ReportMetric(float64(end.CompactBytes-start.CompactBytes)*per, "compact-MB/commit")
		})
	}

	f("moved=1%/leaves=0", benchMoved, 0)
	f("moved=1%/leaves=300", benchMoved, 300)
	f("moved=1%/leaves=all", benchMoved, 2200)
}

// written returns the number of bytes that Pebble has written.
func written(u Usage) uint64 { return u.LogBytes + u.FlushBytes + u.CompactBytes }

var discard = slog.New(slog.DiscardHandler)

func openBench(b *testing.B) *Store {
	s, err := Open(b.TempDir(), Options{Logger: discard, BallastBytes: -1})
	must(err)
	b.Cleanup(func() { must(s.Close()) })
	return s
}

// BenchmarkRestore reads a chain of a million positions and 100,000 pools.
func BenchmarkRestore(b *testing.B) {
	s := openBench(b)
	_, all := newBenchChain(benchPools, benchPositions)
	must(s.Commit(all))
	must(s.db.Flush())
	b.Run("open", func(b *testing.B) {
		for range b.N {
			_, err := s.Restore(1)
			must(err)
		}
	})

	b.Run("warm", func(b *testing.B) {
		for range b.N {
			r, err := s.Restore(1)
			must(err)
			r.Warm(func() bool { return false })
		}
	})

	b.Run("page", func(b *testing.B) { // 20 random rows with their pools, all cold
		r := rand.New(rand.NewPCG(1, 1))
		for range b.N {
			cold, err := s.Restore(1)
			must(err)
			for range 20 {
				p := cold.State.Positions.At(r.Uint32N(benchPositions))
				cold.State.Pools.At(p.Pool)
				cold.State.Stats.At(p.Pool)
			}
		}
	})
}

// BenchmarkLive applies live blocks of a simulated market, a commit each, over some
// hours, with what ends with an hour: WAL-B/block is what the log has of one.
func BenchmarkLive(b *testing.B) {
	for range b.N {
		b.StopTimer()
		s, l := openBench(b), newLife(b, 300, 20, 3)
		for l.step(b) {
		}
		l.commit(b, s)
		start := s.Usage().LogBytes
		blocks := 0
		b.StartTimer()

		for range 5 * 60 {
			l.now = l.now.Add(time.Minute)
			for more := true; more; blocks++ {
				more = l.step(b)
				l.commit(b, s)
			}
		}
		b.StopTimer()
		b.ReportMetric(float64(s.Usage().LogBytes-start)/float64(blocks), "WAL-B/block")
		b.ReportMetric(float64(blocks), "blocks")
		b.StartTimer()
	}
}
