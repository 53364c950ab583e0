package ledger

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

var update = flag.Bool("update", false, "write the golden files anew")

// damages are changes of one record each. Those that a sound ledger could have too
// are here as well, beside their neighbours: they must lead to no finding.
type damages struct {
	w    *world
	text strings.Builder
}

// by writes what Check says about a damaged ledger.
func (d *damages) by(name string, damage func(l *Ledger)) {
	l := From(d.w.cfg, d.w.Freeze(), nil, func() {})
	damage(l)
	found := Check(l.Freeze())
	fmt.Fprintf(&d.text, "%s: %d\n", name, len(found))
	for _, f := range found[:min(len(found), 3)] {
		fmt.Fprintf(&d.text, "  %s\n", f)
	}
}

// TestCheckFindsDamage damages one record at a time; testdata/check.golden has what
// an operator reads then.
func TestCheckFindsDamage(t *testing.T) {
	d := &damages{w: newWorld(4)}
	for range 60 {
		if err := d.w.step().apply(d.w.Ledger); err != nil {
			t.Fatal(err)
		}
	}
	st := d.w.Freeze()
	clean(t, st)

	d.tables()
	d.pools()
	d.ticks()
	d.nonNFT()
	d.positions()
	d.seconds()
	d.hours()
	d.days()
	d.minutes()
	clean(t, st) // a frozen state shares nothing with what was damaged

	const golden = "testdata/check.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(d.text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.SplitAfter(d.text.String(), "\n")
	for i, line := range strings.SplitAfter(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d is %q; %s has %q", i+1, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""),
				golden, line)
		}
	}
}

// TestManyFindings: a check ends its list somewhere.
func TestManyFindings(t *testing.T) {
	w := newWorld(4)
	for range 20 {
		if err := w.step().apply(w.Ledger); err != nil {
			t.Fatal(err)
		}
	}
	f := func(tokens, findings int) {
		t.Helper()
		l := From(w.cfg, w.Freeze(), nil, func() {})
		for range tokens {
			Tokens.in(l).Append(*l.st.Tokens.At(1))
		}
		if got := len(Check(l.Freeze())); got != findings {
			t.Errorf("%d tokens that are there already lead to %d findings; want %d", tokens, got, findings)
		}
	}

	f(maxFindings-1, maxFindings-1)
	f(maxFindings, maxFindings)
	f(maxFindings+1, maxFindings)
}

func (d *damages) tables() {
	d.by("a tick list too many", func(l *Ledger) { l.tickRefs.add() })
	d.by("a tick list too few", func(l *Ledger) { l.tickRefs.truncate(l.st.Pools.Len() - 1) })
	d.by("a day too many", func(l *Ledger) { Days.in(l).Append(market.PoolDay{}) })
	d.by("a day too few", func(l *Ledger) { Days.in(l).Truncate(l.st.Pools.Len() - 1) })
	d.by("a ring too many", func(l *Ledger) { Minutes.in(l).Append(market.Minutes{}) })

	d.by("another native token", func(l *Ledger) { l.st.Native = 3 })
	d.by("no native token", func(l *Ledger) { l.st.Native = market.NoIndex })
	d.by("a token twice", func(l *Ledger) { Tokens.in(l).Mut(3).Address = l.st.Tokens.At(2).Address })
	d.by("an owner twice", func(l *Ledger) { *Owners.in(l).Mut(1) = *l.st.Owners.At(0) })
	d.by("a pool twice", func(l *Ledger) { Pools.in(l).Mut(1).ID = l.st.Pools.At(0).ID })
	d.by("other liquidity twice", func(l *Ledger) { *NonNFT.in(l).Mut(1) = *l.st.NonNFT.At(0) })
	d.by("an overflow too many", func(l *Ledger) { Overflow.in(l).Append(market.Sums{}) })
	d.by("an open position too many", func(l *Ledger) { l.st.OpenCount++ })
	d.by("a transaction too many", func(l *Ledger) { l.st.Transactions++ })
}

