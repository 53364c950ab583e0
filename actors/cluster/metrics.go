package cluster

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"

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
