package market

import "tidemark/rankings/clmath"

// DynamicFee is the fee in the key of a pool whose hook sets the fee.
const DynamicFee = 0x800000

// NoFee is the LastFee of a pool before its first swap.
const NoFee = NoIndex

// Pool is the state of one pool. TickLists, Days, Minutes and Stats have a record
// for each pool at the same index. What the rows of its positions are computed from
// stands first. A record takes four cache lines.
type Pool struct {
	Currency0, Currency1 uint32 // tokens
	Tick                 int32
	// Quarantined: an event of the pool contradicted earlier ones. Its price,
	// liquidity, ticks and sums are as before that event, and not to be trusted.
	Quarantined bool
	// Others is the share of the liquidity in range, in percent, that did not
	// belong to its largest holder when the hour began. It stops at 50, and is 0
	// if it was not computed.
	Others uint8

	SqrtPriceX96         clmath.U256
	FeeGrowthGlobal0X128 clmath.U256
	FeeGrowthGlobal1X128 clmath.U256
	Liquidity            clmath.U128

	ID           PoolID
	Hooks        Address
	Fee          uint32 // of the key: pips, or DynamicFee
	TickSpacing  int32
	LastHour     uint32 // the pool's newest HourBucket, or NoIndex
	CreatedAt    int64  // unix seconds
	CreatedBlock uint64

	ProtocolFee uint32 // pips: low 12 bits zeroForOne, high 12 bits oneForZero
	LastFee     uint32 // LP fee of the last swap, pips; NoFee before the first

	LastSwapAt       int64 // unix seconds; 0 before the first
	Swaps            uint64
	LiquidityChanges uint64

	OpenPositions uint32 // NFT positions with liquidity
	Holders       uint32 // distinct owners of those

	// Held tells for each token whether the pool counted as a market of it when
	// the hour began: 0 for no, NoIndex for yes. Any other value is the hour since
	// which the pool no longer qualifies and is kept as a market for a while; see
	// package value.
	Held [2]uint32
}

// HeldPool is a change of a pool's Held and Others at the start of an hour.
type HeldPool struct {
	Pool   uint32
	Held   [2]uint32
	Others uint8
}

// IsDynamic reports whether a hook decides the pool's fee.
func (p *Pool) IsDynamic() bool { return p.Fee == DynamicFee }

// ShownFee returns the fee that rows show, in pips: that of the key, or of a dynamic
// pool's last swap. It is NoFee before the first.
func (p *Pool) ShownFee() uint32 {
	if p.IsDynamic() {
		return p.LastFee
	}
	return p.Fee
}

// The swaps of a pool are kept by the hour for HourlyDays UTC days before the
// running one, and by the day for KeptDays: the longest rolling window.
const (
	HourlyDays = 7
	KeptDays   = 30
)

// OldestHour returns the hour from which on buckets are of single hours, on a day.
func OldestHour(day uint32) uint32 { return (max(day, HourlyDays) - HourlyDays) * 24 }

// HourBucket sums the swaps of one pool in one hour, or in one UTC day if Hour is
// before OldestHour, which is then the day's first one. The buckets of a pool form
// a linked list, newest first; those older than KeptDays are freed.
type HourBucket struct {
	// What format 6 of the store and earlier kept of raw amounts. Nothing reads them;
	// rows and undos from there keep them, so that they stay what they are: the checksum of
	// an undo is over its whole rows. They are 0 in later ones.
	In0, In1, Fees0, Fees1 clmath.U128
	// USD at the hour's own prices. A swap whose input has no price counts its
	// output; if neither has one, the sum is Unknown.
	VolumeUsd, FeesUsd float64
	Close              float64 // sqrtPriceX96 after the hour's last swap
	Pool, Hour         uint32
	Prev               uint32 // next older bucket of the pool, or NoIndex
	Swaps              uint32
}

