package storage

import (
	"errors"
	"fmt"
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

// published commits the ledger's state with a generation built from it.
func (l *life) published(t *testing.T, s *Store) *block.Publication {
	t.Helper()
	st, changes := l.kept.Freeze(), l.kept.Changes()
	params := value.DefaultParams()
	var prices market.Table[market.Price]
	for _, p := range value.Prices(st, &params, nil, func() {}) {
		prices.Append(p)
	}

	st.Prices = prices.Freeze()
	var stats market.Table[market.PoolStats]
	for i := range st.Pools.Len() {
		stats.Append(value.Stats(st, i))
	}

	st.Stats = stats.Freeze()
	_, publication := rankings.Build(nil, st, 7)
	cut := &Cut{State: st, Changes: changes, Publication: publication}
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}

	return publication
}

// lifeStore is an open store with the published end of a life, all of it in tables.
func lifeStore(t *testing.T) (vfs.FS, *Store) {
	t.Helper()
	fs := vfs.NewMem()
	s := openTest(t, fs)
	l := newLife(t, 60, 8, 2)
	for l.step(t) {
	}
	l.published(t, s)
	must(s.Compact())
	return fs, s
}

// checkSpoiled returns what a check finds while a key has another value, or none.
func checkSpoiled(t *testing.T, s *Store, key []byte, change func(value []byte) []byte) (findings []string, err error) {
	t.Helper()
	was, there, err := s.get(key, nil)
	must(err)
	write(s, key, change(slices.Clone(was)))
	findings, err = s.Check()

	if !there {
		was = nil
	}
	write(s, key, was)
	sound(t, s)
	return findings, err
}

// TestCheckFinds damages a valid store in one place at a time.
func TestCheckFinds(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	defer closeTest(t, s)
	l := newLife(t, 60, 8, 2)
	for l.step(t) {
	}
	p := l.published(t, s)
	sound(t, s)
	head := l.kept.Head().Number
	leaf := appendNumber(nil, 1, kindLeaf, p.Leaves[0].Number)
	entry := market.Transaction{Position: 1, Block: head, LogIndex: 9999}

	f := func(finding string, key []byte, change func(value []byte) []byte) {
		t.Helper()
		findings, err := checkSpoiled(t, s, key, change)
		if !slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, finding) }) {
			t.Errorf("no finding has %q: %v, %v", finding, findings, err)
		}
	}
	to := func(b []byte) func([]byte) []byte { return func([]byte) []byte { return b } }
	flip := func(v []byte) []byte { v[len(v)/2] ^= 1; return v }

	f("no head", appendKind(nil, 1, kindHead), to(nil))
	f("head", appendKind(nil, 1, kindHead), to([]byte{1}))
	f("directory", appendKind(nil, 1, kindDirectory), flip)
	f("directory", appendKind(nil, 1, kindDirectory), to(nil))
	f("is missing", leaf, to(nil))
	f("leaves: key", leaf, flip)
	last := p.Leaves[len(p.Leaves)-1].Bytes
	f("the directory says", leaf, to(last))
	f("; the table has", leaf, func(v []byte) []byte {
		ids, err := block.DecodeLeaf(v, nil, nil)
		must(err)
		ids[len(ids)-1] = 1 << 30
		return block.AppendLeaf(nil, ids)
	})
	f("the directory says", leaf, func(v []byte) []byte {
		ids, err := block.DecodeLeaf(v, nil, nil)
		must(err)
		ids[0], ids[1] = ids[1], ids[0]
		return block.AppendLeaf(nil, ids)
	})
	f("directory belongs to chain 1, generation 7; the head has generation 8", appendKind(nil, 1, kindHead), func(v []byte) []byte {
		h := noHead()
		must(decode(v, &h, codeHead))
		h.Generation++
		return encode(nil, &h, codeHead)
	})
	f("commit: 3 bytes; want 8", appendKind(nil, 1, kindCommit), to([]byte{1, 2, 3}))
	f("directory: cannot decode", appendKind(nil, 1, kindDelta), to([]byte{5}))
	f("is of commit 1000", appendPatch(nil, 1, 1000), to(encode(nil, &pricePatch{number: 1000}, codePatch)))
	f("bad field chunks", appendPatch(nil, 1, 1000), to([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}))
	f("does not list this leaf", appendNumber(nil, 1, kindLeaf, 1<<40), to(p.Leaves[0].Bytes))
	f("row 3 is missing", rowKey(1, "positions", 3, 0), to(nil))
	f("belongs to row", rowKey(1, "positions", 1<<20, 0), to([]byte{0}))
	f("belongs to row", rowKey(1, "tokens", 1<<20, 0), to([]byte{0}))
	f("unknown key", append(appendKind(nil, 1, 0x77), 1), to([]byte{0}))
	f("entries; its row counts", entryKey(1, head, 9999),
		to(encode(nil, &entry, codeTransaction)))
	f("after the head", entryKey(1, head+1, 1),
		to(encode(nil, &entry, codeTransaction)))
	f("undos: undo of block", appendNumber(nil, 1, kindUndo, head), func(v []byte) []byte {
		v[len(v)-1] ^= 1 // of the checksum
		return v
	})
	f(fmt.Sprintf("undo of block %d leads to block 0; want an undo that leads back from %d", head+1, head), appendNumber(nil, 1, kindUndo, head+1),
		to(encode(nil, &ledger.Undo{Rows: make([]uint32, ledger.TableCount())}, plainUndo)))
	nowhere := ledger.Undo{Before: market.Head{Number: head}, Rows: make([]uint32, ledger.TableCount())}
	f(fmt.Sprintf("undo of block %d leads to block %d", head, head), appendNumber(nil, 1, kindUndo, head),
		to(encode(nil, &nowhere, plainUndo)))
	f("part 2 of row 4 is missing", rowKey(1, "minutes", 4, 2), to(nil))
	day := l.kept.Freeze().Days.At(0).Day
	f("table days: row 0: day", dayKey(0, day), to(nil))
	f("liquidity", rowKey(1, "pools", 0, 0), func(v []byte) []byte {
		var pool market.Pool
		must(decode(v, &pool, codePool))
		pool.Liquidity.Lo++
		return encode(nil, &pool, codePool)
	})
}

