package texts

import "testing"

// TestHiddenCharacters: the first and the last of each range of characters that are left
// out, and those beside them.
func TestHiddenCharacters(t *testing.T) {
	f := func(from, to rune) {
		t.Helper()
		for r, want := range map[rune]bool{from - 1: false, from: true, to: true, to + 1: false} {
			if got := IsHidden(r); got != want {
				t.Errorf("%U is hidden: %t; want %t", r, got, want)
			}
		}
	}

	f(0x7f, 0x9f)
	f(0x200b, 0x200f)
	f(0x202a, 0x202e)
	f(0x2060, 0x2069)
	f(0xfeff, 0xfeff)
	for _, r := range "aZ0 -/é中" {
		if IsHidden(r) {
			t.Errorf("%U is hidden", r)
		}
	}
	if !IsHidden(0) || !IsHidden('\n') || !IsHidden(0x1f) {
		t.Error("control characters are not hidden")
	}
}
