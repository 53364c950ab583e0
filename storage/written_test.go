package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// TestKeysOfACommit: a commit writes the keys of what changed, and no others. What every
// refresh writes for nothing, it writes for years.
func TestKeysOfACommit(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	defer func() { closeTest(t, s) }()
	g := newRig(51, 1)
	g.commit(t, s, 3, true)

	f := func(what string, change func(ch *ledger.Changes), want ...string) {
		t.Helper()
		ch := &ledger.Changes{}
		change(ch)
		g.st.Head.Number++
		g.freeze()
		ch.Head = g.st.Head
		must(s.Commit(&Cut{State: g.now.st, Changes: ch}))
		if got := keysOfBatch(t, s.spareBatch.Load()); got != strings.Join(want, ", ") {
			t.Errorf("%s: the commit wrote\n%s; want\n%s", what, got, strings.Join(want, ", "))
		}
	}
	commit := func(n int) []string {
		return []string{
			"set commit", fmt.Sprintf("delete commit mark %016x", n-1), fmt.Sprintf("set commit mark %016x", n), "set head",
		}
	}
	nothing := func(*ledger.Changes) {}

	f("nothing", nothing, commit(2)...)
	ring := g.minutes.At(2)
	f("a minute", func(ch *ledger.Changes) {
		g.minutes.Mut(2).Sqrt[ring.Newest]++
		ledger.Minutes.SetChanged(ch, []uint32{2})
	}, append([]string{fmt.Sprintf("set minutes 00000002%02x", ring.Newest/partSlots)}, commit(3)...)...)
	f("a pool", func(ch *ledger.Changes) {
		g.pools.Mut(1).Swaps++
		ledger.Pools.SetChanged(ch, []uint32{1})
	}, append([]string{"set pools 0000000101"}, commit(4)...)...)
	f("an owner more and a position less", func(*ledger.Changes) {
		g.owners.Append(market.Address{1})
		g.positions.Truncate(g.positions.Len() - 1)
	}, append([]string{
		fmt.Sprintf("delete positions %08x", g.positions.Len()-1), fmt.Sprintf("set owners %08x", g.owners.Len()),
	}, commit(5)...)...)

	closeTest(t, s)
	s = openTest(t, disk)
	f("the first of a process", nothing, append(commit(6), "delete place")...)

	// With a Tee a commit has a place, without one it has none any more.
	s.opts.Tee = func(market.ChainID, []byte, []byte) ([]byte, error) { return []byte("here"), nil }
	f("a batch that others get", nothing, append(commit(7), "set place")...)
	s.opts.Tee = nil
	f("the first that they do not get", nothing, append(commit(8), "delete place")...)
	f("the second", nothing, commit(9)...)
}

// TestRowsAreWrittenOnce: a row that is new and among the changed ones is one record of the batch.
func TestRowsAreWrittenOnce(t *testing.T) {
	x, g := newTeed(t, 1), newRig(27, 1)
	for range 4 {
		g.commit(t, x.s, 20, true)
	}
	rows := map[kind]bool{}
	for _, table := range tables {
		rows[table.about().kind] = true
	}

	for n, batch := range x.batches {
		seen := map[string]bool{}
		must(eachRecord(batch, func(op pebble.InternalKeyKind, key, _ []byte) error {
			_, rest, _ := parseChain(key)
			if k := kind(rest[0]); rows[k] && op == pebble.InternalKeyKindSet && seen[string(key)] {
				t.Errorf("batch %d has %s %x twice", n, kinds[k].name, rest[1:])
			}
			seen[string(key)] = true
			return nil
		}))
		if len(seen) < 100 {
			t.Errorf("batch %d has %d keys", n, len(seen))
		}
	}
}

// TestRecordsOfABatch: a batch is read record by record, and one that ends within a record, or
// has another number of them than it says, is refused.
func TestRecordsOfABatch(t *testing.T) {
	const remove, set, removeRange = byte(pebble.InternalKeyKindDelete), byte(pebble.InternalKeyKindSet),
		byte(pebble.InternalKeyKindRangeDelete)
	f := func(count byte, records []byte, want, fails string) {
		t.Helper()
		var got string
		batch := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0}, records...)
		err := eachRecord(batch, func(op pebble.InternalKeyKind, key, value []byte) error {
			got += fmt.Sprintf("%d %s=%s;", op, key, value)
			if string(key) == "bad" {
				return errors.New("why")
			}
			return nil
		})
		if got != want || (err == nil) != (fails == "") || err != nil && err.Error() != fails {
			t.Errorf("%d records %x: %q, %v; want %q, %q", count, records, got, err, want, fails)
		}
	}

	f(0, nil, "", "")
	f(1, []byte{remove, 1, 'k'}, "0 k=;", "")
	f(1, []byte{set, 1, 'k', 2, 'v', 'w'}, "1 k=vw;", "")
	f(1, []byte{set, 1, 'k', 0}, "1 k=;", "")
	f(1, []byte{remove, 0}, "0 =;", "")
	f(1, []byte{removeRange, 1, 'k', 1, 'l'}, "15 k=l;", "")
	f(2, []byte{remove, 1, 'k', set, 1, 'l', 1, 'v'}, "0 k=;1 l=v;", "")

	f(1, nil, "", "batch header counts 1 records; there are 0")
	f(0, []byte{remove, 1, 'k'}, "0 k=;", "batch header counts 0 records; there are 1")
	f(1, []byte{remove}, "", "record 0 of 1 is truncated")
	f(1, []byte{remove, 2, 'k'}, "", "record 0 of 1 is truncated")
	f(1, []byte{set, 1, 'k'}, "", "record 0 of 1 is truncated")
	f(1, []byte{set, 1, 'k', 2, 'v'}, "", "record 0 of 1 is truncated")
	f(1, []byte{removeRange, 1, 'k'}, "", "record 0 of 1 is truncated")
	f(2, []byte{remove, 1, 'k', remove}, "0 k=;", "record 1 of 2 is truncated")
	f(1, []byte{2, 1, 'k'}, "", "record 0 of 1 has unknown operation 2")
	f(2, []byte{remove, 3, 'b', 'a', 'd', remove, 1, 'k'}, "0 bad=;", "record 0 of 2, key 626164: why")
	if err := eachRecord(make([]byte, 11), nil); err == nil || err.Error() != "batch too short: 11 bytes; want at least 12" {
		t.Errorf("half a header: %v", err)
	}
}

