package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/texts"
)

func hashOf(n uint64) market.Hash { return market.Hash{0: 1, 30: byte(n >> 8), 31: byte(n)} }

// chainOf returns a ledger that has applied empty spans up to the ends given.
func chainOf(t *testing.T, ends ...uint64) *Ledger {
	t.Helper()
	l := New(Config{Chain: 9, Start: 11})
	for _, to := range ends {
		head := l.Head()
		apply(t, l, &market.Span{
			From: head.Number + 1, To: to, Parent: head.Hash, Hash: hashOf(to), Time: int64(to),
		})
	}
	return l
}

func TestSpansMustFollow(t *testing.T) {
	l := chainOf(t, 20, 30)
	f := func(s market.Span, want error) {
		t.Helper()
		if _, err := l.Apply(&s); !errors.Is(err, want) {
			t.Errorf("Apply(%d..%d after %s) = %v; want %v", s.From, s.To, s.Parent, err, want)
		}
	}

	f(market.Span{From: 30, To: 31, Time: 40}, ErrNotNext)
	f(market.Span{From: 32, To: 33, Time: 40}, ErrNotNext)
	f(market.Span{From: 31, To: 30, Time: 40}, ErrNotNext)
	f(market.Span{From: 31, To: 31, Parent: hashOf(29), Time: 40}, ErrNotNext)
	if _, err := l.Apply(&market.Span{From: 31, To: 31, Time: 29}); err == nil {
		t.Error("a span may end before its parent")
	}

	block := func(n uint64, time int64, logs ...market.Log) market.Block {
		return market.Block{Number: n, Time: time, Txs: make([]market.Tx, 2), Logs: logs}
	}
	log := func(index, tx uint32) market.Log {
		return market.Log{Index: index, Tx: tx, Event: market.Subscription{}}
	}
	g := func(blocks ...market.Block) {
		t.Helper()
		if _, err := l.Apply(&market.Span{From: 31, To: 40, Time: 40, Blocks: blocks}); err == nil {
			t.Errorf("the ledger took %+v", blocks)
		}
	}

	g(block(30, 35))
	g(block(41, 35))
	g(block(31, 29))
	g(block(31, 41))
	g(block(31, 35), block(31, 35))
	g(block(31, 35), block(32, 34))
	g(block(31, 35, log(0, 2)))
	g(block(31, 35, log(1, 0), log(1, 0)))
	g(block(31, 35, log(1, 0), log(1, 1)))
	g(block(31, 35, log(1, 1), log(2, 0)))
	f(market.Span{From: 31, To: 31, Parent: hashOf(30), Time: 40}, nil)
	f(market.Span{From: 32, To: 32, Parent: hashOf(77), Time: 40}, nil) // after a hash not known
}

