package query

import "strconv"

// queryPrinter appends name=value pairs to dst.
type queryPrinter struct {
	dst   []byte
	start int
	names []string
}

// appendName returns dst with the separator, the name and "=" appended.
func (p *queryPrinter) appendName(i int) []byte {
	if len(p.dst) > p.start {
		p.dst = append(p.dst, '&')
	}
	return append(append(p.dst, p.names[i]...), '=')
}

// appendInteger appends a parameter unless it has its default.
func (p *queryPrinter) appendInteger(i int, n, unless uint64) {
	if n != unless {
		p.appendNumber(i, n)
	}
}

func (p *queryPrinter) appendNumber(i int, n uint64) {
	p.dst = strconv.AppendUint(p.appendName(i), n, 10)
}

// appendFloor appends a floor unless it has its default. It is escaped because an
// exponent can have a '+', which would be read as a space.
func (p *queryPrinter) appendFloor(i int, x, unless float64) {
	if x != unless {
		var buf [32]byte
		p.dst = appendEscaped(p.appendName(i), strconv.AppendFloat(buf[:0], x, 'g', -1, 64))
	}
}

func (p *queryPrinter) appendFlag(i int, set bool) {
	if set {
		p.dst = append(p.appendName(i), "true"...)
	}
}

func (p *queryPrinter) appendText(i int, s string) { p.dst = appendEscaped(p.appendName(i), s) }

// appendEscaped appends s with all but the unreserved characters percent-encoded.
func appendEscaped[T []byte | string](dst []byte, s T) []byte {
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}
