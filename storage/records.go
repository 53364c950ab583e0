package storage

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The walks of the tables' records, in the order of tables.go. A reading walk
// expects a zero record.

func codeToken(c *coder, t *market.Token) {
	symbol, name := t.Symbol != nil, t.Name != nil
	c.flags("flags", &symbol, &name, &t.BadDecimals, &t.HourCorroborated)

	// The flags say which of the two texts follow.
	c.fixed("address", t.Address[:])
	c.text("symbol", symbol, &t.Symbol)
	c.text("name", name, &t.Name)
	c.small("decimals", &t.Decimals, 255)
	c.usd("hourUsd", &t.HourUsd)
	c.u32("hourAt", &t.HourAt)
	c.i64("hourAsOf", &t.HourAsOf)
	c.index("hourOnlyPool", &t.HourOnlyPool)
	c.u16("hourMarkets", &t.HourMarkets)
	c.small("hourSource", (*uint8)(&t.HourSource), uint8(market.SourceFeed))
	c.small("hourReason", (*uint8)(&t.HourReason), uint8(market.LastReason))
	c.usd("hourExitUsd", &t.HourExitUsd)
	c.u32("priceLostAt", &t.PriceLostAt)
	c.u32("trustLostAt", &t.TrustLostAt)
}

func codeOwner(c *coder, a *market.Address) { c.fixed("address", a[:]) }

func codePool(c *coder, p *market.Pool) {
	hooks := !p.Hooks.IsZero()
	c.flags("flags", &hooks, &p.Quarantined)
	c.fixed("id", p.ID[:])
	c.u32("currency0", &p.Currency0)
	c.u32("currency1", &p.Currency1)
	if hooks {
		c.fixed("hooks", p.Hooks[:])
		c.require("hooks", !p.Hooks.IsZero())
	}

	c.u32("fee", &p.Fee)
	c.i32("tickSpacing", &p.TickSpacing)
	c.i64("createdAt", &p.CreatedAt)
	c.u64("createdBlock", &p.CreatedBlock)
	c.u256("sqrtPriceX96", &p.SqrtPriceX96)
	c.u256("feeGrowthGlobal0X128", &p.FeeGrowthGlobal0X128)
	c.u256("feeGrowthGlobal1X128", &p.FeeGrowthGlobal1X128)
	c.u128("liquidity", &p.Liquidity)
	c.i32("tick", &p.Tick)
	c.u32("protocolFee", &p.ProtocolFee)
	c.index("lastFee", &p.LastFee)
	c.i64("lastSwapAt", &p.LastSwapAt)
	c.u64("swaps", &p.Swaps)
	c.u64("liquidityChanges", &p.LiquidityChanges)
	c.u32("openPositions", &p.OpenPositions)
	c.u32("holders", &p.Holders)
	c.index("lastHour", &p.LastHour)
	c.index("held0", &p.Held[0])
	c.index("held1", &p.Held[1])
	c.small("others", &p.Others, 100)
}

func codeDay(c *coder, d *market.PoolDay) {
	c.index("pool", &d.Pool)
	c.u32("day", &d.Day)
	codePoolDay(c, d)
}

// codePoolDay leaves out Pool and Day, which are in the key.
func codePoolDay(c *coder, d *market.PoolDay) {
	c.u256("open", &d.Open)
	c.u256("high", &d.High)
	c.u256("low", &d.Low)
	c.u256("close", &d.Close)
	c.u256("feeGrowthGlobal0X128", &d.FeeGrowthGlobal0X128)
	c.u256("feeGrowthGlobal1X128", &d.FeeGrowthGlobal1X128)
	c.u256("amount0", &d.Amount0)
	c.u256("amount1", &d.Amount1)
	c.u128("liquidity", &d.Liquidity)
	c.i32("tick", &d.Tick)

	c.u32("swaps", &d.Swaps)
	c.usd("volumeUsd", &d.VolumeUsd)
	c.usd("feesUsd", &d.FeesUsd)
	c.usd("price0Usd", &d.Price0Usd)
	c.usd("price1Usd", &d.Price1Usd)
}

// codeMinutes codes all parts of a ring, for undos.
func codeMinutes(c *coder, m *market.Minutes) {
	newest := 0
	for part := range uint32(ringParts) {
		r := ringPartOf(m, part)
		if c.read {
			r = ringPart{}
		}
		codeRingPart(c, &r)
		r.copyTo(m, part)
		if r.newest != 0 {
			newest++
		}
	}

	c.require("newest", newest == 1)
}