// TestMust: what cannot fail is our own mistake when it does.
func TestMust(t *testing.T) {
	defer func() {
		if p := recover(); p != "BUG: why" {
			t.Errorf("it panics with %v", p)
		}
	}()
	must(nil)
	must(errors.New("why"))
}

// keysOfBatch lists what a batch does.
func keysOfBatch(t *testing.T, b *pebble.Batch) string {
	t.Helper()
	var list []string
	err := eachRecord(b.Repr(), func(op pebble.InternalKeyKind, key, _ []byte) error {
		_, rest, ok := parseChain(key)
		if !ok {
			return fmt.Errorf("key %x", key)
		}
		does := "set"
		if op == pebble.InternalKeyKindDelete {
			does = "delete"
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %x", does, kinds[kind(rest[0])].name, rest[1:])))
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, ", ")
}

// TestKindsHaveNames: a finding names the kind of its key.
func TestKindsHaveNames(t *testing.T) {
	names := make(map[string]kind)
	for k, of := range kinds {
		if other, twice := names[of.name]; twice || of.name == "" || of.kind != k {
			t.Errorf("kind %x is called %q, as %x is", k, of.name, other)
		}
		names[of.name] = k
	}
}

// TestReferencesOfRows: a row is refused if a row that it refers to is not there, and
// what may be missing may be.
func TestReferencesOfRows(t *testing.T) {
	h := noHead()
	for i := range h.Rows {
		h.Rows[i] = 1
	}
	f := func(what string, ok, want bool) {
		t.Helper()
		if ok != want {
			t.Errorf("%s: %t; want %t", what, ok, want)
		}
	}

	none, open := uint32(market.NoIndex), clmath.U128{Lo: 1}
	pool := market.Pool{LastHour: none}
	f("a pool", poolRefs(&h, &pool), true)
	f("its currency 0", poolRefs(&h, &market.Pool{Currency0: 1, LastHour: none}), false)
	f("its currency 1", poolRefs(&h, &market.Pool{Currency1: 1, LastHour: none}), false)
	f("its bucket", poolRefs(&h, &market.Pool{LastHour: 1}), false)

	position := func(edit func(p *market.Position)) bool {
		p := market.Position{Overflow: none, LiquidityOrUsd: open}
		edit(&p)
		return positionRefs(&h, &p)
	}
	f("a position", position(func(*market.Position) {}), true)
	f("its pool", position(func(p *market.Position) { p.Pool = 1 }), false)
	f("its owner", position(func(p *market.Position) { p.Owner = 1 }), false)
	f("its sums", position(func(p *market.Position) { p.Overflow = 1 }), false)
	f("its lower tick", position(func(p *market.Position) { p.LowerSlot = none }), false)
	f("its upper tick", position(func(p *market.Position) { p.UpperSlot = 1 }), false)
	f("the ticks of a closed one", position(func(p *market.Position) {
		p.LowerSlot, p.UpperSlot = none, none
		p.SetClose([2]market.ClosePrice{})
	}), true)

	f("a tick", tickRefs(&h, &market.Tick{}) && tickRefs(&h, &market.Tick{Pool: none}), true)
	f("its pool", tickRefs(&h, &market.Tick{Pool: 1}), false)
	f("other liquidity", nonNFTRefs(&h, &market.NonNFT{}), true)
	f("its pool", nonNFTRefs(&h, &market.NonNFT{Pool: 1}), false)
	f("a bucket", hourRefs(&h, &market.HourBucket{}) && hourRefs(&h, &market.HourBucket{Prev: none}), true)
	f("the one before", hourRefs(&h, &market.HourBucket{Prev: 1}), false)
	f("a price", priceRefs(&h, &market.Price{}) && priceRefs(&h, &market.Price{OnlyPool: none}), true)
	f("its pool", priceRefs(&h, &market.Price{OnlyPool: 1}), false)
}

// TestPausesOfACommit: a batch is filled with a pause for every so many records, of which
// long ones count as several, and pauses again while its keys are inserted.
func TestPausesOfACommit(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g, pauses, filled, records, size := newRig(52, 1), 0, 0, 0, 0
	s.opts.Tee = func(_ market.ChainID, batch, _ []byte) ([]byte, error) {
		filled, records, size = pauses, int(binary.LittleEndian.Uint32(batch[8:])), len(batch)
		return []byte("here"), nil
	}
	cut := g.cut(300, true)
	cut.Pause = func() { pauses++ }
	must(s.Commit(cut))

	least, most := records/recordsPerPause, (records+size/recordBytes)/recordsPerPause
	if records < 2*recordsPerPause || filled < least-1 || filled > most {
		t.Errorf("%d pauses for %d records of %d bytes; want %d to %d", filled, records, size, least, most)
	}
	if inserted := pauses - filled; inserted < records/comparisonsPerPause/2 {
		t.Errorf("%d pauses while %d records are inserted", inserted, records)
	}

	w := writer{pause: func() { pauses++ }}
	pauses = 0
	for range 8 { // of leaves of some KB each
		w.countRecord(recordsPerPause / 4 * recordBytes)
	}
	if pauses != 2 {
		t.Errorf("%d pauses for 8 records that take the time of %d each; want 2", pauses, recordsPerPause/4)
	}
}

// TestFlagsOfRecords: every flag has its own bit, which is part of the format.
func TestFlagsOfRecords(t *testing.T) {
	bit := func(without, with []byte) byte {
		for i := range min(len(without), len(with)) {
			if without[i] != with[i] {
				return without[i] ^ with[i]
			}
		}
		return 0
	}
	f := func(what string, got, want byte) {
		t.Helper()
		if got != want {
			t.Errorf("%s is bit %b; want %b", what, got, want)
		}
	}

	position := func(p market.Position) byte {
		return bit(encode(nil, &market.Position{}, codePosition), encode(nil, &p, codePosition))
	}
	f("burned", position(market.Position{Burned: true}), 1<<1)
	f("gas unknown", position(market.Position{GasUnknown: true}), 1<<2)
	f("hook delta", position(market.Position{HookDelta: true}), 1<<3)
	f("timed", position(market.Position{Timed: true}), 1<<4)

	token := func(k market.Token) byte {
		return bit(encode(nil, &market.Token{}, codeToken), encode(nil, &k, codeToken))
	}
	text := texts.New("x")
	f("symbol", token(market.Token{Symbol: text}), 1<<0)
	f("name", token(market.Token{Name: text}), 1<<1)
	f("bad decimals", token(market.Token{BadDecimals: true}), 1<<2)
	f("hour corroborated", token(market.Token{HourCorroborated: true}), 1<<3)

	price := func(p market.Price) byte {
		return bit(encode(nil, &market.Price{}, codePrice), encode(nil, &p, codePrice))
	}
	f("corroborated", price(market.Price{Corroborated: true}), 1<<0)
	f("anchor", price(market.Price{Anchor: true}), 1<<1)

	stats := func(s market.PoolStats) byte {
		s.Holdings = [2]float64{market.Unknown, market.Unknown}
		return bit(encode(nil, &market.PoolStats{Holdings: s.Holdings}, codeStats), encode(nil, &s, codeStats))
	}
	f("unpriced", stats(market.PoolStats{Unpriced: true}), 1<<0)
	f("unrealizable", stats(market.PoolStats{Unrealizable: true}), 1<<1)

	transaction := func(e market.Transaction) byte {
		return bit(encode(nil, &market.Transaction{}, codeTransaction), encode(nil, &e, codeTransaction))
	}
	f("moved", transaction(market.Transaction{Moved: true}), 1<<0)
	f("gas unknown", transaction(market.Transaction{GasUnknown: true}), 1<<1)
	f("quarantined", bit(encode(nil, &market.Pool{}, codePool),
		encode(nil, &market.Pool{Quarantined: true}, codePool)), 1<<1)
}

// TestBatchesAreShared: the memory of a batch serves the next commit, of whatever chain,
// unless it is as much as the first load of a corpus takes.
func TestBatchesAreShared(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer func() { closeTest(t, s) }()
	commit := func(chain market.ChainID, n uint64) *pebble.Batch {
		must(s.Commit(&Cut{State: &market.State{Chain: chain, Head: market.Head{Number: n}, Native: market.NoIndex}}))
		return s.spareBatch.Load()
	}

	first := commit(1, 1)
	if first == nil || commit(2, 1) != first || commit(1, 2) != first {
		t.Error("the commit of one chain does not use the batch of another one")
	}

	w := s.writerOf(1)
	w.resetBatch(s)
	must(w.batch.Set([]byte("key"), make([]byte, maxRetainedBatch+1), nil))
	if w.releaseBatch(s); s.spareBatch.Load() != nil {
		t.Error("the memory of a large batch is kept")
	}
}
