package market

import (
	"math"

	"tidemark/rankings/clmath"
)

// Position is one NFT of the position manager, burned or not. Records are in
// order of ID, because ids are minted ascending.
//
// A record takes four and a half cache lines, and is small because there are so many.
// What the row of an open position is made from is in the first four.
type Position struct {
	ID          uint64
	Pool, Owner uint32 // Owner: the last one, after a burn
	MintedAt    uint32 // unix seconds of the first mint
	// SecondsInside is the time that a closed position spent in its range while it
	// was open. While it is open, it is the seconds inside of its range less those
	// of earlier openings; see State.SecondsInRange.
	SecondsInside uint32

	Closed     bool // it has ClosePrices, and no liquidity
	Burned     bool
	GasUnknown bool // a receipt was missing
	HookDelta  bool // a hook may have kept part of a change; see bits 0 and 1 of Pool.Hooks
	Timed      bool // SecondsInside and SecondsClosed are known

	CloseCorroborated [2]bool // of the ClosePrices, as the fields at the end

	// The claim of an open position is made from its pool, its ticks and what follows, until
	// the sums: 96 bytes, which are in two cache lines wherever a record begins.
	TickLower, TickUpper int32
	LowerSlot, UpperSlot uint32 // indexes in State.Ticks; valid while it has liquidity

	// LiquidityOrUsd is the liquidity until the position closes, and then the bits of the
	// USD of both ClosePrices. Nobody but the methods below reads or writes it.
	LiquidityOrUsd clmath.U128

	FeeGrowthInside0LastX128 clmath.U256
	FeeGrowthInside1LastX128 clmath.U256

	// Sums since the mint in raw units; read them through State.Sums.
	Deposited0, Deposited1 clmath.U128
	Withdrawn0, Withdrawn1 clmath.U128
	Collected0, Collected1 clmath.U128
	GasWei                 clmath.U128 // its share of its transactions' gas; saturates

	// CostUsd is withdrawn + collected - deposited - gas, every flow valued when it
	// happened; Unknown if the value of one of them was.
	CostUsd float64

	Overflow      uint32 // index in State.Overflow if a sum passed 128 bits, else NoIndex
	SecondsClosed uint32 // between a close and the opening that followed it
	ClosedAt      uint32 // unix seconds; 0 while open
	Entries       uint32 // number of its Transactions

	CloseNativeUsd float64
	CloseAsOf      [2]uint32 // unix seconds
	CloseMarkets   [2]uint16
	CloseSource    [2]Source
	CloseReason    [2]Reason
}

// IsOpen reports whether the position has liquidity (isActive).
func (p *Position) IsOpen() bool { return !p.Closed && !p.LiquidityOrUsd.IsZero() }

// Liquidity returns the liquidity of the position.
func (p *Position) Liquidity() clmath.U128 {
	if p.Closed {
		return clmath.U128{}
	}
	return p.LiquidityOrUsd
}

// OpenLiquidity is Liquidity of a position that is known to be open. It does not read that,
// which may be a cache line more.
func (p *Position) OpenLiquidity() clmath.U128 { return p.LiquidityOrUsd }

// SetLiquidity sets the liquidity. A position that was closed has no ClosePrices then.
func (p *Position) SetLiquidity(v clmath.U128) {
	p.Closed, p.LiquidityOrUsd = false, v
	p.CloseCorroborated, p.CloseAsOf, p.CloseMarkets = [2]bool{}, [2]uint32{}, [2]uint16{}
	p.CloseSource, p.CloseReason = [2]Source{}, [2]Reason{}
}

// ClosePrice is the price of a leg when the position closed.
type ClosePrice struct {
	Usd          float64 // Unknown also if only the position's own pool priced it
	AsOf         int64   // unix seconds
	Markets      uint16
	Source       Source
	Reason       Reason // why Usd is Unknown
	Corroborated bool
}

