package pages

import (
	"log/slog"
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/script"
	"tidemark/storage"
)

// TestHistoryKey checks that a history is found again while it stays as it was, and
// not once it has grown or its last entry has been replaced by another one.
func TestHistoryKey(t *testing.T) {
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := &Pages{cfg: &Config{Store: store}}
	l := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager})
	m := script.New()
	for _, token := range []string{"A", "B"} {
		if _, err := m.Set([]string{"token", token, "18"}); err != nil {
			t.Fatal(err)
		}
	}

	// key applies a line in a transaction of its own, and returns the key after it.
	logs := uint32(0) // before its own
	key := func(line string, tx byte) string {
		t.Helper()
		span, err := m.Span(l.Freeze(), line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range span.Blocks {
			span.Blocks[i].Txs[0].Hash[0] = tx
			for k := range span.Blocks[i].Logs {
				span.Blocks[i].Logs[k].Index += logs
			}
		}
		if _, err := l.Apply(span); err != nil {
			t.Fatal(err)
		}
		st := l.Freeze()
		if err := store.Commit(&storage.Cut{State: st, Changes: l.Changes()}); err != nil {
			t.Fatal(err)
		}
		if st.Positions.Len() == 0 {
			return ""
		}
		found, err := p.historyKey(&rankings.View{State: st}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	key("pool P A B 3000 60", 1)
	minted := key("mint 1 alice P -600 600 1e18", 2)
	if again := key("block", 3); again != minted {
		t.Errorf("a block without the position makes %q of %q", again, minted)
	}
	grown := key("add 1 1e17", 4)
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	replaced := key("add 1 1e17", 5)
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}
	logs = 3
	moved := key("add 1 1e17", 5)
	keys := []string{minted, grown, replaced, moved}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Errorf("the keys %q, %q, with another last entry %q, and with that at another place %q are not all different",
			minted, grown, replaced, moved)
	}
}

// TestReverseEntries checks that entries stay whole and separated.
func TestReverseEntries(t *testing.T) {
	f := func(text, want string, ends ...int) {
		t.Helper()
		if got := reverseEntries([]byte(text), ends); string(got) != want {
			t.Errorf("%q reversed is %q; want %q", text, got, want)
		}
	}

	f("", "")
	f("a", "a", 1)
	f("a,bb,c", "c,bb,a", 1, 4, 6)
}
