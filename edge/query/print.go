package query

import "strconv"

// printer appends name=value pairs.
type printer struct {
	dst   []byte
	start int
	names []string
}

// name appends what stands before a value.
func (p *printer) name(i int) []byte {
	if len(p.dst) > p.start {
		p.dst = append(p.dst, '&')
	}
	return append(append(p.dst, p.names[i]...), '=')
}

func (p *printer) integer(i int, n, unless uint64) {
	if n != unless {
		p.dst = strconv.AppendUint(p.name(i), n, 10)
	}
}

// floor prints a floor; an exponent's '+' would be read as a space.
func (p *printer) floor(i int, x, unless float64) {
	if x != unless {
		var buf [32]byte
		p.dst = escape(p.name(i), strconv.AppendFloat(buf[:0], x, 'g', -1, 64))
	}
}

func (p *printer) flag(i int, set bool) {
	if set {
		p.dst = append(p.name(i), "true"...)
	}
}

func (p *printer) text(i int, s string) { p.dst = escape(p.name(i), s) }

// escape percent-encodes all but the characters that are never special.
func escape[T []byte | string](dst []byte, s T) []byte {
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