func (d *damages) pools() {
	edit := func(name string, damage func(p *market.Pool)) {
		d.by("pool 0: "+name, func(l *Ledger) { damage(Pools.in(l).Mut(0)) })
	}
	tokens := d.w.st.Tokens.Len()
	edit("currency 0 unknown", func(p *market.Pool) { p.Currency0 = tokens })
	edit("currency 1 unknown", func(p *market.Pool) { p.Currency1 = tokens })
	edit("one currency", func(p *market.Pool) { p.Currency1 = p.Currency0 })
	edit("one currency in quarantine", func(p *market.Pool) { p.Currency1, p.Quarantined = p.Currency0, true })
	edit("spacing 0", func(p *market.Pool) { p.TickSpacing = 0 })
	edit("one above the largest spacing", func(p *market.Pool) { p.TickSpacing = maxSpacing + 1 })
	edit("the largest spacing", func(p *market.Pool) { p.TickSpacing = maxSpacing })
	edit("another holder", func(p *market.Pool) { p.Holders++ })
	edit("another open position", func(p *market.Pool) { p.OpenPositions++ })
	edit("more liquidity", func(p *market.Pool) { p.Liquidity.Lo++ })
	edit("no swaps", func(p *market.Pool) { p.Swaps = 0 })
	edit("swapped in the first second", func(p *market.Pool) { p.Swaps, p.LastSwapAt = 1, 1 })
	edit("swapped at no time", func(p *market.Pool) { p.Swaps, p.LastSwapAt = 1, 0 })
	edit("the lowest tick", func(p *market.Pool) { p.Tick, p.SqrtPriceX96 = clmath.MinTick, clmath.MinSqrtPrice })
	edit("below the lowest tick", func(p *market.Pool) { p.Tick = clmath.MinTick - 1 })
	edit("the tick of the upper bound", func(p *market.Pool) { p.Tick = clmath.MaxTick })
	edit("the highest tick", func(p *market.Pool) {
		p.Tick, p.SqrtPriceX96 = clmath.MaxTick-1, clmath.SqrtPriceAtTick(clmath.MaxTick-1)
	})

	price := func(name string, tick, off int) {
		edit(name, func(p *market.Pool) {
			p.SqrtPriceX96 = clmath.SqrtPriceAtTick(p.Tick + int32(tick))
			p.SqrtPriceX96[0] += uint64(off)
		})
	}
	price("at the tick's price", 0, 0)
	price("below the tick's price", 0, -1)
	price("at the next tick's price", 1, 0)
	price("above the next tick's price", 1, 1)

	d.by("liquidity that is left past the last tick", func(l *Ledger) {
		refs := l.st.TickLists.At(0)
		Ticks.in(l).Mut(refs[len(refs)-1].Slot).LiquidityNet.Lo++
	})
	d.by("liquidity that wraps", func(l *Ledger) {
		refs := l.st.TickLists.At(0)
		first := Ticks.in(l).Mut(refs[0].Slot)
		last := Ticks.in(l).Mut(refs[len(refs)-1].Slot)
		first.LiquidityNet, last.LiquidityNet = last.LiquidityNet, first.LiquidityNet
	})
}

