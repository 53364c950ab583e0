package storage

import (
	"testing"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// TestUndosShareTexts checks that the tokens of an undo have the texts that the tokens
// have now, not copies of them.
func TestUndosShareTexts(t *testing.T) {
	token := market.Token{Address: market.Address{7}, Symbol: new("A"), Name: new("Alpha"), Decimals: 6}
	var tokens market.Table[market.Token]
	tokens.Append(token)
	st := &market.State{Tokens: tokens.Freeze()}
	var b undoBasis
	b.reset(st)
	u := &ledger.Undo{Rows: make([]uint32, ledger.TableCount())}
	before := token
	before.HourUsd = 3
	ledger.Tokens.SetSaved(u, []ledger.Saved[market.Token]{{Index: 0, Row: before}})

	again, c := new(ledger.Undo), field.Reader(encode(nil, u, b.code))
	b.code(&c, again)
	must(c.Done())
	row, now := &ledger.Tokens.Saved(again)[0].Row, st.Tokens.At(0)
	if row.Symbol != now.Symbol || row.Name != now.Name || row.HourUsd != 3 {
		t.Errorf("the undo has texts of its own, or another price: %v", row)
	}
}

// TestTokensArePacked checks that the texts of a chunk that was read lie one after the other.
func TestTokensArePacked(t *testing.T) {
	tokens := []market.Token{{Symbol: new("A"), Name: new("Alpha")}, {}, {Symbol: new("B")}}
	packTokens(tokens)
	if *tokens[0].Symbol != "A" || *tokens[0].Name != "Alpha" || tokens[1].Symbol != nil || *tokens[2].Symbol != "B" {
		t.Errorf("texts are others: %v", tokens)
	}
	for _, table := range tables {
		if rows, ok := table.(*rows[market.Token]); ok && (rows.pack == nil || rows.share == nil) {
			t.Errorf("table %s packs nothing", rows.name)
		}
	}
}
