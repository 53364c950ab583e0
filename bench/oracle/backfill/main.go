package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// What is to be reached: the network's part of the rate from memory, how many times
// as fast sparse blocks come with many ranges in flight, which part of a small plan
// is used, and calls a second at the head.
const (
	leastRatio  = 0.75
	leastSparse = 8
	leastUsed   = 0.8
	mostLive    = 1
)

func main() { os.Exit(run()) }

// run measures what is asked for and returns the exit code.
func run() int {
	events := flag.Int("events", 300_000, "events of the dense history, about")
	length := flag.Duration("length", 6*time.Second, "how long sparse blocks are read, each time")
	live := flag.Duration("live", 25*time.Second, "how long the head is followed")
	only := flag.String("only", "", "dense, small, sparse or live; empty: all")
	flag.Parse()

	missed := 0
	for _, m := range []struct {
		name string
		run  func() ([]figure, error)
	}{
		{"dense", func() ([]figure, error) { return measureDense(*events) }},
		{"small", func() ([]figure, error) { return measureSmall() }},
		{"sparse", func() ([]figure, error) { return measureSparse(*length) }},
		{"live", func() ([]figure, error) { return measureLive(*live) }},
	} {
		if *only != "" && *only != m.name {
			continue
		}
		figures, err := m.run()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", m.name, err)
			missed++
		}
		for _, f := range figures {
			missed += f.print()
		}
	}
	return min(missed, 1)
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

func (f *figure) print() (missed int) {
	mark := ""
	if f.missed {
		mark, missed = "  MISSED", 1
	}
	fmt.Printf("%-46s %12.2f %-10s %-34s %s%s\n", f.name, f.value, f.unit, f.beside, f.goal, mark)
	return missed
}
