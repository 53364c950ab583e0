package rankings

import (
	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
)

// TokenQuestion asks for a page of tokens, those with the highest TVL first.
type TokenQuestion struct {
	Chain       market.ChainID // 0: all chains in one ranking
	Page, Limit uint64
	Search      string // as it was sent; empty: no search
}

// DefaultTokenQuestion is the question without any parameter.
func DefaultTokenQuestion() TokenQuestion { return TokenQuestion{Page: 1, Limit: DefaultLimit} }

// TokenPools is how many pools trade a token, and their TVL. That is Unknown if it is
// unknown of all of them, and leaves out those of which it is.
type TokenPools struct {
	Pools  uint32
	TVLUsd float64
}

// add adds a pool.
func (t *TokenPools) add(tvlUsd float64) {
	switch first := t.Pools == 0; {
	case first || !market.Known(t.TVLUsd):
		t.TVLUsd = tvlUsd
	case market.Known(tvlUsd):
		t.TVLUsd += tvlUsd
	}
	t.Pools++
}

// PoolsOfToken adds up the pools of a token from their records.
func PoolsOfToken(st *market.State, token uint32) (t TokenPools) {
	for i := range st.Pools.Len() {
		p := st.Pools.At(i)
		for _, side := range [2]uint32{p.Currency0, p.Currency1} {
			if side == token {
				t.add(st.Stats.At(i).TVLUsd)
			}
		}
	}
	return t
}

// fillTokens adds up the pools of every token, and sorts those that have any by their TVL.
// Equal ones stand by address. A token without a pool was in one that a reorganisation took
// back: the ledger keeps what is known of it.
func (f *columnBuilder) fillTokens() {
	f.tokenPools = make([]TokenPools, f.st.Tokens.Len())
	for side := range f.sides.Len() {
		f.tokenPools[f.sides.At(side)].add(f.tvl[side/2])
	}
	f.pause()

	keys, places := make([]uint64, len(f.tokens)), make([]uint32, len(f.tokens))
	for place, token := range f.tokens {
		keys[place], places[place] = descending(f.tokenPools[token].TVLUsd), uint32(place)
	}
	s := index.Sorter{Pause: f.pause}
	f.tokensByTVL = make([]uint32, 0, len(places))
	for _, word := range s.SortPlaces(keys, places) {
		if token := f.tokens[uint32(word)]; f.tokenPools[token].Pools > 0 {
			f.tokensByTVL = append(f.tokensByTVL, token)
		}
	}
}

// PoolsOfToken returns the pools of a token added up. The view must be warm.
func (v *View) PoolsOfToken(token uint32) TokenPools { return v.columns.tokenPools[token] }

// tokenRun is the matching tokens of one view, in order.
type tokenRun struct {
	view *View
	rows []uint32
}

// key returns the sort key of the i-th token. Keys of different chains that are equal
// stand by chain.
func (r *tokenRun) key(i uint64) uint64 {
	return descending(r.view.columns.tokenPools[r.rows[i]].TVLUsd)
}

// PageTokens finds a page of tokens in views, which ascend by chain, and how many
// there are on all pages. A cold view answers ErrWarming.
func PageTokens(views []*View, q *TokenQuestion) (page Page, total uint64, err error) {
	runs := make([]tokenRun, 0, len(views))
	for _, v := range views {
		if v.columns == nil {
			return page, 0, ErrWarming
		}
		run := tokenRun{v, v.matchTokens(q.Search)}
		total += uint64(len(run.rows))
		runs = append(runs, run)
	}

	offset := Offset(q.Page, q.Limit)
	if offset >= total {
		return page, total, nil
	}
	for skip := offset; skip > 0; {
		skip -= skipTokens(runs, skip)
	}
	for rank := offset + 1; rank <= min(offset+q.Limit, total); rank++ {
		r, _ := leastRun(runs, 1)
		page.Rows = append(page.Rows, Row{View: r.view, Index: r.rows[0], Rank: rank})
		r.rows = r.rows[1:]
	}
	page.HasMore = offset+q.Limit < total
	return page, total, nil
}

// skipTokens skips up to skip rows that come first, which there are, and returns how
// many. Of stretches of skip/m rows of each of m runs, the one whose last row comes
// first can be skipped: only rows of the stretches come before that row.
func skipTokens(runs []tokenRun, skip uint64) uint64 {
	left := uint64(0)
	for i := range runs {
		if len(runs[i].rows) > 0 {
			left++
		}
	}

	r, n := leastRun(runs, max(skip/left, 1))
	r.rows = r.rows[n:]
	return n
}

// leastRun returns the run whose n-th row, or last if it has fewer, comes first, and
// the place of that row. Some run must have rows.
func leastRun(runs []tokenRun, n uint64) (least *tokenRun, at uint64) {
	for i := range runs {
		r := &runs[i]
		if len(r.rows) == 0 {
			continue
		}
		if to := min(n, uint64(len(r.rows))); least == nil || r.key(to-1) < least.key(at-1) {
			least, at = r, to
		}
	}
	return least, at
}

// matchTokens returns the tokens whose symbol or address contains a text, in order.
func (v *View) matchTokens(search string) []uint32 {
	c := v.columns
	text := index.LowerText(search)
	if len(text) == 0 || index.InEveryID(text) {
		return c.tokensByTVL
	}

	found := c.findTokens(v.State, text)
	rows := make([]uint32, 0, found.Count())
	for _, token := range c.tokensByTVL {
		if found.Has(token) {
			rows = append(rows, token)
		}
	}
	return rows
}

// findTokens returns the tokens whose symbol or address contains a lower-cased text.
func (c *columns) findTokens(st *market.State, text []byte) *block.Bitmap {
	found := c.symbols.FindText(text)
	switch {
	case !index.InSomeHex(string(text)):
	case len(text) == 1:
		digit := index.Digit(text[0])
		for token := range c.tokenGrams.Rows {
			if c.tokenGrams.Digits[token]&digit != 0 {
				found.Set(token)
			}
		}
	default:
		c.tokenGrams.FindText(text, addresses(st), found.Set)
	}

	found.Seal()
	return found
}
