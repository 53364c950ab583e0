package edge

import (
	"fmt"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// TestHealth checks the status of a chain and its reason, and that the node is
// degraded by a chain, its disk or its clock.
func TestHealth(t *testing.T) {
	f := func(name, node, chain string, change func(*Config, *rankings.Chain)) {
		t.Helper()
		one := chainsWith()[0]
		s := serve(t, func(c *Config) {
			change(c, &one)
			c.Board = boardOf(one)
			c.Chains = registered[:1]
		})
		m := s.get("/health").decoded(t)
		row := m["chains"].([]any)[0].(map[string]any)
		if m["status"] != node || row["status"] != chain || (row["reason"] == nil) != (chain == "ok") {
			t.Errorf("%s: the node is %v, the chain %v because of %v; want %s and %s",
				name, m["status"], row["status"], row["reason"], node, chain)
		}
	}
	f("all well", "ok", "ok", func(*Config, *rankings.Chain) {})
	f("offline", "down", "offline", func(_ *Config, c *rankings.Chain) { c.Status.Offline = true })
	f("stopped", "degraded", "down", func(_ *Config, c *rankings.Chain) {
		c.Status.Stopped, c.Status.StopReason = true, "reorganisation is deeper than the kept history"
	})
	f("syncing", "degraded", "syncing", func(_ *Config, c *rankings.Chain) { c.Status.Syncing = true })
	f("lagging", "degraded", "lagging", func(c *Config, _ *rankings.Chain) { c.Limits.Freshness = -time.Hour })
	f("too old", "down", "down", func(c *Config, _ *rankings.Chain) { c.Limits.UnavailableAfter = -time.Hour })
	f("feed", "degraded", "lagging", func(_ *Config, c *rankings.Chain) {
		c.Status.FailingSince = time.Now().Add(-time.Minute).UnixMilli()
	})
	f("feed, just now", "ok", "ok", func(_ *Config, c *rankings.Chain) {
		c.Status.FailingSince = time.Now().UnixMilli()
	})
	f("repair", "degraded", "lagging", func(_ *Config, c *rankings.Chain) {
		c.Status.Repair = "the last 2 commits of chain 1 are missing"
	})
	f("repair from far behind", "degraded", "syncing", func(_ *Config, c *rankings.Chain) {
		c.Status.Repair, c.Status.Syncing = "store of chain 1 is damaged", true
	})
	f("disk", "degraded", "ok", func(c *Config, _ *rankings.Chain) {
		c.Disk = func() storage.Disk { return storage.Disk{Status: storage.DiskReadOnly} }
	})
	f("clock", "degraded", "ok", func(c *Config, _ *rankings.Chain) {
		c.WallClock = func() accounts.ClockState { return accounts.ClockState{Mistrusted: true} }
	})

	m := serve(t, func(c *Config) {
		c.Disk = func() storage.Disk { return storage.Disk{Status: storage.DiskFull, FreeBytes: 7} }
		c.WallClock = func() accounts.ClockState {
			return accounts.ClockState{Mistrusted: true, Offset: -90 * time.Second}
		}
	}).get("/health").decoded(t)
	got := fmt.Sprint(m["disk"], m["clock"])
	if want := "map[freeBytes:7 status:full] map[offsetSeconds:-90 status:mistrusted]"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}
