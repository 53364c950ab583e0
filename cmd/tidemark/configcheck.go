package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/actors/feed/archive"
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

// bound is what a whole number may be.
type bound struct {
	name        string
	least, most int64
}

// String says the bound in words.
func (b bound) String() string {
	if b.most == math.MaxInt64 {
		return fmt.Sprintf("%d or more", b.least)
	}
	return fmt.Sprintf("%d to %d", b.least, b.most)
}

// allowed says which numbers a setting takes.
func (b bound) allowed() string {
	if b.most == math.MaxInt64 {
		return fmt.Sprintf("allowed is a whole number from %d on", b.least)
	}
	return fmt.Sprintf("allowed is a whole number from %d to %d", b.least, b.most)
}

// bounds are those of settings.
var bounds = []bound{
	{"archive-segment-bytes", archive.MinSegmentBytes, 4 << 30}, // a damaged segment is fetched again
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

// planBounds are those of a plan's keys, which accounts.Plan checks together: with
// requests-per-second, burst is at least 1.
var planBounds = []bound{
	{"plans.monthly-units", 0, accounts.MaxPlanUnits},
	{"plans.requests-per-second", 0, accounts.MaxPlanRate},
	{"plans.burst", 0, accounts.MaxPlanBurst},
	{"plans.max-api-keys", 1, math.MaxInt64},
}

// entryNumber is the number of a table in its array, or of a value in its list.
var entryNumber = regexp.MustCompile(`\[\d+\]`)

// boundOf returns the bound of a setting, or of a key in a table such as chains[1].rpc.
func boundOf(name string) (b bound, found bool) {
	name = entryNumber.ReplaceAllString(name, "")
	for _, list := range [][]bound{bounds, chainBounds, planBounds} {
		if i := slices.IndexFunc(list, func(b bound) bool { return b.name == name }); i >= 0 {
			return list[i], true
		}
	}
	return bound{}, false
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
		l.refuse(l.checkBound(b))
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
	l.refuse(l.checkKeyPair("tls.cert", l.TLS.Cert, "tls.key", l.TLS.Key))
	if g := l.Sim.Genesis; !g.IsZero() && g.Unix() < 0 {
		l.refuse(errMarket{fmt.Errorf("%ssim.genesis is %s; allowed is 1970-01-01T00:00:00Z or later, or \"\"",
			l.placeOf("sim.genesis"), g.Format(time.RFC3339))})
	}
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

func (l *loaded) checkBound(b bound) error {
	if value := wholeNumber(l.setting(b.name).value); value < b.least || value > b.most {
		err := fmt.Errorf("%s%s is %d; allowed is %s", l.placeOf(b.name), b.name, value, b)
		if strings.HasPrefix(b.name, "sim.") {
			return errMarket{err}
		}
		return err
	}
	return nil
}

// wholeNumber returns the value of a setting that is one.
func wholeNumber(v reflect.Value) int64 {
	if v.CanUint() {
		return int64(min(v.Uint(), math.MaxInt64))
	}
	return v.Int()
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

// checkKeyPair checks the two settings that name the files of a certificate.
func (l *loaded) checkKeyPair(certName, cert, keyName, key string) error {
	const half = "%s%s is set and %s is not; set both or none"
	switch {
	case cert == "" && key == "":
		return nil
	case cert == "":
		return fmt.Errorf(half, l.placeOf(keyName), keyName, certName)
	case key == "":
		return fmt.Errorf(half, l.placeOf(certName), certName, keyName)
	}

	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("%scannot use %s %s with %s %s: %w",
			l.placeOf(certName), certName, cert, keyName, key, err)
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
		for _, err := range l.Plans[i].Mistakes() {
			// The message names the key first: plan free: burst is 0.
			id := l.Plans[i].ID
			key, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "plan "+id+": "), " ")
			l.refuse(fmt.Errorf("%s%w", l.placeInTable("plans", id, key), err))
		}
	}
}
