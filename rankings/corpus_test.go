package rankings_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// world is a chain whose state a test can change and publish.
type world struct {
	*rand.Rand
	chain     market.ChainID
	now       int64
	tokens    market.Table[market.Token]
	owners    market.Table[market.Address]
	pools     market.Table[market.Pool]
	ticks     market.Table[market.Tick]
	positions market.Table[market.Position]
	prices    market.Table[market.Price]
	stats     market.Table[market.PoolStats]
	open      uint32
	nextID    uint64
	slots     map[int32]uint32 // of ticks

	shelf      *shelf
	generation uint64
	directory  []byte
	view       *rankings.View
}

const genesis = 1_700_000_000

var symbolsOfTokens = []string{"ETH", "USDC", "ÄPFEL", "usdİ", "0xdead", "W%", "ΣΑΣ", "be\u200bt\u202ea", "a-b"}

func newWorld(chain market.ChainID, seed uint64, pools, positions int, s *shelf) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, uint64(chain))), chain: chain, now: genesis, shelf: s}
	w.slots = map[int32]uint32{}
	for i := range symbolsOfTokens {
		token := market.Token{Decimals: 18, Symbol: texts.New(symbolsOfTokens[i])}
		w.fill(token.Address[:])
		if i == 5 {
			token.Symbol = 0
		}
		w.tokens.Append(token)
		price := market.Price{Usd: float64(i + 1), OnlyPool: market.NoIndex, ExitUsd: math.Inf(1),
			Source: market.SourcePool, Corroborated: i < 4, Anchor: i < 2}
		if i == 6 {
			price.Usd, price.Source = market.Unknown, market.SourceNone
		}
		if i == 3 {
			price.ExitUsd = 1e-9
		}
		w.prices.Append(price)
	}

	for range 1 + positions/2 {
		var a market.Address
		w.fill(a[:])
		w.owners.Append(a)
	}

	for range pools {
		w.addPool()
	}

	for range positions {
		w.mint()
	}

	for range positions * 13 / 20 {
		w.close(w.Uint32N(uint32(positions)))
	}
	return w
}

func (w *world) fill(b []byte) {
	for i := range b {
		b[i] = byte(w.Uint32())
	}
}

// some returns one of a few values, which makes ties likely, or Unknown.
func (w *world) some(values ...float64) float64 {
	if i := w.IntN(len(values) + 1); i < len(values) {
		return values[i]
	}
	return market.Unknown
}

// likeHooks2 are other hooks than {19: 2} with the same tag.
var likeHooks2 = market.Address{8: 1, 12: 0x4f, 13: 0x86, 14: 0xc8, 15: 0x61, 19: 2}

func (w *world) addPool() {
	p := market.Pool{CreatedAt: genesis - int64(w.IntN(5))*1000, LastHour: market.NoIndex}
	w.fill(p.ID[:])
	p.Currency0 = []uint32{0, 1, 2, 3, 8}[w.IntN(5)] // the symbol of the last has a divider
	p.Currency1 = w.Uint32N(uint32(len(symbolsOfTokens)))
	p.Fee, p.LastFee = []uint32{100, 3000, 3000, market.DynamicFee}[p.ID[0]%4], market.NoFee
	if p.IsDynamic() && p.ID[1]%2 == 0 {
		p.LastFee = 77
	}
	p.Hooks = []market.Address{{}, {}, {19: 1}, {19: 2}, likeHooks2}[p.ID[2]%5]
	p.Quarantined = w.chain == 42161 && w.IntN(5) == 0

	i := w.pools.Append(p)
	w.stats.Append(market.PoolStats{})
	w.moveTo(i, int32(w.IntN(400))-200)
}

// moveTo moves a pool's price.
func (w *world) moveTo(i uint32, tick int32) {
	p := w.pools.Mut(i)
	p.Tick, p.SqrtPriceX96 = tick, clmath.SqrtPriceAtTick(tick)
	*w.stats.Mut(i) = market.PoolStats{
		TVLUsd:       w.some(0, 999.99, 1000, 5000, w.Float64()*1e6),
		VolumeUsd24h: w.some(0, 10, 1e3*w.Float64()),
		FeesUsd24h:   w.some(0, 1, w.Float64()), FeeAPR: w.some(0, 12.5, 1e7, 100*w.Float64()),
	}
	if p.Quarantined {
		w.stats.Mut(i).TVLUsd = market.Unknown
	}
}

// quarantine turns one quarantine of a chain that has such pools on or off.
func (w *world) quarantine() {
	if i := w.Uint32N(w.pools.Len()); w.chain == 42161 {
		p := w.pools.Mut(i)
		p.Quarantined = !p.Quarantined
		w.moveTo(i, p.Tick)
	}
}

func (w *world) mint() {
	lower := int32(w.IntN(8))*50 - 250
	upper := lower + 50 + int32(w.IntN(3))*100
	p := market.Position{
		ID: w.nextID + 1 + uint64(w.IntN(3)), Pool: w.Uint32N(w.pools.Len()), Overflow: market.NoIndex,
		Owner: w.Uint32N(w.owners.Len()), TickLower: lower, TickUpper: upper,
		LowerSlot: w.tick(lower), UpperSlot: w.tick(upper),
		MintedAt:   uint32(w.now) - uint32(w.IntN(6))*3600,
		GasUnknown: w.IntN(8) == 0,
	}

	p.GasWei.Lo = uint64(w.IntN(3)) * 1e15
	w.nextID = p.ID
	w.positions.Append(p)
	w.reopen(w.positions.Len() - 1)
}

