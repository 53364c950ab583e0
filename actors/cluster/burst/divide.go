package burst

import (
	"math/bits"

	"tidemark/storage/accounts"
)

const (
	// idleShare is the part of a limit that is divided without regard to need. An idle
	// node fills its bucket with it.
	idleShare = 32
	// needUnit is what needs are counted in: thousandths of a request a second.
	needUnit = 1000
)

// divide returns what a node gets of so many parts, where some nodes need some: what it
// needs and an equal part of the rest; or, if there is too little, in proportion to its
// need. The sum over all nodes is at most free.
func divide(free int64, needs []int64, mine int) int64 {
	nodes := int64(len(needs))
	idle := free / idleShare / nodes
	rest := free - idle*nodes

	total := int64(0)
	for _, n := range needs {
		total += n
	}
	if total <= rest {
		return idle + needs[mine] + (rest-total)/nodes
	}

	hi, lo := bits.Mul64(uint64(needs[mine]), uint64(rest))
	part, _ := bits.Div64(hi, lo, uint64(total))
	return idle + int64(part)
}

// partsFor converts a need to parts of a limit, at most all of it.
func partsFor(need, requestsPerSecond int64) int64 {
	most := requestsPerSecond * needUnit
	if need >= most {
		return accounts.WholeLimit
	}
	hi, lo := bits.Mul64(uint64(need), accounts.WholeLimit)
	parts, _ := bits.Div64(hi, lo, uint64(most))
	return int64(parts)
}
