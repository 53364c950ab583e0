package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// The scripts in testdata say what the ledger makes of events. A line is one
// transaction in a block and a span of its own, its events separated by ";".
// Lines after a "show" that begin with ">" are what it must print.
//
//	pool P A B FEE SPACING [TICK]     mint ID OWNER P LOWER UPPER LIQUIDITY
//	add ID LIQUIDITY                  remove ID LIQUIDITY|all
//	collect ID                        burn ID (its liquidity first gone or not)
//	give ID OWNER                     direct SENDER P LOWER UPPER ±LIQUIDITY
//	donate P AMOUNT0 AMOUNT1          protocol P DOWN UP
//	sell0 P AMOUNT | sell1 P AMOUNT   exact input, computed forwards
//	crash P PRICE                     a swap event that cannot be
//
//	token A DECIMALS     gas USED PRICE|unknown     at +SECONDS
//	price A USD|unknown  (from the next line's hour on)
//	revert N             show WHAT ...              refuse EVENTS
func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.market")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { runScript(t, name) })
	}
}

type script struct {
	*Ledger
	t      *testing.T
	where  string
	time   int64
	tx     market.Tx
	tokens map[string]market.TokenMeta
	metas  []market.TokenMeta
	prices []HourPrice
	ops    []Op
}

// scriptStart is 2023-11-14 00:00 UTC.
const scriptStart = 19675 * market.Day

func runScript(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &script{
		Ledger: New(Config{Chain: 1, PositionManager: testManager}), t: t, time: scriptStart,
		tx: market.Tx{GasKnown: true}, tokens: map[string]market.TokenMeta{},
	}
	var shown []string
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		s.where = fmt.Sprintf("%s:%d", filepath.Base(name), n)
		if want, ok := strings.CutPrefix(line, ">"); ok {
			want = strings.TrimSpace(want)
			if len(shown) == 0 || shown[0] != want {
				t.Fatalf("%s: want %q of\n> %s", s.where, want, strings.Join(shown, "\n> "))
			}
			shown = shown[1:]
			continue
		}
		if len(shown) > 0 {
			t.Fatalf("%s: more is shown:\n> %s", s.where, strings.Join(shown, "\n> "))
		}
		if line != "" {
			shown = s.line(line)
		}
	}
	clean(t, s.Freeze())
}

// line runs a line and returns what it shows.
func (s *script) line(line string) []string {
	word := strings.Fields(line)
	switch word[0] {
	case "token":
		m := market.TokenMeta{Decimals: uint8(s.int(word[2]))}
		m.Address = market.Address{18: 1, 19: word[1][0]}
		if word[1] == "native" {
			m.Address = market.Address{}
		}
		s.tokens[word[1]] = m
		s.metas = append(s.metas, m)
	case "gas":
		s.tx = market.Tx{GasKnown: word[1] != "unknown"}
		if s.tx.GasKnown {
			s.tx.GasUsed = uint64(s.int(word[1]))
			s.tx.GasPrice = clmath.U128{Lo: uint64(s.int(word[2]))}
		}
	case "at":
		s.time += s.int(word[1][1:])
	case "price":
		usd, err := strconv.ParseFloat(word[2], 64)
		if err != nil {
			usd = market.Unknown
		}
		at := s.tokenOf[s.tokens[word[1]].Address]
		s.prices = append(s.prices, HourPrice{
			Token: at, Usd: usd, OnlyPool: market.NoIndex, Source: market.SourcePool,
		})
	case "revert":
		for range s.int(word[1]) {
			if err := s.Revert(); err != nil {
				s.t.Fatalf("%s: %s", s.where, err)
			}
		}
		s.time = s.head.Time
	case "show":
		return s.show(word[1:])
	case "refuse":
		err := s.apply(strings.TrimPrefix(line, "refuse "))
		if err == nil {
			s.t.Fatalf("%s: the ledger took it", s.where)
		}
		var m *Mismatch
		if !errors.As(err, &m) {
			return []string{err.Error()}
		}
		return []string{
			fmt.Sprintf("log %d: %s is %s; the replay has %s", m.LogIndex, m.What, m.Got, m.Want),
		}
	default:
		if err := s.apply(line); err != nil {
			s.t.Fatalf("%s: %s", s.where, err)
		}
	}
	return nil
}

// apply applies a line of events as one span.
func (s *script) apply(line string) error {
	n := s.head.Number + 1
	b := market.Block{Number: n, Time: s.time, Txs: []market.Tx{s.tx}}
	b.Txs[0].Hash = market.Hash{31: byte(n)}
	for _, text := range strings.Split(line, ";") {
		for _, e := range s.events(strings.Fields(text)) {
			b.Logs = append(b.Logs, market.Log{Index: uint32(len(b.Logs)), Event: e})
		}
	}
	span := market.Span{From: n, To: n, Time: s.time, Blocks: []market.Block{b}, Tokens: s.metas}
	if s.prices != nil {
		s.BeginHour(market.HourOf(s.time), s.prices)
	}
	err := s.Apply(&span)
	if err == nil {
		s.prices, s.metas = nil, nil
	}
	return err
}

