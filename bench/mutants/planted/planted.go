package planted

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Env names the mistake that is made, by its number; SeenEnv a directory that
// gets an empty file for each mistake whose place was come to.
const (
	Env     = "TIDEMARK_MUTANT"
	SeenEnv = "TIDEMARK_MUTANTS_SEEN"
)

// Max is the largest number of mistakes in one build.
const Max = 1 << 16

var (
	made, _ = strconv.Atoi(find(Env))
	seenDir = find(SeenEnv)
	seen    [Max]atomic.Bool
)

// find returns a variable of the process, or of the nearest process above it: a test
// may start the program without an environment.
func find(name string) string {
	for pid := os.Getpid(); pid > 1; {
		all, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for line := range strings.SplitSeq(string(all), "\x00") {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}

		// pid (command) state parent: a command may have spaces.
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(fields[1])
	}
	return ""
}

// At reports whether mistake id is made. It is asked only where the answer
// changes something, so that a test that never asks cannot notice.
func At(id int) bool {
	if seenDir != "" && !seen[id].Swap(true) {
		_ = os.WriteFile(filepath.Join(seenDir, strconv.Itoa(id)), nil, 0o600)
	}
	return id == made
}

// Under is a < b, or by mistake a <= b.
func Under[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && At(id) }

// UpTo is a <= b, or by mistake a < b.
func UpTo[T cmp.Ordered](id int, a, b T) bool { return a < b || a == b && !At(id) }

// Over is a > b, or by mistake a >= b.
func Over[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && At(id) }

// From is a >= b, or by mistake a > b.
func From[T cmp.Ordered](id int, a, b T) bool { return a > b || a == b && !At(id) }

// Number is whatever has a sign or a next one.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float64
}

// Neg is n, or by mistake -n.
func Neg[T Number](id int, n T) T {
	if n != 0 && At(id) {
		return -n
	}
	return n
}

// Off is n, or by mistake n + 1.
func Off[T Number](id int, n T) T { return Pick(id, n, n+1) }

// Pick is right, or wrong by mistake.
func Pick[T any](id int, right, wrong T) T {
	if At(id) {
		return wrong
	}
	return right
}

// Zero is v, or nothing by mistake.
func Zero[T any](id int, v T) T {
	var none T
	return Pick(id, v, none)
}
