package ledger

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// seriesModel works out what the series should say of days, hours and transactions,
// event by event. It reads the events themselves, and of the ledger only the rows of
// pools, tokens and ticks as they were frozen after each transaction.
type seriesModel struct {
	st     *market.State // after the newest transaction
	hour   uint32
	usd    map[uint32]float64 // price records by token
	days   map[uint32]*market.PoolDay
	hours  map[uint32]*market.PoolHour
	newest map[uint32]*market.PoolHour // of the running day, that ended
	ended  map[string]any              // by the keys of shadow
	events map[string]txEvents

	hourEnds, dayEnds map[uint32]*market.State // as the hours and days ended
}

// txEvents is a transaction as the feed has it.
type txEvents struct {
	tx   *market.Tx
	time int64
}

func newSeriesModel(st *market.State) *seriesModel {
	return &seriesModel{
		st: st, usd: make(map[uint32]float64), ended: make(map[string]any),
		days: make(map[uint32]*market.PoolDay), hours: make(map[uint32]*market.PoolHour),
		newest:   make(map[uint32]*market.PoolHour),
		events:   make(map[string]txEvents),
		hourEnds: make(map[uint32]*market.State), dayEnds: make(map[uint32]*market.State),
	}
}

// advance moves the clock, and ends the hour and the day that are over.
func (m *seriesModel) advance(time int64) {
	hour := market.HourOf(time)
	if hour == m.hour {
		return
	}

	for i, h := range m.hours {
		p := m.st.Pools.At(i)
		h.Close, h.Tick = p.SqrtPriceX96, p.Tick
		h.FeeGrowthGlobal0X128, h.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal0X128, p.FeeGrowthGlobal1X128
		amount0, amount1 := m.principal(i)
		h.Amount0, h.Amount1 = clmath.Float64(&amount0), clmath.Float64(&amount1)
		m.newest[i] = h
	}
	clear(m.hours)
	m.hourEnds[m.hour] = m.st

	if hour/market.HoursOfDay != m.hour/market.HoursOfDay {
		m.endDays()
		clear(m.days)
		clear(m.newest)
	}
	m.hour = hour
}

// endDays gives every day what it has at its end.
func (m *seriesModel) endDays() {
	m.dayEnds[m.hour/market.HoursOfDay] = m.st
	for i, d := range m.days {
		p := m.st.Pools.At(i)
		d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
		d.FeeGrowthGlobal0X128, d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal0X128, p.FeeGrowthGlobal1X128
		d.Amount0, d.Amount1 = m.principal(i)
		d.Price0Usd, d.Price1Usd = m.usdOf(p.Currency0), m.usdOf(p.Currency1)
		if h := m.newest[i]; h != nil {
			d.EventHour, d.HourHigh, d.HourLow, d.HourVolumeUsd = uint8(h.Hour)+1, h.High, h.Low, h.VolumeUsd
		}
		m.ended[fmt.Sprint("day ", i, d.Day)] = d
	}
}

// principal returns what removing a pool's liquidity would pay, tick by tick.
func (m *seriesModel) principal(pool uint32) (sum0, sum1 clmath.U256) {
	var liquidity clmath.U128
	var last *market.Tick
	p := m.st.Pools.At(pool)
	for _, ref := range m.st.TickLists.At(pool) {
		t := m.st.Ticks.At(ref.Slot)
		if !liquidity.IsZero() {
			amount0, amount1 := clmath.Principal(p.Tick, &p.SqrtPriceX96, last.Tick, t.Tick,
				&last.SqrtPriceX96, &t.SqrtPriceX96, liquidity, false)
			sum0.Add(&sum0, &amount0)
			sum1.Add(&sum1, &amount1)
		}
		liquidity, _ = liquidity.Apply(t.LiquidityNet)
		last = t
	}

	return sum0, sum1
}

func (m *seriesModel) usdOf(token uint32) float64 {
	if usd, ok := m.usd[token]; ok {
		return usd
	}
	return market.Unknown
}