func (s *script) events(word []string) []market.Event {
	switch word[0] {
	case "pool":
		tick := int32(0)
		if len(word) > 6 {
			tick = int32(s.int(word[6]))
		}
		return []market.Event{market.Initialize{
			Pool:      poolID(word[1]),
			Currency0: s.tokens[word[2]].Address, Currency1: s.tokens[word[3]].Address,
			Fee: uint32(s.int(word[4])), TickSpacing: int32(s.int(word[5])),
			Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick),
		}}
	case "mint":
		id := uint64(s.int(word[1]))
		transfer := market.TransferNFT{To: person(word[2]), ID: id}
		return []market.Event{transfer, s.change(word[3:], testManager, saltOf(id))}
	case "direct":
		return []market.Event{s.change(word[2:], person(word[1]), market.Hash{})}
	case "donate":
		return []market.Event{market.Donate{
			Pool: poolID(word[1]), Amount0: s.amount(word[2]), Amount1: s.amount(word[3]),
		}}
	case "protocol":
		return []market.Event{market.ProtocolFeeUpdated{
			Pool: poolID(word[1]), ProtocolFee: uint32(s.int(word[2]) | s.int(word[3])<<12),
		}}
	case "sell0", "sell1":
		down := word[0] == "sell0"
		limit := int32(clmath.MaxTick - 1)
		if down {
			limit = clmath.MinTick + 1
		}
		o := order{amount: s.amount(word[2]), down: down, exactIn: true, limit: limit}
		e, ok := trade(s.Ledger, s.poolOf[poolID(word[1])], o)
		if !ok {
			s.t.Fatalf("%s: no such trade", s.where)
		}
		return []market.Event{e}
	case "crash":
		e := market.Swap{Pool: poolID(word[1]), SqrtPriceX96: s.amount(word[2]), Fee: 3000}
		return []market.Event{e}
	}
	return s.positionEvents(word)
}

func (s *script) positionEvents(word []string) []market.Event {
	id := uint64(s.int(word[1]))
	e := market.ModifyLiquidity{Sender: testManager, Salt: saltOf(id)}
	owner, all := market.Address{}, clmath.I128{}
	if i, ok := s.position(id); ok {
		row := s.positions.At(i)
		e.Pool, e.TickLower, e.TickUpper = s.pools.At(row.Pool).ID, row.TickLower, row.TickUpper
		owner, all = *s.owners.At(row.Owner), clmath.I128{Lo: row.Liquidity.Lo}.Neg()
	}
	switch word[0] {
	case "add":
		e.LiquidityDelta = clmath.I128{Lo: uint64(s.int(word[2]))}
	case "remove":
		e.LiquidityDelta = all
		if word[2] != "all" {
			e.LiquidityDelta = clmath.I128{Lo: uint64(s.int(word[2]))}.Neg()
		}
	case "collect":
	case "give":
		return []market.Event{market.TransferNFT{From: owner, To: person(word[2]), ID: id}}
	case "burn":
		if all.Sign() == 0 || len(word) > 2 { // burn ID only: the liquidity is forgotten
			return []market.Event{market.TransferNFT{From: owner, ID: id}}
		}
		e.LiquidityDelta = all
		return []market.Event{market.TransferNFT{From: owner, ID: id}, e}
	default:
		s.t.Fatalf("%s: what is %q?", s.where, word[0])
	}
	return []market.Event{e}
}

func (s *script) change(word []string, sender market.Address, salt market.Hash) market.Event {
	delta := clmath.I128{Lo: uint64(s.int(strings.TrimLeft(word[3], "+-")))}
	if word[3][0] == '-' {
		delta = delta.Neg()
	}
	return market.ModifyLiquidity{
		Pool: poolID(word[0]), Sender: sender, Salt: salt, LiquidityDelta: delta,
		TickLower: int32(s.int(word[1])), TickUpper: int32(s.int(word[2])),
	}
}

func poolID(name string) market.PoolID { return market.PoolID{31: name[0]} }

// person is an address that ends with the name's first letter.
func person(name string) market.Address { return market.Address{0: 0xaa, 19: name[0]} }

func (s *script) int(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil {
		s.t.Fatalf("%s: %s", s.where, err)
	}
	return n
}

func (s *script) amount(text string) clmath.U256 {
	v, err := clmath.ParseDecimal(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		s.t.Fatalf("%s: %s", s.where, err)
	}
	return v
}
