package pages

import (
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// TestChainHealth checks what is told of a chain, and why: of several reasons the one that
// an operator has to see first.
func TestChainHealth(t *testing.T) {
	disk := storage.DiskOK
	p := crowded(t, func(c *Config) {
		c.Disk = func() storage.Disk { return storage.Disk{Status: disk} }
	}, crowd(3, 7))
	f := func(now int64, status, reason string, change func(*rankings.ChainStatus)) {
		t.Helper()
		s := rankings.ChainStatus{Enabled: true}
		change(&s)
		p.cfg.Board.SetStatus(1, s)
		if got, why := p.ChainHealth(1, now); got != status || why != reason {
			t.Errorf("got %s, %q; want %s, %q", got, why, status, reason)
		}
	}
	none := func(*rankings.ChainStatus) {}
	failing := func(s *rankings.ChainStatus) { s.FailingSince, s.FeedError = 1000, "connection refused" }
	repair := func(s *rankings.ChainStatus) { s.Repair = "a commit is missing" }

	const confirmed = 1000
	f(confirmed, "ok", "", none)
	f(confirmed+45_000, "ok", "", none)
	f(confirmed+45_001, "lagging", "block 7 was last confirmed as the chain's head 45s ago", none)
	f(confirmed+600_000, "lagging", "block 7 was last confirmed as the chain's head 10m0s ago", none)
	f(confirmed+600_001, "down", "block 7 was last confirmed as the chain's head 10m0s ago", none)
	f(confirmed+5000, "ok", "", failing)
	f(confirmed+5001, "lagging", "the feed has been failing for 5s: connection refused", failing)
	f(confirmed+45_001, "lagging", "block 7 was last confirmed as the chain's head 45s ago; "+
		"the feed has been failing for 45s: connection refused", failing)
	f(confirmed, "lagging", "reading blocks again: a commit is missing", repair)
	f(confirmed, "syncing", "catching up with the chain head", func(s *rankings.ChainStatus) { s.Syncing = true })
	f(confirmed, "syncing", "reading blocks again: a commit is missing", func(s *rankings.ChainStatus) {
		repair(s)
		s.Syncing = true
	})
	f(confirmed, "down", "indexing has stopped: a deep reorg", func(s *rankings.ChainStatus) {
		repair(s)
		s.Syncing, s.Stopped, s.StopReason = true, true, "a deep reorg"
	})
	f(confirmed, "offline", "taken offline by the operator", func(s *rankings.ChainStatus) {
		s.Offline, s.Stopped = true, true
	})

	// A disk that is slow is written, one without room is not.
	disk = storage.DiskSlow
	f(confirmed+45_001, "lagging", "block 7 was last confirmed as the chain's head 45s ago", none)
	for _, disk = range []storage.DiskStatus{storage.DiskReadOnly, storage.DiskFull} {
		f(confirmed+45_000, "ok", "", none)
		f(confirmed+600_001, "down", "block 7 was last confirmed as the chain's head 10m0s ago; "+
			"the disk has no room for newer data", none)
	}

	// A chain without a generation.
	p.cfg.Board = new(rankings.Board)
	if got, why := p.ChainHealth(1, confirmed); got != "down" || why != "no ranking has been published yet" {
		t.Errorf("a chain that has not begun is %s, %q", got, why)
	}
	f(confirmed, "down", "no ranking has been published yet", none)
	f(confirmed+5000, "down", "no ranking has been published yet", failing)
	f(confirmed+5001, "down", "no ranking has been published yet; "+
		"the feed has been failing for 5s: connection refused", failing)
	f(confirmed+5001, "syncing", "catching up with the chain head; "+
		"the feed has been failing for 5s: connection refused", func(s *rankings.ChainStatus) {
		failing(s)
		s.Syncing = true
	})
	f(confirmed+5001, "down", "indexing has stopped: a deep reorg", func(s *rankings.ChainStatus) {
		failing(s)
		s.Stopped, s.StopReason = true, "a deep reorg"
	})
	f(confirmed, "syncing", "reading blocks again: a commit is missing", repair)
}

// TestHealthOfAClusterNode checks that the chains of a node in a cluster tell of it, and
// that those of others, and those that it knows nothing of, do not.
func TestHealthOfAClusterNode(t *testing.T) {
	p := crowded(t, func(c *Config) {
		c.Disk = func() storage.Disk { return storage.Disk{Status: storage.DiskOK} }
		c.WallClock = func() accounts.ClockState { return accounts.ClockState{} }
	}, crowd(3, 1))
	f := func(want bool) {
		t.Helper()
		answer, serving := p.Health(1000)
		if got := strings.Contains(string(answer.Page.Body), `"writer":"a"`); got != want || !serving {
			t.Errorf("serving %t, with a writer %t; want %t: %s", serving, got, want, answer.Page.Body)
		}
	}

	f(false)
	known := false
	p.cfg.Membership = func(id market.ChainID) (rankings.Membership, bool) {
		return rankings.Membership{Writer: "a"}, known && id == 1
	}
	f(false)
	known = true
	f(true)

	// A chain that has not begun is named all the same.
	p.cfg.Board = new(rankings.Board)
	answer, serving := p.Health(1000)
	if got := string(answer.Page.Body); serving || !strings.Contains(got, `"chainId":1,`) ||
		!strings.Contains(got, "no ranking has been published yet") {
		t.Errorf("without a chain: serving %t, %s", serving, got)
	}
}
