package chart

// Of an hour or a day it is kept where a pool's price began and ended and how far it
// went, but not by which way. Two ways are the shortest that fit: first down to the
// lowest price and then up to the highest, or the other way round. A split goes by the
// mean of both.
//
// Where the price went is also where fees were paid. A unit of liquidity in range takes
// of a swap, with r the square root of the price and f the fee:
//
//	rising:   f / (1 - f) * (r after - r before)          of token 1
//	falling:  f / (1 - f) * (1 / r after - 1 / r before)  of token 0
//
// whatever the liquidity is. So the fee growth of the hour is split like the lengths
// that the price rose and fell.
type path struct{ open, high, low, close float64 } // square roots of prices

// shares are which parts of what happened in an interval happened below a level.
type shares struct{ falling, rising, time float64 }

// wholly reports whether nothing is split.
func (s shares) wholly() bool { return s == shares{} || s == shares{1, 1, 1} }

// below returns the shares below a level. The price must have moved.
func (p *path) below(level float64) shares {
	if level >= p.high {
		return shares{1, 1, 1}
	}
	if level <= p.low {
		return shares{}
	}

	var part, whole lengths
	for _, turns := range [2][2]float64{{p.low, p.high}, {p.high, p.low}} {
		for _, leg := range [3][2]float64{
			{p.open, turns[0]}, {turns[0], turns[1]}, {turns[1], p.close},
		} {
			whole.add(leg[0], leg[1])
			part.add(min(leg[0], level), min(leg[1], level))
		}
	}
	return shares{
		part.falling / whole.falling, part.rising / whole.rising, part.way / whole.way,
	}
}

// lengths are how far a price fell, in 1 / r, and rose, in r.
type lengths struct{ falling, rising, way float64 }

func (l *lengths) add(from, to float64) {
	if to > from {
		l.rising += to - from
		l.way += to - from
		return
	}
	l.falling += 1/to - 1/from
	l.way += from - to
}
