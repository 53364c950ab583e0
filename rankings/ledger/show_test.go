package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/rankings/clmath"
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
		pool = s.poolAt(script.Pool(what[1]))
	}

	p := func() *market.Pool { return st.Pools.At(pool) }
	switch what[0] {
	case "pool":
		return []string{fmt.Sprintf("tick %d liquidity %s fee %d swaps %d changes %d open %d holders %d",
			p().Tick, unsigned(p().Liquidity), int32(p().LastFee), p().Swaps, p().LiquidityChanges,
			p().OpenPositions, p().Holders)}
	case "ticks":
		var lines []string
		for _, ref := range st.TickLists.At(pool) {
			t := st.Ticks.At(ref.Slot)
			lines = append(lines, fmt.Sprintf("%d in %d gross %s net %s",
				t.Tick, ref.Slot, unsigned(t.LiquidityGross), signed(t.LiquidityNet)))
		}
		return lines
	case "hours":
		var lines []string
		for slot := p().LastHour; slot != market.NoIndex; slot = st.Hours.At(slot).Prev {
			b := st.Hours.At(slot)
			lines = append(lines, fmt.Sprintf("+%dh in %d swaps %d usd %s of %s",
				b.Hour-script.Start/market.Hour, slot, b.Swaps, usd(b.FeesUsd), usd(b.VolumeUsd)))
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
	i, ok := s.findPosition(id)
	if !ok {
		return "none"
	}

	p := st.Positions.At(i)
	sums := st.Sums(p)
	text := fmt.Sprintf("%s liquidity %s in %s/%s out %s/%s fees %s/%s gas %s cost %s entries %d",
		name(*st.Owners.At(p.Owner)), unsigned(p.Liquidity()), sums.Deposited0.Dec(), sums.Deposited1.Dec(),
		sums.Withdrawn0.Dec(), sums.Withdrawn1.Dec(), sums.Collected0.Dec(), sums.Collected1.Dec(),
		unsigned(p.GasWei), usd(p.CostUsd), p.Entries)

	if p.ClosedAt != 0 {
		text += fmt.Sprintf(" closed +%ds at %s/%s native %s", int64(p.ClosedAt)-script.Start,
			usd(p.Close(0).Usd), usd(p.Close(1).Usd), usd(p.CloseNativeUsd))
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
	s.ops = slices.AppendSeq(s.ops, s.Changes().Ops.All())
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
	switch e := op.Entry.(type) {
	case *market.Transaction:
		return entryText(e, op.Drop)
	case *market.PoolDay:
		if op.Drop {
			return fmt.Sprintf("day +%d dropped", e.Day-script.Start/market.Day)
		}
		return dayText(e)
	case *market.TickDay:
		text := fmt.Sprintf("tick %d day +%d ", e.Tick, e.Day-script.Start/market.Day)
		if op.Drop {
			return text + "dropped"
		}
		var outside0, outside1 clmath.U256
		outside0.Rsh(&e.FeeGrowthOutside0X128, 64)
		outside1.Rsh(&e.FeeGrowthOutside1X128, 64)
		return text + fmt.Sprintf("outside %s/%s", outside0.Dec(), outside1.Dec())
	case *HourEntry:
		text := fmt.Sprintf("price %d +%dh ", e.Token, e.Hour-script.Start/market.Hour)
		if op.Drop {
			return text + "dropped"
		}
		return text + usd(e.Usd)
	}

	return ""
}

func entryText(e *market.Transaction, dropped bool) string {
	if dropped {
		return fmt.Sprintf("entry %d dropped block %d/%d", e.Position, e.Block, e.LogIndex)
	}
	text := fmt.Sprintf("entry %d %s block %d/%d delta %s principal %s/%s fees %s/%s gas %d wei %s",
		e.Position, []string{"mint", "burn", "collect", "transfer"}[e.Type],
		e.Block, e.LogIndex, signed(e.LiquidityDelta),
		e.Amount0.Dec(), e.Amount1.Dec(), e.Fees0.Dec(), e.Fees1.Dec(), e.GasUsed, unsigned(e.GasWei))
	if e.Moved {
		text += " " + name(e.From) + ">" + name(e.To)
	}
	return text
}
