package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/sim"
	"tidemark/edge"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// words are what settings of a few values may be.
var words = []struct {
	name    string
	allowed []string
}{
	{"feed", []string{"sim", "rpc"}},
	{"log.level", []string{"debug", "info", "warn", "error"}},
	{"metering.on-full-disk", []string{string(accounts.Refuse), string(accounts.ServeUncharged)}},
}

// bounds are what whole numbers may be.
var bounds = []struct {
	name        string
	least, most int64
}{
	{"limits.total-cap", 1, 10_000_000},
	{"limits.transactions-partial", 0, 10_000_000},
	{"limits.transactions-max", 1, 10_000_000},
	{"limits.selections", 1, 100_000},
	{"limits.pins", 1, 64},
	{"limits.export-rows", 1, 10_000_000},
	{"limits.connections", 64, edge.MaxConnections},
	{"limits.connections-per-address", 1, edge.MaxConnections},
	{"limits.connections-per-subnet", 1, edge.MaxConnections},
	{"limits.unsent-bytes", 16 << 10, 64 << 20},
	{"limits.reader-min-rate", 1, 1 << 30},
	{"prices.median-minutes", 0, market.MinuteSlots - 1}, // a pool keeps no older closes
	{"sim.positions", sim.MinPositions, sim.MaxPositions},
	{"sim.pools", sim.MinPools, sim.MaxPools},
	{"sim.days", sim.MinDays, sim.MaxDays},
}

// durationBounds are what a duration may be.
type durationBounds struct {
	name        string
	least, most time.Duration
}

var durations = []durationBounds{
	{"refresh.every", 10 * time.Millisecond, math.MaxInt64},
	{"metering.flush", time.Millisecond, math.MaxInt64},
	{"prices.every", time.Second, math.MaxInt64},
	{"limits.export-time", time.Millisecond, math.MaxInt64},
	{"cluster.snapshot-every", 10 * time.Second, math.MaxInt64}, // else the writer would do little else
	{"drain", 0, 10 * time.Minute},
}

// String says the bounds in words.
func (d durationBounds) String() string {
	if d.most == math.MaxInt64 {
		return fmt.Sprintf("%s or more", d.least)
	}
	return fmt.Sprintf("%s to %s", d.least, inWords(d.most))
}

// check notes every value that cannot work, alone or with others.
func (l *loaded) check() {
	for _, w := range words {
		l.refuse(l.checkWord(w.name, w.allowed))
	}
	for _, b := range bounds {
		l.refuse(l.checkBounds(b.name, b.least, b.most))
	}
	for _, d := range durations {
		l.refuse(l.checkDuration(d))
	}

	if l.Data == "" {
		l.refuse(fmt.Errorf(`%sdata is ""; allowed is a directory such as ./data`, l.placeOf("data")))
	}
	l.refuse(l.checkArchive())
	l.refuse(l.checkListen("listen", l.Listen))
	l.refuse(l.checkListen("ops-listen", l.OpsListen))
	if l.OpsListen == l.Listen && !strings.HasSuffix(l.Listen, ":0") { // two ports of the system's choice
		l.refuse(fmt.Errorf("%sops-listen is %q, as listen is; give each an address of its own",
			cmp.Or(l.placeOf("ops-listen"), l.placeOf("listen")), l.OpsListen))
	}
	l.refuse(l.checkTLS())
	l.checkCluster()
	l.refuse(l.checkPriceFeed())
	l.checkPlans()
	l.checkChains()
}

func (l *loaded) checkWord(name string, allowed []string) error {
	value := l.setting(name).value.String()
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s%s is %q; allowed are %s", l.placeOf(name), name, value, strings.Join(allowed, ", "))
}

func (l *loaded) checkBounds(name string, least, most int64) error {
	if value := l.setting(name).value.Int(); value < least || value > most {
		err := fmt.Errorf("%s%s is %d; allowed is %d to %d", l.placeOf(name), name, value, least, most)
		if strings.HasPrefix(name, "sim.") {
			return errMarket{err}
		}
		return err
	}
	return nil
}

func (l *loaded) checkDuration(d durationBounds) error {
	if value := time.Duration(l.setting(d.name).value.Int()); value < d.least || value > d.most {
		return fmt.Errorf("%s%s is %s; allowed is %s", l.placeOf(d.name), d.name, value, d)
	}
	return nil
}

func (l *loaded) checkListen(name, value string) error {
	path, isUnix := strings.CutPrefix(value, unixPrefix)
	if isUnix && path != "" {
		return nil
	}

	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = net.LookupPort("tcp", port) // a number to 65535, or a name such as http
	}
	if isUnix || err != nil {
		return fmt.Errorf("%s%s is %q; allowed is HOST:PORT such as 127.0.0.1:8080, or unix:PATH",
			l.placeOf(name), name, value)
	}
	return nil
}

func (l *loaded) checkTLS() error {
	switch {
	case l.TLS.Cert == "" && l.TLS.Key == "":
		return nil
	case l.TLS.Cert == "":
		return fmt.Errorf("%stls.key is set and tls.cert is not; set both or none", l.placeOf("tls.key"))
	case l.TLS.Key == "":
		return fmt.Errorf("%stls.cert is set and tls.key is not; set both or none", l.placeOf("tls.cert"))
	}

	if _, err := tls.LoadX509KeyPair(l.TLS.Cert, l.TLS.Key); err != nil {
		return fmt.Errorf("%scannot use tls.cert %s with tls.key %s: %w",
			l.placeOf("tls.cert"), l.TLS.Cert, l.TLS.Key, err)
	}
	return nil
}