// Close returns the price of a leg at which the position closed, nothing if it did not.
func (p *Position) Close(leg int) ClosePrice {
	if !p.Closed {
		return ClosePrice{}
	}
	usd := [2]uint64{p.LiquidityOrUsd.Lo, p.LiquidityOrUsd.Hi}
	return ClosePrice{
		Usd: math.Float64frombits(usd[leg]), AsOf: int64(p.CloseAsOf[leg]),
		Markets: p.CloseMarkets[leg], Source: p.CloseSource[leg], Reason: p.CloseReason[leg],
		Corroborated: p.CloseCorroborated[leg],
	}
}

// SetClose closes the position at the prices of its legs: it has no liquidity from then
// on. Times are those of blocks and fit 32 bits; what does not is the nearest that does.
func (p *Position) SetClose(legs [2]ClosePrice) {
	p.Closed = true
	p.LiquidityOrUsd = clmath.U128{Lo: bitsOf(legs[0].Usd), Hi: bitsOf(legs[1].Usd)}
	for leg := range legs {
		c := &legs[leg]
		p.CloseAsOf[leg] = uint32(min(max(c.AsOf, 0), math.MaxUint32))
		p.CloseMarkets[leg], p.CloseSource[leg] = c.Markets, c.Source
		p.CloseReason[leg], p.CloseCorroborated[leg] = c.Reason, c.Corroborated
	}
}

// bitsOf returns the bits of a price, the same ones for all that is Unknown.
func bitsOf(usd float64) uint64 {
	if !Known(usd) {
		usd = Unknown
	}
	return math.Float64bits(usd)
}

// SecondsInRange is that of the State, for a pool that is not quarantined: at its tick, and,
// of an open position, at a time in unix seconds and by its ticks' SecondsOutside.
func (p *Position) SecondsInRange(
	tick int32, now, outsideLower, outsideUpper uint32,
) (inRange, open uint32, ok bool) {
	// The differences fit 32 bits even if their terms do not.
	since := p.MintedAt + p.SecondsClosed
	switch {
	case !p.Timed:
		return 0, 0, false
	case !p.IsOpen():
		return p.SecondsInside, p.ClosedAt - since, true
	}

	inside := clmath.SecondsInside(tick, p.TickLower, p.TickUpper, now, outsideLower, outsideUpper)
	return inside - p.SecondsInside, now - since, true
}

// Sums are a position's totals since its mint, in raw units, of up to 256 bits.
type Sums struct {
	Deposited0, Deposited1 clmath.U256
	Withdrawn0, Withdrawn1 clmath.U256
	Collected0, Collected1 clmath.U256
}

// NonNFT is liquidity of a sender other than the position manager. It counts in
// ticks, pool liquidity and TVL, and is never listed.
type NonNFT struct {
	Pool                     uint32
	Sender                   Address
	TickLower, TickUpper     int32
	Salt                     Hash
	Liquidity                clmath.U128
	FeeGrowthInside0LastX128 clmath.U256
	FeeGrowthInside1LastX128 clmath.U256
}

// TransactionType is how a transaction entry changed a position.
type TransactionType uint8

// The types, as transactions[].type spells them.
const (
	Mint     TransactionType = iota // liquidityDelta > 0
	Burn                            // liquidityDelta < 0
	Collect                         // liquidityDelta = 0
	Transfer                        // the owner changed
)

// Transaction is one entry of a position's history: one ModifyLiquidity, or one
// Transfer that neither mints nor burns liquidity.
type Transaction struct {
	Position         uint32
	Type             TransactionType
	Block            uint64
	LogIndex         uint32
	TxHash           Hash
	Time             int64       // unix seconds
	Amount0, Amount1 clmath.U256 // principal
	Fees0, Fees1     clmath.U256 // paid out by the same change
	LiquidityDelta   clmath.I128
	Moved            bool // the NFT was transferred; From and To are set
	From, To         Address
	// Gas is the position's share. It is on its first entry of a transaction; later
	// ones of the same transaction have 0.
	GasUsed    uint64
	GasPrice   clmath.U128
	GasWei     clmath.U128
	GasUnknown bool
	// USD per whole token in that hour; Unknown if there was no price.
	Price0Usd, Price1Usd, NativeUsd float64
}