func codeTick(c *coder, t *market.Tick) {
	c.index("pool", &t.Pool)
	c.i32("tick", &t.Tick)
	c.u32("lastDay", &t.LastDay)
	c.u256("sqrtPriceX96", &t.SqrtPriceX96)
	c.u256("feeGrowthOutside0X128", &t.FeeGrowthOutside0X128)
	c.u256("feeGrowthOutside1X128", &t.FeeGrowthOutside1X128)
	c.u128("liquidityGross", &t.LiquidityGross)
	c.i128("liquidityNet", &t.LiquidityNet)
	c.lateU32("secondsOutside", &t.SecondsOutside)
}

func codePosition(c *coder, p *market.Position) {
	closed := hasClose(p)
	c.flags("flags", &closed, &p.Burned, &p.GasUnknown, &p.HookDelta, &p.Timed)

	c.u64("id", &p.ID)
	c.u32("pool", &p.Pool)
	c.u32("owner", &p.Owner)
	c.i32("tickLower", &p.TickLower)
	c.i32("tickUpper", &p.TickUpper)
	c.index("lowerSlot", &p.LowerSlot)
	c.index("upperSlot", &p.UpperSlot)
	c.index("overflow", &p.Overflow)
	c.u32("entries", &p.Entries)
	c.u128("liquidity", &p.Liquidity)
	c.u256("feeGrowthInside0LastX128", &p.FeeGrowthInside0LastX128)
	c.u256("feeGrowthInside1LastX128", &p.FeeGrowthInside1LastX128)
	c.u128("deposited0", &p.Deposited0)
	c.u128("deposited1", &p.Deposited1)
	c.u128("withdrawn0", &p.Withdrawn0)
	c.u128("withdrawn1", &p.Withdrawn1)
	c.u128("collected0", &p.Collected0)
	c.u128("collected1", &p.Collected1)
	c.u128("gasWei", &p.GasWei)
	c.usd("costUsd", &p.CostUsd)
	c.i64("mintedAt", &p.MintedAt)

	// Most positions are open and have no close record.
	if closed {
		c.time32("closedAt", &p.ClosedAt)
		codeClose(c, &p.Close[0])
		codeClose(c, &p.Close[1])
		c.usd("closeNativeUsd", &p.CloseNativeUsd)
		c.require("closeNativeUsd", hasClose(p))
	}

	// Positions that were minted in format 4 or before have none.
	if p.Timed {
		c.u32("secondsInside", &p.SecondsInside)
		c.u32("secondsClosed", &p.SecondsClosed)
	}
}

func hasClose(p *market.Position) bool {
	return p.ClosedAt != 0 || p.Close != [2]market.ClosePrice{} || p.CloseNativeUsd != 0
}

