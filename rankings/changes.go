package rankings

import (
	"math/bits"
	"slices"

	"tidemark/rankings/market"
)

// Changes is what the events of a chain changed between two generations of it.
// Prices and the passing of time move every number of every row, and are not
// changes: those are a position's events, the pool's tick that enters or leaves
// its range, and a pool's events. What happened in between and was undone by the
// next event of the same row is not told.
type Changes struct {
	Since uint64 // the generation before
	At    int64  // when it was published, unix milliseconds
	// Reverted: blocks of the earlier generation were replaced. The rows listed are
	// then all that differ, with those that no longer exist and those whose events came
	// to something else, and their kinds say nothing.
	Reverted bool
	// Unknown: the changes are not listed, because they are too many or the earlier
	// generation is not in memory.
	Unknown bool

	Positions []PositionChange // ascending by id
	Pools     []PoolChange

	given []givenPosition // those of Positions that had another owner, in their order
}

// PositionChange is a change of one position. A position that changed and entered
// or left its range has two.
type PositionChange struct {
	ID    uint64
	Owner market.Address // of the later generation
	Kind  ChangeKind
}

// givenPosition is a change of a position that another owner had in the earlier
// generation. Few have one, so that changes do without.
type givenPosition struct {
	at   int // in Changes.Positions
	from market.Address
}

func (g givenPosition) compare(at int) int { return g.at - at }

// PoolChange is a change of one pool: Opened or Changed.
type PoolChange struct {
	ID   market.PoolID
	Kind ChangeKind
}

// ChangeKind is what happened to a row.
type ChangeKind uint8

const (
	Opened       ChangeKind = iota // minted with liquidity, or opened again; a new pool
	Closed                         // its last liquidity was removed
	Changed                        // any other event: liquidity, fees, owner; of a pool also swaps
	EnteredRange                   // of an open position
	LeftRange
)

func (k ChangeKind) String() string {
	return [...]string{"opened", "closed", "changed", "in_range", "out_of_range"}[k]
}

// Len returns how many changes are listed.
func (c *Changes) Len() int { return len(c.Positions) + len(c.Pools) }

// OwnerBefore returns the owner in the earlier generation of the position of a change.
func (c *Changes) OwnerBefore(at int) market.Address {
	i, given := slices.BinarySearchFunc(c.given, at, givenPosition.compare)
	if !given {
		return c.Positions[at].Owner
	}
	return c.given[i].from
}

// maxChanges is the most changes that are listed. A generation of a million
// positions with more of them would take as long to tell as to ask again.
const maxChanges = 1 << 16

// ChangesSince returns the changes from prev to v, which must follow it, or nil if
// prev is nil. reverted reports that blocks of prev were reverted; at is now, in
// unix milliseconds; pause is called as BuildPaced does. It costs one comparison of
// pointers for 64 rows, and one of records for those beside one that was written.
func (v *View) ChangesSince(prev *View, reverted bool, at int64, pause func()) *Changes {
	if prev == nil {
		return nil
	}

	f := changeFinder{was: prev, is: v, pause: pause}
	f.Since, f.Reverted, f.At = prev.Generation, reverted, at
	if prev.Warm() && v.Warm() {
		f.comparePositions()
		f.comparePools()
	} else {
		f.Unknown = true
	}

	if f.Len() > maxChanges {
		f.Unknown = true
	}
	if f.Unknown {
		f.Positions, f.Pools, f.given = nil, nil, nil
	}

	// A pointer into f would keep both views for as long as the log has the changes, and the
	// list would keep the room that it has grown to.
	found := f.Changes
	found.Positions = slices.Clone(f.Positions)
	return &found
}

// changeFinder compares two views.
type changeFinder struct {
	Changes
	was, is *View
	pause   func()
}

// comparePositions goes through the chunks of both tables. A word of a bitmap has
// the rows of one chunk.
func (f *changeFinder) comparePositions() {
	was, is := &f.was.State.Positions, &f.is.State.Positions
	most := max(was.Len(), is.Len())
	for first := uint32(0); first < most && f.Len() <= maxChanges; first += market.ChunkLen {
		if !sharedChunk(was, is, first) {
			for i := first; i < min(first+market.ChunkLen, most); i++ {
				f.comparePosition(i)
			}
			f.pause()
			continue
		}

		// The rows are the same, and their pools' ticks may have moved.
		for turned := f.turnedRange(first); turned != 0; turned &= turned - 1 {
			f.tellRange(first + uint32(bits.TrailingZeros64(turned)))
		}
	}
}

// sharedChunk reports whether two snapshots of a table share the chunk that begins
// at row first, and both have all its rows.
func sharedChunk[T any](a, b *market.Frozen[T], first uint32) bool {
	if first >= min(a.Len(), b.Len()) || a.At(first) != b.At(first) {
		return false
	}
	return a.Len() == b.Len() || first+market.ChunkLen <= min(a.Len(), b.Len())
}

// turnedRange returns the open rows of a chunk that entered or left their range.
func (f *changeFinder) turnedRange(first uint32) uint64 {
	was, is, w := f.was.columns, f.is.columns, first/market.ChunkLen
	both := was.open.Words()[w] & is.open.Words()[w]
	return both & (was.inRange.Words()[w] ^ is.inRange.Words()[w])
}