func (l *loaded) checkPriceFeed() error {
	if l.Prices.URL == "" {
		return nil
	}
	if l.Prices.File != "" {
		return fmt.Errorf("%sprices.file and prices.url are both set; give one of them", l.placeOf("prices.url"))
	}

	at, err := url.Parse(l.Prices.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return fmt.Errorf("%sprices.url is no http or https URL; "+
			"allowed is one such as https://prices.example/usd.json", l.placeOf("prices.url"))
	}
	return nil
}

func (l *loaded) checkPlans() {
	for i := range l.Plans {
		if err := l.Plans[i].Validate(); err != nil {
			// The message names the key first: plan free: burst is 0.
			id := l.Plans[i].ID
			key, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "plan "+id+": "), " ")
			l.refuse(fmt.Errorf("%s%w", l.placeInTable("plans", id, key), err))
		}
	}
}

func (l *loaded) checkChains() {
	enabled := 0
	for i := range l.Chains {
		c := &l.Chains[i]
		if c.Enabled {
			enabled++
		}
		// The feed of a chain that is wrong already would only repeat it.
		key, err := l.checkChain(c)
		repeats := l.Feed == "sim" && slices.ContainsFunc(l.wrong, isAboutMarket)
		if err == nil && c.Enabled && !repeats {
			key, err = l.checkFeed(c)
		}
		if err != nil {
			l.refuse(fmt.Errorf("%s%w", l.placeInTable("chains", c.ID, key), err))
		}
	}

	if enabled == 0 {
		l.refuse(errors.New("no chain is enabled; set enabled = true for one of [[chains]]"))
	}
}

// maxRangesInFlight is how many requests for logs no provider minds at once; more
// than that gain nothing at any latency below a second.
const maxRangesInFlight = 16

// checkChain returns what is wrong with a chain, and which key it is about.
func (l *loaded) checkChain(c *ChainConfig) (key string, err error) {
	if key, err = c.checkEndpoints(); err != nil {
		return key, err
	}

	switch {
	case c.ID == 0:
		return "id", errors.New("a chain has the id 0; allowed is an EVM chain id from 1 on")
	case c.Enabled && c.Slug == "":
		return "id", fmt.Errorf("chain %d is not built in and has no slug; give slug, name, short-name, "+
			"explorer-url, native-symbol, wrapped-native, wrapped-symbol, pool-manager and position-manager", c.ID)
	case c.Enabled && l.Feed == "rpc" && len(c.RPC)+len(c.Endpoints) == 0:
		return "enabled", fmt.Errorf("chain %d is enabled and has no node to read from: "+
			`give it rpc = ["http://…"] under [[chains]] id = %d, or switch it off there with enabled = false`,
			c.ID, c.ID)
	case c.Enabled && (c.PoolManager.IsZero() || c.PositionManager.IsZero()):
		return "id", fmt.Errorf("chain %d has no pool-manager or no position-manager", c.ID)
	case c.MaxLogRange == 0:
		return "max-log-range", fmt.Errorf("chain %d: max-log-range is 0; allowed is 1 or more", c.ID)
	case c.RangesInFlight < 1 || c.RangesInFlight > maxRangesInFlight:
		return "ranges-in-flight", fmt.Errorf("chain %d: ranges-in-flight is %d; allowed are 1 to %d",
			c.ID, c.RangesInFlight, maxRangesInFlight)
	case c.FetchAheadMib < 1:
		return "fetch-ahead-mib", fmt.Errorf("chain %d: fetch-ahead-mib is %d; allowed is 1 or more",
			c.ID, c.FetchAheadMib)
	}
	return "", nil
}

// errMarket is a mistake in what the simulated markets of all chains are made of.
type errMarket struct{ error }

func isAboutMarket(err error) bool { return errors.As(err, new(errMarket)) }

// checkFeed makes a chain's feed as serve does, which asks nothing yet.
func (l *loaded) checkFeed(c *ChainConfig) (key string, err error) {
	quiet := *l
	if quiet.Sim.Genesis.IsZero() {
		quiet.Sim.Genesis = time.Now() // settled by the data of a node
	}
	source, err := quiet.newFeed(c, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err == nil {
		return "", source.Close()
	}

	if l.Feed == "rpc" {
		return "rpc", fmt.Errorf("cannot make the feed of chain %d: %w", c.ID, err)
	}
	// What is wrong with one simulated chain is wrong with the settings of all.
	at := ""
	for _, name := range []string{"sim.actions", "sim.positions", "sim.pools"} {
		at = cmp.Or(l.placeOf(name), at)
	}
	if at == "" {
		return "id", fmt.Errorf("chain %d: %w", c.ID, err)
	}
	l.refuse(errMarket{fmt.Errorf("%schain %d with sim.pools = %d, sim.positions = %d, sim.actions = %d: %w",
		at, c.ID, l.Sim.Pools, l.Sim.Positions, l.Sim.Actions, err)})
	return "", nil
}