func (d *damages) ticks() {
	slot := d.w.st.TickLists.At(0)[0].Slot
	edit := func(name string, damage func(x *market.Tick)) {
		d.by("tick: "+name, func(l *Ledger) { damage(Ticks.in(l).Mut(slot)) })
	}
	today := market.DayOf(d.w.st.Head.Time)
	edit("another net", func(x *market.Tick) { x.LiquidityNet.Lo++ })
	edit("another gross", func(x *market.Tick) { x.LiquidityGross.Lo++ })
	edit("no gross", func(x *market.Tick) { x.LiquidityGross = clmath.U128{} })
	edit("another tick", func(x *market.Tick) { x.Tick++ })
	edit("another pool", func(x *market.Tick) { x.Pool++ })
	edit("a price that is not its own", func(x *market.Tick) { x.SqrtPriceX96[0]++ })
	edit("free with liquidity", func(x *market.Tick) { x.Pool = market.NoIndex })
	edit("free", func(x *market.Tick) { x.Pool, x.LiquidityGross = market.NoIndex, clmath.U128{} })
	edit("written today", func(x *market.Tick) { x.LastHour = today * market.HoursOfDay })
	edit("written tomorrow", func(x *market.Tick) { x.LastHour = (today + 1) * market.HoursOfDay })
	edit("the lowest", func(x *market.Tick) { x.Tick, x.SqrtPriceX96 = clmath.MinTick, clmath.MinSqrtPrice })
	edit("below the lowest", func(x *market.Tick) { x.Tick = clmath.MinTick - 1 })
	edit("the highest", func(x *market.Tick) { x.Tick, x.SqrtPriceX96 = clmath.MaxTick, clmath.MaxSqrtPrice })
	edit("above the highest", func(x *market.Tick) { x.Tick = clmath.MaxTick + 1 })

	list := func(name string, damage func(l *Ledger, refs []market.TickRef)) {
		d.by("ticks of pool 0: "+name, func(l *Ledger) {
			refs := slices.Clone(l.st.TickLists.At(0))
			damage(l, refs)
			l.tickRefs.Replace(0, 0, len(refs), refs...)
		})
	}
	list("out of order", func(_ *Ledger, refs []market.TickRef) { refs[0], refs[1] = refs[1], refs[0] })
	list("one twice", func(_ *Ledger, refs []market.TickRef) { refs[1] = refs[0] })
	list("one record twice", func(_ *Ledger, refs []market.TickRef) { refs[1].Slot = refs[0].Slot })
	list("past the records", func(l *Ledger, refs []market.TickRef) { refs[0].Slot = l.st.Ticks.Len() })
	d.by("ticks of pool 0: none", func(l *Ledger) { l.tickRefs.Replace(0, 0, len(l.st.TickLists.At(0))) })
	list("no multiple of the spacing", func(l *Ledger, refs []market.TickRef) {
		Pools.in(l).Mut(0).TickSpacing = refs[0].Tick&0x3fff | 7
	})
	list("below zero on the way", func(l *Ledger, refs []market.TickRef) {
		first, second := Ticks.in(l).Mut(refs[0].Slot), Ticks.in(l).Mut(refs[1].Slot)
		all, _ := first.LiquidityNet.Add(second.LiquidityNet)
		first.LiquidityNet = clmath.I128{Lo: 1}.Neg()
		second.LiquidityNet, _ = all.Add(clmath.I128{Lo: 1})
	})
	list("in quarantine", func(l *Ledger, refs []market.TickRef) {
		p := Pools.in(l).Mut(0)
		p.Quarantined, p.TickSpacing = true, refs[0].Tick&0x3fff|7
		x := Ticks.in(l).Mut(refs[0].Slot)
		x.LiquidityGross, x.LiquidityNet.Lo = clmath.U128{}, x.LiquidityNet.Lo+1
	})
}

func (d *damages) nonNFT() {
	at := uint32(0)
	for d.w.st.NonNFT.At(at).Liquidity.IsZero() {
		at++
	}
	edit := func(name string, damage func(x *market.NonNFT)) {
		d.by("other liquidity: "+name, func(l *Ledger) { damage(NonNFT.in(l).Mut(at)) })
	}

	edit("more", func(x *market.NonNFT) { x.Liquidity.Lo++ })
	edit("of no pool", func(x *market.NonNFT) { x.Pool = d.w.st.Pools.Len() })
	edit("from a tick that is not listed", func(x *market.NonNFT) { x.TickLower++ })
	edit("to a tick that is not listed", func(x *market.NonNFT) { x.TickUpper++ })
	edit("none, of ticks that are not listed", func(x *market.NonNFT) {
		x.Liquidity, x.TickLower = clmath.U128{}, x.TickLower+1
	})
}

// position returns the first position that is open, or closed.
func (d *damages) position(open bool) uint32 {
	i := uint32(0)
	for d.w.st.Positions.At(i).IsOpen() != open || d.w.st.Positions.At(i).Overflow != market.NoIndex {
		i++
	}
	return i
}