// comparePosition compares row i, which one of the views may lack.
func (f *changeFinder) comparePosition(i uint32) {
	was, is := rowAt(&f.was.State.Positions, i), rowAt(&f.is.State.Positions, i)
	if was != nil && (is == nil || was.ID != is.ID) {
		f.Reverted = true // no event removes a row
		f.tell(Closed, was, was)
		was = nil
	}

	switch {
	case is == nil:
	case (was == nil || !was.IsOpen()) && is.IsOpen():
		f.tell(Opened, was, is)
	case (was == nil || was.IsOpen()) && !is.IsOpen():
		f.tell(Closed, was, is)
	default:
		if !sameHistory(was, is) || !f.sameNames(was, is) || f.Reverted && !sameResult(was, is) {
			f.tell(Changed, was, is)
		}
		if is.IsOpen() && f.was.columns.inRange.Has(i) != f.is.columns.inRange.Has(i) {
			f.tellRange(i)
		}
	}
}

// rowAt returns row i of a table, or nil if it has none.
func rowAt[T any](t *market.Frozen[T], i uint32) *T {
	if i >= t.Len() {
		return nil
	}
	return t.At(i)
}

// sameHistory reports whether no event touched a position that both views have: an
// event changes one of these, also one that a reorg put in the place of another.
func sameHistory(a, b *market.Position) bool {
	return a.Entries == b.Entries && a.Owner == b.Owner && a.Liquidity() == b.Liquidity() &&
		a.Burned == b.Burned && a.MintedAt == b.MintedAt && a.ClosedAt == b.ClosedAt &&
		a.Pool == b.Pool && a.TickLower == b.TickLower && a.TickUpper == b.TickUpper &&
		a.FeeGrowthInside0LastX128 == b.FeeGrowthInside0LastX128 &&
		a.FeeGrowthInside1LastX128 == b.FeeGrowthInside1LastX128 &&
		a.Deposited0 == b.Deposited0 && a.Deposited1 == b.Deposited1 &&
		a.Withdrawn0 == b.Withdrawn0 && a.Withdrawn1 == b.Withdrawn1 &&
		a.Collected0 == b.Collected0 && a.Collected1 == b.Collected1 && a.GasWei == b.GasWei
}

// sameResult reports whether the events of a position came to the same. A reorg that leaves
// them as they were may change the prices of their hours, and the ticks that a closed
// position went through.
func sameResult(a, b *market.Position) bool {
	if !market.SameValue(a.CostUsd, b.CostUsd) || !market.SameValue(a.CloseNativeUsd, b.CloseNativeUsd) {
		return false
	}
	return !a.Closed || a.SecondsInside == b.SecondsInside && a.LiquidityOrUsd == b.LiquidityOrUsd &&
		a.CloseAsOf == b.CloseAsOf && a.CloseMarkets == b.CloseMarkets && a.CloseSource == b.CloseSource &&
		a.CloseReason == b.CloseReason && a.CloseCorroborated == b.CloseCorroborated
}

// sameNames reports whether the owner and the pool of a position that both views have are the
// same. Those that a reorg put in the place of others have their numbers.
func (f *changeFinder) sameNames(was, is *market.Position) bool {
	before, now := f.was.State, f.is.State
	return *before.Owners.At(was.Owner) == *now.Owners.At(is.Owner) &&
		before.Pools.At(was.Pool).ID == now.Pools.At(is.Pool).ID
}

// tellRange adds that row i, which both views have, entered or left its range.
func (f *changeFinder) tellRange(i uint32) {
	kind := LeftRange
	if f.is.columns.inRange.Has(i) {
		kind = EnteredRange
	}
	f.tell(kind, f.was.State.Positions.At(i), f.is.State.Positions.At(i))
}

// tell adds a change of a position from was, nil if it is new, to is.
func (f *changeFinder) tell(kind ChangeKind, was, is *market.Position) {
	owners := &f.is.State.Owners
	if was == is { // it is gone, and its owner may be
		owners = &f.was.State.Owners
	}

	c := PositionChange{ID: is.ID, Kind: kind, Owner: *owners.At(is.Owner)}
	if was != nil {
		if from := *f.was.State.Owners.At(was.Owner); from != c.Owner {
			f.given = append(f.given, givenPosition{len(f.Positions), from})
		}
	}
	f.Positions = append(f.Positions, c)
}

// comparePools compares the pools as comparePositions does the positions.
func (f *changeFinder) comparePools() {
	was, is := &f.was.State.Pools, &f.is.State.Pools
	most := max(was.Len(), is.Len())
	for first := uint32(0); first < most && f.Len() <= maxChanges; first += market.ChunkLen {
		if sharedChunk(was, is, first) {
			continue
		}
		for i := first; i < min(first+market.ChunkLen, most); i++ {
			f.comparePool(rowAt(was, i), rowAt(is, i))
		}
	}
}

// comparePool compares a pool, which one of the views may lack.
func (f *changeFinder) comparePool(was, is *market.Pool) {
	if was != nil && (is == nil || was.ID != is.ID) {
		f.Reverted = true
		f.Pools = append(f.Pools, PoolChange{was.ID, Changed})
		was = nil
	}

	switch {
	case is == nil:
	case was == nil:
		f.Pools = append(f.Pools, PoolChange{is.ID, Opened})
	case !sameEvents(was, is):
		f.Pools = append(f.Pools, PoolChange{is.ID, Changed})
	}
}

// sameEvents reports whether no event touched a pool. What the ledger notes at
// the start of an hour is not one.
func sameEvents(a, b *market.Pool) bool {
	x, y := *a, *b
	for _, p := range []*market.Pool{&x, &y} {
		p.Held, p.Others, p.LastHour = [2]uint32{}, 0, 0
	}
	return x == y
}
