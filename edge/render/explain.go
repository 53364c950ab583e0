package render

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// AppendExplanation appends how the row of position i is computed: the prices,
// then the steps, each after those that it depends on.
func AppendExplanation(dst []byte, st *market.State, i uint32, e *value.Explanation) []byte {
	p := st.Positions.At(i)
	dst = integer(append(dst, `{"positionId":"`...), p.ID)
	dst = appendChainID(append(dst, `",`...), st.Chain)
	dst = integer(append(dst, `"asOfBlock":`...), st.Head.Number)
	dst = integer(append(dst, `,"timestamp":`...), e.Now)
	dst = append(dst, `,"reason":`...)
	dst = append(dst, reasons[e.Metrics.Reason]...)
	dst = append(dst, `,"prices":[`...)
	for k := range e.Prices {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = appendPriceExplanation(dst, st, &e.Prices[k])
	}

	// Each step only uses terms of the steps before it.
	dst = append(dst, `],"steps":[`...)
	for k := range e.Steps {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = appendStep(dst, &e.Steps[k])
	}

	return append(dst, `]}`...)
}

func appendPriceExplanation(dst []byte, st *market.State, e *value.PriceExplanation) []byte {
	t := st.Tokens.At(e.Token)
	dst = t.Address.AppendHex(append(dst, `{"token":"`...))
	dst = text(append(dst, `","symbol":`...), t.Symbol, maxSymbol)
	dst = appendPrice(append(dst, `,"price":`...), &e.Price)
	dst = append(dst, `,"reason":`...)
	dst = append(dst, reasons[e.Price.Reason]...)
	dst = boolean(append(dst, `,"anchor":`...), e.Price.Anchor)
	dst = number(append(dst, `,"exitUsd":`...), e.Price.ExitUsd)
	dst = number(append(dst, `,"feedUsd":`...), e.FeedUsd)
	dst = append(dst, `,"markets":[`...)
	for k := range e.Markets {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = appendMarketExplanation(dst, st, &e.Markets[k])
	}

	dst = integer(append(dst, `],"marketsOmitted":`...), int64(e.Omitted))
	return append(appendChecks(dst, e.Checks), '}')
}

func appendMarketExplanation(dst []byte, st *market.State, m *value.MarketExplanation) []byte {
	dst = st.Pools.At(m.Pool).ID.AppendHex(append(dst, `{"poolId":"`...))
	dst = st.Tokens.At(m.By).Address.AppendHex(append(dst, `","against":"`...))
	dst = number(append(dst, `","againstUsd":`...), m.ByUsd)
	dst = number(append(dst, `,"priceUsd":`...), m.Usd)
	dst = number(append(dst, `,"reachableUsd":`...), m.ReachUsd)
	dst = number(append(dst, `,"weightUsd":`...), m.WeightUsd)
	dst = boolean(append(dst, `,"used":`...), m.Used)
	dst = append(dst, `,"reason":`...)
	dst = append(dst, reasons[m.Reason]...)
	return append(appendChecks(dst, m.Checks), '}')
}

// appendChecks appends the thresholds that a price or a market was checked against.
func appendChecks(dst []byte, all []value.Check) []byte {
	dst = append(dst, `,"checks":[`...)
	for k := range all {
		c := &all[k]
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = String(append(dst, `{"name":`...), c.Name)
		dst = number(append(dst, `,"have":`...), c.Have)
		dst = number(append(dst, `,"want":`...), c.Want)
		dst = append(boolean(append(dst, `,"met":`...), c.Met), '}')
	}
	return append(dst, ']')
}

func appendStep(dst []byte, s *value.Step) []byte {
	dst = String(append(dst, `{"name":`...), s.Name)
	dst = String(append(dst, `,"formula":`...), s.Formula)
	dst = append(dst, `,"terms":[`...)
	for k := range s.Terms {
		term := &s.Terms[k]
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = String(append(dst, `{"name":`...), term.Name)
		dst = number(append(dst, `,"value":`...), term.Value)
		if term.Raw != nil {
			dst = quoted(append(dst, `,"raw":`...), term.Raw)
		}
		dst = append(dst, '}')
	}

	dst = number(append(dst, `],"value":`...), s.Value)
	return append(dst, '}')
}