// TestCheckOfRunningDays: the newest day that the series has of a pool is its running day,
// and the same record.
func TestCheckOfRunningDays(t *testing.T) {
	_, s := lifeStore(t)
	defer closeTest(t, s)
	r, err := s.Restore(1)
	must(err)
	day := *r.State.Days.At(0)
	row, entry := rowKey(1, "days", 0, 0), dayKey(0, day.Day)
	write(s, row, encode(nil, &dayRow{PoolDay: day}, codeDayRow)) // does not say that it is in the series
	sound(t, s)

	f := func(name string, key []byte, change func(value []byte) []byte) {
		t.Helper()
		findings, err := checkSpoiled(t, s, key, change)
		if err != nil || !strings.Contains(strings.Join(findings, "\n"), "pool 0: the newest day of the series is") {
			t.Errorf("%s: findings %q, %v", name, findings, err)
		}
	}

	f("no day", entry, func([]byte) []byte { return nil })
	f("a day that is too long", entry, func(v []byte) []byte { return append(v, 0) })
	f("a later day", dayKey(0, day.Day+1), func([]byte) []byte { return encode(nil, &day, codePoolDay) })
	f("another row", row, func([]byte) []byte {
		other := day
		other.Swaps++
		return encode(nil, &dayRow{PoolDay: other}, codeDayRow)
	})
}

// TestCheckKeepsToItsChain checks that records of the next chain are not taken for
// those of a chain.
func TestCheckKeepsToItsChain(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	l := newLife(t, 60, 8, 2)
	for l.step(t) {
	}
	l.published(t, s)
	newRig(9, 2).commit(t, s, 300, true)
	c := &checker{s: s, chain: 1}
	if err := c.checkChain(); err != nil || len(c.found) > 0 {
		t.Errorf("beside chain 2 chain 1 has findings %v, %v", c.found, err)
	}
}

// TestErrorsThatEndACheck: only damage is mended by building the chain again.
func TestErrorsThatEndACheck(t *testing.T) {
	f := func(err error, advised bool) {
		t.Helper()
		c := &checker{chain: 7}
		c.reportError(err)
		if len(c.found) != 1 || strings.Contains(c.found[0], "chains resync 7") != advised {
			t.Errorf("%v is reported as %q; want the way out: %t", err, c.found, advised)
		}
	}

	f(fmt.Errorf("cannot read: %w", &Damage{Err: errors.New("a bad sum")}), true)
	f(errors.New("too many open files"), false)
}

