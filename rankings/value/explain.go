package value

import (
	"cmp"
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Explanation is the arithmetic of one row in the order in which it is done:
// whoever goes down Prices, then Steps, with a calculator gets the row.
type Explanation struct {
	Metrics Metrics
	Now     int64
	// Prices of the native currency, of tokens that a leg is priced through,
	// and of the legs, each after those it needs. A closed row has those of
	// its legs, as frozen with its closing block: without markets, which are
	// not kept.
	Prices []PriceExplanation
	Steps  []Step
}

// PriceExplanation is how one token got its price.
type PriceExplanation struct {
	Token   uint32
	Price   market.Price        // as the row uses it
	FeedUsd float64             // the feed's answer; Unknown without one
	Markets []MarketExplanation // deepest first
	Omitted int                 // how many markets past MarketsExplained there are
	Checks  []Check             // of the token: what corroborates it
}

// MarketsExplained bounds the markets that an explanation lists of a token:
// enough for any but the few that thousands of pools trade.
const MarketsExplained = 256

// MarketExplanation is what one pool says of a token.
type MarketExplanation struct {
	Pool, By  uint32  // the pool, and the token that the price is in
	ByUsd     float64 // what a whole By is worth here
	Usd       float64 // the market's price, a median; Unknown when it can price nothing
	ReachUsd  float64 // what selling down to a tenth of the price yields
	WeightUsd float64 // ReachUsd, less what By itself cannot be sold for
	Used      bool    // it is among those whose weighted median is the price
	// Reason is why the market does not count: it can price nothing for this
	// row, or no other agrees with it.
	Reason market.Reason
	Checks []Check
}

// Check is a threshold and what stands against it.
type Check struct {
	Name       string // as the configuration has it
	Have, Want float64
	Met        bool
}

// Step is one formula of the row with the numbers that go in.
type Step struct {
	Name, Formula string
	Terms         []Term
	Value         float64 // Unknown where a term that it needs is
}

// Term is a number that goes into a step, or a raw one that comes out of it.
type Term struct {
	Name  string
	Value float64
	Raw   *clmath.U256 // the exact integer, where it is one
}

// Explain returns the arithmetic of position i. The thresholds and answers of
// the feed must be those of st.Prices. It solves the prices of the two tokens
// again, from every pool that has a say in them: some milliseconds on a chain
// with 100,000 pools.
func Explain(st *market.State, p *Params, ext []FeedPrice, i uint32) *Explanation {
	e := &Explanation{Now: st.Now()}
	Position(st, i, &e.Metrics)
	at := st.Positions.At(i)
	values := ValuesOf(st, at.Pool)
	r := values.rowOf(st, at, &e.Metrics.Figures)
	r.rank()
	if e.Metrics.Open && !r.at.quarantined {
		e.explainPrices(newSolver(st, p, ext), &r)
	} else {
		e.listPrices(&r)
	}

	e.explainAmounts(&r)
	e.explainResults(&r)
	return e
}

// Marks of the tokens that a solution for one row needs.
const (
	unmarked uint8 = iota
	neighbour
	leg
)

// listPrices lists what a row is valued at that no market is asked for: a
// closed one, or one of a quarantined pool.
func (e *Explanation) listPrices(r *row) {
	for leg := range e.Metrics.Price {
		e.Prices = append(e.Prices, PriceExplanation{
			Token: r.at.tokens[leg], Price: e.Metrics.Price[leg], FeedUsd: market.Unknown,
		})
	}
}

// explainPrices solves the prices of the legs' tokens and of the native currency.
func (e *Explanation) explainPrices(s *solver, r *row) {
	native := s.st.Native
	solved := s.solveTokens(r.pool.Currency0, r.pool.Currency1)
	if native != market.NoIndex {
		e.Prices = append(e.Prices, s.explainToken(native, solved.quotes))
	}
	for _, through := range s.intermediateTokens(&solved) {
		e.Prices = append(e.Prices, s.explainThrough(through, solved.quotes))
	}

	for leg, token := range r.at.tokens {
		if token != native {
			e.Prices = append(e.Prices, s.explainToken(token, solved.quotes))
		}
		if r.sides[leg].pricedOnlyBy(r.position.Pool) {
			e.barOwnPool(token, r.position.Pool, &e.Metrics.Price[leg])
		}
	}
}

// ExplainToken returns how a token got its price. It costs what Explain does.
func ExplainToken(st *market.State, p *Params, ext []FeedPrice, token uint32) PriceExplanation {
	s := newSolver(st, p, ext)
	e := s.explainToken(token, s.solveTokens(token).quotes)
	e.Price = shownPrice(st.Prices.At(token))
	return e
}

// solution is the prices of a few tokens on their way.
type solution struct {
	quotes []quote
	marks  []uint8 // by token
}

// solveTokens solves the prices of tokens and of the native currency: over their own
// pools, and over the pools against anchors of every token that they trade against.
func (s *solver) solveTokens(tokens ...uint32) solution {
	s.priceAnchors()
	for _, native := range [2]uint32{s.leader, s.follower} {
		if native != market.NoIndex && !slices.Contains(tokens, native) {
			tokens = append(tokens, native)
		}
	}
	marks := s.markTokens(tokens)
	quotes := s.priceHops(func(pool *market.Pool) bool {
		a, b := pool.Currency0, pool.Currency1
		return marks[a] == leg || marks[b] == leg ||
			s.prices[a].Anchor && marks[b] != unmarked || s.prices[b].Anchor && marks[a] != unmarked
	})

	for _, token := range tokens {
		s.keepPrice(token)
	}
	s.follow()
	s.liftExits()
	return solution{quotes, marks}
}

// markTokens marks tokens as legs, and those that they trade against as neighbours.
func (s *solver) markTokens(tokens []uint32) []uint8 {
	marks := make([]uint8, s.st.Tokens.Len())
	for _, token := range tokens {
		marks[token] = leg
	}

	for i := range s.st.Pools.Len() {
		a, b := s.tokenOf(i, 0), s.tokenOf(i, 1)
		if marks[a] == leg && !s.prices[a].Anchor {
			marks[b] = max(marks[b], neighbour)
		}
		if marks[b] == leg && !s.prices[b].Anchor {
			marks[a] = max(marks[a], neighbour)
		}
	}
	return marks
}

// barOwnPool corrects the explanation of a leg's token, whose price is the
// word of the position's own pool: the row has none, so no market is used.
func (e *Explanation) barOwnPool(token, pool uint32, price *market.Price) {
	for i := range e.Prices {
		p := &e.Prices[i]
		if p.Token != token {
			continue
		}

		p.Price = *price
		for k := range p.Markets {
			if m := &p.Markets[k]; m.Pool == pool {
				m.Used, m.Usd, m.Reason = false, market.Unknown, price.Reason
				m.Checks = append(m.Checks, atLeast("other markets within outlier", 0, 1))
			}
		}
	}
}

// intermediateTokens returns the tokens that are no legs and through which an eligible
// market prices a leg: ordinary tokens, ascending.
func (s *solver) intermediateTokens(solved *solution) (tokens []uint32) {
	for i := range solved.quotes {
		q := &solved.quotes[i]
		prices := solved.marks[q.token] == leg && q.bar == market.ReasonNone
		if prices && !q.byAnchor && solved.marks[q.by] != leg {
			tokens = append(tokens, q.by)
		}
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// explainThrough explains a token as the second hop uses it: by its markets
// against anchors alone.
func (s *solver) explainThrough(token uint32, quotes []quote) PriceExplanation {
	own := quotesOf(token, quotes, true)
	s.resolvePrice(token, own)
	return s.explainQuotes(token, own, s.selectQuotes(own, s.feed[s.st.Tokens.At(token).Address].Usd))
}

func (s *solver) explainToken(token uint32, quotes []quote) PriceExplanation {
	switch {
	case s.prices[token].Anchor && s.roles[token] == native:
		return s.explainQuotes(token, s.natives, s.deepestQuotes(s.natives))
	case s.prices[token].Anchor:
		return s.explainQuotes(token, nil, nil)
	}
	own := quotesOf(s.leaderOf(token), quotes, false)
	return s.explainQuotes(token, own, s.selectQuotes(own, s.feed[s.st.Tokens.At(token).Address].Usd))
}

func quotesOf(token uint32, quotes []quote, anchorsOnly bool) (own []quote) {
	for _, q := range quotes {
		if q.token == token && (q.byAnchor || !anchorsOnly) {
			own = append(own, q)
		}
	}
	return own
}

// explainQuotes explains the price that used, of a token's quotes, make. It sorts the
// quotes by what they weigh.
func (s *solver) explainQuotes(token uint32, quotes, used []quote) PriceExplanation {
	e := PriceExplanation{
		Token: token, Price: shownPrice(&s.prices[token]), FeedUsd: market.Unknown,
	}
	answer, fed := s.feed[s.st.Tokens.At(token).Address]
	if fed {
		e.FeedUsd = answer.Usd
	}
	slices.SortFunc(quotes, func(a, b quote) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.pool, b.pool))
	})
	if !market.Known(e.Price.Usd) {
		used = nil // quotes that agree, and make no price all the same
	}

	e.Omitted = max(len(quotes)-MarketsExplained, 0)
	for i := range quotes[:len(quotes)-e.Omitted] {
		in := slices.ContainsFunc(used, func(q quote) bool { return q.pool == quotes[i].pool })
		e.Markets = append(e.Markets, s.explainMarket(&quotes[i], in))
	}
	if !e.Price.Anchor {
		e.markOutliers(quotes, answer.Usd)
		e.Checks = s.trustChecks(used, s.trustLimitsOf(s.leaderOf(token)))
		e.Checks = append(e.Checks, s.holdChecks(token)...)
	}
	return e
}
