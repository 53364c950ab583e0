package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
)

// A head that was recorded is there after a power cut, beside those of other chains,
// and the file has two slots for each chain.
func TestHeadsAreDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	must(fs.MkdirAll("data", 0o700))
	h, err := openHeads(fs, "data")
	must(err)
	for n := uint64(1); n < 6; n++ {
		for _, chain := range []market.ChainID{7, 3, 9} {
			must(h.write(acknowledgedHead{chain: chain, sequence: n, generation: n * 2, block: n * 100}))
		}

		again, err := openHeads(fs.CrashClone(vfs.CrashCloneCfg{}), "data")
		must(err)
		for _, chain := range []market.ChainID{3, 7, 9} {
			if a, ok := again.get(chain); !ok || a.sequence != n || a.generation != n*2 || a.block != n*100 {
				t.Errorf("after a crash chain %d is at %+v, %v; want commit %d", chain, a, ok, n)
			}
		}
	}

	must(h.write(acknowledgedHead{chain: 11, sequence: 1}))
	if info, err := fs.Stat("data.heads"); err != nil || info.Size() != 4*2*headSlot {
		t.Errorf("the file of 4 chains has %d bytes, %v; want %d", info.Size(), err, 4*2*headSlot)
	}
	must(h.close())
}

// The first head of a chain takes all the space that the chain will need, whichever slot
// its number is of.
func TestFirstHeadTakesTheSpace(t *testing.T) {
	for _, sequence := range []uint64{1, 2} {
		fs := vfs.NewMem()
		must(fs.MkdirAll("data", 0o700))
		h, err := openHeads(fs, "data")
		must(err)
		for chain := range market.ChainID(2) {
			must(h.write(acknowledgedHead{chain: chain + 1, sequence: sequence}))
			f, err := fs.Open("data.heads")
			must(err)
			content, err := io.ReadAll(f)
			must(errors.Join(err, f.Close()))

			first := content[int(chain)*2*headSlot:]
			if len(first) != 2*headSlot || !bytes.Equal(first[:headSlot], first[headSlot:]) {
				t.Errorf("after commit %d of chain %d the file has %d bytes, or two different heads",
					sequence, chain+1, len(content))
			}
		}
		must(h.close())
	}
}

// What could not be written was not recorded: an error of the write is not hidden by
// the sync after it.
func TestFailedWritesAreReported(t *testing.T) {
	broken := errors.New("broken")
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt {
			return broken
		}
		return nil
	}))

	must(fs.MkdirAll("data", 0o700))
	h, err := openHeads(fs, "data")
	must(err)
	if err := h.write(acknowledgedHead{chain: 1, sequence: 1}); !errors.Is(err, broken) {
		t.Errorf("a head that was not written: %v", err)
	}
	if _, ok := h.get(1); ok {
		t.Error("a head that was not written counts as recorded")
	}
	must(h.close())
}

// A file whose directory could not be synced is made durable by the next write.
func TestHeadsOfAFailingDirectory(t *testing.T) {
	disk, broken, failing := vfs.NewCrashableMem(), errors.New("broken"), true
	h, err := openHeads(errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing && op.Kind == errorfs.OpOpenDir {
			return broken
		}
		return nil
	})), "data")
	must(err)

	head := acknowledgedHead{chain: 1, sequence: 1}
	if err := h.write(head); !errors.Is(err, broken) {
		t.Errorf("a head in a directory that was not synced: %v", err)
	}
	failing = false
	must(h.write(head))
	again, err := openHeads(disk.CrashClone(vfs.CrashCloneCfg{}), "data")
	must(err)
	if got, ok := again.get(1); !ok || got != head {
		t.Errorf("after a crash the head is %+v, %t; want %+v", got, ok, head)
	}
	must(h.close())
}

// The chain of a key has a length of 1 to 8 bytes, and a kind behind it.
func TestParseChain(t *testing.T) {
	f := func(key []byte, chain market.ChainID, rest int, ok bool) {
		t.Helper()
		c, tail, parsed := parseChain(key)
		if c != chain || len(tail) != rest || parsed != ok {
			t.Errorf("%x: chain %d, %d bytes, %v; want %d, %d, %v", key, c, len(tail), parsed, chain, rest, ok)
		}
	}

	f(nil, 0, 0, false)
	f([]byte{0, 1}, 0, 0, false)
	f([]byte{1, 5}, 0, 0, false)
	f([]byte{1, 5, 9}, 5, 1, true)
	f([]byte{8, 1, 0, 0, 0, 0, 0, 0, 2, 9}, 1<<56|2, 1, true)
	f([]byte{9, 1, 0, 0, 0, 0, 0, 0, 0, 2, 9}, 0, 0, false)
	for _, chain := range []market.ChainID{1, 255, 256, 43114, 1<<64 - 1} {
		f(appendKind(nil, chain, kindHead), chain, 1, true)
	}
}

// Only a slot that is whole counts.
func TestHeadSlots(t *testing.T) {
	want := acknowledgedHead{chain: 7, sequence: 5, generation: 4, block: 3, hash: market.Hash{31: 9}, dropped: true}
	whole := want.append(nil)
	var got acknowledgedHead
	if !got.decode(whole) || got != want {
		t.Errorf("read %+v; want %+v", got, want)
	}
	for n := range whole {
		if got.decode(whole[:n]) {
			t.Errorf("%d of %d bytes count as a slot", n, len(whole))
		}
		flipped := slices.Clone(whole)
		flipped[n] ^= 0x10
		if got.decode(flipped) {
			t.Errorf("a slot with another byte %d counts", n)
		}
	}

	foreign := slices.Clone(whole)
	foreign[0]++
	sum := crc32.Checksum(foreign[:headSumAt], castagnoli)
	binary.BigEndian.PutUint32(foreign[headSumAt:], sum)
	if got.decode(foreign) {
		t.Error("a slot of another format counts")
	}
}