func TestAnchorsAndForget(t *testing.T) {
	l := chainOf(t, 20, 30, 40)
	f := func(want ...uint64) {
		t.Helper()
		var got []uint64
		for _, h := range l.Anchors() {
			got = append(got, h.Number)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("anchors %d; want %d", got, want)
		}
	}

	f(40, 30, 20, 10)
	apply(t, l, &market.Span{From: 41, To: 45, Time: 45}) // a cut: its hash is not known
	f(45, 40, 30, 20, 10)
	apply(t, l, &market.Span{From: 46, To: 300, Hash: hashOf(300), Time: 300})
	f(300, 40, 30, 20, 10)
	if c := l.Changes(); c.UndoableTime != 0 { // the block before the start, of unknown time
		t.Errorf("the oldest block to go back to is of %d; want 0", c.UndoableTime)
	}
	l.Forget(35)
	f(300, 40, 30) // 30 is finalized and deep enough, 40 is not finalized
	if at := l.undoableTime(); at != 30 {
		t.Errorf("the oldest block to go back to is of %d; want 30", at)
	}
	l.Forget(1000)
	f(300, 40) // 45 is less than 256 blocks deep; 40 is where its undo leads
	apply(t, l, &market.Span{From: 301, To: 305, Hash: hashOf(305), Parent: hashOf(300), Time: 305})
	l.Forget(1000)
	f(305, 300, 40) // a reorganisation below 300 needs the undo of 45, which is deep enough
	for range 3 {
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
	}

	if err := l.Revert(); !errors.Is(err, ErrNoUndo) {
		t.Errorf("Revert below the kept history = %v", err)
	}

	c := l.Changes()
	if fmt.Sprint(c.UndoDrop) != "[20 30 40 300 45]" || len(c.UndoPut) != 0 {
		t.Errorf("undos dropped %d, put %d", c.UndoDrop, len(c.UndoPut))
	}

	apply(t, l, &market.Span{From: 41, To: 300, Hash: hashOf(301), Time: 300})
	apply(t, l, &market.Span{From: 301, To: 310, Hash: hashOf(310), Time: 310, Final: true})
	f(310)
	if c = l.Changes(); len(c.UndoPut)+len(c.UndoDrop) != 0 || c.UndoableTime != 310 {
		t.Errorf("a final span left undos: %d dropped, %d put", c.UndoDrop, len(c.UndoPut))
	}
}

// TestForgetBounds: an undo is kept while its span is above the finalized block, or less than 256
// blocks deep.
func TestForgetBounds(t *testing.T) {
	f := func(head, finalized uint64, kept int) {
		t.Helper()
		l := chainOf(t, 20, 30, head)
		l.Changes()
		l.Forget(finalized)
		if got := len(l.Anchors()) - 1; got != kept {
			t.Errorf("at block %d, finalized %d: %d undos are kept; want %d", head, finalized, got, kept)
		}
		if c := l.Changes(); len(c.UndoDrop) != 3-kept {
			t.Errorf("at block %d, finalized %d: the undos %d are dropped; want %d", head, finalized, c.UndoDrop, 3-kept)
		}
	}

	f(400, 19, 3)
	f(400, 20, 2)
	f(400, 29, 2)
	f(400, 30, 1)
	f(400, 400, 1)
	f(275, 400, 3)
	f(276, 400, 2)
	f(285, 400, 2)
	f(286, 400, 1)
}

// TestFirstBlocks: a new ledger begins before its first block, which is 1 where none is named, keeps
// all days and hours, and can go back to where it began.
func TestFirstBlocks(t *testing.T) {
	f := func(start, before uint64) {
		t.Helper()
		l := New(Config{Chain: 9, Start: start})
		st := l.Freeze()
		if l.Head().Number != before || st.DaysFrom != 1 || st.HoursFrom != 1 || st.Native != market.NoIndex || st.Chain != 9 {
			t.Errorf("from block %d: %+v", start, st)
		}
		for _, l := range []*Ledger{l, From(Config{Chain: 9, Start: start}, st, nil, func() {})} {
			apply(t, l, &market.Span{From: before + 1, To: before + 5, Time: 60})
			if heads := l.Anchors(); len(heads) != 2 || heads[1].Number != before {
				t.Errorf("from block %d: the anchors are %+v; want %d too", start, heads, before)
			}
		}
	}

	f(0, 0)
	f(1, 0)
	f(11, 10)
}

// TestBlocksOutOfOrder: what is refused for its order says what it follows.
func TestBlocksOutOfOrder(t *testing.T) {
	f := func(want string, blocks ...market.Block) {
		t.Helper()
		l := chainOf(t, 20)
		_, err := l.Apply(&market.Span{From: 21, To: 40, Time: 40, Blocks: blocks})
		if !errors.Is(err, ErrOutOfOrder) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", blocks, err, want)
		}
	}

	f("block 20 of time 30 is out of order: after block 20 of time 20, up to 40", market.Block{Number: 20, Time: 30})
	f("block 41 of time 30 is out of order: after block 20 of time 20, up to 40", market.Block{Number: 41, Time: 30})
	f("block 25 of time 19 is out of order: after block 20 of time 20, up to 40", market.Block{Number: 25, Time: 19})
	f("block 25 of time 29 is out of order: after block 24 of time 30, up to 40",
		market.Block{Number: 24, Time: 30}, market.Block{Number: 25, Time: 29})
	f("last block 40 of time 40 is out of order: before time 41", market.Block{Number: 24, Time: 41})
}

