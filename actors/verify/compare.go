package verify

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Config says which contracts to ask and what to compare.
type Config struct {
	PoolManager     market.Address
	PositionManager market.Address
	// Sample bounds the pools and the positions that are compared, each; 0: all.
	Sample int
	// Turn chooses another sample at every number.
	Turn uint64
	// Good is the last block at which nothing differed; 0: none.
	Good uint64
}

// comparison is a run of Compare.
type comparison struct {
	Config
	reader
	st  *market.State
	out rankings.Verification

	slots  []slot
	checks []check
}

// check holds one word against what the ledger says of it.
type check struct {
	what, id, field string
	pool            uint32
	want            word
	mask            word  // of the bits that are compared; zero: all
	bitmap          int32 // of a word of a pool's tickBitmap: which one
}

// Compare holds a state against the contracts at its block. An error says that
// it could not be finished.
func Compare(
	ctx context.Context, ask Caller, st *market.State, c Config,
) (*rankings.Verification, error) {
	run := &comparison{Config: c, st: st, reader: reader{
		ask: ask, manager: c.PoolManager, positions: c.PositionManager, block: st.Head,
	}}

	run.out.Block = st.Head.Number
	for _, step := range []func(context.Context) error{
		run.checkBlock, run.comparePools, run.comparePositions, run.compareCount, run.compareBalances,
		run.checkBlock,
	} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("cannot verify block %d: %w", st.Head.Number, err)
		}
	}
	return &run.out, nil
}

// chosen reports whether item i of n is in the sample.
func (c *comparison) chosen(i, n uint32) bool {
	if c.Sample == 0 || n <= uint32(c.Sample) {
		return true
	}
	// Evenly spread: the steps of a line with the slope sample/n.
	at, all, sample := (uint64(i)+c.Turn)%uint64(n), uint64(n), uint64(c.Sample)
	return at*sample%all < sample
}

func (c *comparison) comparePools(ctx context.Context) error {
	for i := range c.st.Pools.Len() {
		if !c.chosen(i, c.st.Pools.Len()) {
			continue
		}

		p := c.st.Pools.At(i)
		at, id := poolSlot(p.ID), p.ID.String()
		c.add(at, check{what: "pool", id: id, field: "slot0", pool: i, want: slot0(p), mask: slot0Mask})
		c.add(at.plus(growth0Offset), check{what: "pool", id: id, field: "feeGrowthGlobal0X128",
			pool: i, want: word256(&p.FeeGrowthGlobal0X128)})
		c.add(at.plus(growth1Offset), check{what: "pool", id: id, field: "feeGrowthGlobal1X128",
			pool: i, want: word256(&p.FeeGrowthGlobal1X128)})
		c.add(at.plus(liquidityOffset), check{what: "pool", id: id, field: "liquidity",
			pool: i, want: word128(p.Liquidity)})
		for _, ref := range c.st.TickLists.At(i) {
			c.addTick(i, at, c.st.Ticks.At(ref.Slot))
		}
		c.addBitmap(i, at)

		if err := c.compareAdded(ctx, false); err != nil {
			return err
		}
	}
	return c.compareAdded(ctx, true)
}

func (c *comparison) addTick(pool uint32, at slot, t *market.Tick) {
	place := tickSlot(at, t.Tick)
	id := fmt.Sprintf("%s/%d", c.st.Pools.At(pool).ID, t.Tick)
	var liquidity word
	net, gross := word128(clmath.U128{Lo: t.LiquidityNet.Lo, Hi: uint64(t.LiquidityNet.Hi)}),
		word128(t.LiquidityGross)
	copy(liquidity[:16], net[16:])
	copy(liquidity[16:], gross[16:])
	c.add(place, check{what: "tick", id: id, field: "liquidity", pool: pool, want: liquidity})
	c.add(place.plus(1), check{what: "tick", id: id, field: "feeGrowthOutside0X128", pool: pool,
		want: word256(&t.FeeGrowthOutside0X128)})
	c.add(place.plus(2), check{what: "tick", id: id, field: "feeGrowthOutside1X128", pool: pool,
		want: word256(&t.FeeGrowthOutside1X128)})
}

func (c *comparison) comparePositions(ctx context.Context) error {
	var indexes []uint32
	next := uint64(1)
	for i := range c.st.Positions.Len() {
		p := c.st.Positions.At(i)
		c.reportMissing(next, p.ID)
		next = p.ID + 1
		if !c.chosen(i, c.st.Positions.Len()) {
			continue
		}
		c.addPosition(p.Pool, decimal(p.ID), p.Liquidity(), &p.FeeGrowthInside0LastX128,
			&p.FeeGrowthInside1LastX128, positionSlot(poolSlot(c.st.Pools.At(p.Pool).ID),
				c.PositionManager, p.TickLower, p.TickUpper, saltOf(p.ID)))
		indexes = append(indexes, i)
		if err := c.compareAdded(ctx, false); err != nil {
			return err
		}
	}

	for i := range c.st.NonNFT.Len() {
		if d := c.st.NonNFT.At(i); c.chosen(i, c.st.NonNFT.Len()) {
			c.addPosition(d.Pool, fmt.Sprintf("of %s", d.Sender), d.Liquidity,
				&d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128,
				positionSlot(poolSlot(c.st.Pools.At(d.Pool).ID), d.Sender, d.TickLower, d.TickUpper, d.Salt))
		}
	}

	if err := c.compareAdded(ctx, true); err != nil {
		return err
	}

	return c.compareOwners(ctx, indexes)
}

