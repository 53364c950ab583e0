package texts

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Texts are what they were made of, and equal ones are equal.
func TestText(t *testing.T) {
	set := newSet()
	all := map[string]Text{}
	f := func(s string) {
		t.Helper()
		text := set.add(s)
		if was, ok := all[s]; ok && was != text {
			t.Errorf("a text of %d bytes is %d, and was %d", len(s), text, was)
		}
		if text == 0 || set.at(text) != s {
			t.Errorf("a text of %d bytes is %d, which is %d bytes", len(s), text, len(set.at(text)))
		}
		all[s] = text
	}

	for range 2 {
		f("")
		for i := range 5000 {
			f(fmt.Sprint("token ", i))
		}
		// At the end of a block, in a block of its own, and in the next one.
		for _, n := range []int{blockLen - 3, blockLen - 4, blockLen, 3 * blockLen, 1} {
			f(strings.Repeat("x", n))
			f(strings.Repeat("y", n))
		}
	}
	for s, text := range all {
		if set.at(text) != s {
			t.Fatalf("text %d is not the same any more", text)
		}
	}
}

// A text that is not there is none, unlike an empty one.
func TestNoText(t *testing.T) {
	f := func(text Text, want string, wantOK bool) {
		t.Helper()
		if s, ok := text.Get(); s != want || ok != wantOK || text.String() != want {
			t.Errorf("text %d is %q, %t; want %q, %t", text, s, ok, want, wantOK)
		}
	}

	f(0, "", false)
	f(New(""), "", true)
	f(New("ETH"), "ETH", true)
}

// Of what a contract returned is kept what is UTF-8, up to a limit.
func TestFromContract(t *testing.T) {
	f := func(answer, want string) {
		t.Helper()
		if text := FromContract([]byte(answer)); text != New(want) {
			t.Errorf("of %d bytes are kept %d; want %d", len(answer), len(text.String()), len(want))
		}
	}

	most := strings.Repeat("x", MaxLen)
	f("", "")
	f("a\xffb", "ab")
	f(most, most)
	f(most+"x", most)
	f(most[2:]+"é", most[2:]+"é")
	f(most[1:]+"é", most[1:])
	f(strings.Repeat(most, 700), most)
}

// When no block is left, a new text is none, and those of before stay.
func TestNoRoom(t *testing.T) {
	set := newSet()
	eth := set.add("ETH")
	blocks := append(*set.blocks.Load(), make([][]byte, maxBlocks-1)...)
	set.blocks.Store(&blocks)
	set.free = nil

	for range 2 {
		if text := set.add("USD"); text != 0 {
			t.Errorf("a text for which there is no room is %d", text)
		}
	}
	if set.add("ETH") != eth || set.at(eth) != "ETH" {
		t.Error("a text of before is not the same any more")
	}
}

// Texts that several add at once are the same for all.
func TestTextsAtOnce(t *testing.T) {
	const n, adders = 3000, 4
	set := newSet()
	var got [adders][n]Text
	var adding sync.WaitGroup
	for a := range got {
		adding.Go(func() {
			for i := range n {
				got[a][i] = set.add(fmt.Sprint(i))
			}
		})
	}
	adding.Wait()

	for i, text := range got[0] {
		if set.at(text) != fmt.Sprint(i) {
			t.Fatalf("text %d is %q", i, set.at(text))
		}
		for a := range got {
			if got[a][i] != text {
				t.Fatalf("text %d is %d, and %d for another", i, text, got[a][i])
			}
		}
	}
}

// To find a text that is there allocates nothing.
func TestTextAllocates(t *testing.T) {
	name := "Wrapped Ether"
	New(name)
	if n := testing.AllocsPerRun(100, func() { _ = New(name).String() }); n != 0 {
		t.Errorf("a text that is there takes %g allocations", n)
	}
}
