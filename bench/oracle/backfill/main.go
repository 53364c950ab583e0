package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"
)

// What is to be reached: the network's part of the rate from memory, a rebuild's part
// of it, how many times as fast sparse blocks come with many ranges in flight, which
// part of a small plan is used, and calls a second at the head.
const (
	leastRatio   = 0.75
	leastRebuilt = 0.8
	leastSparse  = 8
	leastUsed    = 0.8
	mostLive     = 1
)

func main() { os.Exit(run()) }

// run measures what is asked for and returns the exit code.
func run() int {
	events := flag.Int("events", 400_000, "events of the dense history, about")
	turns := flag.Int("turns", 3, "how often dense histories are taken from each of two sources")
	length := flag.Duration("length", 6*time.Second, "how long sparse blocks are read, each time")
	live := flag.Duration("live", 25*time.Second, "how long the head is followed")
	only := flag.String("only", "", "dense, rebuild, small, sparse or live; empty: all")
	listen := flag.String("listen", "", "be the dense history's provider at this address")
	flag.Parse()
	if *listen != "" {
		return exitCode(serveDense(*listen, *events))
	}

	dense := sync.OnceValues(func() (*recording, error) { return record(*events, denseDays) })
	missed := 0
	for _, together := range [][]measure{
		{{"dense", func() ([]figure, error) { return measureDense(dense, *events, *turns) }}},
		{{"rebuild", func() ([]figure, error) { return measureRebuild(dense, *turns) }}},
		{{"sparse", func() ([]figure, error) { return measureSparse(*length) }}},
		// Neither of these has a processor to do.
		{{"small", measureSmall}, {"live", func() ([]figure, error) { return measureLive(*live) }}},
	} {
		together = slices.DeleteFunc(together, func(m measure) bool { return *only != "" && *only != m.name })
		missed += runAll(together)
	}
	return min(missed, 1)
}

// measure is a part of the table.
type measure struct {
	name string
	run  func() ([]figure, error)
}

// runAll measures at once, prints the figures in order, and returns how many of them
// were missed.
func runAll(list []measure) (missed int) {
	figures, errs := make([][]figure, len(list)), make([]error, len(list))
	var work sync.WaitGroup
	for i, m := range list {
		work.Go(func() { figures[i], errs[i] = m.run() })
	}
	work.Wait()

	for i, m := range list {
		if errs[i] != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", m.name, errs[i])
			missed++
		}
		for _, f := range figures[i] {
			missed += f.print()
		}
	}
	return missed
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// figure is a line of the table.
type figure struct {
	name   string
	value  float64
	unit   string
	beside string // the limit that it stands beside
	goal   string
	missed bool
}

// isBelow reports whether a goal is missed. What could not be measured is no success.
func isBelow(got, least float64) bool { return math.IsNaN(got) || got < least }

func (f *figure) print() (missed int) {
	mark := ""
	if f.missed {
		mark, missed = "  MISSED", 1
	}
	fmt.Printf("%-42s %12.2f %-9s %-16s %s%s\n", f.name, f.value, f.unit, f.goal, f.beside, mark)
	return missed
}
