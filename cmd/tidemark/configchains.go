package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// mistake is what is wrong with an entry of [[chains]].
type mistake struct {
	key string // that it is about
	err error
}

// maxRangesInFlight is how many requests for logs every provider accepts at once. More
// would gain nothing at any latency below a second.
const maxRangesInFlight = 16

// chainBounds are what whole numbers of a chain may be.
var chainBounds = []bound{
	{"chains.max-log-range", 1, math.MaxInt64},
	{"chains.ranges-in-flight", 1, maxRangesInFlight},
	{"chains.fetch-ahead-mib", 1, 1 << 20}, // more than any machine has, and its bytes are an int64
}

// slugs are the words that stand for a chain in addresses.
var slugs = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (l *loaded) checkChains() {
	enabled := 0
	for i := range l.Chains {
		c := &l.Chains[i]
		if c.Enabled {
			enabled++
		}
		// The feed of a chain that is wrong already would only repeat it.
		wrong := l.checkChain(c)
		repeats := l.Feed == "sim" && slices.ContainsFunc(l.wrong, isAboutMarket)
		if len(wrong) == 0 && c.Enabled && !repeats {
			wrong = l.checkFeed(c)
		}
		for _, m := range wrong {
			l.refuse(fmt.Errorf("%s%w", l.placeInTable("chains", c.ID, m.key), m.err))
		}
	}

	if enabled == 0 {
		l.refuse(errors.New("no chain is enabled; set enabled = true for one of [[chains]]"))
	}
}

// checkChain returns everything that is wrong with a chain.
func (l *loaded) checkChain(c *ChainConfig) (wrong []mistake) {
	say := func(key, format string, args ...any) {
		wrong = append(wrong, mistake{key, fmt.Errorf("chain %d"+format, append([]any{c.ID}, args...)...)})
	}

	if c.ID == 0 {
		wrong = append(wrong, mistake{"id", errors.New("a chain has the id 0; allowed is an EVM chain id from 1 on")})
	}
	switch {
	case !c.Enabled:
	case c.Slug == "":
		say("id", " is not built in and has no slug; give slug, name, short-name, "+
			"explorer-url, native-symbol, wrapped-native, wrapped-symbol, pool-manager and position-manager")
	case l.Feed == "rpc" && len(c.RPC)+len(c.Endpoints) == 0:
		say("enabled", " is enabled and has no node to read from: "+
			`give it rpc = ["http://…"] under [[chains]] id = %d, or switch it off there with enabled = false`, c.ID)
	case c.PoolManager.IsZero() || c.PositionManager.IsZero():
		say("id", " has no pool-manager or no position-manager")
	}

	first := slices.IndexFunc(l.Chains, func(other ChainConfig) bool { return other.Slug == c.Slug })
	switch {
	case c.Slug == "":
	case !slugs.MatchString(c.Slug):
		say("slug", ": slug is %q; allowed are lower-case letters, digits and - between them", c.Slug)
	case l.Chains[first].ID != c.ID:
		say("slug", ": slug %q is that of chain %d too", c.Slug, l.Chains[first].ID)
	}

	for _, s := range settingsOf("chains.", reflect.ValueOf(c).Elem()) {
		b, bounded := boundOf(s.name)
		if !bounded {
			continue
		}
		key := strings.TrimPrefix(s.name, "chains.")
		if value := wholeNumber(s.value); value < b.least || value > b.most {
			say(key, ": %s is %d; allowed is %s", key, value, b)
		}
	}
	return append(wrong, c.checkEndpoints()...)
}

// errMarket is a mistake in what the simulated markets of all chains are made of.
type errMarket struct{ error }

func isAboutMarket(err error) bool { return errors.As(err, new(errMarket)) }

// checkFeed makes a chain's feed as serve does, which asks nothing yet.
func (l *loaded) checkFeed(c *ChainConfig) []mistake {
	quiet := *l
	if quiet.Sim.Genesis.IsZero() {
		quiet.Sim.Genesis = time.Now() // settled by the data of a node
	}
	source, err := quiet.newFeed(c, nil, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err == nil {
		err = source.Close()
	}
	switch {
	case err == nil:
		return nil
	case l.Feed == "rpc":
		return []mistake{{"rpc", fmt.Errorf("cannot make the feed of chain %d: %w", c.ID, err)}}
	}

	// What is wrong with one simulated chain is wrong with the settings of all.
	at := ""
	for _, name := range []string{"sim.actions", "sim.positions", "sim.pools"} {
		at = cmp.Or(l.placeOf(name), at)
	}
	if at == "" {
		return []mistake{{"id", fmt.Errorf("chain %d: %w", c.ID, err)}}
	}
	l.refuse(errMarket{fmt.Errorf("%schain %d with sim.pools = %d, sim.positions = %d, sim.actions = %d: %w",
		at, c.ID, l.Sim.Pools, l.Sim.Positions, l.Sim.Actions, err)})
	return nil
}
