package pages

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// vast returns a view of so many positions, each with ticks and an owner of its own,
// that few of their records are in the processor's cache.
func vast(n int) *rankings.View {
	st := crowd(n, 1)
	var owners market.Table[market.Address]
	var ticks market.Table[market.Tick]
	var pools market.Table[market.Pool]
	var stats market.Table[market.PoolStats]
	for i := range n {
		owners.Append(market.Address{byte(i), byte(i >> 8), byte(i >> 16)})
		for _, tick := range []int32{-60, 60} {
			ticks.Append(market.Tick{SqrtPriceX96: clmath.SqrtPriceAtTick(tick), Tick: tick})
		}
		if i%20 == 0 {
			p := *st.Pools.At(0)
			p.ID = market.PoolID{byte(i), byte(i >> 8), byte(i >> 16)}
			pools.Append(p)
			stats.Append(market.PoolStats{})
		}
	}

	positions := market.Thaw(st.Positions)
	for i := range uint32(n) {
		p := positions.Mut(i)
		p.Pool, p.Owner, p.LowerSlot, p.UpperSlot = i/20, i, 2*i, 2*i+1
	}
	st.Owners, st.Ticks, st.Pools, st.Stats = owners.Freeze(), ticks.Freeze(), pools.Freeze(), stats.Freeze()
	st.Positions = positions.Freeze()
	view, _ := rankings.Build(nil, st, 1)
	return view
}

// BenchmarkColdRows renders 20 random rows of 300,000, in turns with the records
// read ahead and without. ratio is that of the first to the second.
func BenchmarkColdRows(b *testing.B) {
	const positions, rows = 300_000, 20
	view := vast(positions)
	p := &Pages{parts: newChainParts([]render.Chain{{ID: 1}})}

	dice := rand.New(rand.NewPCG(1, 1))
	page := rankings.Page{Rows: make([]rankings.Row, rows)}
	room := new(Buffer)
	var body []byte
	var took [2][]time.Duration
	for n := 0; b.Loop(); n++ {
		for i := range page.Rows {
			page.Rows[i] = rankings.Row{View: view, Index: dice.Uint32N(positions), Rank: 1}
		}

		begun := time.Now()
		if body = body[:0]; n%2 == 0 {
			body = p.appendPositions(body, &page, room)
		} else {
			for i := range page.Rows {
				body = p.appendRow(body, false, &page.Rows[i], &room.metrics)
			}
		}
		took[n%2] = append(took[n%2], time.Since(begun))
	}

	ahead, alone := median(took[0]), median(took[1])
	b.ReportMetric(ahead.Seconds()*1e6, "ahead-us")
	b.ReportMetric(alone.Seconds()*1e6, "one-by-one-us")
	b.ReportMetric(ahead.Seconds()/alone.Seconds(), "ratio")
	b.Logf("%d bytes a page, sum %d", len(body), room.read)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