func (w *world) tick(tick int32) uint32 {
	slot, there := w.slots[tick]
	if !there {
		slot = w.ticks.Append(market.Tick{SqrtPriceX96: clmath.SqrtPriceAtTick(tick), Tick: tick})
		w.slots[tick] = slot
	}
	return slot
}

// tickLists gives every pool all ticks.
func (w *world) tickLists() market.TickLists {
	var all []market.TickRef
	for tick, slot := range w.slots {
		all = append(all, market.TickRef{Tick: tick, Slot: slot})
	}
	slices.SortFunc(all, func(a, b market.TickRef) int { return int(a.Tick - b.Tick) })

	var lists market.TickListTable
	for range w.pools.Len() {
		lists.Append(all...)
	}
	return lists.Freeze()
}

func (w *world) reopen(i uint32) {
	p := w.positions.Mut(i)
	if p.IsOpen() {
		return
	}
	unit := uint64(1e18)
	p.SetLiquidity(clmath.U128{Lo: unit * (1 + w.Uint64N(3)) / 7})
	p.Deposited0 = clmath.U128{Lo: unit * w.Uint64N(3)}
	p.Deposited1 = clmath.U128{Lo: unit * w.Uint64N(9)}
	p.Collected0 = clmath.U128{Lo: unit * w.Uint64N(2) * w.Uint64N(10)}
	p.ClosedAt = 0
	w.open++
}

func (w *world) close(i uint32) {
	p := w.positions.Mut(i)
	if !p.IsOpen() {
		return
	}
	p.ClosedAt = uint32(w.now)
	p.Withdrawn0, p.Withdrawn1 = p.Deposited0, p.Deposited1
	p.CloseNativeUsd = w.some(1, 1, 2000)

	var legs [2]market.ClosePrice
	for leg := range legs {
		legs[leg] = market.ClosePrice{Usd: w.some(1, 2, 3, w.Float64()), Source: market.SourcePool}
	}
	p.SetClose(legs)
	w.open--
}

// change simulates some blocks. In a third of the calls a reorg first removes
// the newest positions, so that others get their indexes.
func (w *world) change() {
	w.now += int64(w.IntN(100))
	if n := w.positions.Len(); w.IntN(3) == 0 && n > 20 {
		for i := n - 5; i < n; i++ {
			w.close(i)
		}
		w.positions.Truncate(n - 5)
		owner := w.Uint32N(w.owners.Len())
		w.fill(w.owners.Mut(owner)[:])
		for i := range w.positions.Len() { // the ledger takes back the rows that name it
			if w.positions.At(i).Owner == owner {
				w.positions.Mut(i)
			}
		}
	}

	for range 1 + w.IntN(8) {
		w.mint()
		w.close(w.Uint32N(w.positions.Len()))
		w.reopen(w.Uint32N(w.positions.Len()))
		w.positions.Mut(w.Uint32N(w.positions.Len())).Owner = w.Uint32N(w.owners.Len())
	}

	if w.IntN(4) == 0 {
		w.addPool()
		var a market.Address
		w.fill(a[:])
		w.owners.Append(a)
	}

	w.moveTo(w.Uint32N(w.pools.Len()), int32(w.IntN(400))-200)
	w.earn(w.Uint32N(w.pools.Len()))
	if w.IntN(6) == 0 {
		w.quarantine()
	}
	if price := w.prices.Mut(w.Uint32N(w.prices.Len())); market.Known(price.Usd) {
		price.Usd *= w.some(0.5, 1.5, 1)
	}
}

// earn adds fees to a pool whose price stays.
func (w *world) earn(i uint32) {
	p := w.pools.Mut(i)
	p.FeeGrowthGlobal0X128[2] += w.Uint64N(3)
	p.FeeGrowthGlobal1X128[1] += w.Uint64()
}

func (w *world) state() *market.State {
	return &market.State{
		TickLists: w.tickLists(),
		Chain:     w.chain, Head: market.Head{Number: uint64(w.now), Time: w.now}, Native: 0,
		Tokens: w.tokens.Freeze(), Owners: w.owners.Freeze(), Pools: w.pools.Freeze(),
		Ticks: w.ticks.Freeze(), Positions: w.positions.Freeze(), Prices: w.prices.Freeze(),
		Stats: w.stats.Freeze(), OpenCount: w.open,
	}
}

// publish builds the next generation and stores its leaves.
func (w *world) publish() *block.Publication {
	w.generation++
	view, publication := rankings.BuildPaced(w.view, w.state(), w.generation, w.shelf, func() {})
	w.view, w.directory = view, publication.Directory
	w.shelf.put(w.chain, publication)
	return publication
}

// shelf keeps encoded leaves as a store would.
type shelf struct {
	leaves map[string][]byte
	reads  int
}

func newShelf() *shelf { return &shelf{leaves: map[string][]byte{}} }

func shelfKey(chain market.ChainID, number uint64) string { return fmt.Sprint(chain, "/", number) }

func (s *shelf) put(chain market.ChainID, p *block.Publication) {
	for _, number := range p.Dead {
		delete(s.leaves, shelfKey(chain, number))
	}
	for _, l := range p.Leaves {
		if _, twice := s.leaves[shelfKey(chain, l.Number)]; twice {
			panic("leaf number used twice")
		}
		s.leaves[shelfKey(chain, l.Number)] = l.Bytes
	}
}

func (s *shelf) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	s.reads++
	b, there := s.leaves[shelfKey(chain, number)]
	if !there {
		return nil, block.ErrLeafGone
	}
	return block.DecodeLeaf(b, nil, func(base uint64) ([]uint32, error) {
		b, there := s.leaves[shelfKey(chain, base)]
		if !there {
			return nil, block.ErrLeafGone
		}
		return block.DecodeLeaf(b, nil, nil)
	})
}
