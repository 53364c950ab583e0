package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckScripts: what every market script leaves behind agrees with itself.
func TestCheckScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/markets/*.market")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}

	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".market"), func(t *testing.T) {
			s := overHTTP(newStage(t))
			s.redo = false
			runMarket(t, name, s)
			s.ask(s, "/health", "")
			report := checkServed(t, s.url, s.key)
			for i := range report.Listed {
				// The scripts' tokens have the addresses of their names, in no order.
				if d := &report.Listed[i]; d.Rule != "fields" || d.Field != "token0.address" {
					t.Error(d)
				}
			}
		})
	}
}

// TestCheckNoticesQuarantine: the rules of quarantined pools notice answers that
// were made wrong on purpose.
func TestCheckNoticesQuarantine(t *testing.T) {
	s := overHTTP(newStage(t))
	s.redo = false
	runMarket(t, "testdata/markets/quarantine.market", s)
	s.ask(s, "/health", "")

	quarantined := func(r map[string]any) bool {
		return r["pricing"].(map[string]any)["reason"] == "quarantined"
	}
	const explain, charts = "/v1/positions/1/swapdex-v4/PID/explain$", "/v1/pools/1/swapdex-v4/POOL/charts?range=all"
	noticesLies(t, s, []*lie{
		{rule: "quarantine", field: "amounts.withdrawals.valueUsd", position: quarantined, change: set("amounts.withdrawals.valueUsd", 0.0)},
		{rule: "quarantine", field: "pricing.token0.priceUsd", position: quarantined, change: set("pricing.token0.priceUsd", 4.0)},
	}, []*lie{
		{rule: "quarantine", field: "metrics.volumeUsd24h", pool: quarantined, change: set("metrics.volumeUsd24h", 0.0)},
	}, []*lie{
		{rule: "quarantine", field: "poolOverview.tvlUsd", pool: quarantined, path: charts, change: ofFirst("poolOverview.tvlUsd", set("value", 0.0))},
		{rule: "explain", field: "W", position: quarantined, path: explain, change: stepNamed("W", set("value", 0.0))},
		{rule: "explain", field: "pnlUsd", position: quarantined, path: explain, change: stepNamed("pnlUsd", set("value", 0.0))},
	})
}
