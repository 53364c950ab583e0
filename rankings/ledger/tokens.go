package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// learn adds the tokens that were not known and completes those that had no
// decimals. They survive a Revert, because the feed tells each of them once.
func (l *Ledger) learn(metas []market.TokenMeta) {
	for i := range metas {
		m := &metas[i]
		if at, ok := l.tokenOf[m.Address]; ok {
			if l.st.Tokens.At(at).BadDecimals && !m.BadDecimals {
				t := Tokens.note(l, at)
				t.Symbol, t.Name = m.Symbol, m.Name
				t.Decimals, t.BadDecimals = m.Decimals, false
			}
			continue
		}

		at := Tokens.add(l, unpriced(*m))
		l.tokenOf[m.Address] = at
		if m.Address.IsZero() {
			l.st.Native = at
		}
	}
}

// unpriced is a token that no hour has priced yet.
func unpriced(m market.TokenMeta) market.Token {
	return market.Token{
		Address: m.Address, Symbol: m.Symbol, Name: m.Name,
		Decimals: m.Decimals, BadDecimals: m.BadDecimals,
		HourUsd: market.Unknown, HourOnlyPool: market.NoIndex, HourReason: market.ReasonNoMarket,
	}
}

// record puts an hour's price records in force, until the next one of the
// same token. An hour announced twice keeps the later record.
func (l *Ledger) record(h *hourRecord) {
	for _, p := range h.prices {
		t := Tokens.edit(l, p.Token)

		// The undo puts back the record that is overwritten, or none.
		if t.HourAt == h.hour {
			onUndo(l, HourPrices.Put, HourEntry{HourRecord(p.Token, t), h.hour})
		} else {
			onUndo(l, HourPrices.Drop, HourEntry{HourPrice{Token: p.Token}, h.hour})
		}
		t.HourUsd, t.HourAt, t.HourAsOf, t.HourOnlyPool = p.Usd, h.hour, p.AsOf, p.OnlyPool
		t.HourMarkets, t.HourSource, t.HourReason = p.Markets, p.Source, p.Reason
		t.HourCorroborated = p.Corroborated
		l.ops = append(l.ops, HourPrices.Put(HourEntry{p, h.hour}))
	}
}

// usd values a raw amount by the hour's record. An amount of 0 is worth 0 even
// when the token has no price.
func (l *Ledger) usd(token uint32, amount *clmath.U256) float64 {
	if amount.IsZero() {
		return 0
	}
	t := l.st.Tokens.At(token)
	return clmath.ToFloat(amount, t.Decimals) * t.HourUsd
}

// nativeUsd is the native currency's price by the hour's record.
func (l *Ledger) nativeUsd() float64 {
	if l.st.Native == market.NoIndex {
		return market.Unknown
	}
	return l.st.Tokens.At(l.st.Native).HourUsd
}

// gasUsd values wei by the hour's record.
func (l *Ledger) gasUsd(wei clmath.U128) float64 {
	if wei.IsZero() {
		return 0
	}
	w := wei.U256()
	return clmath.ToFloat(&w, nativeDecimals) * l.nativeUsd()
}

const nativeDecimals = 18

// ownerIndex returns the record of an owner.
func (l *Ledger) ownerIndex(a market.Address) uint32 {
	i, ok := l.ownerOf[a]
	if !ok {
		i = Owners.add(l, a)
		l.ownerOf[a] = i
	}
	return i
}
