package ledger

import (
	"math"
	"slices"

	"tidemark/rankings/market"
)

// addTokens adds tokens that are not known, and sets the metadata of those of which m says
// more: their decimals were bad and no longer are, or were unknown. Both survive a Revert,
// because a feed reports a token once.
func (l *Ledger) addTokens(metas []market.TokenMeta) {
	for i := range metas {
		m := &metas[i]
		if at, ok := l.tokenOf.find(m.Address[:]); ok {
			was := l.st.Tokens.At(at)
			if was.BadDecimals && !m.BadDecimals || !was.DecimalsKnown() && m.DecimalsKnown() {
				t := Tokens.note(l, at)
				t.Symbol, t.Name = m.Symbol, m.Name
				t.Decimals, t.BadDecimals = m.Decimals, m.BadDecimals
				l.learnedToken = true
			}
			continue
		}

		at := Tokens.add(l, l.newToken(*m))
		l.tokenOf.add(at)
	}
	l.findNative()
}

// findNative sets the token whose price is that of the native currency: this itself, or as
// long as no pool has it, its wrapped form.
func (l *Ledger) findNative() {
	l.st.Native = market.NoIndex
	for _, address := range [2]market.Address{{}, l.cfg.WrappedNative} {
		if i, ok := l.tokenOf.find(address[:]); ok {
			l.st.Native = i
			return
		}
	}
}

// newToken returns a token without a price record. A configured stable has the
// price 1.
func (l *Ledger) newToken(m market.TokenMeta) market.Token {
	t := market.Token{
		Address: m.Address, Symbol: m.Symbol, Name: m.Name,
		Decimals: m.Decimals, BadDecimals: m.BadDecimals,
		HourUsd: market.Unknown, HourOnlyPool: market.NoIndex, HourReason: market.ReasonNoMarket,
	}
	if slices.Contains(l.cfg.Stables, m.Address) && !m.BadDecimals {
		t.HourUsd, t.HourSource, t.HourReason = 1, market.SourceAnchor, market.ReasonNone
		t.HourCorroborated, t.HourExitUsd = true, math.Inf(1)
	}
	return t
}

// recordStable puts the first price of a stable into the series, when its first
// pool is initialised. It cannot be done when the token is added: that is not
// repeated after a Revert, and events are.
func (l *Ledger) recordStable(token uint32) {
	if t := l.st.Tokens.At(token); t.HourAt != 0 || !market.Known(t.HourUsd) {
		return
	}
	t := Tokens.edit(l, token)
	t.HourAt = market.HourOf(l.time)
	entry := HourEntry{HourRecord(token, t), t.HourAt}
	undoByDrop(l, HourPrices, &entry)
	put(&l.ops, HourPrices, &entry)
}

// applyHour sets the tokens' price records, which hold until the next record of
// the token. Of an hour announced twice the later record counts.
func (l *Ledger) applyHour(h *hourRecord) {
	for i := range h.prices {
		p := &h.prices[i]
		t := Tokens.edit(l, p.Token)

		// The undo puts back the record that is overwritten, or none.
		if t.HourAt == h.hour {
			undoByPut(l, HourPrices, &HourEntry{HourRecord(p.Token, t), h.hour})
		} else {
			undoByDrop(l, HourPrices, &HourEntry{HourPrice{Token: p.Token}, h.hour})
		}

		t.HourUsd, t.HourAt, t.HourAsOf, t.HourOnlyPool = p.Usd, h.hour, p.AsOf, p.OnlyPool
		t.HourMarkets, t.HourSource, t.HourReason = p.Markets, p.Source, p.Reason
		t.HourCorroborated, t.HourExitUsd = p.Corroborated, p.ExitUsd
		t.PriceLostAt, t.TrustLostAt = p.PriceLostAt, p.TrustLostAt
		put(&l.ops, HourPrices, &HourEntry{*p, h.hour})
	}

	for _, held := range h.pools {
		p := Pools.edit(l, held.Pool)
		p.Held, p.Others = held.Held, held.Others
	}
}
