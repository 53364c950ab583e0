package rpc

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tidemark/actors/feed/endpoint"
)

const (
	// retryCeiling is after how many answers a size that was refused is tried
	// again: events are not equally dense everywhere.
	retryCeiling = 64
	// maxStrikes is how often in a row a source may fail at a range, while it
	// answers the rest, before the range is taken as the cause.
	maxStrikes = 2
)

// rangeSize is how many blocks a source is asked for at once: as many as it
// answers. A refusal halves it or takes what the provider suggests, every
// answer lets it grow by an eighth.
type rangeSize struct {
	mu      sync.Mutex
	size    uint64
	most    uint64 // configured
	named   uint64 // the provider's own limit, as its refusals name it; 0: none
	good    uint64 // the largest that was answered in full
	ceiling uint64 // what is not exceeded after a refusal
	answers int    // since then
}

func newRangeSize(most uint64) rangeSize {
	return rangeSize{size: most, most: most, ceiling: most}
}

// limit is the largest size that may be asked for now.
func (r *rangeSize) limit() uint64 {
	limit := min(r.most, r.ceiling)
	if r.named > 0 {
		limit = min(limit, r.named)
	}
	return max(limit, 1)
}

func (r *rangeSize) get() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

// answered notes that so many blocks were answered.
func (r *rangeSize) answered(blocks uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers++; r.answers >= retryCeiling {
		r.ceiling, r.answers = r.most, 0
	}
	if 2*blocks > r.size { // others grew it while this one was under way
		r.good = max(r.good, blocks)
		r.size = r.size + r.size/8 + 1
	}
	r.size = min(r.size, r.limit())
}

// refused notes that blocks from..to were not answered, and reports whether
// fewer may be. strikes counts the failures of this range that may be its own.
// What is under way at once is refused at once: the size follows from what was
// asked for, so that it falls once.
func (r *rangeSize) refused(from, to uint64, err error, strikes *int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := to - from + 1
	if asked == 1 {
		return false
	}
	e := endpoint.AsError(err)
	switch {
	case isTooLarge(e):
	case e.Kind == endpoint.Limited && e.Status != http.StatusTooManyRequests,
		e.Kind == endpoint.ServerError, e.Kind == endpoint.Unreachable:
		// The range is the cause only if the failure comes back for it.
		if *strikes++; *strikes < maxStrikes {
			return false
		}
	default:
		return false
	}

	*strikes, r.answers = 0, 0
	if r.good >= asked {
		r.good = asked / 2
	}
	r.size = max(asked/2, r.good, 1)
	r.ceiling = r.size
	if n, whole := suggestedRange(e.Text, from, asked); n > 0 {
		r.size, r.ceiling = n, n
		if whole {
			r.named = n
		}
	}
	return true
}

// notThereWords are how nodes refuse blocks that they do not have, or not any
// more: fewer of them are not there either.
var notThereWords = []string{"beyond", "not found", "cannot be found", "unknown block", "pruned",
	"not available", "missing trie", "header for hash"}

// isTooLarge reports whether a refusal may be of the number of blocks or logs.
func isTooLarge(e *endpoint.Error) bool {
	switch e.Kind {
	case endpoint.Refused:
		text := strings.ToLower(e.Text)
		for _, w := range notThereWords {
			if strings.Contains(text, w) {
				return false
			}
		}
		return true
	case endpoint.Oversized, endpoint.TimedOut:
		return true
	}

	return false
}

var (
	// hexRange finds [0x10, 0x20] and 0x10-0x20: a range that would be answered.
	hexRange = regexp.MustCompile(`(0x[0-9a-fA-F]+)[^0-9a-zA-Z]{1,4}(0x[0-9a-fA-F]+)`)
	// blockCount finds the number in "up to a 500 block range", "limited to 0 -
	// 10,000 blocks", "maximum block range: 5000", "exceeds limit of 10K".
	blockCount = regexp.MustCompile(
		`(?:up to|at most|limit(?:ed)?(?: of| to| is)?|max(?:imum)?|range|exceeds?)[^0-9]{0,24}` +
			`(?:0 ?- ?)?([0-9][0-9,_]*)([kK]?)\b`)
)

// suggestedRange reads from a refusal how many blocks from the first would be
// answered: 0 when it does not say. whole tells of a limit for every request.
//
// A refusal may also name the size that was asked for, which many nodes count as the last
// block minus the first. Taken as a limit it would shrink requests by one block at a time.
func suggestedRange(text string, from, asked uint64) (blocks uint64, whole bool) {
	for _, m := range hexRange.FindAllStringSubmatch(text, -1) {
		a, errA := strconv.ParseUint(m[1], 0, 64)
		b, errB := strconv.ParseUint(m[2], 0, 64)
		if errA == nil && errB == nil && a == from && b >= a && b-a+1 < asked {
			return b - a + 1, false
		}
	}

	for _, m := range blockCount.FindAllStringSubmatch(strings.ToLower(text), -1) {
		n, err := strconv.ParseUint(strings.NewReplacer(",", "", "_", "").Replace(m[1]), 10, 64)
		if m[2] != "" {
			n *= 1000
		}
		if err == nil && n > 0 && n+1 < asked && strings.Contains(strings.ToLower(text), "block") {
			return n, true
		}
	}

	return 0, false
}