// TestBetterMetadata: decimals that are known at last replace bad ones, and stay when the spans
// before are taken back. Good ones stay as they are.
func TestBetterMetadata(t *testing.T) {
	symbol, name, address := texts.New("ABC"), texts.New("A token"), market.Address{19: 7}
	l := New(Config{Chain: 9, Start: 11})
	apply(t, l, &market.Span{From: 11, To: 20, Time: market.Hour, Hash: hashOf(20),
		Tokens: []market.TokenMeta{{Address: address, BadDecimals: true}}})
	l.BeginHour(1, []HourPrice{{Token: 0, Usd: 4, Source: market.SourcePool}}, nil)
	apply(t, l, &market.Span{From: 21, To: 25, Time: market.Hour + 1, Parent: hashOf(20), Hash: hashOf(25)})
	l.BeginHour(1, []HourPrice{{Token: 0, Usd: 5, Source: market.SourcePool}}, nil)
	apply(t, l, &market.Span{From: 26, To: 30, Time: market.Hour + 1, Parent: hashOf(25), Hash: hashOf(30),
		Tokens: []market.TokenMeta{{Address: address, Symbol: symbol, Name: name, Decimals: 6}}})
	other := texts.New("XYZ")
	l.BeginHour(1, []HourPrice{{Token: 0, Usd: 6, Source: market.SourcePool}}, nil)
	apply(t, l, &market.Span{From: 31, To: 40, Time: market.Hour + 2, Parent: hashOf(30), Hash: hashOf(40),
		Tokens: []market.TokenMeta{{Address: address, Symbol: other, Name: other, Decimals: 9}}})

	for _, usd := range []float64{6, 5, 4, market.Unknown} {
		got := l.Freeze().Tokens.At(0)
		if got.Symbol != symbol || got.Name != name || got.Decimals != 6 || got.BadDecimals {
			t.Errorf("at block %d the token is %+v", l.Head().Number, *got)
		}
		if got.HourUsd != usd && (market.Known(got.HourUsd) || market.Known(usd)) {
			t.Errorf("at block %d the price is %v; want %v", l.Head().Number, got.HourUsd, usd)
		}
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGasUsd: no gas costs nothing, and any other is unknown without a price of the native currency.
func TestGasUsd(t *testing.T) {
	l := poolOfTwo(t, 3000)
	if usd := l.gasUsd(clmath.U128{}); usd != 0 {
		t.Errorf("no gas costs %v", usd)
	}
	if usd := l.gasUsd(clmath.U128{Lo: 1}); market.Known(usd) {
		t.Errorf("without a price a wei costs %v", usd)
	}

	l.BeginHour(0, []HourPrice{{Token: l.st.Native, Usd: 2000, Source: market.SourceAnchor}}, nil)
	s := strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: 1}, moved(1e9))
	s.Blocks[0].Txs[0] = market.Tx{GasKnown: true, GasUsed: 1e9, GasPrice: clmath.U128{Lo: 1e6}}
	l.Changes()
	apply(t, l, s)
	if usd := l.gasUsd(clmath.U128{Lo: 1e15}); usd != 2 {
		t.Errorf("a thousandth costs %v; want 2", usd)
	}
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil && (e.NativeUsd != 2000 || e.GasWei.Lo != 1e15) {
			t.Errorf("the transaction says that the native currency is worth %v, and that it cost %d wei", e.NativeUsd, e.GasWei.Lo)
		}
	}
}

