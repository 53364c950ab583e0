package market

import "tidemark/rankings/clmath"

// DynamicFee is the fee of a pool key whose fee a hook decides.
const DynamicFee = 0x800000

// NoFee is the LastFee of a pool in which nothing was swapped yet.
const NoFee = NoIndex

// Pool is the state of one pool. TickLists, Days, Minutes and Stats have one
// record for each pool under the same index.
type Pool struct {
	ID                   PoolID
	Currency0, Currency1 uint32 // tokens
	Hooks                Address
	Fee                  uint32 // of the key: pips, or DynamicFee
	TickSpacing          int32
	CreatedAt            int64 // unix seconds
	CreatedBlock         uint64

	SqrtPriceX96         clmath.U256
	FeeGrowthGlobal0X128 clmath.U256
	FeeGrowthGlobal1X128 clmath.U256
	Liquidity            clmath.U128
	Tick                 int32
	ProtocolFee          uint32 // low 12 bits zeroForOne, high 12 oneForZero, pips
	LastFee              uint32 // LP fee of the last swap, pips; NoFee before the first

	LastSwapAt       int64 // unix seconds; 0 before the first
	Swaps            uint64
	LiquidityChanges uint64

	OpenPositions uint32 // NFT positions with liquidity
	Holders       uint32 // distinct owners of those
	LastHour      uint32 // the pool's newest HourBucket, or NoIndex

	// Quarantined: an event of the pool contradicted those before it. Its price,
	// liquidity, ticks and sums are those of before, and are worth nothing now.
	Quarantined bool

	// Held says of each token whether the pool was a market of it when the
	// hour began: 0 for no, NoIndex for yes, else the hour since which it is
	// one only because it was; see package value.
	Held [2]uint32
	// Others is how many percent of the liquidity in range belonged to others
	// than its largest holder when the hour began: 50 for half and more, 0
	// also when nobody asked.
	Others uint8
}

// HeldPool is what the beginning of an hour changes of a pool.
type HeldPool struct {
	Pool   uint32
	Held   [2]uint32
	Others uint8
}

// IsDynamic reports whether a hook decides the pool's fee.
func (p *Pool) IsDynamic() bool { return p.Fee == DynamicFee }

// HourBucket sums the swaps of one pool in one hour. The buckets of a pool are
// a list from the newest back; those older than the longest window are freed.
type HourBucket struct {
	In0, In1     clmath.U128 // input side of the swaps, fee included; saturates
	Fees0, Fees1 clmath.U128 // to liquidity providers: less the protocol's part; saturates
	// USD at the prices of the hour's own record. A swap whose input has no
	// price counts with its output; without either the sum is Unknown.
	VolumeUsd, FeesUsd float64
	Close              float64 // sqrtPriceX96 after the hour's last swap
	Pool, Hour         uint32
	Prev               uint32 // next older bucket of the pool, or NoIndex
	Swaps              uint32
}

// PoolDay is one UTC day of a pool: the day that is not over lives in
// State.Days, ended ones in the store. Prices are sqrtPriceX96.
type PoolDay struct {
	Open, High, Low, Close clmath.U256
	FeeGrowthGlobal0X128   clmath.U256 // at the day's end
	FeeGrowthGlobal1X128   clmath.U256
	Amount0, Amount1       clmath.U256 // in the pool at the day's end, by walking its ticks
	Liquidity              clmath.U128
	VolumeUsd, FeesUsd     float64 // sums over the day's hours
	Price0Usd, Price1Usd   float64 // the record of the day's last hour so far
	Pool, Day              uint32
	Tick                   int32
	Swaps                  uint32
}

// MinuteSlots is how many minute closes a pool keeps for its price median.
const MinuteSlots = 32

// Minutes is the ring of a pool's newest minute closes: the sqrtPriceX96 after
// the last swap of each minute that had one, newest at Newest.
type Minutes struct {
	Sqrt   [MinuteSlots]float64
	Minute [MinuteSlots]uint32 // 0: no entry
	Newest uint32
}

// PoolStats is what a generation says of a pool's market; see package value.
type PoolStats struct {
	TVLUsd       float64
	VolumeUsd24h float64
	VolumeUsd7d  float64
	FeesUsd24h   float64
	FeesUsd7d    float64
	FeeAPR       float64 // percent a year, before the clamp
	CurrentPrice float64 // token1 per token0, whole units
	Unpriced     bool    // a leg has no price; TVLUsd is the other leg only
	Unrealizable bool    // a leg counts for less than its amount at its price
}
