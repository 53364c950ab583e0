package pages

import (
	"slices"
	"testing"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// charting returns pages over a pool of three positions, prices known, whose newest view is
// that of the state. Two positions have the same range.
func charting(t *testing.T) (*Pages, *rankings.View) {
	t.Helper()
	var store *storage.Store
	p := crowded(t, func(c *Config) { store = c.Store }, crowd(3, 1))
	st := played(t, store, "gas 0 0", "pool P A B 3000 60", "mint 1 a P min max 1e18", "mint 2 b P -600 600 1e18",
		"mint 3 c P -600 600 2e18", "wait +1d", "push P @1.1", "wait +1d", "push P @1", "wait +1d", "remove 3 all",
		"push P @0.99")

	priceAll(st)
	var stats market.Table[market.PoolStats]
	stats.Append(market.PoolStats{TVLUsd: 1e6, FeesUsd24h: 1})
	st.Stats = stats.Freeze()
	return p, &rankings.View{State: st, Generation: 9}
}

// TestKeptCharts checks that charts with the parts that are kept of another position's, or
// of the pool's, are the same bytes as those that were rendered whole.
func TestKeptCharts(t *testing.T) {
	p, v := charting(t)
	body := func(of *Pages, i uint32, c query.Chart) string {
		t.Helper()
		q := &Question{Chart: c}
		render := of.appendPositionCharts
		if i == market.NoIndex {
			i, render = 0, of.appendPoolCharts
		}
		dst, err := render([]byte("x"), q, v, i)
		if err != nil {
			t.Fatal(err)
		}
		return string(dst)
	}

	charts := []query.Chart{{}, {Range: query.RangeAll}, {Interval: query.Interval1h}}
	all := []uint32{market.NoIndex, 0, 1, 2}
	for _, c := range charts {
		for _, first := range all {
			p.charts.kept.Clear()
			var want []string
			for _, i := range all {
				p.charts.kept.Clear()
				want = append(want, body(p, i, c))
			}

			p.charts.kept.Clear()
			body(p, first, c)
			p.charts.kept.Wait()
			key := chartKey{1, v.Generation, 0, c}
			part, ok := p.charts.get(&key)
			if !ok {
				t.Fatalf("%+v: nothing is kept", c)
			}
			part.head[0] = '<' // shows that it was used
			for n, i := range all {
				got := []byte(body(p, i, c))
				if got[1] != '<' {
					t.Errorf("%+v: chart %d is rendered anew", c, i)
				}
				if got[1] = '{'; string(got) != want[n] {
					t.Errorf("%+v: chart %d is %s with kept parts; want %s", c, i, got, want[n])
				}
			}
		}
	}
}

// TestChartKeys checks that no part serves another generation, pool, chain or range, and
// that a part holds no State.
func TestChartKeys(t *testing.T) {
	p, v := charting(t)
	p.charts.kept.Close()
	p.charts.kept = colliding[uint64, *chartPart](t)
	if _, err := p.appendPositionCharts(nil, &Question{}, v, 1); err != nil {
		t.Fatal(err)
	}
	p.charts.kept.Wait()

	key := chartKey{1, v.Generation, 0, query.Chart{}}
	part, ok := p.charts.get(&key)
	if !ok || part.line == nil {
		t.Fatalf("got %+v, %t", part, ok)
	}
	for _, change := range []func(*chartKey){
		func(k *chartKey) { k.chain++ }, func(k *chartKey) { k.generation++ }, func(k *chartKey) { k.pool++ },
		func(k *chartKey) { k.Range = query.RangeAll }, func(k *chartKey) { k.Interval = query.Interval1h },
	} {
		other := key
		if change(&other); other == key || other.hash() == key.hash() {
			t.Errorf("%+v has the same key", other)
		}
		if _, ok := p.charts.get(&other); ok {
			t.Errorf("%+v has the part of %+v", other, key)
		}
	}
}

// TestLongCharts checks that a part which is as large as may be is kept, and a larger one
// is not.
func TestLongCharts(t *testing.T) {
	p, v := charting(t)
	line, err := p.timeline(v, 0, query.Chart{})
	if err != nil {
		t.Fatal(err)
	}

	most := maxChartPart - 256 - line.Bytes()
	for n, tail := range []int{most, most + 1} {
		key := chartKey{pool: uint32(n)}
		p.charts.put(&key, nil, slices.Repeat([]byte("x"), tail), line)
		p.charts.kept.Wait()
		if _, kept := p.charts.get(&key); kept != (n == 0) {
			t.Errorf("a tail of %d bytes is kept: %t", tail, kept)
		}
	}
	if line.Bytes() < 4*200 || line.In(nil).From() != line.From() {
		t.Errorf("four days are %d bytes", line.Bytes())
	}
}