// TestFindPosition: a position is found by its id, and no other is taken for it.
func TestFindPosition(t *testing.T) {
	l := poolOfTwo(t, 3000)
	if i, ok := l.findPosition(5); ok {
		t.Errorf("without positions 5 is row %d", i)
	}

	ids := []uint64{3, 4, 9}
	for _, id := range ids {
		change := moved(1e9)
		change.Salt = script.Salt(id)
		apply(t, l, strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: id}, change))
	}
	for id := range uint64(12) {
		i, ok := l.findPosition(id)
		if want := slices.Index(ids, id); ok != (want >= 0) || ok && int(i) != want {
			t.Errorf("position %d is row %d, %t; want %d", id, i, ok, want)
		}
	}
}

// TestNewPool: a pool knows the block that it was made in, and its time.
func TestNewPool(t *testing.T) {
	p := poolOfTwo(t, 3000).Freeze().Pools.At(0)
	if p.CreatedBlock != 1 || p.CreatedAt != 12 || p.LastHour != market.NoIndex || p.LastFee != market.NoFee {
		t.Errorf("the pool is %+v", *p)
	}
}

// TestReasonOfAClose: a position that closes keeps why a price is not known.
func TestReasonOfAClose(t *testing.T) {
	f := func(price HourPrice, want market.ClosePrice) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		price.Token = 1
		l.BeginHour(0, []HourPrice{price}, nil)
		apply(t, l, strictSpan(l))
		got := l.closePrice(1, 0)
		if market.Known(got.Usd) != market.Known(want.Usd) || market.Known(got.Usd) && got.Usd != want.Usd {
			t.Errorf("%+v closes at %v; want %v", price, got.Usd, want.Usd)
		}
		if got.Usd, want.Usd = 0, 0; got != want {
			t.Errorf("%+v closes as %+v; want %+v", price, got, want)
		}
	}

	unknown := market.Unknown
	f(HourPrice{Usd: unknown, OnlyPool: market.NoIndex, Reason: market.ReasonThinMarket},
		market.ClosePrice{Usd: unknown, Reason: market.ReasonThinMarket})
	f(HourPrice{Usd: 3, AsOf: 7, OnlyPool: market.NoIndex, Markets: 2, Source: market.SourcePool},
		market.ClosePrice{Usd: 3, AsOf: 7, Markets: 2, Source: market.SourcePool})
	f(HourPrice{Usd: 3, AsOf: 7, Markets: 1, Source: market.SourcePool},
		market.ClosePrice{Usd: unknown, Reason: market.ReasonOwnPoolOnly})
	f(HourPrice{Usd: 3, AsOf: 7, Markets: 1, Source: market.SourcePool, Reason: market.ReasonUncorroborated},
		market.ClosePrice{Usd: unknown, Reason: market.ReasonUncorroborated})
	f(HourPrice{Usd: 3, AsOf: 7, Markets: 1, Source: market.SourcePool, Corroborated: true},
		market.ClosePrice{Usd: 3, AsOf: 7, Markets: 1, Source: market.SourcePool, Corroborated: true})
}

// TestOwnPoolPrice: what a position pays in or takes out has no price if nothing but
// its own pool supports it, as it has none while it is held.
func TestOwnPoolPrice(t *testing.T) {
	f := func(price HourPrice, want float64) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		price.Token, price.Usd = 1, 3
		l.BeginHour(0, []HourPrice{price}, nil)
		apply(t, l, strictSpan(l))
		got := l.independentUsd(1, 0)
		if market.Known(got) != market.Known(want) || market.Known(got) && got != want {
			t.Errorf("%+v is worth %v; want %v", price, got, want)
		}
	}

	f(HourPrice{OnlyPool: market.NoIndex}, 3)
	f(HourPrice{OnlyPool: 0}, market.Unknown)
	f(HourPrice{OnlyPool: 0, Corroborated: true}, 3)
}

