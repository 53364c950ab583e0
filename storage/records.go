package storage

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The walks of the tables' records, in the order of tables.go. A reading walk
// expects a zero record.

func codeToken(c *field.Coder, t *market.Token) {
	symbol, name := t.Symbol != 0, t.Name != 0
	c.Flags("flags", &symbol, &name, &t.BadDecimals, &t.HourCorroborated)

	// The flags say which of the two texts follow.
	c.Fixed("address", t.Address[:])
	c.Text("symbol", symbol, &t.Symbol)
	c.Text("name", name, &t.Name)
	c.Small("decimals", &t.Decimals, 255)
	c.USD("hourUsd", &t.HourUsd)
	c.U32("hourAt", &t.HourAt)
	c.I64("hourAsOf", &t.HourAsOf)
	c.Index("hourOnlyPool", &t.HourOnlyPool)
	c.U16("hourMarkets", &t.HourMarkets)
	c.Small("hourSource", (*uint8)(&t.HourSource), uint8(market.SourceFeed))
	c.Small("hourReason", (*uint8)(&t.HourReason), uint8(market.LastReason))
	c.USD("hourExitUsd", &t.HourExitUsd)
	c.U32("priceLostAt", &t.PriceLostAt)
	c.U32("trustLostAt", &t.TrustLostAt)
}

func codeOwner(c *field.Coder, a *market.Address) { c.Fixed("address", a[:]) }

// codePool walks a whole pool: what never changes, then the rest.
func codePool(c *field.Coder, p *market.Pool) {
	hooks := !p.Hooks.IsZero()
	c.Flags("flags", &hooks, &p.Quarantined)
	c.Fixed("id", p.ID[:])
	c.U32("currency0", &p.Currency0)
	c.U32("currency1", &p.Currency1)
	if hooks {
		c.Fixed("hooks", p.Hooks[:])
		c.Require("hooks", !p.Hooks.IsZero())
	}

	c.U32("fee", &p.Fee)
	c.I32("tickSpacing", &p.TickSpacing)
	c.I64("createdAt", &p.CreatedAt)
	c.U64("createdBlock", &p.CreatedBlock)
	codePoolChanges(c, p)
}

// codePoolState walks what changes of a pool.
func codePoolState(c *field.Coder, p *market.Pool) {
	c.Flags("flags", &p.Quarantined)
	codePoolChanges(c, p)
}

// codePoolChanges is codePoolState without its flags.
func codePoolChanges(c *field.Coder, p *market.Pool) {
	c.U256("sqrtPriceX96", &p.SqrtPriceX96)
	c.U256("feeGrowthGlobal0X128", &p.FeeGrowthGlobal0X128)
	c.U256("feeGrowthGlobal1X128", &p.FeeGrowthGlobal1X128)
	c.U128("liquidity", &p.Liquidity)
	c.I32("tick", &p.Tick)

	c.U32("protocolFee", &p.ProtocolFee)
	c.Index("lastFee", &p.LastFee)
	c.I64("lastSwapAt", &p.LastSwapAt)
	c.U64("swaps", &p.Swaps)
	c.U64("liquidityChanges", &p.LiquidityChanges)
	c.U32("openPositions", &p.OpenPositions)
	c.U32("holders", &p.Holders)
	c.Index("lastHour", &p.LastHour)
	c.Index("held0", &p.Held[0])
	c.Index("held1", &p.Held[1])
	c.Small("others", &p.Others, 100)
}

func codeDay(c *field.Coder, d *market.PoolDay) {
	c.Index("pool", &d.Pool)
	c.U32("day", &d.Day)
	codePoolDay(c, d)
	codeRunningHour(c, d)
}

// codeRunningHour walks what a day has of its running hour. Format 5 and earlier
// have none.
func codeRunningHour(c *field.Coder, d *market.PoolDay) {
	if c.Late(d.EventHour != 0) {
		c.Small("eventHour", &d.EventHour, market.HoursOfDay)
		c.F64("hourHigh", &d.HourHigh)
		c.F64("hourLow", &d.HourLow)
		c.Require("eventHour", d.EventHour != 0)
	}
}

