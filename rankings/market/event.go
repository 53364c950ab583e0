package market

import "tidemark/rankings/clmath"

// Event is one decoded log of the two contracts.
type Event interface{ event() }

// The events of the pool manager.
type (
	// Initialize creates a pool.
	Initialize struct {
		Pool                 PoolID
		Currency0, Currency1 Address
		Fee                  uint32
		TickSpacing          int32
		Hooks                Address
		SqrtPriceX96         clmath.U256
		Tick                 int32
	}
	// ModifyLiquidity adds liquidity, removes it (LiquidityDelta < 0), or only
	// collects fees (LiquidityDelta = 0).
	ModifyLiquidity struct {
		Pool                 PoolID
		Sender               Address
		TickLower, TickUpper int32
		LiquidityDelta       clmath.I128
		Salt                 Hash
	}
	// Swap has the swapper's amounts: a negative one is paid into the pool. Price,
	// liquidity and tick are those after the swap; Fee is in pips.
	Swap struct {
		Pool             PoolID
		Sender           Address
		Amount0, Amount1 clmath.I128
		SqrtPriceX96     clmath.U256
		Liquidity        clmath.U128
		Tick             int32
		Fee              uint32
	}
	// Donate pays both amounts to the liquidity in range.
	Donate struct {
		Pool             PoolID
		Sender           Address
		Amount0, Amount1 clmath.U256
	}
	// ProtocolFeeUpdated sets a pool's protocol fee; see Pool.ProtocolFee.
	ProtocolFeeUpdated struct {
		Pool        PoolID
		ProtocolFee uint32
	}
)

// The events of the position manager.
type (
	// TransferNFT transfers a position. A zero From mints it; a zero To burns it.
	TransferNFT struct {
		From, To Address
		ID       uint64
	}
	// Subscription and Unsubscription have no effect on what is served.
	Subscription struct {
		ID         uint64
		Subscriber Address
	}
	Unsubscription struct {
		ID         uint64
		Subscriber Address
	}
)

func (Initialize) event()         {}
func (ModifyLiquidity) event()    {}
func (Swap) event()               {}
func (Donate) event()             {}
func (ProtocolFeeUpdated) event() {}
func (TransferNFT) event()        {}
func (Subscription) event()       {}
func (Unsubscription) event()     {}
