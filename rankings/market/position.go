package market

import "tidemark/rankings/clmath"

// Position is one NFT of the position manager, burned ones included. Records
// stand in order of ID, because ids are minted ascending.
type Position struct {
	ID                   uint64
	Pool, Owner          uint32 // Owner: the last one, after a burn
	TickLower, TickUpper int32
	LowerSlot, UpperSlot uint32 // tick records; meaningful while Liquidity > 0
	Overflow             uint32 // index in State.Overflow when a sum passed 128 bits, else NoIndex
	Entries              uint32 // how many Transactions it has

	Liquidity                clmath.U128
	FeeGrowthInside0LastX128 clmath.U256
	FeeGrowthInside1LastX128 clmath.U256

	// Sums since the mint in raw units; read them through State.Sums.
	Deposited0, Deposited1 clmath.U128
	Withdrawn0, Withdrawn1 clmath.U128
	Collected0, Collected1 clmath.U128
	GasWei                 clmath.U128 // its share of what its transactions paid

	// CostUsd is withdrawn + collected - deposited - gas, every flow at its
	// value when it happened; Unknown when one of them was.
	CostUsd float64

	MintedAt       int64 // unix seconds of the first mint
	ClosedAt       int64 // unix seconds; 0 while open
	Close          [2]ClosePrice
	CloseNativeUsd float64

	Burned     bool
	GasUnknown bool // a receipt was missing
	HookDelta  bool // a hook may have kept part of a change: see Pool.Hooks bits 0 and 1
}

// IsOpen reports whether the position has liquidity (isActive).
func (p *Position) IsOpen() bool { return !p.Liquidity.IsZero() }

// ClosePrice freezes a leg's price at the closing block.
type ClosePrice struct {
	Usd          float64 // Unknown also when it was the position's own pool's word
	AsOf         int64
	Markets      uint16
	Source       Source
	Reason       Reason // why Usd is Unknown
	Corroborated bool
}

// Sums are a position's totals since its mint, in raw units.
type Sums struct {
	Deposited0, Deposited1 clmath.U256
	Withdrawn0, Withdrawn1 clmath.U256
	Collected0, Collected1 clmath.U256
}

// NonNFT is liquidity of a sender other than the position manager: it moves
// ticks, liquidity and TVL and is never listed.
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

// Transaction is one entry of a position's history: one ModifyLiquidity, or a
// Transfer that stands for itself.
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
	Moved            bool // From and To are given
	From, To         Address
	// Gas is the position's share and stands on its first entry of a
	// transaction only; all 0 on later ones.
	GasUsed    uint64
	GasPrice   clmath.U128
	GasWei     clmath.U128
	GasUnknown bool
	// USD per whole token by the hour's record; Unknown when there was none.
	Price0Usd, Price1Usd, NativeUsd float64
}