func codeClose(c *coder, p *market.ClosePrice) {
	c.flags("close.flags", &p.Corroborated)
	c.usd("close.usd", &p.Usd)
	c.i64("close.asOf", &p.AsOf)
	c.u16("close.markets", &p.Markets)
	c.small("close.source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.small("close.reason", (*uint8)(&p.Reason), uint8(market.LastReason))
}

func codeOverflow(c *coder, s *market.Sums) {
	for _, f := range []struct {
		field string
		v     *clmath.U256
	}{
		{"deposited0", &s.Deposited0}, {"deposited1", &s.Deposited1},
		{"withdrawn0", &s.Withdrawn0}, {"withdrawn1", &s.Withdrawn1},
		{"collected0", &s.Collected0}, {"collected1", &s.Collected1},
	} {
		c.u256(f.field, f.v)
	}
}

func codeNonNFT(c *coder, d *market.NonNFT) {
	salted := !d.Salt.IsZero()
	c.flags("flags", &salted)
	c.u32("pool", &d.Pool)
	c.fixed("sender", d.Sender[:])
	c.i32("tickLower", &d.TickLower)
	c.i32("tickUpper", &d.TickUpper)
	if salted {
		c.fixed("salt", d.Salt[:])
		c.require("salt", !d.Salt.IsZero())
	}

	c.u128("liquidity", &d.Liquidity)
	c.u256("feeGrowthInside0LastX128", &d.FeeGrowthInside0LastX128)
	c.u256("feeGrowthInside1LastX128", &d.FeeGrowthInside1LastX128)
}

func codeHour(c *coder, h *market.HourBucket) {
	c.index("pool", &h.Pool)
	c.u32("hour", &h.Hour)
	c.index("prev", &h.Prev)
	c.u32("swaps", &h.Swaps)
	c.u128("in0", &h.In0)
	c.u128("in1", &h.In1)
	c.u128("fees0", &h.Fees0)
	c.u128("fees1", &h.Fees1)
	c.usd("volumeUsd", &h.VolumeUsd)
	c.usd("feesUsd", &h.FeesUsd)
	c.usd("close", &h.Close)
}

func codePrice(c *coder, p *market.Price) {
	c.flags("flags", &p.Corroborated, &p.Anchor)
	c.small("source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.small("reason", (*uint8)(&p.Reason), uint8(market.LastReason))
	c.usd("usd", &p.Usd)
	c.i64("asOf", &p.AsOf)
	c.usd("exitUsd", &p.ExitUsd)
	c.index("onlyPool", &p.OnlyPool)
	c.u16("markets", &p.Markets)
}

func codeStats(c *coder, s *market.PoolStats) {
	c.flags("flags", &s.Unpriced, &s.Unrealizable)
	c.usd("tvlUsd", &s.TVLUsd)
	c.usd("volumeUsd24h", &s.VolumeUsd24h)
	c.usd("volumeUsd7d", &s.VolumeUsd7d)
	c.usd("feesUsd24h", &s.FeesUsd24h)
	c.usd("feesUsd7d", &s.FeesUsd7d)
	c.usd("feeApr", &s.FeeAPR)
	c.usd("currentPrice", &s.CurrentPrice)

	// Format 4 and earlier have no such windows: they are not known.
	late := [4]*float64{&s.VolumeUsd1h, &s.FeesUsd1h, &s.VolumeUsd30d, &s.FeesUsd30d}
	if c.late(anyKnown(late)) {
		c.usd("volumeUsd1h", &s.VolumeUsd1h)
		c.usd("feesUsd1h", &s.FeesUsd1h)
		c.usd("volumeUsd30d", &s.VolumeUsd30d)
		c.usd("feesUsd30d", &s.FeesUsd30d)
		c.require("feesUsd30d", anyKnown(late))
	} else if c.read {
		for _, usd := range late {
			*usd = market.Unknown
		}
	}
}

func anyKnown(usd [4]*float64) bool {
	return slices.ContainsFunc(usd[:], func(x *float64) bool { return market.Known(*x) })
}

// codeTransaction leaves out Position, Block and LogIndex, which are in the key.
func codeTransaction(c *coder, t *market.Transaction) {
	gas := hasGas(t)
	c.small("type", (*uint8)(&t.Type), uint8(market.Transfer))
	c.flags("flags", &t.Moved, &t.GasUnknown, &gas)
	c.fixed("txHash", t.TxHash[:])
	c.i64("time", &t.Time)
	c.u256("amount0", &t.Amount0)
	c.u256("amount1", &t.Amount1)
	c.u256("fees0", &t.Fees0)
	c.u256("fees1", &t.Fees1)
	c.i128("liquidityDelta", &t.LiquidityDelta)
	if t.Moved {
		c.fixed("from", t.From[:])
		c.fixed("to", t.To[:])
	}

	if gas {
		c.u64("gasUsed", &t.GasUsed)
		c.u128("gasPrice", &t.GasPrice)
		c.u128("gasWei", &t.GasWei)
		c.require("gasWei", hasGas(t))
	}

	c.usd("price0Usd", &t.Price0Usd)
	c.usd("price1Usd", &t.Price1Usd)
	c.usd("nativeUsd", &t.NativeUsd)
}

func hasGas(t *market.Transaction) bool {
	return t.GasUsed != 0 || !t.GasPrice.IsZero() || !t.GasWei.IsZero()
}

// codeTickDay leaves out Pool, Tick and Day, which are in the key.
func codeTickDay(c *coder, t *market.TickDay) {
	c.u256("feeGrowthOutside0X128", &t.FeeGrowthOutside0X128)
	c.u256("feeGrowthOutside1X128", &t.FeeGrowthOutside1X128)
}

// codeHourPrice leaves out Token and Hour, which are in the key.
func codeHourPrice(c *coder, p *ledger.HourEntry) {
	c.usd("usd", &p.Usd)
	c.i64("asOf", &p.AsOf)
	c.index("onlyPool", &p.OnlyPool)
	c.u16("markets", &p.Markets)
	c.small("source", (*uint8)(&p.Source), uint8(market.SourceFeed))
	c.small("reason", (*uint8)(&p.Reason), uint8(market.LastReason))
	c.flags("flags", &p.Corroborated)
	c.usd("exitUsd", &p.ExitUsd)
	c.u32("priceLostAt", &p.PriceLostAt)
	c.u32("trustLostAt", &p.TrustLostAt)
}
