package render

import (
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// Health is the standing of one chain, or of the node.
type Health string

// The standings. A chain is one of the first, a node one of ok, degraded, down.
const (
	OK       Health = "ok"
	Syncing  Health = "syncing"
	Lagging  Health = "lagging"
	Down     Health = "down"
	Offline  Health = "offline"
	Degraded Health = "degraded"
)

// AppendHealth opens the body of /health up to its chains.
func AppendHealth(dst []byte, h Health, version string) []byte {
	dst = append(append(dst, `{"status":"`...), h...)
	dst = String(append(dst, `","version":`...), version)
	return append(dst, `,"chains":[`...)
}

// AppendChainHealth appends one chain of the body. What is not known is null.
func AppendChainHealth(dst []byte, c *rankings.Chain, h Health) []byte {
	s := &c.Status
	dst = integer(append(dst, `{"chainId":`...), c.ID)
	dst = append(dst, `,"protocol":"`+market.Protocol+`","status":"`...)
	dst = append(dst, h...)
	dst = head(append(dst, `","lastIndexedBlock":`...), s.LastIndexed)
	dst = head(append(dst, `,"chainHeadBlock":`...), s.ChainHead)
	dst = lag(dst, s)
	dst = moment(append(dst, `,"lastIndexedAt":`...), s.LastIndexedAt)
	dst = published(dst, c.View)
	dst = append(dst, `,"etaSeconds":`...)
	if s.ETASeconds == 0 {
		return append(dst, `null}`...)
	}
	return append(integer(dst, s.ETASeconds), '}')
}

// published appends what is known of the generation that is served.
func published(dst []byte, v *rankings.View) []byte {
	if v == nil {
		return append(dst, `,"dataAsOf":null,"generation":null,"asOfBlock":null,`+
			`"asOfBlockHash":null`...)
	}
	dst = moment(append(dst, `,"dataAsOf":`...), v.Confirmed())
	dst = integer(append(dst, `,"generation":`...), v.Generation)
	dst = integer(append(dst, `,"asOfBlock":`...), v.State.Head.Number)
	dst = append(dst, `,"asOfBlockHash":`...)
	if v.State.Head.Hash.IsZero() {
		return append(dst, null...)
	}
	dst = append(dst, '"')
	dst = v.State.Head.Hash.AppendHex(dst)
	return append(dst, '"')
}

func head(dst []byte, h market.Head) []byte {
	if h == (market.Head{}) {
		return append(dst, null...)
	}
	return integer(dst, h.Number)
}

// lag appends how far the ledger is behind the chain, in blocks and in the
// chain's own seconds.
func lag(dst []byte, s *rankings.ChainStatus) []byte {
	known := s.LastIndexed != (market.Head{}) && s.ChainHead != (market.Head{})
	dst = append(dst, `,"lagBlocks":`...)
	if !known {
		return append(dst, `null,"lagSeconds":null`...)
	}
	blocks := max(s.ChainHead.Number, s.LastIndexed.Number) - s.LastIndexed.Number
	dst = integer(dst, blocks)
	return integer(append(dst, `,"lagSeconds":`...), max(s.ChainHead.Time-s.LastIndexed.Time, 0))
}

// Corpus is how much there is of one chain.
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
	dst = append(dst, `],"asOf":`...)
	return append(moment(dst, asOf), '}')
}

func appendCorpus(dst []byte, c *Corpus) []byte {
	dst = integer(append(dst, `{"chainId":`...), c.Chain)
	dst = integer(append(dst, `,"positions":`...), c.Positions)
	dst = integer(append(dst, `,"activePositions":`...), c.Active)
	dst = integer(append(dst, `,"pools":`...), c.Pools)
	dst = integer(append(dst, `,"transactions":`...), c.Transactions)
	return append(dst, '}')
}
