package render

import "tidemark/rankings/market"

// Corpus is the numbers of records of one chain.
type Corpus struct {
	Chain                                  market.ChainID
	Positions, Active, Pools, Transactions uint64
}

// AppendStats appends the body of /v1/stats; asOf is in unix milliseconds.
func AppendStats(dst []byte, chains []Corpus, asOf int64) []byte {
	var all Corpus
	for i := range chains {
		all.Positions += chains[i].Positions
		all.Active += chains[i].Active
		all.Pools += chains[i].Pools
		all.Transactions += chains[i].Transactions
	}

	dst = integer(append(dst, `{"positions":{"total":`...), all.Positions)
	dst = integer(append(dst, `,"active":`...), all.Active)
	dst = integer(append(dst, `,"inactive":`...), all.Positions-all.Active)
	dst = integer(append(dst, `},"pools":{"total":`...), all.Pools)
	dst = integer(append(dst, `},"transactions":{"total":`...), all.Transactions)
	dst = append(dst, `},"chains":[`...)
	for i := range chains {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCorpus(dst, &chains[i])
	}

	return append(AppendAsOf(append(dst, ']'), asOf), '}')
}

func appendCorpus(dst []byte, c *Corpus) []byte {
	dst = integer(append(dst, `{"chainId":`...), c.Chain)
	dst = integer(append(dst, `,"positions":`...), c.Positions)
	dst = integer(append(dst, `,"activePositions":`...), c.Active)
	dst = integer(append(dst, `,"pools":`...), c.Pools)
	dst = integer(append(dst, `,"transactions":`...), c.Transactions)
	return append(dst, '}')
}
