package index

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestGrams grows, changes and shrinks a table of ids, and compares what is found
// with a test of every id.
func TestGrams(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var ids [][]byte
	id := func(row uint32) []byte { return ids[row] }
	var g Grams

	for round := range 40 {
		same := true
		switch {
		case round%10 == 8 && len(ids) > 2:
			ids, same = ids[:len(ids)/2], false
		case round%10 == 9:
			ids[0], same = randomID(r), false
		default:
			for range r.IntN(30) {
				ids = append(ids, randomID(r))
			}
		}

		before := g
		g = g.Extend(uint32(len(ids)), same, id, func() {})
		checkGrams(t, r, &g, ids)
		if same && before.lists != nil {
			checkGrams(t, r, &before, ids[:before.Rows]) // its shared lists did not change
		}
	}
}

// TestGramsPause checks that a long extension pauses between rows, and a new index between
// lists too.
func TestGramsPause(t *testing.T) {
	pauses := 0
	f := func(g *Grams, n uint32, want int) Grams {
		t.Helper()
		pauses = 0
		next := g.Extend(n, true, func(uint32) []byte { return make([]byte, 20) }, func() { pauses++ })
		if pauses != want {
			t.Errorf("from %d to %d rows there are %d pauses; want %d", g.Rows, n, pauses, want)
		}
		return next
	}

	g := f(new(Grams), 640, 10+(allGrams+strideLists-1)/strideLists)
	f(&g, 640, 0)
	f(&g, 1280, 10)
}

// randomID has few digits, so that pieces repeat.
func randomID(r *rand.Rand) []byte {
	b := make([]byte, 20)
	for i := range b {
		b[i] = byte(r.IntN(3)) * 0x4b
	}
	return b
}

func checkGrams(t *testing.T, r *rand.Rand, g *Grams, ids [][]byte) {
	t.Helper()
	for range 20 {
		text := appendText(nil, randomID(r))
		if len(ids) > 0 && r.IntN(2) == 0 {
			text = appendText(nil, ids[r.IntN(len(ids))])
		}

		from := r.IntN(len(text) - 1)
		text = text[from : from+2+r.IntN(len(text)-from-1)]
		found := map[uint32]bool{}
		id := func(row uint32) []byte { return ids[row] }
		g.FindText(text, id, func(row uint32) { found[row] = true })
		for row := range ids {
			want := bytes.Contains(appendText(nil, ids[row]), text)
			if found[uint32(row)] != want {
				t.Fatalf("%s in %x: got %v; want %v", text, ids[row], found[uint32(row)], want)
			}
			for digit := range 16 {
				has := bytes.IndexByte(appendText(nil, ids[row]), "0123456789abcdef"[digit]) >= 0
				if g.Digits[row]>>digit&1 != 0 != has {
					t.Fatalf("digit %x of %x: want %v", digit, ids[row], has)
				}
			}
		}
	}
}

// TestSearchLower: a search is a case-insensitive substring of a symbol without
// its hidden characters.
func TestSearchLower(t *testing.T) {
	f := func(symbol, search string, want bool) {
		t.Helper()
		var text []byte
		for _, r := range search {
			text = appendLower(text, r)
		}
		if got := bytes.Contains(appendShown(nil, symbol), text); got != want {
			t.Errorf("%+q in %+q: got %v; want %v", search, symbol, got, want)
		}
	}

	f("İSTANBUL", "i̇stanbul", true)
	f("İSTANBUL", "İST", true)
	f("usdi", "İ", false)
	f("usdi", "I", true)
	f("İ", "i", true)
	f("U\u200bS\u202eD\ufeffC", "usdc", true)
	f("USDC", "US\u200bDC", false)
	f("ΑΣ", "σ", true)
}
