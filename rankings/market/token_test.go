package market

import (
	"runtime"
	"testing"
)

func text(s string) *string { return &s }

// TestPackTexts checks that packed texts are what they were, and that they take two
// objects of the collector.
func TestPackTexts(t *testing.T) {
	const n = 1000
	var texts, want [n]*string
	refs := make([]**string, n)
	for i := range texts {
		if i%3 > 0 {
			texts[i] = text(string(make([]byte, i%7)) + string(rune('a'+i%26)))
			want[i] = texts[i]
		}
		refs[i] = &texts[i]
	}

	PackTexts(refs)
	for i := range texts {
		if (texts[i] == nil) != (want[i] == nil) || texts[i] != nil && *texts[i] != *want[i] {
			t.Fatalf("text %d is another", i)
		}
		want[i] = nil
	}

	var packed, gone runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&packed)
	clear(texts[:])
	runtime.GC()
	runtime.ReadMemStats(&gone)
	// The runtime may make some of its own meanwhile.
	if freed := int64(packed.HeapObjects) - int64(gone.HeapObjects); freed > n/10 {
		t.Errorf("%d packed texts were %d objects", n, freed)
	}
	runtime.KeepAlive(refs)
	PackTexts(nil)
}

func TestShareTexts(t *testing.T) {
	f := func(mine, its *string, shared bool) {
		t.Helper()
		a, b := Token{Symbol: mine, Name: text("n")}, Token{Symbol: its, Name: text("n")}
		a.ShareTexts(&b)
		if a.Name != b.Name || (a.Symbol == b.Symbol) != shared {
			t.Errorf("name shared: %t; symbol shared: %t, want %t", a.Name == b.Name, a.Symbol == b.Symbol, shared)
		}
	}

	f(text("a"), text("a"), true)
	f(text("a"), text("b"), false)
	f(nil, text("b"), false)
	f(text("a"), nil, false)
	f(nil, nil, true)
}
