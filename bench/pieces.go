package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"tidemark/bench/load"
	"tidemark/bench/report"
)

// readPieces reads what `go test -bench` printed: pieces of the node and their
// yardsticks.
func readPieces(_ context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	if s.Pieces == "" {
		out.Problems = append(out.Problems, "no output of the Go benchmarks was given; see --pieces")
		return nil
	}
	b, err := os.ReadFile(s.Pieces)
	if err != nil {
		return fmt.Errorf("cannot read what the Go benchmarks printed: %w", err)
	}

	if out.Values = pieces(string(b)); len(out.Values) == 0 {
		return fmt.Errorf("%s has no line of a benchmark", s.Pieces)
	}
	return nil
}

// pieces returns the medians of every benchmark's values, named as "Swaps ns/op".
// A line is "BenchmarkSwaps-2 100 12.5 ns/op 0 allocs/op".
func pieces(output string) (values []report.Value) {
	var names []string
	all := map[string][]float64{}
	in := bufio.NewScanner(strings.NewReader(output))
	for in.Scan() {
		rest, ok := strings.CutPrefix(in.Text(), "Benchmark")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 {
			continue
		}

		piece, _, _ := strings.Cut(fields[0], "-") // the number of processors
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				continue
			}
			name := piece + " " + fields[i+1]
			if all[name] == nil {
				names = append(names, name)
			}
			all[name] = append(all[name], v)
		}
	}

	for _, name := range names {
		_, unit, _ := strings.Cut(name, " ")
		values = append(values, report.Value{Name: name, Value: load.Median(all[name]), Unit: unit})
	}
	return values
}