// TestFreeHoursAfterRevert: the records of buckets that are gone are not taken again.
func TestFreeHoursAfterRevert(t *testing.T) {
	l := poolOfTwo(t, 3000)
	l.beginSpan()
	u := &Undo{Rows: make([]uint32, TableCount())}
	Hours.add(l, market.HourBucket{Pool: market.NoIndex})
	Hours.add(l, market.HourBucket{Pool: market.NoIndex})
	l.freeHours.add(0)
	l.freeHours.add(1)

	u.Rows[Hours.index] = 1
	l.undoHours(u)
	if slot, ok := l.freeHours.take(); !ok || slot != 0 {
		t.Errorf("record %d is free, %t; want that of the bucket that stays", slot, ok)
	}
	if slot, ok := l.freeHours.take(); ok {
		t.Errorf("record %d is free, and is gone", slot)
	}
}

// TestTokenWithoutPrice: nothing is known of the price of a new token, and that of a stable is 1. A
// revert of the hour that prices it leaves it with its names.
func TestTokenWithoutPrice(t *testing.T) {
	symbol, name := texts.New("ABC"), texts.New("A token")
	plain, stable := market.Address{19: 7}, market.Address{19: 8}
	l := New(Config{Chain: 9, Start: 11, Stables: []market.Address{stable}})
	apply(t, l, &market.Span{From: 11, To: 20, Time: market.Hour, Hash: hashOf(20), Tokens: []market.TokenMeta{
		{Address: plain, Symbol: symbol, Name: name, Decimals: 6}, {Address: stable, Decimals: 18},
	}})
	hold := func(when string) {
		t.Helper()
		st := l.Freeze()
		got := *st.Tokens.At(0)
		if market.Known(got.HourUsd) {
			t.Errorf("%s the price is %v; want none", when, got.HourUsd)
		}
		got.HourUsd = 0
		want := market.Token{
			Address: plain, Symbol: symbol, Name: name, Decimals: 6,
			HourOnlyPool: market.NoIndex, HourReason: market.ReasonNoMarket,
		}
		if got != want {
			t.Errorf("%s the token is %+v; want %+v", when, got, want)
		}
		if s := st.Tokens.At(1); s.HourUsd != 1 || s.HourSource != market.SourceAnchor || !s.HourCorroborated {
			t.Errorf("%s the stable is %+v", when, *s)
		}
	}

	hold("as it was added")
	l.BeginHour(1, []HourPrice{{Token: 0, Usd: 5, Source: market.SourcePool}}, nil)
	apply(t, l, &market.Span{From: 21, To: 30, Time: market.Hour + 1, Parent: hashOf(20), Hash: hashOf(30)})
	if usd := l.Freeze().Tokens.At(0).HourUsd; usd != 5 {
		t.Errorf("priced it is at %v; want 5", usd)
	}
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	hold("after a revert")
}

func TestTokensSurviveRevert(t *testing.T) {
	l := chainOf(t, 20)
	apply(t, l, &market.Span{From: 21, To: 21, Tokens: testTokens(), Time: 30})
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}

	if c := l.Changes(); c.Head != l.Head() || c.Head.Number != 20 {
		t.Errorf("the changes lead to block %d; want %d", c.Head.Number, l.Head().Number)
	}
	if n := l.Freeze().Tokens.Len(); n != uint32(len(testTokens())) || l.st.Native != 0 {
		t.Errorf("%d tokens are left, native is %d", n, l.st.Native)
	}

	bad := market.Span{
		From: 21, To: 21, Time: 30, Tokens: []market.TokenMeta{{Address: market.Address{9}}},
		Blocks: []market.Block{{
			Number: 21, Time: 30, Txs: make([]market.Tx, 1), Logs: []market.Log{{Event: market.Swap{}}},
		}},
	}

	if _, err := l.Apply(&bad); err == nil || l.Freeze().Tokens.Len() != uint32(len(testTokens())) {
		t.Errorf("a refused span (%v) added a token", err)
	}
	if l.st.Native != 0 {
		t.Errorf("after a refused span the native currency is %d; it was known before", l.st.Native)
	}
}

