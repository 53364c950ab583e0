package ledger

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

var testManager = script.Manager

// world makes random valid spans. It applies each event to its ledger as it makes
// it, then abandons the span and returns it.
type world struct {
	*Ledger
	r *rand.Rand
}

func newWorld(seed uint64) *world {
	l := New(Config{
		Chain: 1, PositionManager: testManager, Start: 100, Stables: []market.Address{{19: 2}},
	})
	return &world{Ledger: l, r: rand.New(rand.NewPCG(seed, 1))}
}

func testTokens() []market.TokenMeta {
	decimals := []uint8{18, 6, 8, 18, 0}
	metas := make([]market.TokenMeta, len(decimals))
	for i, d := range decimals {
		metas[i] = market.TokenMeta{Address: market.Address{19: byte(i)}, Decimals: d}
	}
	return metas
}

// step is a span, and the hour to announce before it.
type step struct {
	span   market.Span
	hour   uint32
	prices []HourPrice
	pools  []market.HeldPool
}

func (s *step) apply(l *Ledger) error {
	if s.hour != 0 {
		l.BeginHour(s.hour, s.prices, s.pools)
	}
	_, err := l.Apply(&s.span)
	return err
}

// step makes the next span: some blocks, all in one hour or not.
func (w *world) step() *step {
	head := w.Head()
	s := &step{span: market.Span{
		From: head.Number + 1, To: head.Number, Parent: head.Hash, Time: max(head.Time, 1_700_000_000),
	}}
	s.span.Time += w.pause()
	if head.Number == w.cfg.Start-1 {
		s.span.Tokens = testTokens()
	} else if hour := market.HourOf(s.span.Time); hour > market.HourOf(head.Time) {
		s.hour, s.prices, s.pools = hour, w.prices(), w.held()
	}

	w.beginSpan()
	ops, written := w.ops.Len(), slices.Clone(w.writtenTicks)
	w.addTokens(s.span.Tokens)
	if s.hour != 0 {
		w.advanceClock(int64(s.hour) * market.Hour)
	}

	for range 1 + w.r.IntN(4) {
		s.span.To += 1 + uint64(w.r.IntN(3))
		w.advanceClock(s.span.Time)
		if b := w.block(s.span.To); len(b.Logs) > 0 {
			s.span.Blocks = append(s.span.Blocks, *b)
		}
		if w.r.IntN(4) == 0 {
			s.span.Time += w.pause()
		}
	}

	w.abandonSpan()
	w.ops.truncate(ops)
	w.writtenTicks = written
	binary.BigEndian.PutUint64(s.span.Hash[:], w.r.Uint64()|1)
	return s
}

// pause returns a random duration: seconds, sometimes hours, rarely days.
func (w *world) pause() int64 {
	switch w.r.IntN(20) {
	case 0:
		return int64(w.r.IntN(12 * market.Day))
	case 1, 2, 3:
		return int64(w.r.IntN(3 * market.Hour))
	}
	return int64(w.r.IntN(90))
}

func (w *world) prices() (prices []HourPrice) {
	for i := range w.st.Tokens.Len() {
		switch w.r.IntN(4) {
		case 0:
			prices = append(prices, HourPrice{Token: i, Usd: market.Unknown})
		case 1, 2:
			prices = append(prices, HourPrice{
				Token: i, Usd: w.r.Float64() * 100, AsOf: w.st.Head.Time, Markets: 2, Source: market.SourcePool,
				ExitUsd: w.r.Float64() * 1e6, PriceLostAt: w.r.Uint32N(3), TrustLostAt: w.r.Uint32N(3),
			})
		}
	}
	return prices
}

// held returns random Held and Others of some pools.
func (w *world) held() (pools []market.HeldPool) {
	for i := range w.st.Pools.Len() {
		if w.r.IntN(3) == 0 {
			pools = append(pools, market.HeldPool{
				Pool: i, Held: [2]uint32{w.r.Uint32(), market.NoIndex}, Others: uint8(w.r.IntN(51)),
			})
		}
	}
	return pools
}

