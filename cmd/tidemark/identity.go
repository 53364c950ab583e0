package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/rankings/market"
	"tidemark/storage"
)

// chainPrefix begins the names of what is kept of a chain's configuration.
const chainPrefix = "chain "

// historyName is the stream of cuts that the data was taken from; see cluster.History.
const historyName = "cluster.stream"

// identityOf is what the data of a configuration depends on: data made with
// one cannot be continued with another.
func (l *loaded) identityOf() []storage.Pair {
	pairs := []storage.Pair{{Name: "feed", Value: l.Feed}}
	if l.Feed == "sim" {
		pairs = append(pairs,
			storage.Pair{Name: "sim.seed", Value: strconv.Itoa(l.Sim.Seed)},
			storage.Pair{Name: "sim.genesis", Value: l.Sim.Genesis.Format(time.RFC3339)},
			storage.Pair{Name: "sim.positions", Value: strconv.Itoa(l.Sim.Positions)},
			storage.Pair{Name: "sim.pools", Value: strconv.Itoa(l.Sim.Pools)},
			storage.Pair{Name: "sim.days", Value: strconv.Itoa(l.Sim.Days)},
		)
		if l.Sim.Actions != 0 {
			pairs = append(pairs, storage.Pair{Name: "sim.actions", Value: strconv.Itoa(l.Sim.Actions)})
		}
		if crowd := l.workload.Identity(); crowd != "" {
			pairs = append(pairs, storage.Pair{Name: "sim.crowd", Value: crowd})
		}
	}

	if l.history != "" {
		pairs = append(pairs, storage.Pair{Name: historyName, Value: l.history})
	}
	for _, c := range l.Chains {
		if c.Enabled {
			name := fmt.Sprintf("%s%d ", chainPrefix, c.ID)
			pairs = append(pairs,
				storage.Pair{Name: name + "pool-manager", Value: c.PoolManager.String()},
				storage.Pair{Name: name + "position-manager", Value: c.PositionManager.String()},
			)
		}
	}

	return pairs
}

// settleIdentity fixes sim.genesis and compares the configuration with what
// the data was made with. Chains that the data does not have yet are added.
//
// Data that was taken from another cluster is not refused: moved is set, and the node
// treats the data as its own, so that the chains that this cluster has replace it.
// agree asks what all nodes of the cluster have under a name; nil: there is no cluster.
func (l *loaded) settleIdentity(store *storage.Store, agree agreement, now time.Time) error {
	kept := store.Identity()
	find := func(name string) (string, bool) { return findPair(kept, name) }

	if err := l.settleGenesis(find, agree, now); err != nil {
		return err
	}

	all, wanted := slices.Clone(kept), l.identityOf()
	for _, p := range wanted {
		have, ok := find(p.Name)
		switch {
		case !ok && (len(kept) == 0 || strings.HasPrefix(p.Name, chainPrefix) || p.Name == historyName):
			all = append(all, p)
		case p.Name == historyName && have != p.Value:
			l.moved = true
			all[slices.Index(all, storage.Pair{Name: p.Name, Value: have})].Value = p.Value
		case have != p.Value:
			return l.otherIdentity(p.Name, have, p.Value)
		}
	}

	for _, p := range kept {
		named := func(w storage.Pair) bool { return w.Name == p.Name }
		if strings.HasPrefix(p.Name, "sim.") && !slices.ContainsFunc(wanted, named) {
			return l.otherIdentity(p.Name, p.Value, "")
		}
	}

	if err := l.checkAgreed(agree); err != nil {
		return err
	}
	if l.moved {
		if err := store.ForgetPlaces(); err != nil {
			return err
		}
	}
	if slices.Equal(all, kept) {
		return nil
	}
	return store.SetIdentity(all)
}

// findPair returns the value of a name.
func findPair(pairs []storage.Pair, name string) (value string, found bool) {
	i := slices.IndexFunc(pairs, func(p storage.Pair) bool { return p.Name == name })
	if i < 0 {
		return "", false
	}
	return pairs[i].Value, true
}

// otherIdentity is the error of data that were made with another value.
func (l *loaded) otherIdentity(name, have, want string) error {
	return fmt.Errorf("the data in %s was made with %s %s; the configuration says %s: "+
		"give it %s again, or another --data; `tidemark chains resync ID` fetches a chain anew, "+
		"but only from what the data was made with",
		l.Data, name, cmp.Or(have, "unset"), cmp.Or(want, "unset"), cmp.Or(have, "none"))
}

// agreement returns what the nodes of a cluster have agreed on under a name, which is
// value if no node has said another one before.
type agreement func(name, value string) (agreed string, err error)

// checkAgreed compares the configuration with those of the other nodes.
func (l *loaded) checkAgreed(agree agreement) error {
	if agree == nil {
		return nil
	}

	for _, p := range l.identityOf() {
		agreed, err := agree(p.Name, p.Value)
		if err != nil {
			return err
		}
		if agreed != p.Value {
			return fmt.Errorf("the cluster's data is made with %s %s; the configuration of this node says %s",
				p.Name, agreed, p.Value)
		}
	}
	return nil
}

// settleGenesis takes the genesis from the data, or on the first start from the cluster
// or the clock.
func (l *loaded) settleGenesis(find func(string) (string, bool), agree agreement, now time.Time) error {
	if !l.Sim.Genesis.IsZero() {
		return nil
	}
	text, ok := find("sim.genesis")
	if !ok && agree != nil && l.Feed == "sim" {
		var err error
		if text, err = agree("sim.genesis", l.genesisAt(now).Format(time.RFC3339)); err != nil {
			return err
		}
		ok = true
	}
	if ok {
		genesis, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fmt.Errorf("the data in %s has the sim.genesis %q: %w", l.Data, text, err)
		}
		l.Sim.Genesis = genesis
		return nil
	}

	l.Sim.Genesis = l.genesisAt(now)
	return nil
}

// genesisAt returns the genesis of a market whose history ends now.
func (l *loaded) genesisAt(now time.Time) time.Time {
	return now.UTC().Add(-time.Duration(l.Sim.Days) * market.Day * time.Second).Truncate(time.Hour)
}
