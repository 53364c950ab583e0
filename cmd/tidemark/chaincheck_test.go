package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// A chain that is enabled needs what it is read from, and every chain values that can be.
func TestChainsRefused(t *testing.T) {
	f := func(change func(*loaded, *ChainConfig), key, want string) {
		t.Helper()
		l := &loaded{Config: defaultConfig()}
		l.Feed = "rpc"
		c := &l.Chains[0]
		c.RPC = []string{"http://127.0.0.1:1"}
		change(l, c)
		got := l.checkChain(c)
		if want == "" && len(got) > 0 ||
			want != "" && (len(got) != 1 || got[0].key != key || !strings.HasPrefix(got[0].err.Error(), want)) {
			t.Errorf("got %v; want %q, %s", got, key, want)
		}
	}

	f(func(*loaded, *ChainConfig) {}, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.ID = 0 }, "id", "a chain has the id 0; allowed is an EVM chain id from 1 on")
	f(func(_ *loaded, c *ChainConfig) { c.Slug = "" }, "id", "chain 1 is not built in and has no slug; give slug, name, "+
		"short-name, explorer-url, native-symbol, wrapped-native, wrapped-symbol, pool-manager and position-manager")
	f(func(_ *loaded, c *ChainConfig) { c.Slug, c.Enabled = "", false }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.RPC = nil }, "enabled", "chain 1 is enabled and has no node to read from")
	f(func(_ *loaded, c *ChainConfig) { c.RPC, c.Enabled = nil, false }, "", "")
	f(func(l *loaded, c *ChainConfig) { c.RPC, l.Feed = nil, "sim" }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.RPC, c.Endpoints = nil, []EndpointConfig{{URL: "http://x"}} }, "", "")
	const contracts = "chain 1 has no pool-manager or no position-manager"
	f(func(_ *loaded, c *ChainConfig) { c.PoolManager = market.Address{} }, "id", contracts)
	f(func(_ *loaded, c *ChainConfig) { c.PositionManager = market.Address{} }, "id", contracts)
	f(func(_ *loaded, c *ChainConfig) { c.PositionManager, c.Enabled = market.Address{}, false }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.MaxLogRange = 0 }, "max-log-range", "chain 1: max-log-range is 0; allowed is 1 or more")
	f(func(_ *loaded, c *ChainConfig) { c.MaxLogRange = 1 }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.RangesInFlight = 0 }, "ranges-in-flight", "chain 1: ranges-in-flight is 0; allowed is 1 to 16")
	f(func(_ *loaded, c *ChainConfig) { c.RangesInFlight = 1 }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.RangesInFlight = 16 }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.RangesInFlight = 17 }, "ranges-in-flight", "chain 1: ranges-in-flight is 17")
	f(func(_ *loaded, c *ChainConfig) { c.FetchAheadMib = 0 }, "fetch-ahead-mib", "chain 1: fetch-ahead-mib is 0; allowed is 1 to 1048576")
	f(func(_ *loaded, c *ChainConfig) { c.FetchAheadMib = 1<<20 + 1 }, "fetch-ahead-mib",
		"chain 1: fetch-ahead-mib is 1048577; allowed is 1 to 1048576")
	f(func(_ *loaded, c *ChainConfig) { c.FetchAheadMib = 1 }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.Slug = "base-2" }, "", "")
	f(func(_ *loaded, c *ChainConfig) { c.Slug = "Foo Bar" }, "slug",
		`chain 1: slug is "Foo Bar"; allowed are lower-case letters, digits and - between them`)
}