// TestCheckOfDroppedChain checks that nothing but its place may be left of a chain that
// was dropped.
func TestCheckOfDroppedChain(t *testing.T) {
	_, s := lifeStore(t)
	defer closeTest(t, s)
	must(s.DropChain(1))
	sound(t, s)

	left := rowKey(1, "positions", 3, 0)
	write(s, left, []byte{0})
	findings, err := s.Check()
	want := fmt.Sprintf("chain 1: key %x is left of a chain that was dropped", left)
	if err != nil || !slices.Equal(findings, []string{want}) {
		t.Errorf("findings %q, %v; want %q", findings, err, want)
	}
}

// A check that changes nothing tells of the commits that a chain has lost.
func TestCheckTellsOfLostCommits(t *testing.T) {
	fs, s := lifeStore(t)
	must(s.heads.write(acknowledgedHead{chain: 1, sequence: 9, block: 999}))
	closeTest(t, s)

	s = openToRead(t, fs)
	defer closeTest(t, s)
	findings, err := s.Check()
	if all := strings.Join(findings, "\n"); err != nil || !strings.Contains(all, "commits of chain 1 are missing") ||
		!strings.Contains(all, "a node reads those blocks again from its feed when it starts") {
		t.Errorf("findings %q, %v", findings, err)
	}
}

func sound(t *testing.T, s *Store) {
	t.Helper()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		t.Fatalf("a sound store has findings %v, %v", findings, err)
	}
}

// write sets a key, or deletes it if value is nil.
func write(s *Store, key, value []byte) {
	if value == nil {
		must(s.db.Delete(key, pebble.NoSync))
		return
	}
	must(s.db.Set(key, value, pebble.NoSync))
}

// TestCheckFindsBases damages what leaves are coded from. A leaf that is coded from a base
// is read as the whole one was.
func TestCheckFindsBases(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	defer closeTest(t, s)
	l := newLife(t, 60, 8, 2)
	for l.step(t) {
	}
	p := l.published(t, s)

	d, err := block.DecodeDirectory(p.Directory)
	must(err)
	o := &d.Orders[5] // of all open positions
	base, number := o.Numbers[0], block.LeafNumber(7, 500)
	ids, err := s.Leaf(1, base)
	must(err)
	ranks := make([]uint32, d.Positions)
	for i, id := range ids {
		ranks[id] = uint32(i) + 1
	}
	var coder block.Relative
	leaf := coder.Append(nil, ids, ranks, o.Bases)
	if len(leaf) >= block.WholeSize(ids) {
		t.Fatalf("%d rows in %d bytes; whole in %d", len(ids), len(leaf), block.WholeSize(ids))
	}
	o.Numbers[0] = number
	directory := appendKind(nil, 1, kindDirectory)
	write(s, directory, d.Append(nil))
	write(s, appendNumber(nil, 1, kindLeaf, number), leaf)
	sound(t, s)
	if again, err := s.Leaf(1, number); err != nil || !slices.Equal(again, ids) {
		t.Fatalf("%v; got %v; want %v", err, again, ids)
	}
	if again, err := s.Leaves().Leaf(1, number); err != nil || !slices.Equal(again, ids) {
		t.Fatalf("in a buffer: %v; got %v; want %v", err, again, ids)
	}

	f := func(finding string, key []byte, change func([]byte) []byte) {
		t.Helper()
		findings, err := checkSpoiled(t, s, key, change)
		if !slices.ContainsFunc(findings, func(f string) bool { return strings.Contains(f, finding) }) {
			t.Errorf("no finding has %q: %v, %v", finding, findings, err)
		}
	}
	baseKey := appendNumber(nil, 1, kindLeaf, base)
	f("of the directory is missing", baseKey, func([]byte) []byte { return nil })
	f("the directory says", baseKey, func([]byte) []byte { return block.AppendLeaf(nil, ids[1:]) })
	f("a base must be whole", baseKey, func([]byte) []byte { return leaf })
	f("the directory does not list it", directory, func([]byte) []byte {
		o.Bases = nil
		return d.Append(nil)
	})
}
