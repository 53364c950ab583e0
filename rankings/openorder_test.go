package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// openView is a view of n open positions, of which every fifth has no value.
func openView(r *rand.Rand, n uint32, now int64) *View {
	c := &columns{open: block.NewBitmap(n)}
	for i := range n {
		c.open.Set(i)
		c.mintedAt = append(c.mintedAt, uint32(now-1-r.Int64N(1e6)))
		c.value = append(c.value, float64(r.IntN(900)))
		if i%5 == 0 {
			c.value[i] = 0
		}
		c.roi = append(c.roi, r.NormFloat64())
		c.feePercent = append(c.feePercent, float64(r.IntN(100)))
		c.pnl = append(c.pnl, r.NormFloat64())
	}

	c.open.Seal()
	return &View{State: &market.State{Head: market.Head{Time: now}}, columns: c}
}

// after returns the view some seconds later, when a part of the rows has moved.
func after(r *rand.Rand, prev *View, seconds int64, part float64) *View {
	c := *prev.columns
	for _, column := range []*[]float64{&c.roi, &c.feePercent, &c.pnl, &c.value} {
		*column = slices.Clone(*column)
	}

	orders := openOrders{}
	orders.take(&prev.columns.openOrders, true)
	for i := range c.roi {
		if r.Float64() >= part {
			continue
		}
		orders.note(uint32(i), uint32(len(c.roi)))
		c.roi[i], c.pnl[i] = r.NormFloat64(), market.Unknown
		c.feePercent[i] = float64(r.IntN(100))
		c.value[i] = float64(r.IntN(4) * r.IntN(900))
	}
	v := &View{State: &market.State{Head: market.Head{Time: prev.State.Now() + seconds}}, columns: &c}
	c.openOrders = orders
	return v
}

// Orders that are repaired are those that are sorted, whether neighbours changed places as
// they got older, rows moved, or both.
func TestRepairOpenOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 3000
	prev := openView(r, n, 1_700_000_000)
	repaired := 0
	for step := range 60 {
		v := prev
		if step > 0 {
			v = after(r, prev, r.Int64N(40), []float64{0, 0.01, 0.01, 0.3}[step%4])
		}
		o, sorted := newOrderBuilder(prev, v, func() {}), newOrderBuilder(nil, v, func() {})
		for id := openAPR; id <= openValue; id++ {
			had := len(v.columns.openOrders.by[id]) > 0
			ids, key := o.build(id)
			if had && o.chosen == orderCount {
				repaired++
			}

			sorted.chooseRows(id)
			sorted.findKeys(id)
			sorted.choosePlaces(id)
			want := sorted.sortPlaces(sorted.keys, sorted.places)
			if len(ids) != len(want) {
				t.Fatalf("step %d, order %d: %d rows; want %d", step, id, len(ids), len(want))
			}
			for i, w := range want {
				if ids[i] != uint32(w) || key(i) != sorted.keys[ids[i]] {
					t.Fatalf("step %d, order %d, rank %d: row %d; want %d", step, id, i, ids[i], uint32(w))
				}
			}
		}
		prev = v
	}
	if repaired < 200 || repaired > 240 {
		t.Errorf("%d orders were repaired", repaired)
	}
}

// Orders of other open positions keep their memory alone.
func TestTakeOpenOrders(t *testing.T) {
	var a, b, c openOrders
	a.by[openPnl] = []uint32{1, 2}
	b.take(&a, true)
	if len(b.by[openPnl]) != 2 || a.by[openPnl] != nil {
		t.Errorf("taken are %v, left %v", b.by[openPnl], a.by[openPnl])
	}
	c.take(&b, false)
	if len(c.by[openPnl]) != 0 || cap(c.by[openPnl]) != 2 {
		t.Errorf("taken are %v; want none, with room", c.by[openPnl])
	}
}
