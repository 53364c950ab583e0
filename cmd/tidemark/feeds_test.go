package main

import (
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/rankings/market"
)

// Every setting of a chain reaches its feed.
func TestFeedSettings(t *testing.T) {
	l, err := loadText(t, `
[sim]
frozen = true
actions = 36000
genesis = 2026-01-02T03:00:00Z
[[chains]]
id = 1
native-name = "Ether"
max-head-age = "2m"
rpc = ["http://127.0.0.1:1"]
decimals = ["0x0000000000000000000000000000000000000001=6"]
`)
	if err != nil {
		t.Fatal(err)
	}
	c := &l.Chains[0]
	l.feedClock = time.Now

	f := func(config any, unset ...string) {
		t.Helper()
		v := reflect.ValueOf(config)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Field(i).IsZero() != slices.Contains(unset, name) {
				t.Errorf("%s of %T is %v", name, config, v.Field(i))
			}
		}
	}
	nodes, err := l.rpcConfig(c, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f(nodes, "Rand")
	simulated := l.simConfig(c, func() func() { return nil })
	f(simulated, "NativeUsd", "BlockTime", "LivePace", "Scale", "SpanEvents")
	if nodes.NativeName != "Ether" || simulated.NativeName != "Ether" || nodes.NativeSymbol != "ETH" {
		t.Errorf("the native currency is %s, %s", nodes.NativeSymbol, nodes.NativeName)
	}
	if c.NativeName = ""; c.nativeName() != "ETH" {
		t.Errorf("without a name the native currency is %s", c.nativeName())
	}
}

// A simulated market brings the prices of a feed, unless one is configured.
func TestSimulatedPrices(t *testing.T) {
	f := func(text string, simulated bool) {
		t.Helper()
		l, err := loadText(t, "[sim]\ndays = 2\ngenesis = 2026-01-02T03:00:00Z\nfrozen = true\n"+
			"[[chains]]\nid = 42161\nenabled = false\n[[chains]]\nid = 43114\nenabled = false\n"+text)
		if err != nil {
			t.Fatal(err)
		}
		l.Data = t.TempDir()
		specs, err := l.chainSpecs(new(actors.PriceFeed), func() bool { return false }, nil, metrics.NewSet(),
			slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil || len(specs) != 1 {
			t.Fatalf("%d chains, %v", len(specs), err)
		}
		for i := range specs {
			if got := len(specs[i].Config.External()) > 0; got != simulated {
				t.Errorf("%q: chain %d has simulated prices: %t", text, specs[i].Config.Ledger.Chain, got)
			}
			if specs[i].Verify.PositionManager == (market.Address{}) {
				t.Errorf("chain %d has no position manager", specs[i].Config.Ledger.Chain)
			}
		}
	}

	f("", true)
	f("[prices]\nfile = \"prices.json\"", false)
	f("[prices]\nurl = \"http://127.0.0.1:1\"", false)
}
