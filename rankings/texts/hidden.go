package texts

import "unicode"

// IsHidden reports whether a character is left out of token symbols and names,
// which contracts choose freely: control characters, and characters without
// width or that change the direction of text, which can make one symbol look
// like another.
func IsHidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\uFEFF':
		return true
	case r < '\u200B' || r > '\u2069':
		return false
	}
	return r <= '\u200F' || r >= '\u202A' && r <= '\u202E' || r >= '\u2060'
}
