package storage

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// teed is a store whose batches are recorded, and a replica that applies them.
type teed struct {
	t       *testing.T
	s       *Store
	chain   market.ChainID
	batches [][]byte
	replica *Replica
}

func newTeed(t *testing.T, chain market.ChainID) *teed {
	t.Helper()
	x := &teed{t: t, chain: chain}
	opts := testOptions(vfs.NewMem())
	opts.Tee = func(chain market.ChainID, batch, _ []byte) ([]byte, error) {
		if chain == x.chain {
			x.batches = append(x.batches, slices.Clone(batch))
		}
		return []byte("here"), nil
	}

	var err error
	if x.s, err = Open("data", opts); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { closeTest(t, x.s) })
	x.join()
	return x
}

// join starts a replica from what the store has.
func (x *teed) join() {
	x.t.Helper()
	x.replica, x.batches = newReplica(x.t, x.s, x.chain), nil
}

// newReplica returns a replica of what a store has of a chain.
func newReplica(t *testing.T, s *Store, chain market.ChainID) *Replica {
	t.Helper()
	cut, err := s.Restore(chain)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Replica(chain, cut)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// follow applies what was committed since the last call, and compares the
// replica with what a restart reads.
func (x *teed) follow() {
	x.t.Helper()
	for _, batch := range x.batches {
		if err := x.replica.ApplyBatch(batch); err != nil {
			x.t.Fatal(err)
		}
		clear(batch) // nothing of it may be kept
	}
	x.batches = nil

	want, err := x.s.Restore(x.chain)
	if err != nil {
		x.t.Fatal(err)
	}
	got := x.replica.Cut()
	if want == nil || got == nil {
		if want != nil || got != nil {
			x.t.Fatalf("the replica has the cut %+v; the store %+v", got, want)
		}
		return
	}
	sameState(x.t, want.State, got.State)
	sameLists(x.t, want.State, got.State)
	undos, err := coldUndos(x.s, x.chain, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	before, err := x.s.Undos(got.State, nil)
	if err != nil {
		x.t.Fatal(err)
	}

	head := want.State.Head
	f := func(what string, want, got any) {
		x.t.Helper()
		if d := equal(want, got); d != "" {
			x.t.Errorf("at block %d %s differs (-store +replica):\n%s", head.Number, what, d)
		}
	}
	f("generation", want.Generation, got.Generation)
	f("published", want.Published, got.Published)
	f("directory", string(want.Directory), string(got.Directory))
	f("confirmed", want.Confirmed, got.Confirmed)
	f("undos", undos, before)
}

// sameLists compares the lists of initialised ticks.
func sameLists(t *testing.T, want, got *market.State) {
	t.Helper()
	if want.TickLists.Len() != got.TickLists.Len() {
		t.Fatalf("%d lists of ticks; want %d", got.TickLists.Len(), want.TickLists.Len())
	}

	for i := range want.TickLists.Len() {
		a, b := want.TickLists.At(i), got.TickLists.At(i)
		byTick := func(refs []market.TickRef) []market.TickRef {
			refs = slices.Clone(refs)
			slices.SortFunc(refs, func(a, b market.TickRef) int { return int(a.Slot) - int(b.Slot) })
			return refs
		}
		ascending := slices.IsSortedFunc(b, func(a, b market.TickRef) int {
			return int(int64(a.Tick) - int64(b.Tick))
		})
		if !slices.Equal(byTick(a), byTick(b)) || !ascending {
			t.Fatalf("pool %d lists ticks %v; want %v", i, b, a)
		}
	}
}

// A replica that is given every batch is what a restart reads: rows that
// change, grow and are cut off by reverts, publications, first publications,
// another chain between, the chain dropped, and a start from any cut.
func TestReplicaIsWhatARestartReads(t *testing.T) {
	x := newTeed(t, 1)
	r := rand.New(rand.NewPCG(11, 1))
	one, two := newRig(11, 1), newRig(11, 42161)
	for i := range rounds(60) {
		one.commit(t, x.s, 1+r.IntN(20), r.IntN(3) > 0)
		if r.IntN(3) == 0 {
			two.commit(t, x.s, 3, true)
		}

		switch r.IntN(8) {
		case 0, 1:
			continue // several batches at once
		case 2:
			x.follow()
			x.join()
		case 3:
			if i%4 == 0 {
				if err := x.s.DropChain(1); err != nil {
					t.Fatal(err)
				}
				one = newRig(uint64(i), 1)
			}
		}

		x.follow()
	}

	x.follow()
}

// The same with a ledger on a market whose newest blocks are replaced, and
// generations of it: views of the replica's States are those of the ledger's.
func TestReplicaFollowsALedger(t *testing.T) {
	x := newTeed(t, 1)
	l := newLife(t, 60, 8, 2)
	r := rand.New(rand.NewPCG(6, 5))
	var view *rankings.View
	for l.step(t) {
		if r.UintN(4) == 0 {
			l.commit(t, x.s)
		}
	}
	x.follow()

	kept := map[*market.State]market.Head{}
	generation, reverts := uint64(0), 0
	for range rounds(60) {
		l.now = l.now.Add(30e9 * 60)
		if r.UintN(3) == 0 {
			must(l.Reorg(1 + r.Uint64N(200)))
			reverts++
		}
		for more := true; more; {
			more = l.step(t)
			if r.UintN(3) == 0 {
				l.commit(t, x.s)
			}
		}
		generation++
		view = l.publish(t, x.s, view, generation)
		x.follow()
		sameState(t, view.State, x.replica.Cut().State)
		kept[x.replica.Cut().State] = x.replica.Cut().State.Head
	}
	for st, head := range kept {
		if st.Head != head {
			t.Errorf("a State of block %d became one of %d", head.Number, st.Head.Number)
		}
	}
	if reverts < rounds(10) {
		t.Errorf("%d reverts are no test", reverts)
	}

	// After many publications and reverts nothing is left that no cut uses.
	findings, err := x.s.Check()
	if err != nil || len(findings) > 0 {
		t.Errorf("after %d generations: %q, %v", generation, findings, err)
	}
}

// publish commits the ledger's state with a generation that follows view.
func (l *life) publish(
	t *testing.T, s *Store, view *rankings.View, generation uint64,
) *rankings.View {
	t.Helper()
	st, changes := l.kept.Freeze(), l.kept.Changes()
	var prices market.Table[market.Price]
	var changedPrices, changedStats []uint32
	params := value.DefaultParams()
	for _, p := range value.Prices(st, &params, nil, func() {}) {
		changedPrices = append(changedPrices, prices.Append(p))
	}
	st.Prices = prices.Freeze()
	var stats market.Table[market.PoolStats]
	for i := range st.Pools.Len() {
		changedStats = append(changedStats, stats.Append(value.Stats(st, i)))
	}
	st.Stats = stats.Freeze()

	var publication *block.Publication
	view, publication = rankings.BuildPaced(view, st, generation, s.Leaves(), func() {})
	cut := &Cut{
		State: st, Changes: changes, Prices: changedPrices, Stats: changedStats,
		Publication: publication, Confirmed: st.Head.Time * 1000,
	}
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}
	return view
}

// A batch that is cut off, of another chain, or not the next is refused, and
// the replica takes nothing afterwards.
func TestReplicaRefuses(t *testing.T) {
	x := newTeed(t, 1)
	g := newRig(12, 1)
	for range 3 {
		g.commit(t, x.s, 6, true)
	}

	batches := x.batches
	f := func(want string, tries ...[]byte) {
		t.Helper()
		r := &Replica{chain: 1}
		r.thaw(&market.State{Chain: 1})
		var err error
		for _, batch := range tries {
			err = r.ApplyBatch(batch)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the replica answers %v; want %q", err, want)
		}

		if again := r.ApplyBatch(batches[0]); again == nil {
			t.Error("a replica that failed goes on")
		}
	}

	whole := batches[0]
	for n := range whole {
		f("", whole[:n])
	}

	f("bytes", whole[:5])
	f("is truncated", whole[:len(whole)-1])
	more := slices.Clone(whole)
	more[8]++
	f("records", more)
	f("is truncated", slices.Concat(whole[:batchHeaderLen], []byte{byte(pebble.InternalKeyKindSet)},
		bytes.Repeat([]byte{0xff}, 11)))
	f("has unknown operation 2", slices.Concat(whole[:batchHeaderLen], []byte{byte(pebble.InternalKeyKindMerge), 1, 'k'}))
	f("is missing", batches[1])
	f("is missing", batches[0], batches[2])
	other := newTeed(t, 2)
	newRig(12, 2).commit(t, other.s, 3, false)
	f("belongs to another chain", other.batches[0])

	// A batch with one record more, or one that another follows.
	with := func(change func(b *pebble.Batch)) []byte {
		b := x.s.db.NewBatch()
		defer b.Close()
		must(b.SetRepr(slices.Clone(whole)))
		change(b)
		return slices.Clone(b.Repr())
	}
	set := func(key, value []byte) []byte {
		return with(func(b *pebble.Batch) { must(b.Set(key, value, nil)) })
	}
	stray := filledPosition(1 << 20)
	f("refers to a row that does not exist", set(rowKey(1, "positions", 0, 0), encode(nil, &stray, codePosition)))
	f("unknown key", set(append(appendChain(nil, 1), 0x77), nil))
	f("unknown key", set(append(appendKind(nil, 1, kindHead), 0), nil))
	f("part 4 of 4", set(rowKey(1, "minutes", 0, 4), nil))
	f("row 0 lacks parts", with(func(b *pebble.Batch) {
		b.Reset()
		must(eachRecord(whole, func(op pebble.InternalKeyKind, key, value []byte) error {
			if op == pebble.InternalKeyKindSet && !bytes.Equal(key, rowKey(1, "minutes", 0, 2)) {
				must(b.Set(key, value, nil))
			}
			return nil
		}))
	}))
	f("does not contain the record of that day", with(func(b *pebble.Batch) {
		b.Reset()
		must(eachRecord(whole, func(op pebble.InternalKeyKind, key, value []byte) error {
			if op == pebble.InternalKeyKindSet && key[len(appendChain(nil, 1))] != byte(seriesFor(ledger.PoolDays).kind) {
				must(b.Set(key, value, nil))
			}
			return nil
		}))
	}))
	f("does not contain the record of that day", with(func(b *pebble.Batch) {
		must(eachRecord(whole, func(op pebble.InternalKeyKind, key, value []byte) error {
			if op == pebble.InternalKeyKindSet && key[len(appendChain(nil, 1))] == byte(seriesFor(ledger.PoolDays).kind) {
				must(b.Delete(key, nil))
			}
			return nil
		}))
	}))
	f("bad field", set(appendKind(nil, 1, kindHead), []byte{1}))
	f("unknown range deletion", with(func(b *pebble.Batch) {
		must(b.DeleteRange(appendChain(nil, 1), appendKind(nil, 1, kindHead), nil))
	}))
	f("unknown range deletion", with(func(b *pebble.Batch) {
		must(b.DeleteRange(appendRow(nil, 1, kindHead, 0), appendRow(nil, 1, kindHead, 3), nil))
	}))
	f("unknown range deletion", with(func(b *pebble.Batch) { // not all of the chain
		must(b.DeleteRange(appendKind(nil, 1, kindHead), appendChainEnd(nil, 1), nil))
	}))
	f("unknown range deletion", with(func(b *pebble.Batch) { // some leaves, not all before a generation
		must(b.DeleteRange(appendNumber(nil, 1, kindLeaf, 1), appendKind(nil, 1, kindLeaf+1), nil))
	}))
	f("no head record", with(func(b *pebble.Batch) {
		b.Reset()
		must(b.Set(appendKind(nil, 1, kindDirectory), []byte("x"), nil))
	}))
}

// If Tee fails, the batch is not committed.
func TestTeeRefusesACommit(t *testing.T) {
	refused := errors.New("no quorum")
	opts := testOptions(vfs.NewMem())
	fail := false
	opts.Tee = func(market.ChainID, []byte, []byte) ([]byte, error) {
		if fail {
			return nil, refused
		}
		return nil, nil
	}
	s, err := Open("data", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, s)
	g := newRig(13, 1)
	want := g.commit(t, s, 10, true)

	fail = true
	cut := g.cut(10, true)
	if err := s.Commit(cut); !errors.Is(err, refused) {
		t.Errorf("a commit that was refused gave %v", err)
	}
	if err := s.DropChain(1); !errors.Is(err, refused) {
		t.Errorf("a drop that was refused gave %v", err)
	}
	holds(t, s, want)

	fail = false
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}
	holds(t, s, g.now.clone())
}