func (c *comparison) addPosition(
	pool uint32, id string, liquidity clmath.U128, inside0, inside1 *clmath.U256, at slot,
) {
	c.add(at, check{what: "position", id: id, field: "liquidity", pool: pool, want: word128(liquidity)})
	c.add(at.plus(1), check{what: "position", id: id, field: "feeGrowthInside0LastX128", pool: pool,
		want: word256(inside0)})
	c.add(at.plus(2), check{what: "position", id: id, field: "feeGrowthInside1LastX128", pool: pool,
		want: word256(inside1)})
}

func (c *comparison) compareOwners(ctx context.Context, indexes []uint32) error {
	ids := make([]uint64, len(indexes))
	for k, i := range indexes {
		ids[k] = c.st.Positions.At(i).ID
	}

	owners, err := c.readOwners(ctx, ids)
	if err != nil {
		return err
	}

	for k, i := range indexes {
		p := c.st.Positions.At(i)
		var want market.Address
		if !p.Burned {
			want = *c.st.Owners.At(p.Owner)
		}
		c.out.Compared++
		if owners[k] != want {
			c.reportDifference(check{what: "position", id: decimal(p.ID), field: "owner", pool: p.Pool},
				want.String(), owners[k].String())
		}
	}
	return nil
}

// compareCount holds the number of NFTs ever minted against the next id.
func (c *comparison) compareCount(ctx context.Context) error {
	next, err := c.nextID(ctx)
	if err != nil {
		return err
	}

	last := uint64(0)
	if n := c.st.Positions.Len(); n > 0 {
		last = c.st.Positions.At(n - 1).ID
	}

	c.out.Compared++
	c.reportMissing(last+1, next)
	if last >= next {
		c.reportDifference(mintOf(last), decimal(last), decimal(next-1))
	}
	return nil
}

// reportMissing notes the NFTs from an id up to before another, which the ledger
// does not have: ids are given without gaps.
func (c *comparison) reportMissing(from, to uint64) {
	for id := from; id < to; id++ {
		if c.out.Different >= rankings.MaxDifferences {
			c.out.Different += int(to - id)
			return
		}
		c.reportDifference(mintOf(id), "no", "yes")
	}
}

func mintOf(id uint64) check {
	return check{what: "position", id: decimal(id), field: "minted", pool: market.NoIndex}
}

func decimal(v uint64) string { return strconv.FormatUint(v, 10) }

func (c *comparison) add(at slot, k check) {
	c.slots, c.checks = append(c.slots, at), append(c.checks, k)
}

// compareAdded reads what was added, when there is enough of it to fill a few calls, or all.
func (c *comparison) compareAdded(ctx context.Context, all bool) error {
	if !all && len(c.slots) < slotsAtOnce*callsAtOnce/10 {
		return nil
	}
	got, err := c.readSlots(ctx, c.slots)
	if err != nil {
		return err
	}

	for i, k := range c.checks {
		c.out.Compared++
		have := got[i]
		if k.mask != (word{}) {
			for b := range have {
				have[b] &= k.mask[b]
			}
		}
		switch {
		case have == k.want:
		case k.field == tickBitmap:
			c.differTicks(k, have)
		default:
			c.reportDifference(k, "0x"+hex.EncodeToString(k.want[:]), "0x"+hex.EncodeToString(have[:]))
		}
	}

	c.slots, c.checks = c.slots[:0], c.checks[:0]
	return nil
}

// reportDifference notes a difference and where the event must lie that explains it: after
// the last block at which all was well, and not before the pool.
func (c *comparison) reportDifference(k check, ledger, contract string) {
	d := rankings.Difference{
		What: k.what, ID: k.id, Field: k.field, Ledger: ledger, Contract: contract,
		FromBlock: c.Good + 1, ToBlock: c.st.Head.Number,
	}
	if k.pool != market.NoIndex {
		p := c.st.Pools.At(k.pool)
		d.FromBlock, d.Pool = max(d.FromBlock, p.CreatedBlock), p.ID
	}
	c.out.Different++
	if len(c.out.Differences) < rankings.MaxDifferences {
		c.out.Differences = append(c.out.Differences, d)
	}
}

// slot0Mask leaves out the LP fee, which a dynamic pool changes without an event.
var slot0Mask = func() (m word) {
	for i := 6; i < len(m); i++ {
		m[i] = 0xff
	}
	return m
}()

func slot0(p *market.Pool) (w word) {
	price := p.SqrtPriceX96.Bytes32()
	copy(w[12:], price[12:])
	for i, b := range []byte{byte(p.Tick), byte(p.Tick >> 8), byte(p.Tick >> 16)} {
		w[11-i] = b
	}
	for i, b := range []byte{byte(p.ProtocolFee), byte(p.ProtocolFee >> 8), byte(p.ProtocolFee >> 16)} {
		w[8-i] = b
	}
	return w
}

func word256(u *clmath.U256) word { return word(u.Bytes32()) }

func word128(u clmath.U128) word {
	v := u.U256()
	return word(v.Bytes32())
}

// Earliest returns the first block that must be read again.
func Earliest(differences []rankings.Difference) uint64 {
	return slices.MinFunc(differences, func(a, b rankings.Difference) int {
		return cmp.Compare(a.FromBlock, b.FromBlock)
	}).FromBlock
}
