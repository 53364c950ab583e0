package bench

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

// A yardstick is the plainest way to do work of the same kind. Each is timed by
// the CPU of its own thread, on the cores that serve, in the run that it is for.

// yardstickRounds are enough for a median on a machine that others use too.
const yardstickRounds = 5

// timeOnServer returns the median CPU time of f in seconds.
func (s *suite) timeOnServer(f func()) (seconds float64, err error) {
	var all []float64
	for range yardstickRounds {
		cpu, err := s.cores.OnServer(f)
		if err != nil {
			return 0, err
		}
		all = append(all, cpu.Seconds())
	}
	return load.Median(all), nil
}

// columnsPass returns the milliseconds of one pass over three columns of so
// many rows: two conditions, and a sum of what meets them.
func (s *suite) columnsPass(rows int) (millis float64, err error) {
	random := rand.New(rand.NewPCG(s.Seed, 5))
	values, tvls, sums := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		values[i], tvls[i], sums[i] = random.Float64(), random.Float64(), random.Float64()
	}

	sum := 0.0
	seconds, err := s.timeOnServer(func() {
		for i, v := range values {
			if v >= 0.3 && tvls[i] >= 0.4 {
				sum += sums[i]
			}
		}
	})
	if err == nil && sum == 0 { // the result is used, or no compiler would make it
		err = fmt.Errorf("none of %d rows meets both conditions", rows)
	}
	return seconds * 1e3, err
}

// sortSeconds returns the time that slices.Sort takes for so many random floats.
func (s *suite) sortSeconds(n int) (float64, error) {
	random := rand.New(rand.NewPCG(s.Seed, 7))
	floats, shuffled := make([]float64, n), make([]float64, n)
	for i := range shuffled {
		shuffled[i] = random.Float64()
	}

	return s.timeOnServer(func() {
		copy(floats, shuffled) // a thousandth of the sort
		slices.Sort(floats)
	})
}

// readSeconds returns how long it takes to read every record of the stopped node once.
func (s *suite) readSeconds() (float64, error) {
	store, err := corpus.OpenMarket(s.data, true)
	if err != nil {
		return 0, err
	}
	defer store.Close()

	// By the clock, as the restart is: to wait for the disk is part of both.
	from := time.Now()
	_, pinErr := s.cores.OnServer(func() { _, _, err = store.ReadAll() })
	if err != nil {
		return 0, err
	}
	return time.Since(from).Seconds(), pinErr
}

// numberSamples is how many answers a yardstick of their numbers is made of.
const numberSamples = 20

// numbersMicros returns how long strconv takes for the numbers of an answer to
// one of these requests, in the mean.
func (s *suite) numbersMicros(path path) (float64, error) {
	random := rand.New(rand.NewPCG(s.Seed, 15))
	var all []load.Number
	answers := 0
	for range numberSamples {
		a, err := s.askOnce(string(path(nil, random)))
		if err != nil {
			return 0, err
		}
		if a.Status == 200 {
			all = append(all, load.NumbersOf(a.Body)...)
			answers++
		}
	}

	dst := make([]byte, 0, 64)
	seconds, err := s.timeOnServer(func() {
		for i := range all {
			dst = all[i].Append(dst[:0])
		}
	})
	return seconds * 1e6 / float64(max(answers, 1)), err
}

// readPieces reads what `go test -bench` printed of pieces and their yardsticks.
func readPieces(_ context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	if s.Pieces == "" {
		out.Note("no output of the Go benchmarks was given; see --pieces")
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
