package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
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

	if out.Values = parsePieces(string(b)); len(out.Values) == 0 {
		return fmt.Errorf("%s has no line of a benchmark", s.Pieces)
	}
	return nil
}

// parsePieces returns the medians of every benchmark's values, named as "Swaps ns/op".
// A line is "BenchmarkSwaps-2 100 12.5 ns/op 0 allocs/op".
func parsePieces(output string) (values []report.Value) {
	all := map[string][]float64{}
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}

		piece, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-") // less the processors
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				name := piece + " " + fields[i+1]
				all[name] = append(all[name], v)
			}
		}
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, unit, _ := strings.Cut(name, " ")
		values = append(values, report.Value{Name: name, Value: load.Median(all[name]), Unit: unit})
	}
	return values
}
