package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// recorded are the prices of an hour, with something in every field.
var recorded = []HourPrice{
	{
		Token: 1, Usd: 5, AsOf: 7, Markets: 3, OnlyPool: market.NoIndex, Source: market.SourcePool,
		Corroborated: true, ExitUsd: 1e6,
	},
	{
		Token: 2, Usd: 0.25, AsOf: 8, Markets: 1, OnlyPool: market.NoIndex, Source: market.SourceDerived,
		Reason: market.ReasonUncorroborated, ExitUsd: 1e3,
	},
}

// moved changes the liquidity of NFT 1 of the pool of two tokens.
func moved(by int64) market.ModifyLiquidity {
	m := market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: testManager, TickLower: -60, TickUpper: 60, Salt: script.Salt(1),
		LiquidityDelta: clmath.I128{Lo: uint64(max(by, -by))},
	}
	if by < 0 {
		m.LiquidityDelta = m.LiquidityDelta.Neg()
	}
	return m
}

// TestPricesAreRecorded: what is known of the tokens' prices in the hour stands in
// the history, and with a position that closes.
func TestPricesAreRecorded(t *testing.T) {
	l := poolOfTwo(t, 3000)
	held := market.HeldPool{Pool: 0, Held: [2]uint32{3, market.NoIndex}, Others: 7}
	l.BeginHour(market.HourOf(l.Head().Time), recorded, []market.HeldPool{held})
	mint := strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: 1}, moved(1e9))
	apply(t, l, mint)
	l.Changes()
	apply(t, l, strictSpan(l, moved(-1e9)))

	entries := 0
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil {
			if entries++; e.Price0Usd != 5 || e.Price1Usd != 0.25 {
				t.Errorf("the history has prices %v and %v; want 5 and 0.25", e.Price0Usd, e.Price1Usd)
			}
		}
	}
	if entries != 1 {
		t.Errorf("%d entries; want one", entries)
	}

	st := l.Freeze()
	if pool := st.Pools.At(0); pool.Held != held.Held || pool.Others != held.Others {
		t.Errorf("the pool has %v and %d others; want those of the hour, %+v", pool.Held, pool.Others, held)
	}
	p := st.Positions.At(0)
	for leg, r := range recorded {
		want := market.ClosePrice{
			Usd: r.Usd, AsOf: r.AsOf, Markets: r.Markets, Source: r.Source, Corroborated: r.Corroborated,
		}
		if got := p.Close(leg); got != want {
			t.Errorf("leg %d was closed at %+v; want %+v", leg, got, want)
		}
	}
	if p.IsOpen() || int64(p.ClosedAt) != st.Now() || st.OpenCount != 0 {
		t.Errorf("the position is %+v", p)
	}
}

// A price that only the position's own pool supports is none for it when it closes. The
// reason is the token's, if it has one.
func TestOwnPricesAtTheClose(t *testing.T) {
	f := func(only uint32, corroborated bool, reason, want market.Reason) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		l.BeginHour(market.HourOf(l.Head().Time), []HourPrice{{
			Token: 1, Usd: 5, AsOf: 7, Markets: 1, OnlyPool: only, Source: market.SourcePool,
			Reason: reason, Corroborated: corroborated,
		}}, nil)
		apply(t, l, strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: 1}, moved(1e9)))
		apply(t, l, strictSpan(l, moved(-1e9)))

		got := l.Freeze().Positions.At(0).Close(0)
		own := want != market.ReasonNone
		if got.Reason != want || market.Known(got.Usd) == own || own && (got.AsOf != 0 || got.Markets != 0 || got.Source != market.SourceNone) {
			t.Errorf("with a price of pool %d, corroborated %t, for the reason %v: %+v; want the reason %v",
				only, corroborated, reason, got, want)
		}
	}

	f(0, false, market.ReasonNone, market.ReasonOwnPoolOnly)
	f(0, false, market.ReasonUncorroborated, market.ReasonUncorroborated)
	f(0, true, market.ReasonUncorroborated, market.ReasonNone)
	f(1, false, market.ReasonUncorroborated, market.ReasonNone)
	f(market.NoIndex, false, market.ReasonNone, market.ReasonNone)
}

// TestStableIsRecorded: the first pool of a stable puts its price into the series,
// once, and a Revert takes it out: as either token of the pool.
func TestStableIsRecorded(t *testing.T) {
	for token := range uint32(2) {
		checkStable(t, token+1)
	}
}

func checkStable(t *testing.T, token uint32) {
	t.Helper()
	stable := testTokens()[token].Address
	l := New(Config{Chain: 1, PositionManager: testManager, Stables: []market.Address{stable}})
	start := strictSpan(l)
	start.Tokens = testTokens()
	start.Time += 5 * market.Hour
	start.Blocks[0].Time = start.Time
	apply(t, l, start)
	l.Changes()

	ops := func() (written, dropped int) {
		for op := range l.Changes().Ops.All() {
			e := HourPrices.Entry(&op)
			switch {
			case e == nil:
			case e.Token != token || e.Hour != market.HourOf(start.Time):
				t.Errorf("a record of token %d, hour %d", e.Token, e.Hour)
			case op.Drop:
				dropped++
			case e.Usd == 1 && e.Corroborated && e.Source == market.SourceAnchor:
				written++
			}
		}
		return written, dropped
	}
	pool := func(id byte, fee uint32) market.Initialize {
		return market.Initialize{
			Pool: market.PoolID{id}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			Fee: fee, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
		}
	}
	f := func(what string, written, dropped int) {
		t.Helper()
		if w, d := ops(); w != written || d != dropped {
			t.Errorf("%s: %d records written, %d dropped; want %d, %d", what, w, d, written, dropped)
		}
	}

	apply(t, l, strictSpan(l, pool(1, 3000)))
	f("the first pool", 1, 0)
	apply(t, l, strictSpan(l, pool(2, 500)))
	f("the second pool", 0, 0)
	for range 2 {
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
	}
	f("both reverted", 0, 1)
}

// TestRecordsOfPrices: the record of an hour has everything that a price has, and that a
// token has of it afterwards.
func TestRecordsOfPrices(t *testing.T) {
	price := market.Price{
		Usd: 5, AsOf: 7, OnlyPool: 3, Markets: 2, Source: market.SourcePool,
		Reason: market.ReasonUncorroborated, Corroborated: true, ExitUsd: 1e6,
	}
	want := HourPrice{
		Token: 1, Usd: 5, AsOf: 7, OnlyPool: 3, Markets: 2, Source: market.SourcePool,
		Reason: market.ReasonUncorroborated, Corroborated: true, ExitUsd: 1e6,
	}
	if got := HourPriceOf(1, &price); got != want {
		t.Errorf("the record is %+v; want %+v", got, want)
	}

	want.PriceLostAt, want.TrustLostAt = 8, 9
	l := poolOfTwo(t, 3000)
	l.BeginHour(market.HourOf(l.Head().Time), []HourPrice{want}, nil)
	apply(t, l, strictSpan(l))
	if got := HourRecord(1, l.Freeze().Tokens.At(1)); got != want {
		t.Errorf("the token has %+v; want %+v", got, want)
	}

	if rows, saved := Tokens.Changed(&Changes{}), Tokens.Saved(&Undo{}); rows != nil || saved != nil {
		t.Errorf("nothing has the changed rows %v and the saved rows %v", rows, saved)
	}
}