// FuzzReplica changes a batch: a replica refuses it or takes it, and never
// panics.
func FuzzReplica(f *testing.F) {
	for seed := range uint64(3) {
		s, err := Open("data", testOptions(vfs.NewMem()))
		must(err)
		s.opts.Tee = func(_ market.ChainID, batch, _ []byte) ([]byte, error) {
			f.Add(slices.Clone(batch))
			return nil, nil
		}
		must(s.Commit(newRig(seed, 1).cut(1, true)))
		must(s.Close())
	}

	f.Fuzz(func(t *testing.T, batch []byte) {
		r := &Replica{chain: 1}
		r.thaw(&market.State{Chain: 1})
		if r.ApplyBatch(batch) == nil && r.cut != nil {
			r.cut.State.Ticks.Len()
		}
	})
}

// Rows that a batch wrote and then took back are not part of a replica, also when the first of
// them is the one behind the last, and whatever the order in which the rows are written again.
func TestReplicaLeavesOutRows(t *testing.T) {
	owners := tables[ledger.Owners.Index()].(*rows[market.Address])
	f := func(written, rows uint32, again ...uint32) {
		t.Helper()
		r := owners.replica(new(market.State)).(*replicaOf[market.Address])
		set := func(row uint32) {
			t.Helper()
			if err := r.setPart(nil, row, 0, encode(nil, &market.Address{byte(row)}, codeOwner)); err != nil {
				t.Fatal(err)
			}
		}
		for row := range written {
			set(row)
		}
		if again != nil {
			r.restart()
		}
		for _, row := range again {
			set(row)
		}

		h := noHead()
		h.Rows[r.index] = rows
		if err := r.finish(&h); err != nil || r.table.Len() != rows || len(r.last) != int(rows) {
			t.Errorf("%d of %d rows: %d in the table, %d of this batch, %v", rows, written, r.table.Len(), len(r.last), err)
		}
		for row, parts := range r.parts {
			if there := parts.there != 0; there != (uint32(row) < rows) {
				t.Errorf("%d of %d rows: row %d is there: %t", rows, written, row, there)
			}
		}
	}

	f(5, 5)
	f(5, 4)
	f(5, 1)
	f(5, 0)
	f(5, 2, 4, 3, 1, 0)
}