// Keys are part of the format of the data.
func TestKeys(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("key %q; want %q", got, want)
		}
	}

	before := []byte("x")
	f(appendChain(before, 0), "x\x01\x00")
	f(appendChain(before, 255), "x\x01\xff")
	f(appendChain(before, 256), "x\x02\x01\x00")
	f(appendChain(before, 43114), "x\x02\xa8\x6a")
	f(appendChain(before, 1<<64-1), "x\x08\xff\xff\xff\xff\xff\xff\xff\xff")
	f(appendChainEnd(before, 1), "x\x01\x01\xff")
	f(appendOffline(before, 1), "x\x00offline/\x01\x01")
	f(appendIdentityKey(before, "seed"), "x\x00identity/seed")
	f(appendKind(before, 1, kindHead), "x\x01\x01"+string(rune(kindHead)))
}

// Where numbers begin anew, no head of before stays, whichever half of its place the new
// one is in, and the heads of the chains beside it stay as they are.
func TestHeadsThatBeginAnew(t *testing.T) {
	f := func(first uint64) {
		t.Helper()
		fs := vfs.NewMem()
		must(fs.MkdirAll("data", 0o700))
		h, err := openHeads(fs, "data")
		must(err)
		for _, chain := range []market.ChainID{1, 2, 3} {
			for n := uint64(10); n < 12; n++ {
				must(h.write(acknowledgedHead{chain: chain, sequence: n, block: n}))
			}
		}
		must(h.write(acknowledgedHead{chain: 2, sequence: first, block: 99}))
		must(h.close())

		again, err := openHeads(fs, "data")
		must(err)
		for chain, want := range map[market.ChainID]uint64{1: 11, 2: first, 3: 11} {
			if a, ok := again.get(chain); !ok || a.sequence != want || chain == 2 && a.block != 99 {
				t.Errorf("after chain 2 began at %d, chain %d is at %+v; want %d", first, chain, a, want)
			}
		}
	}

	f(3)
	f(4)
	f(10)
	f(11)
}

// TestGapStays: a chain that lacks its first commits lacks them after the next ones too.
func TestGapStays(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	g := newRig(28, 1)
	for range 3 {
		g.commit(t, s, 3, true)
	}
	write(s, appendNumber(nil, 1, kindMark, 0), nil)

	for range 2 {
		closeTest(t, s)
		s = openTest(t, disk)
		if d := s.Damaged(1); d == nil || !strings.Contains(d.Error(), "the first commits of") {
			t.Errorf("the damage is %v; want that the first commits are missing", d)
		}
		g.commit(t, s, 3, true)
	}
	closeTest(t, s)
}

// TestRollbackLeavesNoGap checks that a chain that went on after a rollback, or after a drop
// that was only begun, is whole at the next start.
func TestRollbackLeavesNoGap(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	g := newRig(28, 1)
	for range 3 {
		g.commit(t, s, 3, true)
	}
	closeTest(t, s)
	older := vfs.NewMem()
	if _, err := vfs.Clone(disk, older, "", ""); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, disk)
	for range 2 {
		g.commit(t, s, 3, true)
	}
	newest := s.heads.last[1]
	closeTest(t, s)

	dropped := newest
	dropped.dropped, dropped.sequence = true, newest.sequence+1
	for _, h := range []acknowledgedHead{newest, dropped} {
		fs := vfs.NewMem()
		if _, err := vfs.Clone(older, fs, "", ""); err != nil {
			t.Fatal(err)
		}
		s := openTest(t, fs)
		must(s.heads.write(h))
		closeTest(t, s)

		s = openTest(t, fs)
		if got := s.Rollback(1) != nil; got == h.dropped || s.Damaged(1) != nil {
			t.Errorf("%+v: rolled back %t, damage %v", h, got, s.Damaged(1))
		}
		for range 2 {
			cut := newRig(50, 1).cut(3, true)
			cut.Publication.Generation = s.LastGeneration(1) + 1
			must(s.Commit(cut))
			closeTest(t, s)
			s = openTest(t, fs)
			if d := s.Damaged(1); d != nil || s.Rollback(1) != nil {
				t.Errorf("%+v: after another commit the damage is %v, the rollback %v", h, d, s.Rollback(1))
			}
		}
		closeTest(t, s)
	}
}

// The marks of a chain are those of its first commit and of its last; others show what is
// missing.
func TestGapsBetweenMarks(t *testing.T) {
	f := func(want string, marks ...uint64) {
		t.Helper()
		got := ""
		if err := checkMarks(marks); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("marks %d: %q; want %q", marks, got, want)
		}
	}

	f("")
	f("", 0, 1)
	f("", 0, 9)
	f("the first commits of 9 are missing", 9)
	f("the first commits of 0 are missing", 0)
	f("the first commits of 9 are missing", 3, 9)
	f("the first commits of 9 are missing", 3, 5, 9)
	f("commits between 3 and 9 are missing", 0, 3, 9)
	f("commits between 3 and 9 are missing", 0, 3, 5, 9)
}
