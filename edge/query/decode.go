package query

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

var errUTF8 = errors.New("its value is not valid UTF-8")

// decodeValue undoes the encoding of a parameter's name or value into dst, or
// returns src itself when there is nothing to undo.
func decodeValue(dst, src []byte) ([]byte, error) {
	out := src
	if bytes.IndexByte(src, '%') >= 0 || bytes.IndexByte(src, '+') >= 0 {
		var err error
		if out, err = appendUnescaped(dst, src, ' '); err != nil {
			return nil, err
		}
	}

	if !utf8.Valid(out) {
		return nil, errUTF8
	}
	return out, nil
}

// appendUnescaped appends src to dst with percent-encoding decoded and '+' replaced
// by plus.
func appendUnescaped(dst, src []byte, plus byte) ([]byte, error) {
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '+':
			dst = append(dst, plus)
		case '%':
			if i+2 >= len(src) || hexValue(src[i+1]) < 0 || hexValue(src[i+2]) < 0 {
				bad := src[i:min(i+3, len(src))]
				return nil, fmt.Errorf("malformed percent-encoding %s", quoteValue(bad))
			}
			dst = append(dst, byte(hexValue(src[i+1])<<4|hexValue(src[i+2])))
			i += 2
		default:
			dst = append(dst, c)
		}
	}

	return dst, nil
}

// hexValue is the value of a hex digit; -1 for any other character.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
