package render

import (
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// AppendTokenRow appends a token of a list, with its pools added up.
func AppendTokenRow(
	dst []byte, st *market.State, token uint32, pools rankings.TokenPools, rank uint64,
) []byte {
	dst = integer(append(appendRank(dst, rank), `,"chainId":`...), st.Chain)
	dst = appendTokenNow(append(dst, ','), st, token)
	dst = appendTokenPools(dst, pools)
	dst = integer(append(dst, `,"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

// appendTokenNow appends the fields of a token as the rows of pools show them.
func appendTokenNow(dst []byte, st *market.State, token uint32) []byte {
	p := st.Prices.At(token)
	return appendTokenFields(dst, st.Tokens.At(token), p.Usd, !p.Corroborated)
}

func appendTokenPools(dst []byte, pools rankings.TokenPools) []byte {
	dst = integer(append(dst, `,"pools":`...), pools.Pools)
	return number(append(dst, `,"tvlUsd":`...), pools.TVLUsd)
}

// AppendToken appends a token: what rows show of it, how its price was found, and its
// pools added up.
func AppendToken(
	dst []byte, st *market.State, e *value.PriceExplanation, pools rankings.TokenPools,
) []byte {
	p := &e.Price
	dst = integer(append(dst, `{"chainId":`...), st.Chain)
	dst = appendTokenNow(append(dst, ','), st, e.Token)

	dst = append(append(dst, `,"source":"`...), sources[p.Source]...)
	dst = moment(append(dst, `","asOf":`...), p.AsOf*1000)
	dst = append(append(dst, `,"reason":`...), reasons[p.Reason]...)
	dst = boolean(append(dst, `,"anchor":`...), p.Anchor)
	dst = boolean(append(dst, `,"corroborated":`...), p.Corroborated)
	dst = number(append(dst, `,"exitUsd":`...), p.ExitUsd)
	dst = number(append(dst, `,"feedUsd":`...), e.FeedUsd)

	dst = append(dst, `,"markets":[`...)
	for i := range e.Markets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTokenMarket(dst, st, &e.Markets[i])
	}
	dst = integer(append(dst, `],"marketsOmitted":`...), int64(e.Omitted))
	dst = appendTokenChecks(dst, e.Checks)

	dst = appendTokenPools(dst, pools)
	dst = integer(append(dst, `,"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

func appendTokenMarket(dst []byte, st *market.State, m *value.MarketExplanation) []byte {
	dst = st.Pools.At(m.Pool).ID.AppendHex(append(dst, `{"poolId":"`...))
	dst = st.Tokens.At(m.By).Address.AppendHex(append(dst, `","against":"`...))
	dst = number(append(dst, `","priceUsd":`...), m.Usd)
	dst = number(append(dst, `,"depthUsd":`...), m.WeightUsd)
	dst = boolean(append(dst, `,"used":`...), m.Used)
	dst = append(append(dst, `,"reason":`...), reasons[m.Reason]...)
	return append(appendTokenChecks(dst, m.Checks), '}')
}

// appendTokenChecks appends thresholds in the words of this route.
func appendTokenChecks(dst []byte, checks []value.Check) []byte {
	dst = append(dst, `,"checks":[`...)
	for i := range checks {
		c := &checks[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(append(dst, `{"name":`...), c.Name)
		dst = number(append(dst, `,"value":`...), c.Have)
		dst = number(append(dst, `,"threshold":`...), c.Want)
		dst = append(boolean(append(dst, `,"passed":`...), c.Met), '}')
	}
	return append(dst, ']')
}
