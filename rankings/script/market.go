package script

import (
	"encoding/binary"
	"fmt"
	"strings"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// Start is the time at which every script begins: 2023-11-14 00:00 UTC.
const Start = 19675 * market.Day

// Manager is the position manager in every script.
var Manager = market.Address{19: 0x77}

// Market is the state of a script that the ledger does not have: the clock, the
// gas of transactions, and the tokens.
type Market struct {
	Time  int64
	tx    market.Tx
	order []string // names of the tokens, in order of appearance
	metas map[string]market.TokenMeta
}

// New returns the market at Start.
func New() *Market {
	return &Market{
		Time: Start, tx: market.Tx{GasKnown: true}, metas: map[string]market.TokenMeta{},
	}
}

// Token returns the address of a token of the script.
func (m *Market) Token(name string) (market.Address, error) {
	meta, ok := m.metas[name]
	if !ok {
		return market.Address{}, fmt.Errorf("no token %q", name)
	}
	return meta.Address, nil
}

// Pool returns the id of the pool with that name.
func Pool(name string) (id market.PoolID) {
	copy(id[max(len(id)-len(name), 0):], name)
	return id
}

// Person returns the address of a person. It ends with the name's first letter.
func Person(name string) market.Address { return market.Address{0: 0xaa, 19: name[0]} }

// Set runs a line that sets the clock, a token or the gas. It reports false for
// any other line.
func (m *Market) Set(words []string) (known bool, err error) {
	if len(words) < 2 {
		return false, nil
	}

	switch words[0] {
	case "token":
		return true, m.setToken(words[1:])
	case "gas":
		return true, m.setGas(words[1:])
	case "at":
		n, err := parseDuration(words[1])
		m.Time += n
		return true, err
	}

	return false, nil
}

func (m *Market) setToken(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("token %s has no decimals", words[0])
	}
	name := words[0]
	meta := market.TokenMeta{Symbol: texts.New(name), Name: texts.New(name)}
	if words[1] == "unknown" {
		meta.SetDecimals(0, false)
	} else {
		decimals, err := parseInteger(words[1])
		if err != nil {
			return err
		}
		meta.SetDecimals(uint64(decimals), true)
	}

	if name != "native" {
		copy(meta.Address[len(meta.Address)-len(name):], name)
		meta.Address[len(meta.Address)-len(name)-1] = 1
	}

	m.metas[name] = meta
	m.order = append(m.order, name)
	return nil
}

func (m *Market) setGas(words []string) error {
	m.tx = market.Tx{GasKnown: words[0] != "unknown"}
	if !m.tx.GasKnown {
		return nil
	}
	used, err := parseInteger(words[0])
	if err != nil || len(words) < 2 {
		return fmt.Errorf("gas is not USED PRICE: %w", err)
	}

	price, err := Amount(words[1])
	m.tx.GasUsed = uint64(used)
	m.tx.GasPrice, _ = clmath.Narrow(&price)
	return err
}

// Span returns a line of events as the span after st. It has the metadata of every
// token; a ledger ignores those that it knows.
func (m *Market) Span(st *market.State, line string) (*market.Span, error) {
	if pause, ok := strings.CutPrefix(line, "wait "); ok {
		n, err := parseDuration(pause)
		if err != nil {
			return nil, fmt.Errorf("wait: %w", err)
		}
		m.Time += n
		line = "block"
	}

	n := st.Head.Number + 1
	b := market.Block{Number: n, Time: m.Time, Txs: []market.Tx{m.tx}}
	binary.BigEndian.PutUint64(b.Txs[0].Hash[24:], n)
	for text := range strings.SplitSeq(line, ";") {
		events, err := m.events(st, strings.Fields(text))
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			b.Logs = append(b.Logs, market.Log{Index: uint32(len(b.Logs)), Event: e})
		}
	}

	s := &market.Span{From: n, To: n, Time: m.Time}
	if len(b.Logs) > 0 {
		s.Blocks = []market.Block{b}
	}

	for _, name := range m.order {
		s.Tokens = append(s.Tokens, m.metas[name])
	}
	return s, nil
}
