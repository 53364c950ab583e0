package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// show prints records of the ledger, or the series since the last time:
//
//	show pool P | ticks P | hours P | day P | position ID | owners | series KIND
func (s *scripted) show(what []string) []string {
	st := s.Freeze()
	var pool uint32
	if len(what) > 1 {
		pool = s.poolOf[script.Pool(what[1])]
	}
	p := func() *market.Pool { return st.Pools.At(pool) }
	switch what[0] {
	case "pool":
		return []string{fmt.Sprintf("tick %d liquidity %s fee %d swaps %d changes %d open %d holders %d",
			p().Tick, unsigned(p().Liquidity), int32(p().LastFee), p().Swaps, p().LiquidityChanges,
			p().OpenPositions, p().Holders)}
	case "ticks":
		var lines []string
		for _, ref := range st.TickLists.At(pool).Refs {
			t := st.Ticks.At(ref.Slot)
			lines = append(lines, fmt.Sprintf("%d in %d gross %s net %s",
				t.Tick, ref.Slot, unsigned(t.LiquidityGross), signed(t.LiquidityNet)))
		}
		return lines
	case "hours":
		var lines []string
		for slot := p().LastHour; slot != market.NoIndex; slot = st.Hours.At(slot).Prev {
			b := st.Hours.At(slot)
			lines = append(lines, fmt.Sprintf("+%dh in %d swaps %d in %s/%s fees %s/%s usd %s of %s",
				b.Hour-script.Start/market.Hour, slot, b.Swaps, unsigned(b.In0), unsigned(b.In1),
				unsigned(b.Fees0), unsigned(b.Fees1), usd(b.FeesUsd), usd(b.VolumeUsd)))
		}
		return lines
	case "day":
		return []string{dayText(st.Days.At(pool))}
	case "position":
		return []string{s.positionText(st, uint64(s.int(what[1])))}
	case "series":
		return s.seriesText(what[1])
	}
	s.t.Fatalf("%s: cannot show %s", s.where, what[0])
	return nil
}

func usd(x float64) string {
	if !market.Known(x) {
		return "?"
	}
	return fmt.Sprint(math.Round(x*1e4) / 1e4)
}

func dayText(d *market.PoolDay) string {
	return fmt.Sprintf("day +%d tick %d swaps %d amounts %s/%s usd %s of %s prices %s/%s",
		d.Day-script.Start/market.Day, d.Tick, d.Swaps, d.Amount0.Dec(), d.Amount1.Dec(),
		usd(d.FeesUsd), usd(d.VolumeUsd), usd(d.Price0Usd), usd(d.Price1Usd))
}

func (s *scripted) positionText(st *market.State, id uint64) string {
	i, ok := s.position(id)
	if !ok {
		return "none"
	}
	p := st.Positions.At(i)
	sums := st.Sums(p)
	text := fmt.Sprintf("%s liquidity %s in %s/%s out %s/%s fees %s/%s gas %s cost %s entries %d",
		name(*st.Owners.At(p.Owner)), unsigned(p.Liquidity), sums.Deposited0.Dec(), sums.Deposited1.Dec(),
		sums.Withdrawn0.Dec(), sums.Withdrawn1.Dec(), sums.Collected0.Dec(), sums.Collected1.Dec(),
		unsigned(p.GasWei), usd(p.CostUsd), p.Entries)
	if p.ClosedAt != 0 {
		text += fmt.Sprintf(" closed +%ds at %s/%s native %s", p.ClosedAt-script.Start,
			usd(p.Close[0].Usd), usd(p.Close[1].Usd), usd(p.CloseNativeUsd))
	}
	if p.Burned {
		text += " burned"
	}
	return text
}

func name(a market.Address) string {
	if a.IsZero() {
		return "0"
	}
	return string(rune(a[19]))
}

// seriesText drains the ledger and prints the operations of a kind.
func (s *scripted) seriesText(kind string) (lines []string) {
	s.ops = append(s.ops, s.Changes().Ops...)
	rest := s.ops[:0]
	for _, op := range s.ops {
		line := opText(op)
		if strings.HasPrefix(line, kind) {
			lines = append(lines, line)
		} else {
			rest = append(rest, op)
		}
	}
	s.ops = slices.Clip(rest)
	return lines
}

func opText(op Op) string {
	switch o := op.(type) {
	case PutTransaction:
		text := fmt.Sprintf("entry %d %s block %d/%d delta %s principal %s/%s fees %s/%s gas %d wei %s",
			o.Position, []string{"mint", "burn", "collect", "transfer"}[o.Type],
			o.Block, o.LogIndex, signed(o.LiquidityDelta),
			o.Amount0.Dec(), o.Amount1.Dec(), o.Fees0.Dec(), o.Fees1.Dec(), o.GasUsed, unsigned(o.GasWei))
		if o.Moved {
			text += " " + name(o.From) + ">" + name(o.To)
		}
		return text
	case DropTransaction:
		return fmt.Sprintf("entry %d dropped block %d/%d", o.Position, o.Block, o.LogIndex)
	case PutPoolDay:
		return dayText(&o.PoolDay)
	case DropPoolDay:
		return fmt.Sprintf("day +%d dropped", o.Day-script.Start/market.Day)
	case PutTickDay:
		return fmt.Sprintf("tick %d day +%d outside %s/%s", o.Tick, o.Day-script.Start/market.Day,
			o.FeeGrowthOutside0X128.Rsh(&o.FeeGrowthOutside0X128, 64).Dec(),
			o.FeeGrowthOutside1X128.Rsh(&o.FeeGrowthOutside1X128, 64).Dec())
	case DropTickDay:
		return fmt.Sprintf("tick %d day +%d dropped", o.Tick, o.Day-script.Start/market.Day)
	case PutHourPrice:
		return fmt.Sprintf("price %d +%dh %s", o.Token, o.Hour-script.Start/market.Hour, usd(o.Usd))
	case DropHourPrice:
		return fmt.Sprintf("price %d +%dh dropped", o.Token, o.Hour-script.Start/market.Hour)
	}
	return ""
}
