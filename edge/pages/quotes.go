package pages

import (
	"encoding/binary"
	"slices"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// keptQuotes are what a token was worth at the ends of consecutive days or hours. The last
// one was running when they were read. They are shared and do not change. Most charts ask
// about few tokens: the native currency, and what pools are quoted in.
type keptQuotes struct {
	from   uint32 // the first interval
	quotes []value.Quote
}

// running returns the interval that was running when the quotes were read.
func (k *keptQuotes) running() uint32 { return k.from + uint32(len(k.quotes)) - 1 }

// quotes returns a token's price at the end of each interval from one on. The last one is
// running and has none yet. The caller must not change them.
func (p *Pages) quotes(
	v *rankings.View, token uint32, step chart.Step, from uint32,
) ([]value.Quote, error) {
	now := step.Of(v.State.Now())
	key, final := p.quotesKey(v, token, step)
	if !final {
		return p.readQuotes(v.State, token, step, from, now)
	}

	k, ok := p.past.get(key)
	if !ok || from < k.from {
		k = keptQuotes{from: from}
	}
	if len(k.quotes) == 0 || k.running() < now {
		// What was running may be over now.
		known := k.quotes[:max(len(k.quotes), 1)-1]
		more, err := p.readQuotes(v.State, token, step, k.from+uint32(len(known)), now)
		if err != nil {
			return nil, err
		}
		k.quotes = slices.Concat(known, more)
		p.past.put(key, k)
	}
	return k.quotes[from-k.from:][:now-from+1], nil
}

// quotesKey identifies the past quotes of a token. They are not final if blocks of the view
// were replaced meanwhile.
func (p *Pages) quotesKey(v *rankings.View, token uint32, step chart.Step) (key string, final bool) {
	c, ok := p.cfg.Board.Load().Chain(v.State.Chain)
	if !ok || v.Generation < c.Unbroken || token == market.NoIndex {
		return "", false
	}

	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 24), uint64(v.State.Chain))
	b = binary.LittleEndian.AppendUint64(b, c.Unbroken)
	b = binary.LittleEndian.AppendUint32(b, token)
	return string(binary.LittleEndian.AppendUint32(b, uint32(step))), true
}

// readQuotes reads a token's price at the end of each interval from one to another.
func (p *Pages) readQuotes(
	st *market.State, token uint32, step chart.Step, from, to uint32,
) ([]value.Quote, error) {
	quotes := make([]value.Quote, to-from+1)
	if token == market.NoIndex {
		for n := range quotes {
			quotes[n] = value.Quote{Usd: market.Unknown, OnlyPool: market.NoIndex}
		}
		return quotes, nil
	}

	read := p.cfg.Store.DayPrices
	if step == chart.Hourly {
		read = p.cfg.Store.PricesByHour
	}
	records, err := read(st.Chain, token, from, to)
	if err != nil {
		return nil, err
	}
	for n := range records {
		r := &records[n]
		quotes[n] = value.QuoteOf(&market.Price{
			Usd: r.Usd, ExitUsd: r.ExitUsd, OnlyPool: r.OnlyPool, Corroborated: r.Corroborated,
		})
	}
	return quotes, nil
}