// TestMistakesOfAChain checks that all mistakes of a chain are told, and two chains with one
// slug once.
func TestMistakesOfAChain(t *testing.T) {
	l := &loaded{Config: defaultConfig()}
	c := &l.Chains[1]
	c.Slug, c.RangesInFlight, c.FetchAheadMib, c.RPC = l.Chains[0].Slug, 17, 0, []string{"ftp://x", "http://y", "ftp://z"}
	c.Endpoints = []EndpointConfig{{URL: "ftp://x"}, {URL: "http://y", Roles: []string{"a"}}}
	c.Decimals = []string{"foo"}

	got := ""
	for _, m := range l.checkChain(c) {
		got += m.key + " "
	}
	want := "slug ranges-in-flight fetch-ahead-mib rpc rpc rpc endpoints[0].url endpoints[1].roles decimals "
	if got != want {
		t.Errorf("mistakes of %s; want %s", got, want)
	}
	if got := l.checkChain(&l.Chains[0]); len(got) > 0 {
		t.Errorf("the chain whose slug it is has mistakes too: %v", got)
	}
}

// An address of a node has a host and one of four schemes, and messages do not repeat it.
func TestAddressesRefused(t *testing.T) {
	f := func(address string, want bool) {
		t.Helper()
		c := &ChainConfig{ID: 1, RPC: []string{"http://x", address}}
		asWanted := func(key, text string) bool {
			wrong := c.checkEndpoints()
			if want {
				return len(wrong) == 0
			}
			return len(wrong) == 1 && wrong[0].key == key && strings.Contains(wrong[0].err.Error(), text) &&
				!strings.Contains(wrong[0].err.Error(), "s3cret")
		}
		if !asWanted("rpc", "address 2 of rpc") {
			t.Errorf("%s in rpc: %v; want it taken: %t", address, c.checkEndpoints(), want)
		}
		c = &ChainConfig{ID: 1, Endpoints: []EndpointConfig{{URL: "http://x"}, {URL: address}}}
		if !asWanted("endpoints[1].url", "chain 1, endpoint 2: url") {
			t.Errorf("%s of an endpoint: %v; want it taken: %t", address, c.checkEndpoints(), want)
		}
	}

	for _, scheme := range []string{"http", "https", "ws", "wss"} {
		f(scheme+"://node/s3cret", true)
	}
	f("ftp://node/s3cret", false)
	f("http:///s3cret", false)
	f("node/s3cret", false)
	f("", false)
	f("http://[s3cret", false)
}

// What a provider allows is no negative number, and its role is one of three.
func TestEndpointValues(t *testing.T) {
	f := func(change func(*EndpointConfig), key, want string) {
		t.Helper()
		c := &ChainConfig{ID: 1, Endpoints: []EndpointConfig{{Name: "a", URL: "http://x"}, {URL: "http://y"}, {URL: "http://z"}}}
		change(&c.Endpoints[1])
		got := c.checkEndpoints()
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].key != "endpoints[1]."+key ||
			!strings.HasPrefix(got[0].err.Error(), want)) {
			t.Errorf("got %v; want %q, %s", got, key, want)
		}
	}

	f(func(*EndpointConfig) {}, "", "")
	f(func(e *EndpointConfig) { e.Roles = []string{"live", "backfill", "fallback"} }, "", "")
	f(func(e *EndpointConfig) { e.Roles = []string{"live", "best"} }, "roles", `chain 1, endpoint 2: role "best"; allowed are`)
	f(func(e *EndpointConfig) { e.Name = "a" }, "name", `chain 1, endpoint 2: the name "a" is that of endpoint 1 too`)
	f(func(e *EndpointConfig) { e.Name = "b" }, "", "")

	list := (&ChainConfig{RPC: []string{"http://x", "ws://y"}, RequestsPerSecond: 9}).endpoints()
	if len(list) != 2 || list[1].URL != "ws://y" || list[0].RequestsPerSecond != 9 || list[1].RequestsPerSecond != 9 {
		t.Errorf("the addresses of rpc are %+v", list)
	}
}