// codeDayEntry walks a day as the series has it: without Pool and Day, which are in the
// key. Up to format 6 a day has no hour. The running day has none in any format, and from
// format 11 on it also lacks the fields that equal its pool's; see openday.go.
func codeDayEntry(c *field.Coder, d *market.PoolDay) {
	mark := d.EventHour
	if !c.Read && mark == 0 && isOpen(d) {
		mark = openDayMark
	}
	c.Mark("eventHour", &mark, openDayMark)
	if mark == openDayMark {
		codeOpenDay(c, d)
		return
	}

	if c.Read {
		d.EventHour = mark
	}
	if mark != 0 {
		c.F64("hourHigh", &d.HourHigh)
		c.F64("hourLow", &d.HourLow)
		c.USD("hourVolumeUsd", &d.HourVolumeUsd)
		c.USD("hourFeesUsd", &d.HourFeesUsd)
	}
	codePoolDay(c, d)
	c.Require("close", mark != 0 || !isOpen(d))
}

// codePoolDay leaves out Pool, Day and the newest hour.
func codePoolDay(c *field.Coder, d *market.PoolDay) {
	codeExtremes(c, d)
	c.U256("close", &d.Close)
	c.U256("feeGrowthGlobal0X128", &d.FeeGrowthGlobal0X128)
	c.U256("feeGrowthGlobal1X128", &d.FeeGrowthGlobal1X128)
	c.U256("amount0", &d.Amount0)
	c.U256("amount1", &d.Amount1)
	c.U128("liquidity", &d.Liquidity)
	c.I32("tick", &d.Tick)
	codeDaySums(c, d)
}

func codeExtremes(c *field.Coder, d *market.PoolDay) {
	c.U256("open", &d.Open)
	c.U256("high", &d.High)
	c.U256("low", &d.Low)
}

func codeDaySums(c *field.Coder, d *market.PoolDay) {
	c.U32("swaps", &d.Swaps)
	c.USD("volumeUsd", &d.VolumeUsd)
	c.USD("feesUsd", &d.FeesUsd)
	c.USD("price0Usd", &d.Price0Usd)
	c.USD("price1Usd", &d.Price1Usd)
}

// codeMinutes codes all parts of a ring, for undos.
func codeMinutes(c *field.Coder, m *market.Minutes) {
	newest := 0
	for part := range uint32(ringParts) {
		r := ringPartOf(m, part)
		if c.Read {
			r = ringPart{}
		}
		codeRingPart(c, &r)
		if c.Read {
			r.copyTo(m, part)
		}
		if r.newest != 0 {
			newest++
		}
	}

	c.Require("newest", newest == 1)
}

func codeTick(c *field.Coder, t *market.Tick) {
	c.Index("pool", &t.Pool)
	c.I32("tick", &t.Tick)
	day, hour := t.LastDay(), t.LastHour%market.HoursOfDay
	c.U32("lastDay", &day)
	c.U256("sqrtPriceX96", &t.SqrtPriceX96)
	c.U256("feeGrowthOutside0X128", &t.FeeGrowthOutside0X128)
	c.U256("feeGrowthOutside1X128", &t.FeeGrowthOutside1X128)
	c.U128("liquidityGross", &t.LiquidityGross)
	c.I128("liquidityNet", &t.LiquidityNet)

	// Format 4 and earlier have no seconds, format 5 no hour.
	if c.Late(t.SecondsOutside != 0 || hour != 0) {
		c.U32("secondsOutside", &t.SecondsOutside)
		c.LateU32("lastHour", &hour)
		c.Require("lastHour", hour < market.HoursOfDay && (t.SecondsOutside != 0 || hour != 0))
	}
	last := uint64(day)*market.HoursOfDay + uint64(hour)
	c.Require("lastDay", last <= math.MaxUint32)
	if c.Read {
		t.LastHour = uint32(last)
	}
}

