package bench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/bench/load"
	"tidemark/bench/process"
)

const (
	// maxPaths bounds a list of paths: they are all in memory.
	maxPaths = 1_000_000
	// histogramTicks are the steps of a histogram file in every halving of what is left.
	histogramTicks = 5
)

// ReadPaths reads what to ask for: a path with its query a line. Empty lines and
// those that begin with # are left out.
func ReadPaths(r io.Reader) (paths []string, err error) {
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		path := strings.TrimSpace(in.Text())
		switch {
		case path == "" || strings.HasPrefix(path, "#"):
			continue
		case !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t"):
			return nil, fmt.Errorf("line %d is %q; a path begins with a slash and has no space", n, path)
		case len(paths) == maxPaths:
			return nil, fmt.Errorf("line %d: there are more than %d paths", n, maxPaths)
		}
		paths = append(paths, path)
	}

	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no path")
	}
	return paths, nil
}

// pathsMix asks for the paths of a list, each as likely; answers say what they cost.
func pathsMix(paths []string) func(*target) load.Mix {
	return func(*target) load.Mix {
		return single(load.ByPath, load.AnyUnits, func(dst []byte, r *rand.Rand) []byte {
			return append(dst, paths[r.IntN(len(paths))]...)
		})
	}
}

// digest tells a list of paths from others: each is as likely, in whatever order they are.
func digest(paths []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(paths)), "\n")))
	return hex.EncodeToString(sum[:])
}

// ownLoad is what is measured instead of the table, when the settings have a list
// of paths or rates: a scenario for every rate, or one as fast as connections allow.
func (s *suite) ownLoad() (all []scenario) {
	mix, what, list := zipfMix, "all routes as users ask them", ""
	if len(s.Paths) > 0 {
		mix, what, list = pathsMix(s.Paths), fmt.Sprintf("any of %d paths", len(s.Paths)), digest(s.Paths)
	}
	if len(s.Rates) == 0 {
		return []scenario{{Name: "own", What: what, List: list, Everybody: true, Mix: mix}}
	}

	for _, rate := range s.Rates {
		all = append(all, scenario{
			Name: fmt.Sprintf("rate-%g", rate), List: list, Everybody: true, Mix: mix, Rate: rate,
			What: fmt.Sprintf("%s, %g requests a second, open loop", what, rate),
		})
	}
	return all
}

// keepHistogram writes latencies in ms as HdrHistogram's tools read them: NAME.hgrm.
func (s *suite) keepHistogram(name string, r *load.Result) error {
	if s.Histograms == "" {
		return nil
	}

	var text bytes.Buffer
	const microsPerMilli = 1000
	_, err := r.Histogram.PercentilesPrint(&text, histogramTicks, microsPerMilli)
	return errors.Join(err, process.KeepFile(filepath.Join(s.Histograms, name+".hgrm"), text.Bytes()))
}