// touch begins the day and the hour of a pool at its present price.
func (m *seriesModel) touch(i uint32, price clmath.U256) (*market.PoolDay, *market.PoolHour) {
	if m.days[i] == nil {
		m.days[i] = &market.PoolDay{
			Pool: i, Day: m.hour / market.HoursOfDay, Open: price, High: price, Low: price,
		}
	}

	if m.hours[i] == nil {
		if h := m.newest[i]; h != nil { // the last hour of a day has no record
			m.ended[fmt.Sprint("hour of pool ", i, h.Day, h.Hour)] = h
		}
		root := clmath.Float64(&price)
		m.hours[i] = &market.PoolHour{
			Pool: i, Day: m.hour / market.HoursOfDay, Hour: m.hour % market.HoursOfDay, High: root, Low: root,
		}
	}
	return m.days[i], m.hours[i]
}

// swap adds a swap to the day and the hour of its pool.
func (m *seriesModel) swap(st *market.State, i uint32, price clmath.U256, e *market.Swap) {
	d, h := m.touch(i, price)
	end := e.SqrtPriceX96
	if end.Gt(&d.High) {
		d.High = end
	}
	if end.Lt(&d.Low) {
		d.Low = end
	}
	h.High, h.Low = max(h.High, clmath.Float64(&end)), min(h.Low, clmath.Float64(&end))

	d.Swaps++
	p := st.Pools.At(i)
	usd := func(token uint32, amount clmath.I128) float64 {
		whole := amount.Abs().U256()
		if whole.IsZero() {
			return 0
		}
		return clmath.ToFloat(&whole, st.Tokens.At(token).Decimals) * m.usdOf(token)
	}
	in, out := usd(p.Currency0, e.Amount0), usd(p.Currency1, e.Amount1)
	if e.Amount1.Sign() < 0 {
		in, out = out, in
	}
	if !market.Known(in) {
		in = out
	}
	d.VolumeUsd += in
	h.VolumeUsd += in
}

// apply applies the events of one transaction, after which the state is st.
func (m *seriesModel) apply(l *Ledger, st *market.State, b *market.Block) {
	m.advance(b.Time)
	prices := make(map[uint32]clmath.U256) // within the transaction
	for k := range b.Logs {
		var id market.PoolID
		switch e := b.Logs[k].Event.(type) {
		case market.Swap:
			id = e.Pool
		case market.ModifyLiquidity:
			id = e.Pool
		case market.Donate:
			id = e.Pool
		case market.Initialize:
			prices[l.poolAt(e.Pool)] = e.SqrtPriceX96
			id = e.Pool
		default:
			continue
		}

		i := l.poolAt(id)
		if _, ok := prices[i]; !ok {
			prices[i] = m.st.Pools.At(i).SqrtPriceX96
		}
		if e, ok := b.Logs[k].Event.(market.Swap); ok {
			m.swap(st, i, prices[i], &e)
			prices[i] = e.SqrtPriceX96
		} else {
			m.touch(i, prices[i])
		}
	}

	m.st = st
	for k := range b.Logs {
		m.events[fmt.Sprint(b.Number, " ", b.Logs[k].Index)] = txEvents{tx: &b.Txs[b.Logs[k].Tx], time: b.Time}
	}
}