// TestMetadataSurvivesRevert: what a reverted span had learned of a token stays, as a
// feed tells it once.
func TestMetadataSurvivesRevert(t *testing.T) {
	l := chainOf(t, 20)
	learn := func(block uint64, meta market.TokenMeta) {
		apply(t, l, &market.Span{From: block, To: block, Tokens: []market.TokenMeta{meta}, Time: 30})
	}
	address, symbol, name := market.Address{9}, texts.New("TIDE"), texts.New("Tide coin")
	learn(21, market.TokenMeta{Address: address, BadDecimals: true})
	learn(22, market.TokenMeta{Address: address, Symbol: symbol, Name: name, Decimals: 6})

	for range 2 { // of the span that told it, and of the one that added the token
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
		got := l.Freeze().Tokens.At(l.tokenAt(address))
		if got.Decimals != 6 || got.BadDecimals || got.Symbol != symbol || got.Name != name {
			t.Errorf("after the revert the token is %+v", *got)
		}
	}
}

func TestMismatchNamesTheLog(t *testing.T) {
	l := chainOf(t, 20)
	s := market.Span{From: 21, To: 22, Time: 30, Blocks: []market.Block{{
		Number: 22, Time: 30, Txs: []market.Tx{{}, {Hash: hashOf(5)}},
		Logs: []market.Log{{Index: 7, Tx: 1, Event: market.Donate{Pool: market.PoolID(hashOf(4))}}},
	}}}
	want := "cannot apply span 21 to 22: chain 9 block 22 log 7 tx " + hashOf(5).String() +
		": pool is " + hashOf(4).String() + "; expected one that was initialized"
	if _, err := l.Apply(&s); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// A position whose sums pass 128 bits keeps them in the overflow table.
func TestWideSums(t *testing.T) {
	w := newWorld(1)
	tick := int32(-887_000)
	pool := market.PoolID{1}
	add := market.ModifyLiquidity{
		Pool: pool, Sender: testManager, TickLower: -886_980, TickUpper: -886_920, Salt: script.Salt(1),
		LiquidityDelta: clmath.I128{Lo: 0, Hi: 1 << 60},
	}

	remove := add
	remove.LiquidityDelta = add.LiquidityDelta.Neg()
	events := []market.Event{
		market.Initialize{
			Pool: pool, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			Fee: 100, TickSpacing: 60, Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick),
		},
		market.TransferNFT{To: w.owner(), ID: 1}, add, remove,
	}

	s := market.Span{From: 100, To: 100, Time: 50, Tokens: testTokens(), Blocks: []market.Block{{
		Number: 100, Time: 50, Txs: make([]market.Tx, 1),
	}}}
	for i, e := range events {
		s.Blocks[0].Logs = append(s.Blocks[0].Logs, market.Log{Index: uint32(i), Event: e})
	}

	apply(t, w.Ledger, &s)
	st := w.Freeze()
	clean(t, st)
	p := st.Positions.At(0)
	sums := st.Sums(p)
	var less clmath.U256
	less.Sub(&sums.Deposited0, &sums.Withdrawn0)
	if p.Overflow != 0 || sums.Deposited0.BitLen() <= 128 || less.Dec() != "1" {
		t.Errorf("overflow %d, deposited %s, withdrawn %s",
			p.Overflow, sums.Deposited0.Dec(), sums.Withdrawn0.Dec())
	}

	if err := w.Revert(); err != nil {
		t.Fatal(err)
	}

	clean(t, w.Freeze())
}