func (d *damages) positions() {
	at := d.position(true)
	edit := func(name string, damage func(p *market.Position)) {
		d.by("position: "+name, func(l *Ledger) { damage(Positions.in(l).Mut(at)) })
	}
	st := d.w.Freeze()
	edit("more liquidity", func(p *market.Position) { p.LiquidityOrUsd.Lo++ })
	edit("no liquidity", func(p *market.Position) { p.SetLiquidity(clmath.U128{}) })
	edit("closed", func(p *market.Position) { p.ClosedAt = 5 })
	edit("burned", func(p *market.Position) { p.Burned = true })
	edit("no pool", func(p *market.Position) { p.Pool = st.Pools.Len() })
	edit("no owner", func(p *market.Position) { p.Owner = st.Owners.Len() })
	edit("no range", func(p *market.Position) { p.TickUpper = p.TickLower })
	edit("a range upside down", func(p *market.Position) { p.TickLower, p.TickUpper = p.TickUpper, p.TickLower })
	edit("no transactions", func(p *market.Position) { p.Entries = 0 })
	edit("a lower tick past the records", func(p *market.Position) { p.LowerSlot = st.Ticks.Len() })
	edit("an upper tick past the records", func(p *market.Position) { p.UpperSlot = st.Ticks.Len() })
	edit("a tick of its own twice", func(p *market.Position) { p.UpperSlot = p.LowerSlot })
	pool := d.w.st.Positions.At(at).Pool
	for side, slot := range []uint32{d.w.st.Positions.At(at).LowerSlot, d.w.st.Positions.At(at).UpperSlot} {
		d.by(fmt.Sprintf("position: tick %d of another pool", side), func(l *Ledger) {
			tick := *l.st.Ticks.At(slot)
			tick.Pool = (pool + 1) % l.st.Pools.Len()
			other := Ticks.in(l).Append(tick)
			if p := Positions.in(l).Mut(at); side == 0 {
				p.LowerSlot = other
			} else {
				p.UpperSlot = other
			}
		})
	}
	edit("another lower tick", func(p *market.Position) { p.TickLower-- })
	edit("another upper tick", func(p *market.Position) { p.TickUpper++ })
	edit("no overflow", func(p *market.Position) { p.Overflow = st.Overflow.Len() })
	d.by("the first two ids twice", func(l *Ledger) { Positions.in(l).Mut(1).ID = l.st.Positions.At(0).ID })
	d.by("an id of 0", func(l *Ledger) { Positions.in(l).Mut(0).ID = 0 })
	d.by("an id twice", func(l *Ledger) { Positions.in(l).Mut(at + 1).ID = l.st.Positions.At(at).ID })
	d.by("an old id", func(l *Ledger) { Positions.in(l).Mut(l.st.Positions.Len() - 1).ID = 1 })

	d.by("overflow of sums that fit", func(l *Ledger) {
		Positions.in(l).Mut(at).Overflow = Overflow.in(l).Append(market.Sums{})
	})
	wide := market.Sums{Collected1: clmath.U256{0, 0, 1}}
	d.by("overflow", func(l *Ledger) { Positions.in(l).Mut(at).Overflow = Overflow.in(l).Append(wide) })
	d.by("overflow of two positions", func(l *Ledger) {
		i := Overflow.in(l).Append(wide)
		Positions.in(l).Mut(at).Overflow, Positions.in(l).Mut(at+1).Overflow = i, i
	})
	d.by("a position of a quarantined pool", func(l *Ledger) {
		p := Positions.in(l).Mut(at)
		p.Burned = true
		Pools.in(l).Mut(p.Pool).Quarantined = true
	})
}

