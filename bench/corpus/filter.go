package corpus

import (
	"math"
	"strconv"

	"tidemark/rankings"
)

// AppendFilter appends the query of the n-th filter of positions. No two are
// the same: they differ in two floors, the order and the range.
func AppendFilter(dst []byte, n uint64) []byte {
	ranges := [...]string{"", "&range=in", "&range=out"}
	mixed := n * 0x9e3779b97f4a7c15 // so that neighbours differ in everything
	dst = append(append(dst, "?sort="...), rankings.PositionSorts[mixed>>8%6]...)
	dst = append(dst, ranges[mixed>>16%3]...)

	value := math.Exp(float64(mixed>>40) / float64(1<<24) * math.Log(20_000))
	dst = strconv.AppendFloat(append(dst, "&minValueUsd="...), value, 'f', 3, 64)
	dst = strconv.AppendUint(append(dst, "&minPoolTvl="...), mixed>>20%50_000, 10)
	return strconv.AppendUint(append(dst, '.'), n, 10) // this digit string is never the same
}