func (w *world) block(n uint64) *market.Block {
	b := &market.Block{Number: n, Time: w.time}
	for range w.r.IntN(4) {
		var logs []market.Log
		for range 1 + w.r.IntN(3) {
			w.try(b, &logs)
		}
		if len(logs) == 0 {
			continue
		}
		b.Txs = append(b.Txs, market.Tx{
			Hash: market.Hash{1, byte(n >> 8), byte(n), byte(len(b.Txs))}, GasUsed: w.r.Uint64N(1e6),
			GasPrice: clmath.U128{Lo: w.r.Uint64N(1e11)}, GasKnown: w.r.IntN(8) != 0,
		})
		b.Logs = append(b.Logs, logs...)
	}

	return b
}

// try applies a random event, or the two events of a mint or burn, and adds them to
// logs.
func (w *world) try(b *market.Block, logs *[]market.Log) {
	tx := market.Block{Number: b.Number, Time: b.Time, Txs: make([]market.Tx, len(b.Txs)+1)}
	for _, e := range w.events() {
		tx.Logs = append(tx.Logs, market.Log{
			Index: uint32(2*len(b.Logs) + 2*len(*logs) + len(tx.Logs)), Tx: uint32(len(b.Txs)), Event: e,
		})
	}

	w.beginGas(tx.Logs)
	for i := range tx.Logs {
		w.at = eventPlace{&tx, &tx.Logs[i], market.NoIndex}
		if err := w.applyEvent(tx.Logs[i].Event); err != nil {
			panic(err)
		}
	}

	*logs = append(*logs, tx.Logs...)
}

func (w *world) events() []market.Event {
	if w.st.Pools.Len() == 0 || w.st.Pools.Len() < 6 && w.r.IntN(40) == 0 {
		return w.initPool()
	}

	pool := w.r.Uint32N(w.st.Pools.Len())
	switch n := w.r.IntN(100); {
	case n < 20:
		return w.mintEvents(pool)
	case n < 28:
		return w.directEvents(pool)
	case n < 60 && w.st.Positions.Len() > 0:
		return w.positionEvents(w.r.Uint32N(w.st.Positions.Len()))
	case n < 62:
		return []market.Event{market.ProtocolFeeUpdated{
			Pool: w.st.Pools.At(pool).ID, ProtocolFee: w.r.Uint32N(1001) | w.r.Uint32N(1001)<<12,
		}}
	case n < 66:
		if p := w.st.Pools.At(pool); !p.Liquidity.IsZero() {
			return []market.Event{market.Donate{Pool: p.ID, Amount0: w.amount(60), Amount1: w.amount(60)}}
		}
	}

	return w.swapEvents(pool)
}

func (w *world) initPool() []market.Event {
	n := w.st.Pools.Len()
	a := w.r.Uint32N(w.st.Tokens.Len() - 1)
	b := a + 1 + w.r.Uint32N(w.st.Tokens.Len()-1-a)
	tick := w.r.Int32N(20_000) - 10_000
	e := market.Initialize{
		Pool:        market.PoolID{byte(n), 1},
		Currency0:   w.st.Tokens.At(a).Address,
		Currency1:   w.st.Tokens.At(b).Address,
		Fee:         []uint32{500, 3000, 10_000, market.DynamicFee, 0, clmath.Pips}[n%6],
		TickSpacing: []int32{10, 60, 200, 1, 60, 2000}[n%6],
		Hooks:       market.Address{19: []byte{0, 0, 1, 3, 0, 0}[n%6]},
		Tick:        tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick),
	}

	return []market.Event{e}
}

func (w *world) amount(bits int) clmath.U256 {
	v := clmath.U256{w.r.Uint64() | 1, w.r.Uint64()}
	return *v.Rsh(&v, uint(128-1-w.r.IntN(bits)))
}

func (w *world) liquidity() clmath.I128 {
	v := w.amount(70)
	return clmath.I128{Lo: v[0] | 1, Hi: int64(v[1])}
}

func (w *world) owner() market.Address { return market.Address{0: 0xaa, 19: byte(1 + w.r.IntN(5))} }

// ticksOf returns a random range near the price. There are few boundaries, so that
// positions share ticks.
func (w *world) ticksOf(p *market.Pool) (lower, upper int32) {
	at := clmath.Aligned(p.Tick, p.TickSpacing)
	lower = at + (w.r.Int32N(13)-8)*p.TickSpacing
	return lower, lower + (1+w.r.Int32N(8))*p.TickSpacing
}