func (d *damages) seconds() {
	for _, open := range []bool{true, false} {
		at := d.position(open)
		in, lived, _ := d.w.st.SecondsInRange(d.w.st.Positions.At(at))
		edit := func(name string, damage func(p *market.Position)) {
			d.by(fmt.Sprintf("seconds, open %t: %s", open, name), func(l *Ledger) { damage(Positions.in(l).Mut(at)) })
		}
		edit("not known, some inside", func(p *market.Position) {
			p.Timed, p.SecondsInside, p.SecondsClosed = false, 7, 0
		})
		edit("not known, some closed", func(p *market.Position) {
			p.Timed, p.SecondsInside, p.SecondsClosed = false, 0, 7
		})
		edit("not known", func(p *market.Position) { p.Timed, p.SecondsInside, p.SecondsClosed = false, 0, 0 })
		edit("closed for most of them", func(p *market.Position) { p.SecondsClosed += lived - in })
		edit("closed for one more", func(p *market.Position) { p.SecondsClosed += lived - in + 1 })
		edit("closed for longer than ever", func(p *market.Position) { p.SecondsClosed += 1 << 31 })
		edit("closed for longer than ever, with no ticks", func(p *market.Position) {
			p.SecondsClosed, p.LowerSlot, p.UpperSlot = p.SecondsClosed+1<<31, market.NoIndex, market.NoIndex
		})
		edit("more inside", func(p *market.Position) { p.SecondsInside++ })
		edit("fewer inside", func(p *market.Position) { p.SecondsInside-- })
	}

	// While a pool stands still, the seconds count on the side where its tick is.
	for _, side := range []bool{true, false} {
		for i := range d.w.st.Positions.Len() {
			p := d.w.st.Positions.At(i)
			pool := d.w.st.Pools.At(p.Pool)
			inside := p.TickLower <= pool.Tick && pool.Tick < p.TickUpper
			if !p.IsOpen() || !p.Timed || p.SecondsClosed > 0 || inside != side {
				continue
			}
			in, open, _ := d.w.st.SecondsInRange(p)
			still := min(uint32(d.w.st.Now()-max(pool.LastSwapAt, pool.CreatedAt)), open)
			spare := map[bool]uint32{true: in, false: open - in}[side] - still
			for _, more := range []uint32{0, 1} {
				d.by(fmt.Sprintf("position %d, in range %t, with %d seconds fewer than its pool stood still",
					i, side, more), func(l *Ledger) {
					if side {
						Positions.in(l).Mut(i).SecondsInside += spare + more
					} else {
						Positions.in(l).Mut(i).SecondsInside -= spare + more
					}
				})
			}
			break
		}
	}
}

func (d *damages) hours() {
	traded := uint32(0)
	for d.w.st.Pools.At(traded).LastHour == market.NoIndex ||
		d.w.st.Hours.At(d.w.st.Pools.At(traded).LastHour).Prev == market.NoIndex {
		traded++
	}
	last := d.w.st.Pools.At(traded).LastHour
	prev := d.w.st.Hours.At(last).Prev
	edit := func(name string, damage func(b *market.HourBucket)) {
		d.by("bucket: "+name, func(l *Ledger) { damage(Hours.in(l).Mut(last)) })
	}
	now, day := market.HourOf(d.w.st.Head.Time), market.DayOf(d.w.st.Head.Time)
	edit("after itself", func(b *market.HourBucket) { b.Prev = last })
	edit("after one that is not there", func(b *market.HourBucket) { b.Prev = d.w.st.Hours.Len() })
	edit("of another pool", func(b *market.HourBucket) { b.Pool++ })
	edit("of this hour", func(b *market.HourBucket) { b.Hour = now })
	edit("of the next hour", func(b *market.HourBucket) { b.Hour = now + 1 })
	edit("of the hour before it in the list", func(b *market.HourBucket) { b.Hour = d.w.st.Hours.At(prev).Hour })
	edit("without swaps", func(b *market.HourBucket) { b.Swaps = 0 })
	d.by("bucket: listed by no pool", func(l *Ledger) { Pools.in(l).Mut(traded).LastHour = market.NoIndex })

	f := func(name string, hour uint32) {
		d.by("the oldest bucket: "+name, func(l *Ledger) {
			Hours.in(l).Mut(last).Prev = market.NoIndex
			Hours.in(l).Mut(last).Hour = hour
		})
	}
	f("the last hour of a day that is kept whole", market.OldestHour(day)-1)
	f("the first hour of that day", market.OldestHour(day)-24)
	f("the oldest day", (day-market.KeptDays)*24)
	f("a day older than that", (day-market.KeptDays-1)*24)
}

