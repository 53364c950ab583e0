package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark/bench/mutants/planted"
)

const (
	// memoryKB and fileBlocks bound a test run: a mistake may fill what it finds.
	memoryKB, fileBlocks = 8 << 20, 4 << 20
	// aloneLimit bounds a test without a mistake; the slowest takes some 30 s.
	aloneLimit = 3 * time.Minute
)

// binary is a package's tests in the build with the mistakes.
type binary struct {
	p       *pkg
	path    string
	imports []string // of the package and of its tests
	tests   []test
	left    []string // what fails without a mistake
	once    sync.Once
	err     error
}

// test is one test, how long it takes and the mistakes it comes to.
type test struct {
	name string
	took time.Duration
	seen map[int]bool
}

// prepare builds a package's tests and runs each alone, once.
func (r *runner) prepare(ctx context.Context, b *binary) error {
	b.once.Do(func() { b.err = r.build(ctx, b) })
	return b.err
}

func (r *runner) build(ctx context.Context, b *binary) error {
	b.path = filepath.Join(r.dir, strings.ReplaceAll(b.p.name, "/", "_")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", r.overlay,
		"-ldflags=-s -w", "-o", b.path, b.p.ImportPath)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the tests of %s: %w\n%s", b.p.name, err, out)
	}
	list := exec.CommandContext(ctx, b.path, "-test.list", "^(Test|Fuzz|Example)")
	list.Dir = b.p.Dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("cannot list the tests of %s: %w", b.p.name, err)
	}

	names := strings.Fields(string(out))
	b.tests = make([]test, len(names))
	failed := make([]bool, len(names))
	each(len(names), func(i int) {
		b.tests[i], failed[i] = r.alone(ctx, b, names[i])
		if failed[i] { // once more, as the machine may be busy
			b.tests[i], failed[i] = r.alone(ctx, b, names[i])
		}
	})
	if ctx.Err() != nil {
		return ctx.Err() // a test that was stopped did not fail
	}

	for i, name := range names {
		if failed[i] {
			b.left = append(b.left, name)
		}
	}
	b.tests = slices.DeleteFunc(b.tests, func(t test) bool { return slices.Contains(b.left, t.name) })
	slices.SortFunc(b.tests, func(a, b test) int { return int(a.took - b.took) })
	return nil
}

// alone runs one test without a mistake.
func (r *runner) alone(ctx context.Context, b *binary, name string) (test, bool) {
	dir, start := filepath.Join(r.dir, b.p.name, name), time.Now()
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		_, err = r.run(ctx, b, []string{name}, aloneLimit, planted.SeenEnv+"="+dir)
	}
	return test{name, time.Since(start), seenIn(dir)}, err != nil
}

func seenIn(dir string) map[int]bool {
	seen := map[int]bool{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			seen[id] = true
		}
	}
	return seen
}

// run runs tests of a binary in their package's directory, in a group of processes
// of their own that ends with them, and returns what they print.
func (r *runner) run(
	ctx context.Context, b *binary, tests []string, limit time.Duration, env ...string,
) ([]byte, error) {
	temp, err := os.MkdirTemp(r.dir, "run")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	// The tests' own limit comes first, as it says where they hang.
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()

	limited := fmt.Sprintf(`ulimit -v %d -f %d; exec "$0" "$@"`, memoryKB, fileBlocks)
	cmd := exec.CommandContext(ctx, "sh", "-c", limited, b.path,
		"-test.failfast", fmt.Sprintf("-test.short=%t", r.short), "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Dir = b.p.Dir
	cmd.Env = append(os.Environ(), append(env, "TMPDIR="+temp, "GOFLAGS=-overlay="+r.overlay)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second

	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the tests left behind
	}
	return out.Bytes(), err
}