func TestCutHours(t *testing.T) {
	f := func(from int64, end int64, want string, times ...int64) {
		t.Helper()
		s := market.Span{
			From: 10, To: 99, Parent: hashOf(9), Hash: hashOf(99), Time: end,
			Tokens: testTokens(), Final: true,
		}

		for i, at := range times {
			s.Blocks = append(s.Blocks, market.Block{Number: 10 + 10*uint64(i), Time: at})
		}

		got, next, tokens := "", s.From, 0
		for _, p := range CutHours(&s, from) {
			got += fmt.Sprintf("%d..%d(%d) ", p.From, p.To, len(p.Blocks))
			for _, b := range p.Blocks {
				if market.HourOf(b.Time) != market.HourOf(p.Time) {
					t.Errorf("block %d of time %d is in a piece of %d", b.Number, b.Time, p.Time)
				}
			}
			if p.From != next || !p.Final || (p.From == s.From) != (p.Parent == s.Parent) ||
				(p.To == s.To) != (p.Hash == s.Hash) {
				t.Errorf("piece %+v", p)
			}
			next, tokens = p.To+1, tokens+len(p.Tokens)
		}

		if got != want+" " || next != s.To+1 || tokens != len(s.Tokens) {
			t.Errorf("CutHours(%d) = %s with %d tokens; want %s", times, got, tokens, want)
		}
	}

	f(100, 200, "10..99(0)")
	f(100, 4000, "10..99(0)")
	f(100, 200, "10..99(2)", 110, 120)
	f(100, 4000, "10..20(2) 21..99(0)", 110, 120)
	f(100, 4000, "10..10(1) 11..99(1)", 110, 3600)
	f(100, 4000, "10..99(2)", 3600, 3700)
	f(100, 20_000, "10..10(1) 11..30(2) 31..99(0)", 110, 7300, 7301)
	f(100, 20_000, "10..10(1) 11..20(1) 21..99(1)", 110, 7300, 19_000)
}

// TestCutsAtTheEnd: the last piece ends with the span, and has a block if it is one
// block long: also when the last block has events, and another time than the span.
func TestCutsAtTheEnd(t *testing.T) {
	f := func(end int64, want string, blocks ...market.Block) {
		t.Helper()
		got := ""
		for _, p := range CutHours(&market.Span{From: 10, To: 12, Time: end, Blocks: blocks}, 100) {
			got += fmt.Sprintf("%d..%d(%d) ", p.From, p.To, len(p.Blocks))
		}
		if got != want+" " {
			t.Errorf("a span until %d is cut into %s; want %s", end, got, want)
		}
	}

	f(3600, "10..11(1) 12..12(1)", market.Block{Number: 11, Time: 200}, market.Block{Number: 12, Time: 3600})
	f(3600, "10..11(1) 12..12(0)", market.Block{Number: 11, Time: 200})
	f(3600, "10..12(1)", market.Block{Number: 12, Time: 3600})
	f(3600, "10..12(1)", market.Block{Number: 12, Time: 200})
	f(9999, "10..12(2)", market.Block{Number: 11, Time: 200}, market.Block{Number: 12, Time: 300})
}

func TestMinuteRing(t *testing.T) {
	var m market.Minutes
	if closeMinute(&m, 7, 3); m.Newest != 0 || m.Minute[0] != 7 || m.Sqrt[0] != 3 {
		t.Errorf("the first close of a ring is %+v", m)
	}

	m = market.Minutes{}
	for k := range uint32(80) {
		closeMinute(&m, 1000+k/2*3, float64(k))
	}
	if m.Minute[m.Newest] != 1117 || m.Sqrt[m.Newest] != 79 {
		t.Errorf("the newest close is %v of minute %d", m.Sqrt[m.Newest], m.Minute[m.Newest])
	}
	oldest := (m.Newest + 1) % market.MinuteSlots
	if m.Minute[oldest] != 1117-31*3 || m.Sqrt[oldest] != 17 {
		t.Errorf("the oldest close is %v of minute %d", m.Sqrt[oldest], m.Minute[oldest])
	}
}

