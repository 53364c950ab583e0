package pages

import (
	"log/slog"
	"testing"

	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// TestQuotesOfRange checks that there is a quote for each interval of a range, known or
// not.
func TestQuotesOfRange(t *testing.T) {
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p := &Pages{cfg: &Config{Store: store}}

	for _, step := range []chart.Step{chart.Daily, chart.Hourly} {
		for _, token := range []uint32{0, market.NoIndex} {
			quotes, err := p.readQuotes(&market.State{Chain: 1}, token, step, 100, 102)
			if err != nil || len(quotes) != 3 {
				t.Fatalf("step %d, token %d: %d quotes of 3 intervals, %v", step, token, len(quotes), err)
			}
			for n, q := range quotes[:2] {
				if market.Known(q.Usd) || q.OnlyPool != market.NoIndex {
					t.Errorf("step %d, token %d: quote %d, of which nothing is stored, is %+v", step, token, n, q)
				}
			}
		}
	}
}
