package sim

import (
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

func TestPortrait(t *testing.T) {
	for _, c := range testChains {
		start := time.Now()
		cfg := defaultConfig(c)
		if os.Getenv("SMALL") != "" {
			cfg = testConfig(c, 50, 10, 2)
		}
		if os.Getenv("CHAIN1") != "" && c != 1 {
			continue
		}
		g := grow(t, cfg)
		t.Log("chain", c, time.Since(start), "events", g.events)
		st := g.priced()
		for _, f := range ledger.Check(st) {
			t.Error(f)
		}
		sym := func(i uint32) string {
			s := st.Tokens.At(i).Symbol
			if s == nil {
				return "<nil>"
			}
			return fmt.Sprintf("%.9q", *s)
		}
		for i := range st.Pools.Len() {
			p, s := st.Pools.At(i), st.Stats.At(i)
			ref := 0
			{
				v := &g.venues[i]
				tt := st.Now() - testGenesis
				m := marketAt(1, tt)
				t0, t1 := &g.tokens[v.token0], &g.tokens[v.token1]
				ref = int((t0.at(tt, m) - t1.at(tt, m) + int64(t1.decimals()-t0.decimals())*tenfold) / 1000)
			}
			fmt.Printf("%3d %-11s/%-11s fee %7d off %5d tvl %12.0f (%10.0f) vol24 %11.0f vol7 %12.0f fee24 %8.0f apr %7.1f%% pos %3d swaps %5d age %3dh %v %v %v\n", i, sym(p.Currency0), sym(p.Currency1), p.Fee, int(p.Tick)-ref,
				s.TVLUsd, g.venues[i].tvl, s.VolumeUsd24h, s.VolumeUsd7d, s.FeesUsd24h, s.FeeAPR, p.OpenPositions, p.Swaps, (st.Now()-p.CreatedAt)/3600, s.Unpriced, st.Prices.At(p.Currency0).Corroborated, st.Prices.At(p.Currency1).Corroborated)
		}
		for i := range st.Tokens.Len() {
			p := st.Prices.At(i)
			tt := st.Now() - testGenesis
			fmt.Printf("%-11s %12.6g ref %12.6g src %d reason %d corr %v markets %d exit %.0f\n", sym(i), p.Usd, exp(g.tokens[i].at(tt, marketAt(1, tt))/1000), p.Source, p.Reason, p.Corroborated, p.Markets, p.ExitUsd)
		}
		var open, in, pu, ul, risky, apr int
		reasons := map[market.Reason]int{}
		var tvl, v24 float64
		for i := range st.Pools.Len() {
			if s := st.Stats.At(i); s.TVLUsd > 0 {
				tvl += s.TVLUsd
				if s.VolumeUsd24h > 0 {
					v24 += s.VolumeUsd24h
				}
			}
		}
		type row struct {
			i uint32
			m value.Metrics
		}
		var rows []row
		entries := map[uint32]int{}
		for i := range st.Positions.Len() {
			p := st.Positions.At(i)
			entries[min(p.Entries, 6)]++
			var m value.Metrics
			value.Position(st, i, &m)
			reasons[m.Reason]++
			if m.PriceUnavailable {
				pu++
			}
			if m.UnrealizableLeg() {
				ul++
			}
			if m.Risky {
				risky++
			}
			if p.IsOpen() {
				open++
				if m.InRange {
					in++
				}
				if market.Known(m.APR) {
					apr++
					rows = append(rows, row{i, m})
				}
			}
		}
		fmt.Printf("open %d in %d pu %d ul %d risky %d apr %d reasons %v entries %v tvl %.0f vol24 %.0f\n", open, in, pu, ul, risky, apr, reasons, entries, tvl, v24)
		for name, key := range map[string]func(m *value.Metrics) float64{
			"apr": func(m *value.Metrics) float64 { return m.APR }, "feeApr": func(m *value.Metrics) float64 { return m.FeeAPR },
			"pnl": func(m *value.Metrics) float64 { return m.PnlUsd }, "value": func(m *value.Metrics) float64 { return m.UnderlyingValueUsd },
			"pending": func(m *value.Metrics) float64 { return m.PendingFeesUsd },
		} {
			sort.SliceStable(rows, func(a, b int) bool { return key(&rows[a].m) > key(&rows[b].m) })
			q := func(f float64) float64 { return key(&rows[int(f*float64(len(rows)-1))].m) }
			fmt.Printf("== %s quantiles %.4g %.4g %.4g %.4g %.4g %.4g %.4g\n", name, q(0), q(.01), q(.1), q(.5), q(.9), q(.99), q(1))
			for _, r := range rows[:min(6, len(rows))] {
				p := st.Positions.At(r.i)
				pl := st.Pools.At(p.Pool)
				if r.m.Risky {
					continue
				}
				fmt.Printf("  #%d pool %d %s/%s habit %d width %d in %v value %.0f dep %.0f pnl %.0f fees %.2f apr %.1f feeapr %.1f roi %.2f age %dh gas %.2f\n", p.ID, p.Pool, sym(pl.Currency0), sym(pl.Currency1), g.habitOf(p.ID), p.TickUpper-p.TickLower, r.m.InRange, r.m.UnderlyingValueUsd, r.m.Deposits.Usd, r.m.PnlUsd, r.m.FeesUsd, r.m.APR, r.m.FeeAPR, r.m.ROI, r.m.AgeSeconds/3600, r.m.GasUsd)
			}
		}
	}
}
