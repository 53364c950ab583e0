package render

import (
	"unicode/utf8"

	"tidemark/rankings/texts"
)

// The longest text from a contract that is shown, in characters.
const (
	maxSymbol = 64
	maxName   = 128
)

const hexDigits = "0123456789abcdef"

// String appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func String(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for start := 0; start < len(s); {
		i := start
		for i < len(s) && plain(s[i]) {
			i++
		}

		dst = append(dst, s[start:i]...)
		if i == len(s) {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = appendRune(dst, r)
		start = i + n
	}
	return append(dst, '"')
}

// text appends text from a contract as a JSON string, without hidden characters and
// truncated to limit characters, or null if the call for it failed.
func text(dst []byte, t texts.Text, limit int) []byte {
	s, ok := t.Get()
	if !ok {
		return append(dst, "null"...)
	}

	dst = append(dst, '"')
	for _, r := range s {
		if texts.IsHidden(r) {
			continue
		}
		if limit--; limit < 0 {
			break
		}
		dst = appendRune(dst, r)
	}

	return append(dst, '"')
}

// plain reports whether a byte is ASCII and needs no escape in a JSON string.
func plain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c < 0x7f }

// appendRune appends a character of a JSON string, escaped if necessary.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, '\\', 'n')
	case r < ' ' || r == 0x7f:
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// unescape returns the characters between the quotes of a rendered JSON string.
func unescape(dst, s []byte) []byte {
	for len(s) > 0 {
		switch {
		case s[0] != '\\':
			dst, s = append(dst, s[0]), s[1:]
		case s[1] == 'n':
			dst, s = append(dst, '\n'), s[2:]
		case s[1] == 'u': // appendRune writes no others than \u00xx
			dst, s = append(dst, hexDigit(s[4])<<4|hexDigit(s[5])), s[6:]
		default:
			dst, s = append(dst, s[1]), s[2:]
		}
	}

	return dst
}

// hexDigit is the value of one of hexDigits.
func hexDigit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}
