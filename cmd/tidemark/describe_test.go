package main

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/actors/feed/archive"
	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// How far a chain is behind is said in blocks and time, once its head was seen.
func TestDescribeLag(t *testing.T) {
	f := func(blocks, seconds int64, want string) {
		t.Helper()
		c := &admin.ChainView{}
		if lag := uint64(blocks); blocks >= 0 {
			c.LagBlocks, c.LagSeconds = &lag, &seconds
		}
		if got := describeLag(c); got != want {
			t.Errorf("%d blocks, %d s: %q; want %q", blocks, seconds, got, want)
		}
	}

	f(-1, 0, "unknown")
	f(0, 0, "no")
	f(1, 12, "1 blocks, 12s")
	f(300, 3600, "300 blocks, 1 hour")
}

// A chain is built from an archive that has every block from its first one on.
func TestDescribeGaps(t *testing.T) {
	f := func(start, base, head uint64, holes []archive.Range, want string) {
		t.Helper()
		st := &archive.Status{Base: market.Head{Number: base}, Head: market.Head{Number: head}, Holes: holes}
		got := fmt.Sprint(describeGaps(st, start))
		if want == "" && got != "<nil>" || !strings.Contains(got, want) {
			t.Errorf("an archive of blocks %d to %d without %v, of a chain from %d: %s; want %q", base+1, head, holes, start, got, want)
		}
	}

	f(100, 0, 0, nil, "is empty")
	f(100, 99, 100, nil, "")
	f(100, 50, 100, nil, "")
	f(100, 100, 200, nil, "lacks blocks 100 to 100")
	f(100, 120, 200, nil, "lacks blocks 100 to 120")
	f(0, 0, 1, nil, "")
	f(0, 1, 2, nil, "lacks blocks 1 to 1")
	f(100, 99, 200, []archive.Range{{From: 120, To: 130}, {From: 150, To: 151}}, "lacks blocks 120 to 130;")
}

// A chain is waited for until it has a page, unless it is offline or has stopped.
func TestFirstPages(t *testing.T) {
	f := func(what string, view bool, status rankings.ChainStatus, published, waiting int) {
		t.Helper()
		l, err := loadText(t, "feed = \"sim\"\n")
		if err != nil {
			t.Fatal(err)
		}
		n := &node{loaded: l}
		chains := n.enabledChains()
		for _, c := range chains[1:] {
			n.board.SetStatus(c.ID, rankings.ChainStatus{Offline: true})
		}
		if view {
			n.board.Publish(&rankings.View{State: &market.State{Chain: chains[0].ID}})
		}
		if what != "unknown" {
			n.board.SetStatus(chains[0].ID, status)
		}

		pages, waits := n.firstPages()
		if pages != published || len(waits) != waiting {
			t.Errorf("%s: %d chains have pages, %d are waited for; want %d and %d", what, pages, len(waits), published, waiting)
		}
	}

	f("unknown", false, rankings.ChainStatus{}, 0, 1)
	f("without a page", false, rankings.ChainStatus{}, 0, 1)
	f("stopped", false, rankings.ChainStatus{Stopped: true}, 0, 0)
	f("offline", false, rankings.ChainStatus{Offline: true}, 0, 0)
	f("with a page", true, rankings.ChainStatus{}, 1, 0)
	f("stopped with a page", true, rankings.ChainStatus{Stopped: true}, 1, 0)
	f("offline with a page", true, rankings.ChainStatus{Offline: true}, 0, 0)
}

// How far chains have come is said for each that is waited for, and how long the slowest
// of them takes.
func TestDescribeProgress(t *testing.T) {
	n := &node{catchUp: catchUp{}}
	f := func(want string) {
		t.Helper()
		waiting := []admin.Chain{{ID: 1, Name: "One"}, {ID: 2, Name: "Two"}, {ID: 3, Name: "Three"}}
		if got := n.describeProgress(waiting); got != want {
			t.Errorf("progress is %q; want %q", got, want)
		}
	}
	at := func(id market.ChainID, indexed int64, eta int64) {
		n.board.SetStatus(id, rankings.ChainStatus{
			LastIndexed: market.Head{Time: indexed}, ChainHead: market.Head{Time: 1100}, ETASeconds: eta,
		})
	}

	f("One 0 %, Two 0 %, Three 0 %")
	at(1, 100, 0)
	at(2, 100, 60)
	f("One 0 %, Two 0 %, Three 0 %; about 1 minute left")
	at(2, 600, 7200)
	at(3, 100, 60)
	f("One 0 %, Two 50 %, Three 0 %; about 2 hours left")
}

// What is served is named by its chains; that it is simulated is said first.
func TestDescribeMarket(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		l, err := loadText(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&node{loaded: l}).describeMarket(); got != want {
			t.Errorf("%q serves %q; want %q", text, got, want)
		}
	}

	others := "[[chains]]\nid = 42161\nenabled = false\n[[chains]]\nid = 43114\nenabled = false\n"
	f("", "a simulated market of Ethereum, Arbitrum One, Avalanche C-Chain")
	f(others, "a simulated market of Ethereum")
	f("feed = \"rpc\"\n"+others+"[[chains]]\nid = 1\nrpc = [\"http://127.0.0.1:1\"]\n", "Ethereum")
}
