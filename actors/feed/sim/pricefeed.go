package sim

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// priceFeedSeconds is how often the simulated price feed has new answers.
// Between two of them prices stand still, so that a refresh has nothing to do
// for them.
const priceFeedSeconds = 5 * market.Minute

// priceFeedTokens are the tokens that the simulated price feed answers for:
// those that are traded nowhere on the chain.
var priceFeedTokens = []string{"TBILL"}

// Prices is a simulated price feed: what an independent source would answer
// when the chain's head is as it is now. A node asks it when its configuration
// names no other. It may be called at any time.
func (f *Feed) Prices() (answers []value.FeedPrice) {
	f.ready()
	head := f.headAt(f.headNumber(f.cfg.Now()))
	if head.Number < f.cfg.StartBlock {
		return nil
	}

	asOf := head.Time - head.Time%priceFeedSeconds
	t := max(asOf-f.cfg.Genesis, 0)
	for _, symbol := range priceFeedTokens {
		if i, ok := f.bySymbol[symbol]; ok {
			milli := f.tokens[i].at(t, marketAt(f.cfg.Seed, t))
			answers = append(answers, value.FeedPrice{
				Token: f.tokens[i].meta.Address, Usd: exp(milli / 1000), AsOf: asOf,
			})
		}
	}
	return answers
}
