package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

const (
	// progressEvery is how often the line of progress on a terminal changes.
	progressEvery = 100 * time.Millisecond
	// lineEvery is how often progress is logged elsewhere.
	lineEvery = 10 * time.Second
	// othersWait is how long the first page of one chain waits for those of the
	// others, which usually follow within a second.
	othersWait = 5 * time.Second
)

// welcomeUser waits for the first page, showing how far the chains have come, and
// then says where to ask: what is pasted from it is answered.
func (n *node) welcomeUser(ctx context.Context) {
	var first, line time.Time // of a page, and of progress
	line = time.Now()
	for tick := time.Tick(progressEvery); ; {
		published, waiting := n.firstPages()
		if first.IsZero() && published > 0 {
			first = time.Now()
		}
		if len(waiting) == 0 || !first.IsZero() && time.Since(first) > othersWait {
			n.screen.show("")
			n.writeBanner(os.Stdout, waiting)
			return
		}

		n.screen.show("catching up: " + n.describeProgress(waiting))
		if !n.screen.isTerminal && time.Since(line) >= lineEvery {
			line = time.Now()
			n.log.Info("no page yet; the chains catch up", "progress", n.describeProgress(waiting))
		}

		select {
		case <-tick:
		case <-ctx.Done():
			n.screen.show("")
			return
		}
	}
}

// firstPages returns how many chains can be asked, and those that will be able
// to be. A chain that is offline or has stopped is neither.
func (n *node) firstPages() (published int, waiting []admin.Chain) {
	board := n.board.Load()
	for _, c := range n.enabledChains() {
		on, ok := board.Chain(c.ID)
		switch {
		case ok && on.View != nil && !on.Status.Offline:
			published++
		case !ok || !on.Status.Offline && !on.Status.Stopped:
			waiting = append(waiting, c)
		}
	}
	return published, waiting
}

// describeProgress says how far chains have come and how long they will take.
func (n *node) describeProgress(waiting []admin.Chain) string {
	board := n.board.Load()
	var parts []string
	var longest time.Duration
	for _, c := range waiting {
		on, ok := board.Chain(c.ID)
		if !ok {
			parts = append(parts, c.Name+" 0 %")
			continue
		}
		share, left := n.catchUp.of(c.ID, &on.Status, time.Now())
		parts = append(parts, fmt.Sprintf("%s %d %%", c.Name, int(100*share)))
		longest = max(longest, left)
	}

	text := strings.Join(parts, ", ")
	if longest > 0 {
		text += "; about " + inWords(longest.Round(time.Second)) + " left"
	}
	return text
}

// catchUp is how fast chains catch up, by the chain's own time.
type catchUp map[market.ChainID]start

// start is where a chain was when it was first looked at.
type start struct {
	at    time.Time
	block int64 // time of the block, unix seconds
}

// of returns which share of its way a chain has come since it was first looked
// at, and how long the rest takes; 0 when that is not known.
func (p catchUp) of(id market.ChainID, s *rankings.ChainStatus, now time.Time) (share float64, left time.Duration) {
	from, known := p[id]
	indexed, head := s.LastIndexed.Time, s.ChainHead.Time
	if !known && indexed > 0 {
		p[id] = start{now, indexed}
	}
	if !known || head <= from.block {
		return 0, time.Duration(s.ETASeconds) * time.Second
	}

	share = min(float64(indexed-from.block)/float64(head-from.block), 1)
	if s.ETASeconds > 0 {
		return share, time.Duration(s.ETASeconds) * time.Second
	}
	if share > 0 {
		left = time.Duration(float64(now.Sub(from.at)) * (1 - share) / share)
	}
	return share, left
}

// writeBanner says what is served and where; on a first start also with which
// key, which is shown this once.
func (n *node) writeBanner(w io.Writer, waiting []admin.Chain) {
	dir, err := filepath.Abs(n.Data)
	if err != nil {
		dir = n.Data
	}

	text := fmt.Sprintf("tidemark %s serves %s at %s\n", version, n.describeMarket(), n.url)
	if strings.HasPrefix(n.url, "http") {
		text += fmt.Sprintf("  dashboard  %s/ui\n  docs       %s/docs\n", n.url, n.url)
	}
	if ops := urlOf(n.opsListener, false); strings.HasPrefix(ops, "http") {
		text += fmt.Sprintf("  metrics    %s/metrics\n", ops)
	}
	text += fmt.Sprintf("  data       %s\n", dir)
	if len(waiting) > 0 {
		text += fmt.Sprintf("  not yet    %s\n", n.describeProgress(waiting))
	}
	io.WriteString(w, text+n.keyAdvice())
}

// describeMarket says what is served.
func (n *node) describeMarket() string {
	var names []string
	for _, c := range n.enabledChains() {
		names = append(names, c.Name)
	}
	if n.Feed == "sim" {
		return "a simulated market of " + strings.Join(names, ", ")
	}
	return strings.Join(names, ", ")
}