func (d *damages) days() {
	edit := func(name string, damage func(x *market.PoolDay)) {
		d.by("day of pool 0: "+name, func(l *Ledger) { damage(Days.in(l).Mut(0)) })
	}
	today := market.DayOf(d.w.st.Head.Time)
	made := market.DayOf(d.w.st.Pools.At(0).CreatedAt)

	edit("of pool 1", func(x *market.PoolDay) { x.Pool = 1 })
	edit("today", func(x *market.PoolDay) { x.Day = today })
	edit("tomorrow", func(x *market.PoolDay) { x.Day = today + 1 })
	edit("the first", func(x *market.PoolDay) { x.Day = made })
	edit("before the first", func(x *market.PoolDay) { x.Day = made - 1 })
	edit("all prices one", func(x *market.PoolDay) { x.Open, x.High, x.Low = x.Close, x.Close, x.Close })
	edit("low above open", func(x *market.PoolDay) { x.High, x.Open, x.Low = x.Close, clmath.U256{1}, x.Close })
	edit("low above close", func(x *market.PoolDay) {
		x.Low = x.Close
		x.Low[0]++
		x.Open, x.High = x.Low, x.Low
	})
	edit("open above high", func(x *market.PoolDay) {
		x.Low, x.High, x.Open = x.Close, x.Close, x.Close
		x.Open[0]++
	})
	edit("close above high", func(x *market.PoolDay) {
		x.Low, x.Open, x.High = clmath.U256{1}, clmath.U256{1}, x.Close
		x.High[0]--
	})
	edit("another close", func(x *market.PoolDay) { x.Close = x.High; x.High[0]++; x.Close[0]++ })
	edit("an hour too late", func(x *market.PoolDay) { x.EventHour = market.HoursOfDay + 1 })
	edit("an hour below its close", func(x *market.PoolDay) { x.EventHour, x.HourHigh, x.HourLow = 1, 0, 0 })
	edit("an hour above its close", func(x *market.PoolDay) {
		x.EventHour, x.HourHigh, x.HourLow = 1, math.Inf(1), 2*clmath.Float64(&x.Close)
	})
	edit("an hour of its close alone", func(x *market.PoolDay) {
		root := clmath.Float64(&x.Close)
		x.EventHour, x.HourHigh, x.HourLow = market.HoursOfDay, root, root
	})
	edit("another tick", func(x *market.PoolDay) { x.Tick++ })
	edit("more liquidity", func(x *market.PoolDay) { x.Liquidity.Lo++ })
	edit("another fee growth 0", func(x *market.PoolDay) { x.FeeGrowthGlobal0X128[0]++ })
	edit("another fee growth 1", func(x *market.PoolDay) { x.FeeGrowthGlobal1X128[0]++ })
	edit("another amount 0", func(x *market.PoolDay) { x.Amount0[1]++ })
	edit("another amount 1", func(x *market.PoolDay) { x.Amount1[1]++ })
}

func (d *damages) minutes() {
	full := uint32(0)
	for m := d.w.st.Minutes.At(full); m.Minute[(m.Newest+market.MinuteSlots-2)%market.MinuteSlots] == 0; {
		full++
		m = d.w.st.Minutes.At(full)
	}
	edit := func(name string, damage func(m *market.Minutes)) {
		d.by("minutes: "+name, func(l *Ledger) { damage(Minutes.in(l).Mut(full)) })
	}
	back := func(m *market.Minutes, n uint32) *uint32 {
		return &m.Minute[(m.Newest+market.MinuteSlots-n)%market.MinuteSlots]
	}

	edit("no such slot", func(m *market.Minutes) { m.Newest = market.MinuteSlots })
	edit("a later one", func(m *market.Minutes) { *back(m, 0)++ })
	edit("one twice", func(m *market.Minutes) { *back(m, 1) = *back(m, 0) })
	edit("out of order", func(m *market.Minutes) { *back(m, 2) = *back(m, 1) + 1 })
	edit("a gap", func(m *market.Minutes) { *back(m, 1) = 0 })
	edit("one after the oldest", func(m *market.Minutes) { *back(m, market.MinuteSlots-1) = *back(m, 0) })
	d.by("minutes: a later swap", func(l *Ledger) { Pools.in(l).Mut(full).LastSwapAt += 3600 })
}
