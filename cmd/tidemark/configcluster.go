package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tidemark/rankings/market"
)

// What cluster.writes may say instead of chain ids.
const (
	writesAll  = "auto"
	writesNone = "none"
)

// nodeName is what a node may be called: the name is part of keys and of messages.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// clustered reports whether this node shares its chains with others.
func (l *loaded) clustered() bool { return len(l.Cluster.NATS) > 0 }

// mayWrite reports whether this node may write a chain.
func (c *ClusterConfig) mayWrite(id market.ChainID) bool {
	return slices.Contains(c.Writes, writesAll) || slices.Contains(c.Writes, fmt.Sprint(id))
}

// checkCluster notes what cannot work. Without servers nothing of it is used.
func (l *loaded) checkCluster() {
	if !l.clustered() {
		return
	}
	c := &l.Cluster
	l.refuse(l.checkAddresses("cluster.nats", c.NATS, "nats", "tls", "ws", "wss"))
	l.refuse(l.checkAddresses("cluster.monitoring", c.Monitoring, "http", "https"))
	if !nodeName.MatchString(c.Name) {
		l.refuse(fmt.Errorf("%scluster.name is %q; allowed are 1 to 64 letters, digits, - and _, "+
			"and no two nodes may have the same", l.placeOf("cluster.name"), c.Name))
	}

	l.refuse(l.checkReadable("cluster.credentials", c.Credentials))
	l.refuse(l.checkReadable("cluster.tls-ca", c.TLSCa))
	l.refuse(l.checkKeyPair("cluster.tls-cert", c.TLSCert, "cluster.tls-key", c.TLSKey))
	l.refuse(l.checkWrites())
}

// usualPorts are those of NATS servers.
var usualPorts = map[string]int{"nats": 4222, "http": 8222}

func (l *loaded) checkAddresses(name string, addresses []string, schemes ...string) error {
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			shown := strconv.Quote(address)
			if strings.Contains(address, "@") { // messages are logged
				shown = fmt.Sprintf("a wrong address %d, which is not shown since it may hold a password", i+1)
			}
			return fmt.Errorf("%s%s has %s; allowed are addresses such as %s://10.0.0.1:%d",
				l.placeOf(name), name, shown, schemes[0], usualPorts[schemes[0]])
		}
	}
	return nil
}

func (l *loaded) checkReadable(name, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("%scannot read %s: %w", l.placeOf(name), name, err)
	}
	return nil
}

func (l *loaded) checkWrites() error {
	var known []string
	for i := range l.Chains {
		known = append(known, strconv.FormatUint(uint64(l.Chains[i].ID), 10))
	}
	for _, w := range l.Cluster.Writes {
		alone := len(l.Cluster.Writes) == 1 && (w == writesAll || w == writesNone)
		if !alone && !slices.Contains(known, w) {
			return fmt.Errorf(`%scluster.writes has %q; allowed are "auto", "none", or ids of registered chains: %s`,
				l.placeOf("cluster.writes"), w, strings.Join(known, ", "))
		}
	}
	return nil
}