func codePosition(c *field.Coder, p *market.Position) {
	c.Flags("flags", &p.Closed, &p.Burned, &p.GasUnknown, &p.HookDelta, &p.Timed)

	c.U64("id", &p.ID)
	c.U32("pool", &p.Pool)
	c.U32("owner", &p.Owner)
	c.I32("tickLower", &p.TickLower)
	c.I32("tickUpper", &p.TickUpper)
	c.Index("lowerSlot", &p.LowerSlot)
	c.Index("upperSlot", &p.UpperSlot)
	c.Index("overflow", &p.Overflow)
	c.U32("entries", &p.Entries)
	codeLiquidity(c, p)
	c.U256("feeGrowthInside0LastX128", &p.FeeGrowthInside0LastX128)
	c.U256("feeGrowthInside1LastX128", &p.FeeGrowthInside1LastX128)
	c.U128("deposited0", &p.Deposited0)
	c.U128("deposited1", &p.Deposited1)
	c.U128("withdrawn0", &p.Withdrawn0)
	c.U128("withdrawn1", &p.Withdrawn1)
	c.U128("collected0", &p.Collected0)
	c.U128("collected1", &p.Collected1)
	c.U128("gasWei", &p.GasWei)
	c.USD("costUsd", &p.CostUsd)
	c.Time32("mintedAt", &p.MintedAt)

	// Most positions are open and have no close record.
	if p.Closed {
		c.Time32("closedAt", &p.ClosedAt)
		legs := [2]market.ClosePrice{p.Close(0), p.Close(1)}
		codeClose(c, &legs[0])
		codeClose(c, &legs[1])
		c.USD("closeNativeUsd", &p.CloseNativeUsd)
		if c.Read {
			p.SetClose(legs)
		}
	}

	// Positions that were minted in format 4 or before have none.
	if p.Timed {
		c.U32("secondsInside", &p.SecondsInside)
		c.U32("secondsClosed", &p.SecondsClosed)
	}
}

// codeLiquidity walks the liquidity, which a closed position has none of.
func codeLiquidity(c *field.Coder, p *market.Position) {
	liquidity := p.Liquidity()
	c.U128("liquidity", &liquidity)
	c.Require("liquidity", !p.Closed || liquidity.IsZero())
	if c.Read && !p.Closed {
		p.LiquidityOrUsd = liquidity
	}
}

