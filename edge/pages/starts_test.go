package pages

import (
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// TestPageStarts walks a list from its front and backwards. Forwards every page begins where
// the one before it ended, backwards each is sought, and the bodies are the same. Only what
// follows the first page is remembered backwards, which is asked for last.
func TestPageStarts(t *testing.T) {
	const rows, pages = 90, 5
	ask := func(p *Pages, page uint64) string {
		q := Question{Route: accounts.RoutePositions, Now: 1000, Positions: rankings.PositionQuestion{
			Page: page, Limit: 20, Sort: rankings.ByPnl, Status: rankings.AnyStatus, IncludeRisky: true,
		}}
		reply, err := p.Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply.Body)
	}

	forwards := readable(t, func(c *Config) { c.NoPageCache = true }, crowd(rows, 1))
	backwards := readable(t, func(c *Config) { c.NoPageCache = true }, crowd(rows, 1))
	var want []string
	for page := uint64(pages); page > 0; page-- {
		want = append(want, ask(backwards, page))
	}
	slices.Reverse(want)

	for i, body := range want {
		if got := ask(forwards, uint64(i+1)); got != body {
			t.Errorf("page %d begins where the one before it ended:\n%s\nsought:\n%s", i+1, got, body)
		}
	}

	kept := func(p *Pages) (n int) {
		for i := range p.starts.slots {
			if start := p.starts.slots[i].Load(); start != nil {
				n++
				if sum := start.end[0] + start.end[1]; sum%20 != 0 {
					t.Errorf("%q begins behind %d rows", start.key, sum)
				}
			}
		}
		return n
	}
	if n := kept(forwards); n == 0 || n >= pages {
		t.Errorf("%d starts are kept of %d pages", n, pages)
	}
	if n := kept(backwards); n != 1 {
		t.Errorf("%d starts are kept of pages that nobody walked to; want 1", n)
	}
}