// TestStablesFromTheFirstBlock: a listed stable is worth 1 USD before any hour
// has been announced, and after the span with its metadata is reverted.
func TestStablesFromTheFirstBlock(t *testing.T) {
	listed, bad := market.Address{19: 2}, market.Address{19: 3}
	l := New(Config{Chain: 1, Start: 1, Stables: []market.Address{listed, bad}})
	span := market.Span{From: 1, To: 2, Hash: hashOf(2), Time: 7300, Tokens: []market.TokenMeta{
		{Address: market.Address{19: 1}}, {Address: listed, Decimals: 6}, {Address: bad, BadDecimals: true},
	}}
	check := func(when string) {
		t.Helper()
		st := l.Freeze()
		if s := st.Tokens.At(1); s.HourUsd != 1 || s.HourSource != market.SourceAnchor || !s.HourCorroborated {
			t.Errorf("%s the stable is %+v", when, *s)
		}
		for _, i := range []uint32{0, 2} {
			if o := st.Tokens.At(i); market.Known(o.HourUsd) {
				t.Errorf("%s token %d is %+v", when, i, *o)
			}
		}
	}

	apply(t, l, &span)
	check("at first")
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	check("after a revert")
	span.Tokens = nil
	apply(t, l, &span)
	check("once more")
}

// TestPricesAreOfTheGeneration: a ledger leaves out the prices and statistics that its
// first state has from the generation before.
func TestPricesAreOfTheGeneration(t *testing.T) {
	st := *chainOf(t, 20).Freeze()
	fillTable(&st.Prices, 2)
	fillTable(&st.Stats, 3)
	got := From(Config{Chain: 9}, &st, nil, func() {}).Freeze()
	if got.Prices.Len() != 0 || got.Stats.Len() != 0 || got.Head != st.Head || got.Chain != 9 {
		t.Errorf("chain %d at %+v has %d prices and %d statistics; want none",
			got.Chain, got.Head, got.Prices.Len(), got.Stats.Len())
	}
}

// TestFirstDaysOfAnOldStore: a state of an earlier format has the days that hours were
// kept of, and the hours from the next day on.
func TestFirstDaysOfAnOldStore(t *testing.T) {
	st := *chainOf(t, 20).Freeze()
	st.Head.Time = 100*market.Day + 5*market.Hour
	st.DaysFrom, st.HoursFrom = 0, 0
	got := From(Config{Chain: 9}, &st, nil, func() {}).Freeze()
	if got.DaysFrom != 100-market.HourlyDays+1 || got.HoursFrom != 101*market.HoursOfDay+1 {
		t.Errorf("days from %d and hours from %d", got.DaysFrom, got.HoursFrom)
	}

	st.DaysFrom, st.HoursFrom = 7, 9
	if got := From(Config{Chain: 9}, &st, nil, func() {}).Freeze(); got.DaysFrom != 7 || got.HoursFrom != 9 {
		t.Errorf("days from %d and hours from %d; want them as they were", got.DaysFrom, got.HoursFrom)
	}
}

// TestPresent: the present State has what a frozen one has but for closing values that
// are out of date, and is that of the ledger also after new rows and a revert. To read it
// makes no write copy anything.
func TestPresent(t *testing.T) {
	w := newWorld(5)
	for n := range 60 {
		s := w.step().span
		apply(t, w.Ledger, &s)
		if n%7 == 6 {
			if err := w.Revert(); err != nil {
				t.Fatal(err)
			}
		}

		frozen := w.Freeze()
		sameState(t, w.Present(), frozen)
	}

	before := w.Present().Pools.At(0)
	if now := Pools.edit(w.Ledger, 0); now == before {
		t.Fatal("a frozen pool was written; this is no test")
	}
	before = w.Present().Pools.At(0)
	if now := Pools.edit(w.Ledger, 0); now != before {
		t.Error("a pool was copied before a write, though no State is frozen")
	}
}