// PoolDay is one UTC day of a pool. State.Days has the newest day of each pool;
// ended days are in the store. Prices are sqrtPriceX96.
type PoolDay struct {
	Open, High, Low, Close clmath.U256
	FeeGrowthGlobal0X128   clmath.U256 // at the day's end
	FeeGrowthGlobal1X128   clmath.U256
	Amount0, Amount1       clmath.U256 // raw principal of the liquidity at the day's end, to a float's precision
	Liquidity              clmath.U128
	VolumeUsd, FeesUsd     float64 // sums over the day's hours
	Price0Usd, Price1Usd   float64 // of the last hour with an event, or the day's last
	Pool, Day              uint32
	Tick                   int32
	Swaps                  uint32

	// Of the running day, and in the series of an ended one: the UTC hour of its newest
	// event plus one, 1 to 24, or 0 for none, and the highest and lowest sqrtPriceX96 of
	// that hour so far. What the hour sums up is in the series only; that of the running
	// day is in the pool's newest bucket.
	EventHour                  uint8
	HourHigh, HourLow          float64
	HourVolumeUsd, HourFeesUsd float64
}

// ForgetHour clears what a day has of its newest hour.
func (d *PoolDay) ForgetHour() {
	d.EventHour, d.HourHigh, d.HourLow, d.HourVolumeUsd, d.HourFeesUsd = 0, 0, 0, 0, 0
}

// CloseWith sets what a day has of its pool as that is at its end, but for the amounts.
func (d *PoolDay) CloseWith(p *Pool) {
	d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
	d.FeeGrowthGlobal0X128, d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal0X128, p.FeeGrowthGlobal1X128
}

// ClosesWith reports whether CloseWith would leave a day as it is.
func (d *PoolDay) ClosesWith(p *Pool) bool {
	return d.Close == p.SqrtPriceX96 && d.Tick == p.Tick && d.Liquidity == p.Liquidity &&
		d.FeeGrowthGlobal0X128 == p.FeeGrowthGlobal0X128 &&
		d.FeeGrowthGlobal1X128 == p.FeeGrowthGlobal1X128
}

// PoolHour is one UTC hour of a pool, after its end. Only hours with events have
// one. The last of a day follows from the day. Prices are sqrtPriceX96.
type PoolHour struct {
	Close                clmath.U256
	FeeGrowthGlobal0X128 clmath.U256
	FeeGrowthGlobal1X128 clmath.U256
	Amount0, Amount1     float64 // raw principal of the liquidity
	VolumeUsd, FeesUsd   float64 // of the hour
	High, Low            float64
	Pool, Day            uint32
	Hour                 uint32 // of the day, 0 to 23
	Tick                 int32
}

// MinuteSlots is how many minute closes a pool keeps for its price median.
const MinuteSlots = 32

// Minutes is a ring buffer of a pool's newest minute closes: the sqrtPriceX96
// after the last swap of each minute that had one.
type Minutes struct {
	Sqrt   [MinuteSlots]float64
	Minute [MinuteSlots]uint32 // minutes since the epoch; 0: no entry
	Newest uint32              // the slot of the newest close
}

// PoolStats is the USD statistics of a pool, computed for each generation by
// package value.
type PoolStats struct {
	// Holdings is what the pool holds of its two tokens, in raw units and without fees.
	// Unknown in a store of an earlier format.
	Holdings     [2]float64
	TVLUsd       float64
	VolumeUsd1h  float64
	VolumeUsd24h float64
	VolumeUsd7d  float64
	VolumeUsd30d float64
	FeesUsd1h    float64
	FeesUsd24h   float64
	FeesUsd7d    float64
	FeesUsd30d   float64
	FeeAPR       float64 // percent a year, before the clamp
	CurrentPrice float64 // token1 per token0, whole units
	Unpriced     bool    // a leg has no price; TVLUsd has only the other leg
	Unrealizable bool    // a leg counts for less than its amount times its price
}

// SamePriced reports whether what follows from prices is the same in two stats.
func (s *PoolStats) SamePriced(o *PoolStats) bool {
	return SameValue(s.TVLUsd, o.TVLUsd) && SameValue(s.FeeAPR, o.FeeAPR) &&
		SameValue(s.CurrentPrice, o.CurrentPrice) &&
		s.Unpriced == o.Unpriced && s.Unrealizable == o.Unrealizable
}