func codeClose(c *field.Coder, p *market.ClosePrice) {
	c.Flags("close.flags", &p.Corroborated)
	c.USD("close.usd", &p.Usd)
	asOf := uint32(p.AsOf)
	c.Time32("close.asOf", &asOf)
	p.AsOf = int64(asOf)
	c.U16("close.markets", &p.Markets)
	c.Small("close.source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.Small("close.reason", (*uint8)(&p.Reason), uint8(market.LastReason))
}

func codeOverflow(c *field.Coder, s *market.Sums) {
	for _, f := range []struct {
		field string
		v     *clmath.U256
	}{
		{"deposited0", &s.Deposited0}, {"deposited1", &s.Deposited1},
		{"withdrawn0", &s.Withdrawn0}, {"withdrawn1", &s.Withdrawn1},
		{"collected0", &s.Collected0}, {"collected1", &s.Collected1},
	} {
		c.U256(f.field, f.v)
	}
}

func codeNonNFT(c *field.Coder, d *market.NonNFT) {
	salted := !d.Salt.IsZero()
	c.Flags("flags", &salted)
	c.U32("pool", &d.Pool)
	c.Fixed("sender", d.Sender[:])
	c.I32("tickLower", &d.TickLower)
	c.I32("tickUpper", &d.TickUpper)
	if salted {
		c.Fixed("salt", d.Salt[:])
		c.Require("salt", !d.Salt.IsZero())
	}

	c.U128("liquidity", &d.Liquidity)
	c.U256("feeGrowthInside0LastX128", &d.FeeGrowthInside0LastX128)
	c.U256("feeGrowthInside1LastX128", &d.FeeGrowthInside1LastX128)
}

func codeHour(c *field.Coder, h *market.HourBucket) {
	c.Index("pool", &h.Pool)
	c.U32("hour", &h.Hour)
	c.Index("prev", &h.Prev)
	c.U32("swaps", &h.Swaps)
	c.U128("in0", &h.In0)
	c.U128("in1", &h.In1)
	c.U128("fees0", &h.Fees0)
	c.U128("fees1", &h.Fees1)
	c.USD("volumeUsd", &h.VolumeUsd)
	c.USD("feesUsd", &h.FeesUsd)
	c.USD("close", &h.Close)
}

func codePrice(c *field.Coder, p *market.Price) {
	c.Flags("flags", &p.Corroborated, &p.Anchor)
	c.Small("source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.Small("reason", (*uint8)(&p.Reason), uint8(market.LastReason))
	c.USD("usd", &p.Usd)
	c.I64("asOf", &p.AsOf)
	c.USD("exitUsd", &p.ExitUsd)
	c.Index("onlyPool", &p.OnlyPool)
	c.U16("markets", &p.Markets)
}

// codeTransaction leaves out Position, Block and LogIndex, which are in the key.
func codeTransaction(c *field.Coder, t *market.Transaction) {
	gas := hasGas(t)
	c.Small("type", (*uint8)(&t.Type), uint8(market.Transfer))
	c.Flags("flags", &t.Moved, &t.GasUnknown, &gas)
	c.Fixed("txHash", t.TxHash[:])
	c.I64("time", &t.Time)
	c.U256("amount0", &t.Amount0)
	c.U256("amount1", &t.Amount1)
	c.U256("fees0", &t.Fees0)
	c.U256("fees1", &t.Fees1)
	c.I128("liquidityDelta", &t.LiquidityDelta)
	if t.Moved {
		c.Fixed("from", t.From[:])
		c.Fixed("to", t.To[:])
	}

	if gas {
		c.U64("gasUsed", &t.GasUsed)
		c.U128("gasPrice", &t.GasPrice)
		c.U128("gasWei", &t.GasWei)
		c.Require("gasWei", hasGas(t))
	}

	c.USD("price0Usd", &t.Price0Usd)
	c.USD("price1Usd", &t.Price1Usd)
	c.USD("nativeUsd", &t.NativeUsd)
}

func hasGas(t *market.Transaction) bool {
	return t.GasUsed != 0 || !t.GasPrice.IsZero() || !t.GasWei.IsZero()
}

// codeTickDay leaves out Pool, Tick and Day, which are in the key. Format 6 and earlier
// have no hour.
func codeTickDay(c *field.Coder, t *market.TickDay) {
	c.Mark("hour", &t.Hour, market.HoursOfDay)
	c.U256("feeGrowthOutside0X128", &t.FeeGrowthOutside0X128)
	c.U256("feeGrowthOutside1X128", &t.FeeGrowthOutside1X128)
}

// codePoolHour leaves out Pool, Day and Hour, which are in the key.
func codePoolHour(c *field.Coder, h *market.PoolHour) {
	c.U256("close", &h.Close)
	c.U256("feeGrowthGlobal0X128", &h.FeeGrowthGlobal0X128)
	c.U256("feeGrowthGlobal1X128", &h.FeeGrowthGlobal1X128)
	c.F64("amount0", &h.Amount0)
	c.F64("amount1", &h.Amount1)
	c.I32("tick", &h.Tick)
	c.F64("high", &h.High)
	c.F64("low", &h.Low)
	c.USD("volumeUsd", &h.VolumeUsd)
	c.USD("feesUsd", &h.FeesUsd)
}

// codeTickHour leaves out Pool, Tick, Day and Hour, which are in the key.
func codeTickHour(c *field.Coder, t *market.TickHour) {
	c.U256("feeGrowthOutside0X128", &t.FeeGrowthOutside0X128)
	c.U256("feeGrowthOutside1X128", &t.FeeGrowthOutside1X128)
}

// codeHourPrice leaves out Token and Hour, which are in the key.
func codeHourPrice(c *field.Coder, p *ledger.HourEntry) {
	c.USD("usd", &p.Usd)
	c.I64("asOf", &p.AsOf)
	c.Index("onlyPool", &p.OnlyPool)
	c.U16("markets", &p.Markets)
	c.Small("source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.Small("reason", (*uint8)(&p.Reason), uint8(market.LastReason))
	c.Flags("flags", &p.Corroborated)
	c.USD("exitUsd", &p.ExitUsd)
	c.U32("priceLostAt", &p.PriceLostAt)
	c.U32("trustLostAt", &p.TrustLostAt)
}