// The decimals of a token are a number that a price can have.
func TestDecimalsOfTokens(t *testing.T) {
	const token = "0xdac17f958d2ee523a2206206994597c13d831ec7"
	f := func(entry string, want int) {
		t.Helper()
		c := &ChainConfig{ID: 1, Decimals: []string{entry}}
		got, err := c.decimals()
		if want < 0 {
			if wrong := c.checkEndpoints(); err == nil || len(wrong) != 1 || wrong[0].key != "decimals" {
				t.Errorf("%q is %v, %v; want it refused", entry, got, wrong)
			}
			return
		}
		if err != nil || len(got) != 1 || got[mustAddress(token)] != uint8(want) {
			t.Errorf("%q is %v, %v; want %d", entry, got, err, want)
		}
	}

	f(token+"=0", 0)
	f(" "+token+" = 36 ", 36)
	f(token+"=37", -1)
	f(token+"=-1", -1)
	f(token+"=256", -1)
	f(token, -1)
	f("=6", -1)
}

// What a chain is made of is what is configured.
func TestChainParts(t *testing.T) {
	l := &loaded{Config: defaultConfig()}
	c := &l.Chains[0]
	l.Prices.MaxAge, l.Prices.HookAllow = 90*time.Second, []market.Address{{9}}
	c.StartBlock = 0
	external := func() []value.FeedPrice { return []value.FeedPrice{{Usd: 7}} }
	got := l.chainConfig(c, external, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if got.Ledger.Chain != c.ID || got.Ledger.Start != 1 || got.Ledger.PositionManager != c.PositionManager ||
		!got.WantsState || got.UnavailableAfter != l.Limits.UnavailableAfter || got.External()[0].Usd != 7 {
		t.Errorf("the chain is %+v", got)
	}
	if p := got.Prices; p.FeedMaxAge != 90 || len(p.HookAllow) != 1 || len(p.Stables) != len(c.Stables) ||
		p.WrappedNative != c.WrappedNative || p.MarketUsd != l.Prices.MarketUsd {
		t.Errorf("its prices are by %+v", p)
	}
	l.Feed, c.StartBlock = "rpc", 77
	if got := l.chainConfig(c, external, metrics.NewSet(), nil); got.WantsState || got.Ledger.Start != 77 {
		t.Errorf("with nodes it is %+v", got)
	}

	f := func(every, want time.Duration) {
		t.Helper()
		l.Refresh.Every = every
		config, err := l.rpcConfig(c, metrics.NewSet(), nil)
		if err != nil || config.Poll != want || config.FetchAheadBytes != int64(c.FetchAheadMib)<<20 ||
			len(config.Required) != 1+len(c.Stables) || config.Required[0] != c.WrappedNative {
			t.Errorf("refreshed every %s: %+v, %v; want polls every %s", every, config, err, want)
		}
	}
	f(time.Second-1, time.Second-1)
	f(time.Minute, time.Second)

	size := SimConfig{Positions: 1000, Pools: 100, Actions: 10}
	for id, want := range map[market.ChainID][3]int{1: {1000, 100, 10}, 42161: {800, 80, 8}, 43114: {500, 50, 5}} {
		positions, pools, actions := size.share(id)
		if got := [3]int{positions, pools, actions}; got != want {
			t.Errorf("the simulated market of chain %d has %v; want %v", id, got, want)
		}
	}
}

// Only its user can enter a data directory, wherever it really is. What is in it keeps its
// mode: it may be another program's.
func TestMakePrivate(t *testing.T) {
	dir := t.TempDir()
	open, link, foreign := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "open", "foreign")
	for _, err := range []error{
		os.Mkdir(open, 0o777), os.Chmod(open, 0o755), os.Symlink(open, link),
		os.WriteFile(foreign, nil, 0o600), os.Chmod(foreign, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	made := filepath.Join(dir, "new", "data")
	for _, data := range []string{link, made} {
		if err := makePrivate(data); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]os.FileMode{open: 0o700, foreign: 0o644, made: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if err := makePrivate(foreign); err == nil || !strings.Contains(err.Error(), "cannot make the data directory") {
		t.Errorf("a file as a directory: %v", err)
	}
}
