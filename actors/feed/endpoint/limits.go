package endpoint

import (
	"fmt"
	"sync/atomic"
)

// Bounds of what a provider's answers take. They are constants and not settings, because a
// change needs the reason that stands beside each.
const (
	// maxBody bounds an answer; the largest honest one is 10,000 logs of 1 kB, or
	// the receipts of a few full blocks.
	maxBody = 64 << 20
	// maxValue bounds a value of an answer that is read whole: the receipts of a block
	// that is full of the data of logs have some 20 MB.
	maxValue = 32 << 20
	// maxDepth bounds the brackets within one another, as encoding/json does. Answers have
	// five.
	maxDepth = 10_000
	// maxHead is how much of a body is kept to read a refusal from.
	maxHead = 4 << 10
	// maxHeaders bounds the headers of an answer. Gateways send 2 kB, and cookies.
	maxHeaders = 64 << 10
	// maxTold bounds what a subscription tells at once: a header has 2 kB.
	maxTold = 1 << 20
	// allRoom is what all answers that are read at once may take in memory, of all chains,
	// and endpointRoom those of one endpoint: one that fills its part leaves as much for
	// the others. Sixteen ranges of 10,000 logs take 80 MB.
	allRoom      = 256 << 20
	endpointRoom = allRoom / 2
	// freeRoom is what an answer may take without asking for room: nearly all stay below
	// it, so that they are read when the room is full too.
	freeRoom = 256 << 10
	// roomStep is how much is asked for at least, so that few logs of an answer ask.
	roomStep = 256 << 10
	// objectRoom is what an object takes beside its text when it is decoded into a list,
	// which grows by copying: it may be as short as {}.
	objectRoom = 512
)

// oversizedError is the error of an answer that is larger than is read.
type oversizedError struct{ text string }

func (e *oversizedError) Error() string { return e.text }

func oversized(format string, args ...any) error {
	return &oversizedError{fmt.Sprintf(format, args...)}
}

var (
	errOversized = oversized("answer is larger than %d bytes", maxBody)
	errLongValue = oversized("a value of the answer is larger than %d bytes", maxValue)
	errTooDeep   = oversized("the answer has more than %d brackets within one another", maxDepth)
)

// room is memory that answers share.
type room struct {
	name  string // whose it is
	most  int64
	taken atomic.Int64
	of    *room // a part of which it is; nil: none
}

// shared is the room of all endpoints.
var shared = room{name: "all endpoints", most: allRoom}

// take takes some of the room; nothing after an error.
func (m *room) take(n int64) error {
	if taken := m.taken.Add(n); taken > m.most {
		m.taken.Add(-n)
		return oversized(
			"answer needs %d bytes more; answers of %s at once cannot exceed %d, and have %d",
			n, m.name, m.most, taken-n)
	}
	if m.of == nil {
		return nil
	}

	err := m.of.take(n)
	if err != nil {
		m.taken.Add(-n)
	}
	return err
}

func (m *room) giveBack(n int64) {
	for ; m != nil; m = m.of {
		m.taken.Add(-n)
	}
}
