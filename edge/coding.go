package edge

import (
	"bytes"

	"tidemark/edge/pages"
)

// chooseCoding returns the content coding with the highest weight in
// Accept-Encoding headers. At equal weights zstd is preferred to gzip, and gzip
// to identity. It returns identity when no coding is acceptable.
func chooseCoding(headers [][]byte) pages.Coding {
	const unset = -1
	weights := [...]int{pages.Identity: unset, pages.Gzip: unset, pages.Zstd: unset}
	others := unset // the weight of "*"
	for _, list := range headers {
		for len(list) > 0 {
			var part []byte
			part, list, _ = bytes.Cut(list, comma)
			name, params, _ := bytes.Cut(part, semicolon)
			switch name = bytes.TrimSpace(name); {
			case bytes.EqualFold(name, gzipName), bytes.EqualFold(name, oldGzipName):
				weights[pages.Gzip] = weightOf(params)
			case bytes.EqualFold(name, zstdName):
				weights[pages.Zstd] = weightOf(params)
			case bytes.EqualFold(name, identityName):
				weights[pages.Identity] = weightOf(params)
			case string(name) == "*":
				others = weightOf(params)
			}
		}
	}

	// A coding that is not listed has the weight of "*". Identity is always
	// acceptable, after all others, even if it is not listed.
	best, most := pages.Identity, max(weights[pages.Identity], 0)
	for _, c := range [...]pages.Coding{pages.Gzip, pages.Zstd} {
		weight := weights[c]
		if weight == unset {
			weight = others
		}
		if weight > 0 && weight >= most {
			best, most = c, weight
		}
	}
	return best
}

// fullWeight is q=1, the default weight of a listed coding, in thousandths.
const fullWeight = 1000

// weightOf returns the q parameter of a coding in thousandths. A malformed one
// counts as 0, which makes the coding unacceptable.
func weightOf(params []byte) int {
	for len(params) > 0 {
		var param []byte
		param, params, _ = bytes.Cut(params, semicolon)
		name, value, _ := bytes.Cut(param, equals)
		if !bytes.EqualFold(bytes.TrimSpace(name), weightName) {
			continue
		}

		return parseWeight(bytes.TrimSpace(value))
	}
	return fullWeight
}

// parseWeight parses a number from 0 to 1 with up to three decimals. It returns 0
// for anything else.
func parseWeight(v []byte) int {
	if len(v) == 0 || len(v) > len("0.123") ||
		v[0] != '0' && v[0] != '1' || len(v) > 1 && v[1] != '.' {
		return 0
	}

	n, unit := int(v[0]-'0')*fullWeight, fullWeight/10
	for _, c := range v[min(2, len(v)):] {
		if c < '0' || c > '9' {
			return 0
		}
		n, unit = n+int(c-'0')*unit, unit/10
	}

	if n > fullWeight {
		return 0
	}
	return n
}

var (
	comma, semicolon, equals = []byte{','}, []byte{';'}, []byte{'='}

	gzipName, oldGzipName  = []byte("gzip"), []byte("x-gzip")
	zstdName, identityName = []byte("zstd"), []byte("identity")
	weightName             = []byte("q")
)
