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
	// ModifyLiquidity adds, removes (liquidityDelta < 0) or pokes (= 0).
	ModifyLiquidity struct {
		Pool                 PoolID
		Sender               Address
		TickLower, TickUpper int32
		LiquidityDelta       clmath.I128
		Salt                 Hash
	}
	// Swap carries the swapper's deltas: negative is paid into the pool.
	Swap struct {
		Pool             PoolID
		Sender           Address
		Amount0, Amount1 clmath.I128
		SqrtPriceX96     clmath.U256
		Liquidity        clmath.U128
		Tick             int32
		Fee              uint32
	}
	// Donate gives to the liquidity in range.
	Donate struct {
		Pool             PoolID
		Sender           Address
		Amount0, Amount1 clmath.U256
	}
	// ProtocolFeeUpdated sets a pool's protocol fee.
	ProtocolFeeUpdated struct {
		Pool        PoolID
		ProtocolFee uint32
	}
)

// The events of the position manager.
type (
	// TransferNFT moves a position; From zero mints it, To zero burns it.
	TransferNFT struct {
		From, To Address
		ID       uint64
	}
	// Subscription and Unsubscription change nothing that is served.
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
