package main

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/bench/mutants/planted"
)

// quick parts the tests that run together from those that run alone.
const quick = 300 * time.Millisecond

// outcome is what became of a mistake.
type outcome string

const (
	open    outcome = "" // not come to within the budget
	noticed outcome = "noticed"
	passed  outcome = "passed"
	unseen  outcome = "passed, as no test comes to it"
	same    outcome = "equivalent"
)

// runner tries the mistakes of one overlay.
type runner struct {
	dir, overlay string
	short        bool
	binaries     []*binary // every package with tests, from the ground up
}

// each calls f for 0 to n-1, as many at a time as there are processors.
func each(n int, f func(i int)) {
	var wait sync.WaitGroup
	var taken atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(taken.Add(1)); i <= n; i = int(taken.Add(1)) {
				f(i - 1)
			}
		})
	}
	wait.Wait()
}

// try makes one mistake and runs the tests that come to it: those of its package,
// then those of the packages that import it.
func (r *runner) try(ctx context.Context, m *mistake) (outcome, error) {
	result := unseen
	for _, above := range []bool{false, true} {
		for _, b := range r.binaries {
			if above && !b.above(m.pkg) || !above && b.p != m.pkg {
				continue
			}
			if err := r.prepare(ctx, b); err != nil {
				return open, err
			}

			for _, tests := range b.groups(m.id) {
				result = passed
				if r.fails(ctx, b, tests, m) || ctx.Err() != nil {
					return noticed, ctx.Err()
				}
			}
		}
	}
	return result, ctx.Err()
}

// groups returns the tests that come to a mistake: the quick ones together, then the
// others one by one, so that a hang is known soon.
func (b *binary) groups(id int) (list [][]test) {
	for _, t := range b.tests {
		switch {
		case !t.seen[id]:
		case len(list) == 0 || t.took >= quick:
			list = append(list, []test{t})
		default:
			list[0] = append(list[0], t)
		}
	}
	return list
}

// above reports whether a package should notice what goes wrong in another: it
// imports it. The command and the bench import everything and take minutes.
func (b *binary) above(p *pkg) bool {
	return b.p != p && slices.Contains(b.imports, p.ImportPath) &&
		!strings.HasPrefix(b.p.name, "cmd/") && !strings.HasPrefix(b.p.name, "bench")
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// fails reports whether tests notice a mistake. What fails late or after waiting is run
// again, a hang with twice the time: a busy machine is no one's notice.
func (r *runner) fails(ctx context.Context, b *binary, tests []test, m *mistake) bool {
	limit := 8 * time.Second
	var names []string
	for _, t := range tests {
		limit += 4 * t.took
		names = append(names, t.name)
	}
	env := planted.Env + "=" + strconv.Itoa(m.id)

	out, err := r.run(ctx, b, names, limit, env)
	late := tooLate(out)
	if err == nil || tests[0].took < quick && !late {
		return err != nil
	}
	if f := failedTest.FindSubmatch(out); f != nil && !late {
		names = []string{string(f[1])}
	}
	_, err = r.run(ctx, b, names, 2*limit, env)
	return err != nil
}

// tooLate reports whether tests ended because of the time.
func tooLate(out []byte) bool {
	return bytes.Contains(out, []byte("panic: test timed out after")) || !bytes.Contains(out, []byte("FAIL")) &&
		!bytes.Contains(out, []byte("panic:")) && !bytes.Contains(out, []byte("fatal error:"))
}