func (w *world) mintEvents(pool uint32) []market.Event {
	p, id := w.st.Pools.At(pool), uint64(1)
	if n := w.st.Positions.Len(); n > 0 {
		id = w.st.Positions.At(n-1).ID + 1 + w.r.Uint64N(20)/19
	}
	lower, upper := w.ticksOf(p)
	transfer := market.TransferNFT{To: w.owner(), ID: id}
	return []market.Event{transfer, market.ModifyLiquidity{
		Pool: p.ID, Sender: testManager, TickLower: lower, TickUpper: upper,
		LiquidityDelta: w.liquidity(), Salt: script.Salt(id),
	}}
}

// positionEvents returns a random change of a position that its state allows.
func (w *world) positionEvents(i uint32) []market.Event {
	row := w.st.Positions.At(i)
	owner := *w.st.Owners.At(row.Owner)
	change := market.ModifyLiquidity{
		Pool: w.st.Pools.At(row.Pool).ID, Sender: testManager, Salt: script.Salt(row.ID),
		TickLower: row.TickLower, TickUpper: row.TickUpper,
	}

	liquidity := row.Liquidity()
	all := clmath.I128{Lo: liquidity.Lo, Hi: int64(liquidity.Hi)}.Neg()
	burn := market.TransferNFT{From: owner, ID: row.ID}
	n := w.r.IntN(10)
	switch {
	case row.Burned:
		return nil
	case n < 2:
		return []market.Event{market.TransferNFT{From: owner, To: w.owner(), ID: row.ID}}
	case !row.IsOpen() && n < 4:
		return []market.Event{burn}
	case !row.IsOpen() || n < 5:
		change.LiquidityDelta = w.liquidity()
	case n < 6:
		half := clmath.I128{Lo: liquidity.Lo >> 1, Hi: int64(liquidity.Hi) >> 1}
		change.LiquidityDelta = half.Neg()
	case n < 8:
		change.LiquidityDelta = all
	case n < 9:
		change.LiquidityDelta = all
		return []market.Event{burn, change}
	}

	return []market.Event{change}
}

func (w *world) directEvents(pool uint32) []market.Event {
	p := w.st.Pools.At(pool)
	if n := w.st.NonNFT.Len(); n > 0 && w.r.IntN(2) == 0 {
		d := w.st.NonNFT.At(w.r.Uint32N(n))
		if !d.Liquidity.IsZero() {
			return []market.Event{market.ModifyLiquidity{
				Pool: w.st.Pools.At(d.Pool).ID, Sender: d.Sender, Salt: d.Salt,
				TickLower: d.TickLower, TickUpper: d.TickUpper,
				LiquidityDelta: clmath.I128{Lo: d.Liquidity.Lo, Hi: int64(d.Liquidity.Hi)}.Neg(),
			}}
		}
	}

	lower, upper := w.ticksOf(p)
	return []market.Event{market.ModifyLiquidity{
		Pool: p.ID, Sender: w.owner(), TickLower: lower, TickUpper: upper,
		LiquidityDelta: w.liquidity(), Salt: script.Salt(w.r.Uint64N(4)),
	}}
}

func (w *world) swapEvents(pool uint32) []market.Event {
	p := w.st.Pools.At(pool)
	o := script.Order{
		Amount: w.amount(80), Down: w.r.IntN(2) == 0, ExactIn: w.r.IntN(2) == 0, Fee: w.r.Uint32N(5000),
	}
	limit := min(p.Tick+1+w.r.Int32N(12*p.TickSpacing), clmath.MaxTick-1)
	if o.Down {
		limit = max(p.Tick-w.r.Int32N(12*p.TickSpacing), clmath.MinTick+1)
	}

	if w.r.IntN(3) == 0 {
		limit = clmath.Aligned(limit, p.TickSpacing) // end on a boundary
	}

	o.Limit = clmath.SqrtPriceAtTick(limit)
	e, ok := script.Trade(&w.st, pool, o)
	if !ok {
		return nil
	}

	return []market.Event{e}
}
