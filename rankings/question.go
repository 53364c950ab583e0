package rankings

import "tidemark/rankings/market"

// PositionSort orders positions; the direction is part of it.
type PositionSort uint8

// The position sorts, as the parameter sort spells them.
const (
	ByAPR PositionSort = iota
	ByFeeAPR
	ByROI
	ByPnl
	ByUnderlyingValue
	ByAge // youngest first
	ByIDAscending
	ByIDDescending
)

// PositionSorts are the names of the position sorts, in the order of the
// constants.
var PositionSorts = []string{
	"apr", "fee_apr", "roi", "pnl", "underlying_value", "age", "nft_id_asc", "nft_id_desc",
}

// PoolSort orders pools; the direction is part of it.
type PoolSort uint8

// The pool sorts, as the parameter sort spells them.
const (
	ByTVL PoolSort = iota
	ByVolume
	ByFees
	ByPoolFeeAPR
	ByPoolAge // oldest first
)

// PoolSorts are the names of the pool sorts, in the order of the constants.
var PoolSorts = []string{"tvl", "volume", "fees", "fee_apr", "age"}

// Status selects open positions, closed ones or both.
type Status uint8

// The values of Status; the first is the default.
const (
	Active Status = iota
	Inactive
	AnyStatus
)

// Statuses are the names of Status, in the order of the constants.
var Statuses = []string{"active", "inactive", "all"}

// Range selects by the pool's tick: a position with tickLower <= tick < tickUpper
// is in range, whether or not it has liquidity.
type Range uint8

// The values of Range; the first is the default.
const (
	AnyRange Range = iota
	InRange
	OutOfRange
)

// Ranges are the names of Range, in the order of the constants.
var Ranges = []string{"all", "in", "out"}

func (s PositionSort) String() string { return PositionSorts[s] }
func (s PoolSort) String() string     { return PoolSorts[s] }
func (s Status) String() string       { return Statuses[s] }
func (r Range) String() string        { return Ranges[r] }

// The defaults of a question's page and of the floors that have one.
const (
	DefaultLimit         = 20
	DefaultMinPoolTVLUsd = 1000
)

// KeyFilter selects pools by their key. The zero value selects all.
type KeyFilter struct {
	Tokens []market.Address // one or two, ascending: the pool has them all
	Fee    *uint32          // the fee that rows show, in pips; an unknown one is none
	Hooks  *market.Address  // exactly these; zero: no hooks
	Hooked bool             // any hooks
}

// IsSet reports whether the filter leaves out any pool.
func (f *KeyFilter) IsSet() bool {
	return len(f.Tokens) > 0 || f.Fee != nil || f.Hooks != nil || f.Hooked
}

// PositionQuestion asks for a page of positions. A row must pass every filter,
// including those that have their default value.
type PositionQuestion struct {
	Chain         market.ChainID // 0: all chains in one ranking
	Sort          PositionSort
	Page, Limit   uint64
	Status        Status
	Range         Range
	Owner         *market.Address
	Pool          *market.PoolID
	Key           KeyFilter // of the position's pool
	ID            *uint64
	NoSuchID      bool    // positionId was given, and no position can have it
	MinValueUsd   float64 // floors are inclusive; 0 and below admit the unknown
	MinPoolTVLUsd float64
	IncludeRisky  bool
}

// DefaultPositionQuestion is the question without any parameter.
func DefaultPositionQuestion() PositionQuestion {
	return PositionQuestion{Page: 1, Limit: DefaultLimit, MinPoolTVLUsd: DefaultMinPoolTVLUsd}
}

// Offset returns the number of rows before the page. It stops at maxOffset.
func (q *PositionQuestion) Offset() uint64 { return Offset(q.Page, q.Limit) }

// PoolQuestion asks for a page of pools.
type PoolQuestion struct {
	Chain        market.ChainID // 0: all chains in one ranking
	Sort         PoolSort
	Page, Limit  uint64
	Key          KeyFilter
	MinTVLUsd    float64
	IncludeRisky bool   // ignored when Search is set
	Search       string // as it was sent; empty: no search
}

// DefaultPoolQuestion is the question without any parameter.
func DefaultPoolQuestion() PoolQuestion { return PoolQuestion{Page: 1, Limit: DefaultLimit} }

// Offset returns the number of rows before the page. It stops at maxOffset.
func (q *PoolQuestion) Offset() uint64 { return Offset(q.Page, q.Limit) }

// maxOffset is above every possible count of rows (2^32 a chain), and low enough
// that adding a limit to it does not overflow.
const maxOffset = 1 << 60

// Offset returns the number of rows before a page. It stops at maxOffset.
func Offset(page, limit uint64) uint64 {
	if page <= 1 || limit == 0 {
		return 0
	}
	if page-1 > maxOffset/limit {
		return maxOffset
	}
	return (page - 1) * limit
}
