package market

// State is everything known of one chain at one block. A generation is computed
// from it, and its rows are read from it. It is immutable.
type State struct {
	Chain ChainID
	Head  Head

	Tokens    Frozen[Token]
	Owners    Frozen[Address]
	Pools     Frozen[Pool]
	TickLists TickLists
	Days      Frozen[PoolDay]
	Minutes   Frozen[Minutes]
	Ticks     Frozen[Tick]
	Positions Frozen[Position]
	Overflow  Frozen[Sums]
	NonNFT    Frozen[NonNFT]
	Hours     Frozen[HourBucket]

	// Prices (by token) and Stats (by pool) are computed for the generation.
	Prices Frozen[Price]
	Stats  Frozen[PoolStats]

	// DaysFrom is one more than the first UTC day whose swaps are all in Hours or
	// were freed as too old. It is 1 but for stores that began in a format that kept
	// fewer days; 0 stands for 1.
	DaysFrom uint32
	// HoursFrom is one more than the first hour since which the store has the end of
	// every hour with events. It is 1 but for stores that began in a format without
	// them; 0 means that there are none.
	HoursFrom uint32

	// Native is the token index of the native currency; as long as no pool has it, that of
	// its wrapped form, which is worth the same; or NoIndex.
	Native       uint32
	Transactions uint64 // history entries of all positions
	OpenCount    uint32 // NFT positions with liquidity
}

// Now returns the time of the State's block in unix seconds. Ages, annual rates
// and rolling windows are relative to it.
func (s *State) Now() int64 { return s.Head.Time }

// Sums returns the totals of a position, from the overflow table if it has an
// entry there.
func (s *State) Sums(p *Position) Sums {
	if p.Overflow != NoIndex {
		return *s.Overflow.At(p.Overflow)
	}
	return Sums{
		Deposited0: p.Deposited0.U256(), Deposited1: p.Deposited1.U256(),
		Withdrawn0: p.Withdrawn0.U256(), Withdrawn1: p.Withdrawn1.U256(),
		Collected0: p.Collected0.U256(), Collected1: p.Collected1.U256(),
	}
}

// SecondsInRange returns how long a position has been open, and how much of that
// its pool's tick was in its range, by the times of blocks. A closed position
// stands still; one that was opened again continues. ok is false if the seconds
// are not known: those of positions in a quarantined pool, and of positions that
// were minted before the store counted them.
func (s *State) SecondsInRange(p *Position) (inRange, open uint32, ok bool) {
	pool := s.Pools.At(p.Pool)
	switch {
	case pool.Quarantined:
		return 0, 0, false
	case !p.IsOpen():
		return p.SecondsInRange(pool.Tick, 0, 0, 0)
	}
	return p.SecondsInRange(pool.Tick, uint32(s.Now()), s.Ticks.At(p.LowerSlot).SecondsOutside,
		s.Ticks.At(p.UpperSlot).SecondsOutside)
}
