package archive

import (
	"fmt"
	"math"

	"github.com/VictoriaMetrics/metrics"
)

// meters are an archive's metrics.
type meters struct {
	damages *metrics.Counter // segments that were found damaged
}

// newMeters makes the metrics; those that are read off the archive only in a set.
func (a *Archive) newMeters(set *metrics.Set) meters {
	if set == nil {
		return meters{new(metrics.Counter)}
	}
	name := func(s string) string { return fmt.Sprintf(`tidemark_archive_%s{chain="%d"}`, s, a.cfg.Chain) }
	gauge := func(s string, read func(*Status) float64) {
		set.NewGauge(name(s), func() float64 {
			st := a.Status()
			return read(&st)
		})
	}

	gauge("bytes", func(st *Status) float64 { return float64(st.Bytes) })
	gauge("segments", func(st *Status) float64 { return float64(st.Segments) })
	gauge("missing_blocks", func(st *Status) float64 { return float64(st.missing()) })
	gauge("oldest_block", func(st *Status) float64 {
		if st.Head.Number == 0 {
			return math.NaN()
		}
		return float64(st.Base.Number + 1)
	})
	gauge("newest_block", func(st *Status) float64 {
		if st.Head.Number == 0 {
			return math.NaN()
		}
		return float64(st.Head.Number)
	})
	return meters{set.NewCounter(name("damages_total"))}
}

// missing counts the blocks of the holes.
func (s *Status) missing() (blocks uint64) {
	for _, h := range s.Holes {
		blocks += h.To - h.From + 1
	}
	return blocks
}
