package cluster

import (
	"fmt"
	"math"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// chainMetrics are the counters of one chain.
type chainMetrics struct {
	append  *metrics.PrometheusHistogram
	bytes   *metrics.Counter
	refused *metrics.Counter
	broken  *metrics.Counter

	snapshot *metrics.PrometheusHistogram
	failed   *metrics.Counter // snapshots that could not be made
	unsound  *metrics.Counter // snapshots that this node did not take
	taken    *metrics.Counter
}

func newChainMetrics(set *metrics.Set, id market.ChainID) *chainMetrics {
	name := func(metric string) string { return fmt.Sprintf(`%s{chain="%d"}`, metric, id) }
	return &chainMetrics{
		append:  set.NewPrometheusHistogram(name("tidemark_cluster_append_seconds")),
		bytes:   set.NewCounter(name("tidemark_cluster_append_bytes_total")),
		refused: set.NewCounter(name("tidemark_cluster_refused_total")),
		broken:  set.NewCounter(name("tidemark_cluster_broken_total")),

		snapshot: set.NewPrometheusHistogram(name("tidemark_cluster_snapshot_seconds")),
		failed:   set.NewCounter(name("tidemark_cluster_snapshot_failures_total")),
		unsound:  set.NewCounter(name("tidemark_cluster_snapshots_refused_total")),
		taken:    set.NewCounter(name("tidemark_cluster_snapshots_taken_total")),
	}
}

// CountRefused counts a snapshot that this node did not take, and returns why.
func (ch *Chain) CountRefused(err error) error {
	ch.metrics.unsound.Inc()
	return err
}

// CountTaken counts a snapshot that this node took.
func (ch *Chain) CountTaken() { ch.metrics.taken.Inc() }

// CountFailed counts a snapshot that this node could not make.
func (ch *Chain) CountFailed() { ch.metrics.failed.Inc() }

// addGauges makes the metrics that are read off the status.
func (ch *Chain) addGauges(set *metrics.Set) {
	gauge := func(name string, read func(rankings.Membership) float64) {
		set.NewGauge(fmt.Sprintf(`tidemark_cluster_%s{chain="%d"}`, name, ch.id), func() float64 {
			return read(ch.Status())
		})
	}

	gauge("writer", func(rankings.Membership) float64 {
		if ch.Leads() {
			return 1
		}
		return 0
	})
	gauge("lag_cuts", func(m rankings.Membership) float64 { return float64(m.LagCuts) })
	gauge("lag_seconds", func(m rankings.Membership) float64 { return float64(m.LagMillis) / 1000 })
	gauge("snapshot_age_seconds", func(m rankings.Membership) float64 {
		if m.Snapshot.MadeAt == 0 {
			return math.NaN()
		}
		return time.Since(time.UnixMilli(m.Snapshot.MadeAt)).Seconds()
	})
	gauge("snapshot_bytes", func(m rankings.Membership) float64 { return float64(m.Snapshot.Bytes) })
}