// TestSeriesAgainstEvents holds the series of random markets, every transaction in a
// block and a span of its own, against a model that follows from the events.
func TestSeriesAgainstEvents(t *testing.T) {
	for seed := range uint64(6) {
		w, store := newWorld(100+seed), newShadow()
		l := New(w.cfg)
		m := newSeriesModel(l.Freeze())
		m.usd[2] = 1 // the stable
		for range 60 {
			s := w.step()
			if err := s.apply(w.Ledger); err != nil {
				t.Fatal(err)
			}
			m.follow(t, l, s)
		}

		store.take(l)
		m.compare(t, store)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// follow applies a step to another ledger, a span for each transaction.
func (m *seriesModel) follow(t *testing.T, l *Ledger, s *step) {
	t.Helper()
	if s.hour != 0 {
		m.advance(int64(s.hour) * market.Hour)
		for _, p := range s.prices {
			m.usd[p.Token] = p.Usd
		}
		l.BeginHour(s.hour, s.prices, s.pools)
	}

	tokens := s.span.Tokens
	next := func(time int64, blocks ...market.Block) {
		head := l.Head()
		span := market.Span{
			From: head.Number + 1, To: head.Number + 1, Time: time, Tokens: tokens, Blocks: blocks,
		}
		apply(t, l, &span)
		tokens = nil
	}

	for _, b := range s.span.Blocks {
		for start := 0; start < len(b.Logs); {
			end := start + 1
			for end < len(b.Logs) && b.Logs[end].Tx == b.Logs[start].Tx {
				end++
			}
			own := market.Block{
				Number: l.Head().Number + 1, Time: b.Time, Txs: b.Txs, Logs: b.Logs[start:end],
			}
			next(b.Time, own)
			m.apply(l, l.Freeze(), &own)
			start = end
		}
	}

	// A swap of which a hook took the whole amount.
	if n := l.st.Pools.Len(); n > 0 {
		p := l.st.Pools.At(uint32(s.span.To) % n)
		nothing := market.Swap{
			Pool: p.ID, SqrtPriceX96: p.SqrtPriceX96, Tick: p.Tick, Liquidity: p.Liquidity,
		}
		own := market.Block{
			Number: l.Head().Number + 1, Time: s.span.Time, Txs: make([]market.Tx, 1),
			Logs: []market.Log{{Event: nothing}},
		}
		next(s.span.Time, own)
		m.apply(l, l.Freeze(), &own)
	}
	next(s.span.Time)
	m.advance(s.span.Time)
}

// compare holds the series of a store against the model.
func (m *seriesModel) compare(t *testing.T, store *shadow) {
	t.Helper()
	m.endDays() // the running one, with the prices of its last event

	seen, ticks := 0, 0
	for key, entry := range store.series {
		switch e := entry.(type) {
		case *market.PoolDay:
			if want, ok := m.ended[key].(*market.PoolDay); ok {
				running := e.Day == m.hour/market.HoursOfDay
				seen += m.sameDay(t, e, want, running)
				continue
			}
			t.Errorf("day %d of pool %d had no event", e.Day, e.Pool)
		case *market.PoolHour:
			if want, ok := m.ended[key].(*market.PoolHour); ok {
				seen += m.sameHour(t, e, want)
				continue
			}
			t.Errorf("hour %d of day %d of pool %d had no event", e.Hour, e.Day, e.Pool)
		case *market.TickDay:
			at := tickOf(m.dayEnds[e.Day], e.Pool, e.Tick)
			if at == nil || *e != tickDay(at) {
				t.Errorf("a tick's day is %+v; want that of %+v", e, at)
			}
			ticks++
		case *market.TickHour:
			at := tickOf(m.hourEnds[e.Day*market.HoursOfDay+e.Hour], e.Pool, e.Tick)
			if at == nil || at.LastHour != e.Day*market.HoursOfDay+e.Hour ||
				at.FeeGrowthOutside0X128 != e.FeeGrowthOutside0X128 || at.FeeGrowthOutside1X128 != e.FeeGrowthOutside1X128 {
				t.Errorf("a tick's hour is %+v; want that of %+v", e, at)
			}
		case *market.Transaction:
			of := m.events[fmt.Sprint(e.Block, " ", e.LogIndex)]
			if of.tx == nil || e.TxHash != of.tx.Hash || e.Time != of.time || e.GasUnknown == of.tx.GasKnown && e.GasUsed > 0 {
				t.Errorf("entry %+v is not of %+v", e, of)
			}
		}
	}

	if seen != len(m.ended) {
		t.Errorf("the series have %d days and hours; the model %d", seen, len(m.ended))
	}
	if want := m.writtenTicks(); ticks != want {
		t.Errorf("the series have %d days of ticks; want %d", ticks, want)
	}
}

// tickOf returns an initialised tick of a state.
func tickOf(st *market.State, pool uint32, tick int32) *market.Tick {
	if st == nil || pool >= st.TickLists.Len() {
		return nil
	}
	slot, ok := findTick(st.TickLists.At(pool), tick)
	if !ok {
		return nil
	}
	return st.Ticks.At(slot)
}

// writtenTicks counts the ticks that were written on each day, and were there at its end.
func (m *seriesModel) writtenTicks() (n int) {
	for day, st := range m.dayEnds {
		for i := range st.Ticks.Len() {
			if t := st.Ticks.At(i); t.Pool != market.NoIndex && t.LastDay() == day {
				n++
			}
		}
	}
	return n
}

// sameDay compares a day. Its fees follow from every step of a swap, so only that they
// are a part of the volume is checked.
func (m *seriesModel) sameDay(t *testing.T, got, want *market.PoolDay, running bool) int {
	t.Helper()
	is := *got
	if running {
		is.Price0Usd, is.Price1Usd = want.Price0Usd, want.Price1Usd
		want.ForgetHour()
	}

	m.checkFees(t, &is.HourVolumeUsd, &is.HourFeesUsd, want.HourVolumeUsd)
	want.HourFeesUsd = is.HourFeesUsd
	m.checkFees(t, &is.VolumeUsd, &is.FeesUsd, want.VolumeUsd)
	want.FeesUsd = is.FeesUsd
	for _, amount := range [][2]*clmath.U256{{&is.Amount0, &want.Amount0}, {&is.Amount1, &want.Amount1}} {
		if isAmount(clmath.Float64(amount[0]), clmath.Float64(amount[1])) {
			*amount[0] = *amount[1]
		}
	}
	if !same(reflect.ValueOf(&is), reflect.ValueOf(want)) {
		t.Errorf("a day is\n%+v; want\n%+v", is, *want)
	}
	return 1
}

// isAmount allows what the floats of a sum of some dozens of parts may be off.
func isAmount(is, want float64) bool { return math.Abs(is-want) <= 1e-14*want+100 }

// sameHour compares an hour.
func (m *seriesModel) sameHour(t *testing.T, got, want *market.PoolHour) int {
	t.Helper()
	is := *got
	m.checkFees(t, &is.VolumeUsd, &is.FeesUsd, want.VolumeUsd)
	want.FeesUsd = is.FeesUsd

	for _, amount := range [][2]*float64{{&is.Amount0, &want.Amount0}, {&is.Amount1, &want.Amount1}} {
		if isAmount(*amount[0], *amount[1]) {
			*amount[0] = *amount[1]
		}
	}
	if !same(reflect.ValueOf(&is), reflect.ValueOf(want)) {
		t.Errorf("an hour is\n%+v; want\n%+v", is, *want)
	}
	return 1
}

// checkFees checks the sums in USD, and sets the volume to what it should be if it is
// that but for rounding.
func (m *seriesModel) checkFees(t *testing.T, volume, fees *float64, want float64) {
	t.Helper()
	if isClose(*volume, want) {
		*volume = want
	}
	if market.Known(*volume) && !(*fees >= 0 && *fees <= *volume*(1+1e-9)) {
		t.Errorf("fees of %v in a volume of %v", *fees, *volume)
	}
}

// TestRefusedSpanKeepsTickDays checks that what earlier spans of a day wrote of ticks is
// among the changes also when a span fails in a block of the next day.
func TestRefusedSpanKeepsTickDays(t *testing.T) {
	written := func(l *Ledger) (n int) {
		for op := range l.Changes().Ops.All() {
			if e := TickDays.Entry(&op); e != nil && !op.Drop {
				n++
			}
		}
		return n
	}

	l := poolOfTwo(t, 3000)
	s := strictSpan(l)
	s.Blocks[0].Time += market.Day // its end is of the day before
	s.To, s.Time = s.To+1, l.Head().Time+24
	if _, err := l.Apply(s); !errors.Is(err, ErrOutOfOrder) {
		t.Fatalf("Apply = %v; want ErrOutOfOrder", err)
	}
	if got, want := written(l), written(poolOfTwo(t, 3000)); got != want || want != 4 {
		t.Errorf("%d days of ticks are written after a refused span; want %d, of its four ticks", got, want)
	}
}
