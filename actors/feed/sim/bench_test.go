package sim

import "testing"

// BenchmarkHistory makes the default history of chain 1 and applies it to a
// ledger in memory, without prices.
func BenchmarkHistory(b *testing.B) {
	events := 0
	for b.Loop() {
		events += growBare(b, defaultConfig(1)).events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkPlan is what a bigger corpus costs before its first event.
func BenchmarkPlan(b *testing.B) {
	cfg := settings{Config: testConfig(1, 100_000, 5000, 90)}
	cfg.setDefaults()
	for b.Loop() {
		newPlan(cfg)
	}
}

// BenchmarkReference is what every look at a pool costs.
func BenchmarkReference(b *testing.B) {
	g := plant(b, defaultConfig(1))
	s := scene{world: g.newWorld(g.Freeze())}
	for i := 0; b.Loop(); i++ {
		s.now.t = int64(i)
		s.reference(&s.venues[4])
	}
}
