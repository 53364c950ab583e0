package chain

import (
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/market"
)

// BenchmarkReplay compares, on the same events in the same run, how fast a chain takes
// spans from memory and from its archive, both into a store of its own. ratio is that
// of the second to the first; reading is the archive alone.
func BenchmarkReplay(b *testing.B) {
	spans := simulate(b, sim.Config{Positions: 2000, Pools: 60, Days: 20, Genesis: genesis, Actions: 80_000}, 0)
	events := 0
	for i := range spans {
		for k := range spans[i].Blocks {
			events += len(spans[i].Blocks[k].Logs)
		}
	}
	source := openKept(b, b.TempDir())
	source.replay(&spanList{spans})
	size := source.archive.Status().Bytes

	var memory, replay, reading time.Duration
	for b.Loop() {
		memory += timed(b, func(*kept) feed.Feed { return &spanList{spans} })
		replay += timed(b, func(k *kept) feed.Feed { return archive.NewFeed(source.archive, nil) })
		reading += readThrough(b, source.archive)
	}
	source.close()

	rate := func(d time.Duration) float64 { return float64(events*b.N) / d.Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(float64(size)/float64(events), "bytes/event")
	b.ReportMetric(rate(memory), "memory-events/s")
	b.ReportMetric(rate(replay), "archive-events/s")
	b.ReportMetric(rate(reading), "reading-events/s")
	b.ReportMetric(rate(replay)/rate(memory), "ratio")
}

// timed returns how long a new chain takes for all spans of a feed. It has no archive
// of its own, so that both ways do the same but for where the spans come from.
func timed(b *testing.B, source func(*kept) feed.Feed) time.Duration {
	k := openKept(b, b.TempDir())
	k.chain.Archive = nil
	from := source(k)
	started := time.Now()
	k.replay(from)
	took := time.Since(started)
	k.close()
	return took
}

func readThrough(b *testing.B, a *archive.Archive) time.Duration {
	started := time.Now()
	r, err := a.ReadAfter(market.Head{Number: 99})
	if err != nil {
		b.Fatal(err)
	}

	defer r.Close()
	for {
		s, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		if s == nil {
			return time.Since(started)
		}
	}
}
