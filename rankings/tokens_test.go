package rankings_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestPageTokens compares pages of the tokens of three chains with a sort of all of
// them, while statistics change and pools and tokens are added.
func TestPageTokens(t *testing.T) {
	shelf := newShelf()
	worlds := []*world{
		newWorld(1, 5, 40, 50, shelf), newWorld(7, 6, 3, 50, shelf), newWorld(42161, 7, 25, 50, shelf),
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var views []*rankings.View
		for _, w := range worlds {
			for i := range w.stats.Len() {
				w.stats.Mut(i).TVLUsd = []float64{market.Unknown, 0, 5, 5, 1e6 * r.Float64()}[r.IntN(5)]
			}
			w.change()
			w.publish()
			views = append(views, w.view)
		}

		for _, search := range []string{"", "0X", "e", "ab", "usd", "eth", "nothing at all"} {
			want := sortedTokens(views, strings.ToLower(search))
			for range 40 {
				q := rankings.TokenQuestion{Page: 1 + r.Uint64N(12), Limit: 1 + r.Uint64N(9), Search: search}
				checkTokens(t, views, &q, want)
			}
			checkTokens(t, views, &rankings.TokenQuestion{Page: 1 << 59, Limit: 100, Search: search}, want)
		}
	}

	cold, err := rankings.Open(chilled(worlds[0].view.State), worlds[0].generation, worlds[0].directory)
	if err != nil {
		t.Fatal(err)
	}
	q := rankings.DefaultTokenQuestion()
	if _, _, err := rankings.PageTokens([]*rankings.View{cold}, &q); !errors.Is(err, rankings.ErrWarming) {
		t.Errorf("a cold view: got %v", err)
	}
	for i := range cold.State.Tokens.Len() {
		got, ok := cold.Token(cold.State.Tokens.At(i).Address)
		if !ok || got != i {
			t.Errorf("token %d of a cold view: got %d, %v", i, got, ok)
		}
	}
}

// rankedToken is a token in the order that is expected.
type rankedToken struct {
	view  *rankings.View
	index uint32
	pools rankings.TokenPools
}

func sortedTokens(views []*rankings.View, search string) (all []rankedToken) {
	for _, v := range views {
		for i := range v.State.Tokens.Len() {
			token, pools := v.State.Tokens.At(i), rankings.PoolsOfToken(v.State, i)
			symbol := strings.ToLower(token.Symbol.String())
			found := strings.Contains(symbol, search) || strings.Contains(token.Address.String(), search)
			if found && pools.Pools > 0 {
				all = append(all, rankedToken{v, i, pools})
			}
		}
	}

	slices.SortStableFunc(all, func(a, b rankedToken) int {
		switch x, y := a.pools.TVLUsd, b.pools.TVLUsd; {
		case market.Known(x) != market.Known(y):
			return map[bool]int{true: -1, false: 1}[market.Known(x)]
		case x > y:
			return -1
		case x < y:
			return 1
		case a.view != b.view:
			return int(a.view.State.Chain) - int(b.view.State.Chain)
		}
		return bytes.Compare(a.view.State.Tokens.At(a.index).Address[:], b.view.State.Tokens.At(b.index).Address[:])
	})
	return all
}

func checkTokens(
	t *testing.T, views []*rankings.View, q *rankings.TokenQuestion, want []rankedToken,
) {
	t.Helper()
	page, total, err := rankings.PageTokens(views, q)
	if err != nil {
		t.Fatal(err)
	}
	from := min(rankings.Offset(q.Page, q.Limit), uint64(len(want)))
	to := min(from+q.Limit, uint64(len(want)))
	if total != uint64(len(want)) || len(page.Rows) != int(to-from) || page.HasMore != (to < total) {
		t.Fatalf("%+v: %d rows of %d, more %v; want %d of %d", q, len(page.Rows), total, page.HasMore, to-from, len(want))
	}

	for k := range page.Rows {
		r, w := &page.Rows[k], &want[from+uint64(k)]
		if r.View != w.view || r.Index != w.index || r.Rank != from+uint64(k)+1 {
			t.Errorf("%+v: row %d is token %d of chain %d, rank %d; want %d of %d", q, k, r.Index, r.View.State.Chain,
				r.Rank, w.index, w.view.State.Chain)
		}
		if got := r.View.PoolsOfToken(r.Index); got.Pools != w.pools.Pools ||
			got.TVLUsd != w.pools.TVLUsd && market.Known(got.TVLUsd) {
			t.Errorf("token %d has %+v; want %+v", r.Index, got, w.pools)
		}
	}
}
