package chain

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings/market"
)

// Metrics are the counters of one chain.
type Metrics struct {
	spans   *metrics.Counter
	events  *metrics.Counter
	reverts *metrics.Counter
	refresh *metrics.PrometheusHistogram
	commit  *metrics.PrometheusHistogram
	follow  *metrics.PrometheusHistogram
}

// NewMetrics makes the counters of a chain on set.
func NewMetrics(set *metrics.Set, id market.ChainID) *Metrics {
	name := func(metric string) string { return fmt.Sprintf(`%s{chain="%d"}`, metric, id) }
	return &Metrics{
		spans:   set.NewCounter(name("tidemark_chain_spans_total")),
		events:  set.NewCounter(name("tidemark_chain_events_total")),
		reverts: set.NewCounter(name("tidemark_chain_reverts_total")),
		refresh: set.NewPrometheusHistogram(name("tidemark_chain_refresh_seconds")),
		commit:  set.NewPrometheusHistogram(name("tidemark_chain_commit_seconds")),
		follow:  set.NewPrometheusHistogram(name("tidemark_chain_follow_seconds")),
	}
}
