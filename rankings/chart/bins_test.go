package chart

import (
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// ladder is a State of one pool with as many initialised ticks, 60 apart from 0 on, at
// a tick.
func ladder(ticks int, at int32) *market.State {
	r := rand.New(rand.NewPCG(uint64(ticks), 3))
	var tokens market.Table[market.Token]
	tokens.Append(market.Token{Address: market.Address{1}, Decimals: 18})
	tokens.Append(market.Token{Address: market.Address{2}, Decimals: 6})

	var rows market.Table[market.Tick]
	var refs []market.TickRef
	below := clmath.I128{}
	for n := range ticks {
		net := clmath.I128{Lo: r.Uint64()}
		if n%3 == 2 || n == ticks-1 {
			net = below.Neg()
		}
		below, _ = below.Add(net)
		tick := int32(60 * n)
		slot := rows.Append(market.Tick{Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick), LiquidityNet: net})
		refs = append(refs, market.TickRef{Tick: tick, Slot: slot})
	}

	var pools market.Table[market.Pool]
	pools.Append(market.Pool{Currency1: 1, TickSpacing: 60, Tick: at, SqrtPriceX96: clmath.SqrtPriceAtTick(at)})
	var lists market.TickListTable
	lists.Append(refs...)
	return &market.State{
		Tokens: tokens.Freeze(), Pools: pools.Freeze(), Ticks: rows.Freeze(), TickLists: lists.Freeze(),
	}
}

// TestBins: the bins of a pool follow each other from its first tick to its last, hold
// together what the pool holds, and each the mean liquidity and the price of its middle;
// of too many, those around the price stand alone.
func TestBins(t *testing.T) {
	f := func(ticks int, at int32, alone int32) {
		t.Helper()
		st := ladder(ticks, at)
		bins := Bins(st, 0)
		if want := min(max(ticks-1, 0), MaxBins); len(bins) != want {
			t.Fatalf("%d ticks make %d bins; want %d", ticks, len(bins), want)
		}
		if len(bins) == 0 {
			return
		}

		// As many stand alone on either side of the price as there are.
		around := min(max(at/60, 0), int32(ticks)-2)
		if first := max(min(around-MaxBins/2, int32(ticks-1)-MaxBins), 0); bins[0].TickUpper != 60*(first+1) {
			t.Errorf("%d ticks at %d: the first bin ends at %d; want %d", ticks, at, bins[0].TickUpper, 60*(first+1))
		}

		var sum0, sum1 clmath.U256
		next := int32(0)
		for _, b := range bins {
			if b.TickLower != next || b.TickLower >= b.TickUpper {
				t.Fatalf("a bin from %d to %d follows tick %d", b.TickLower, b.TickUpper, next)
			}
			if b.TickLower <= at && at < b.TickUpper && b.TickUpper-b.TickLower != alone {
				t.Errorf("%d ticks: the bin at %d is from %d to %d; want %d wide",
					ticks, at, b.TickLower, b.TickUpper, alone)
			}
			next = b.TickUpper
			sum0.Add(&sum0, &b.Amount0)
			sum1.Add(&sum1, &b.Amount1)
			checkBin(t, st, &b)
		}
		want0, want1 := value.Holdings(st, 0)
		if next != int32(60*(ticks-1)) || sum0 != want0 || sum1 != want1 {
			t.Errorf("%d ticks: up to %d, %s and %s; want %s and %s",
				ticks, next, sum0.Dec(), sum1.Dec(), want0.Dec(), want1.Dec())
		}
	}

	f(0, 0, 0)
	f(1, 0, 0)
	f(2, 30, 60)
	f(50, 1000, 60)
	f(MaxBins, 1000, 60)
	f(MaxBins+1, 1000, 60)
	for _, at := range []int32{61, 5900, 6000, 15_000, 60*400 - 30} {
		f(MaxBins+2, min(at, 60*MaxBins), 60)
		f(402, at, 60)
	}
	f(402, -50, 0)
	f(402, 60*500, 0)
	f(402, 30, 60) // the first stands alone too where the price is in it
}

// checkBin compares the liquidity and the price of a bin with sums over its ticks.
func checkBin(t *testing.T, st *market.State, b *Bin) {
	t.Helper()
	var below clmath.I128
	sum := 0.0
	for n := int32(0); n < b.TickUpper/60; n++ {
		below, _ = below.Add(st.Ticks.At(uint32(n)).LiquidityNet)
		if n >= b.TickLower/60 {
			sum += (float64(below.Hi)*(1<<64) + float64(below.Lo)) * 60
		}
	}

	liquidity := b.Liquidity.U256()
	got, want := clmath.Float64(&liquidity), sum/float64(b.TickUpper-b.TickLower)
	if math.Abs(got-want) > 1e-9*want+1 {
		t.Errorf("the bin from %d to %d has the liquidity %v; want %v", b.TickLower, b.TickUpper, got, want)
	}
	price := math.Pow(1.0001, float64(b.TickLower+b.TickUpper)/2) * 1e12
	if !(math.Abs(b.Price-price) <= 1e-9*price) {
		t.Errorf("the bin from %d to %d is at %v; want %v", b.TickLower, b.TickUpper, b.Price, price)
	}
}

// TestBinsWithoutDecimals: without the decimals of both tokens a bin has no price.
func TestBinsWithoutDecimals(t *testing.T) {
	for token := range uint32(2) {
		st := ladder(3, 70)
		var tokens market.Table[market.Token]
		for i := range uint32(2) {
			at := *st.Tokens.At(i)
			at.BadDecimals = i == token
			tokens.Append(at)
		}
		st.Tokens = tokens.Freeze()

		for _, b := range Bins(st, 0) {
			if market.Known(b.Price) || b.Liquidity.IsZero() || b.TickUpper-b.TickLower != 60 {
				t.Errorf("token %d: %+v", token, b)
			}
		}
	}
}
