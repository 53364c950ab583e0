package main

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"tidemark/storage/accounts"
)

// check refuses values that cannot work together or at all.
func (l *loaded) check() error {
	for _, err := range []error{
		l.oneOf("feed", l.Feed, "sim", "rpc"),
		l.oneOf("log.level", l.Log.Level, "debug", "info", "warn", "error"),
		l.listenable("listen", l.Listen),
		l.listenable("ops-listen", l.OpsListen),
		l.checkTLS(),
		l.between("limits.total-cap", l.Limits.TotalCap, 1, 10_000_000),
		l.between("limits.transactions-partial", l.Limits.TransactionsPartial, 0, l.Limits.TransactionsMax),
		l.between("limits.transactions-max", l.Limits.TransactionsMax, 1, 10_000_000),
		l.between("limits.selections", l.Limits.Selections, 1, 100_000),
		l.between("limits.connections", l.Limits.Connections.Connections, 64, 1_000_000),
		l.between("limits.connections-per-address", l.Limits.ConnectionsPerAddress, 1, 1_000_000),
		l.between("limits.connections-per-subnet", l.Limits.ConnectionsPerSubnet, 1, 1_000_000),
		l.between("limits.unsent-bytes", l.Limits.UnsentBytes, 16<<10, 64<<20),
		l.between("limits.reader-min-rate", l.Limits.ReaderMinRate, 1, 1<<30),
		l.between("sim.days", l.Sim.Days, 1, 3650),
		l.atLeast("refresh.every", l.Refresh.Every, 10*time.Millisecond),
		l.oneOf("metering.on-full-disk", l.Metering.OnFullDisk,
			string(accounts.Refuse), string(accounts.ServeUncharged)),
		l.atLeast("metering.flush", l.Metering.Flush, time.Millisecond),
		l.atLeast("prices.every", l.Prices.Every, time.Second),
		l.checkChains(),
		l.checkPlans(),
	} {
		if err != nil {
			return err
		}
	}

	if l.Prices.File != "" && l.Prices.URL != "" {
		return fmt.Errorf("prices.file (%s) and prices.url (%s) are both set; give one",
			l.from("prices.file"), l.from("prices.url"))
	}

	return nil
}

func (l *loaded) oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %s is %q; allowed are %s", l.from(name), name, value, strings.Join(allowed, ", "))
}

func (l *loaded) listenable(name, value string) error {
	path, isUnix := strings.CutPrefix(value, unixPrefix)
	_, _, err := net.SplitHostPort(value)
	if isUnix && path == "" || !isUnix && err != nil {
		return fmt.Errorf("%s: %s is %q; allowed is HOST:PORT such as 127.0.0.1:8080, or unix:PATH",
			l.from(name), name, value)
	}
	return nil
}

func (l *loaded) checkTLS() error {
	if (l.TLS.Cert == "") != (l.TLS.Key == "") {
		return fmt.Errorf("tls.cert (%s) and tls.key (%s): only one is set; set both or none",
			l.from("tls.cert"), l.from("tls.key"))
	}
	return nil
}

func (l *loaded) between(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%s: %s is %d; allowed is %d to %d", l.from(name), name, value, least, most)
	}
	return nil
}

func (l *loaded) atLeast(name string, value, least time.Duration) error {
	if value < least {
		return fmt.Errorf("%s: %s is %s; allowed is %s or more", l.from(name), name, value, least)
	}
	return nil
}

func (l *loaded) checkChains() error {
	enabled := 0
	for _, c := range l.Chains {
		if err := c.checkEndpoints(); err != nil {
			return err
		}
		switch {
		case c.ID == 0:
			return fmt.Errorf("a chain has the id 0; allowed are EVM chain ids from 1 on")
		case c.Enabled && c.Slug == "":
			return fmt.Errorf("chain %d is not built in and has no slug; give slug, name, short-name, "+
				"explorer-url, native-symbol, wrapped-native and wrapped-symbol", c.ID)
		case c.Enabled && l.Feed == "rpc" && len(c.RPC)+len(c.Endpoints) == 0:
			return fmt.Errorf("chain %d is enabled and has no node to read from: "+
				`give it rpc = ["http://…"] under [[chains]] id = %d, or switch it off there with enabled = false`,
				c.ID, c.ID)
		case c.Enabled && (c.PoolManager.IsZero() || c.PositionManager.IsZero()):
			return fmt.Errorf("chain %d has no pool-manager or no position-manager", c.ID)
		case c.MaxLogRange == 0:
			return fmt.Errorf("chain %d: max-log-range is 0; allowed is 1 or more", c.ID)
		}
		if c.Enabled {
			enabled++
		}
	}

	if enabled == 0 {
		return fmt.Errorf("no chain is enabled; set enabled = true for one of [[chains]]")
	}

	return nil
}

func (l *loaded) checkPlans() error {
	for i := range l.Plans {
		if err := l.Plans[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}
