package ledger

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// chainFile is a chain on which the real contracts ran: its logs, and what the
// contracts themselves answer at its end. A longer one, as make ledger-chain has it
// made, can be named in TIDEMARK_LEDGER_CHAIN.
const chainFile = "testdata/chain.json.gz"

type chain struct {
	Blocks []struct {
		Number           uint64
		Hash, ParentHash string
		Timestamp        int64
	}
	Logs  []chainLog
	Truth struct {
		Contracts struct {
			PositionManager struct{ Address string }
		}
		Tokens []struct {
			Address  string
			Decimals uint8
		}
		Final struct {
			Positions, DirectPositions []chainPosition
			Pools                      []chainPool
		}
		Modifications []chainChange
	}
}

type chainLog struct {
	Address, Data, BlockNumber, TransactionHash, TransactionIndex, LogIndex string

	Topics []string
}

type chainPosition struct {
	TokenID, Owner, PoolID, Salt, Liquidity, Fees0, Fees1 string
	FeeGrowthInside0LastX128, FeeGrowthInside1LastX128    string
	Amount0, Amount1                                      *string
	TickLower, TickUpper                                  int32
	Burned                                                bool
}

type chainPool struct {
	PoolID, Name, SqrtPriceX96, Liquidity, FeeGrowthGlobal0X128, FeeGrowthGlobal1X128 string

	Tick        int32
	ProtocolFee uint32
	Ticks       []struct {
		Tick                                         int32
		LiquidityGross, LiquidityNet                 string
		FeeGrowthOutside0X128, FeeGrowthOutside1X128 string
	}
}

type chainChange struct {
	BlockNumber                              uint64
	LogIndex                                 uint32
	PoolID, LiquidityDelta                   string
	CallerDelta0, CallerDelta1, FeesAccrued0 string
	FeesAccrued1                             string
}

func readChain(t testing.TB) *chain {
	t.Helper()
	name := chainFile
	if given := os.Getenv("TIDEMARK_LEDGER_CHAIN"); given != "" {
		name = given
	}

	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	c := new(chain)
	if err := json.NewDecoder(z).Decode(c); err != nil {
		t.Fatal(err)
	}

	return c
}

func (c *chain) config() Config {
	return Config{Chain: 1, PositionManager: address(c.Truth.Contracts.PositionManager.Address)}
}

// spans returns one span a block.
func (c *chain) spans() []market.Span {
	var spans []market.Span
	next := 0
	for _, b := range c.Blocks[1:] {
		s := market.Span{
			From: b.Number, To: b.Number, Time: b.Timestamp,
			Parent: word(b.ParentHash), Hash: word(b.Hash),
		}
		block := market.Block{Number: b.Number, Time: b.Timestamp}
		for ; next < len(c.Logs) && number(c.Logs[next].BlockNumber) == b.Number; next++ {
			c.add(&block, &c.Logs[next])
		}
		if len(block.Logs) > 0 {
			s.Blocks = []market.Block{block}
		}
		spans = append(spans, s)
	}

	spans[0].Tokens = []market.TokenMeta{{Decimals: 18}}
	for _, t := range c.Truth.Tokens {
		spans[0].Tokens = append(spans[0].Tokens,
			market.TokenMeta{Address: address(t.Address), Decimals: t.Decimals})
	}

	return spans
}

func (c *chain) add(b *market.Block, l *chainLog) {
	e := decode(l)
	if e == nil {
		return
	}

	if n := len(b.Txs); n == 0 || b.Txs[n-1].Hash != word(l.TransactionHash) {
		b.Txs = append(b.Txs, market.Tx{
			Hash: word(l.TransactionHash), GasUsed: 150_001, GasPrice: clmath.U128{Lo: 1e9}, GasKnown: true,
		})
	}

	b.Logs = append(b.Logs, market.Log{
		Index: uint32(number(l.LogIndex)), Tx: uint32(len(b.Txs) - 1), Event: e,
	})
}

// words are the topics and data of a log, read one after the other.
type words []byte

func (w *words) next() (v clmath.U256) {
	v.SetBytes((*w)[:32])
	*w = (*w)[32:]
	return v
}

func (w *words) hash() market.Hash { v := w.next(); return v.Bytes32() }
func (w *words) addr() market.Address {
	v := w.next()
	return v.Bytes20()
}
func (w *words) int() int32 { v := w.next(); return int32(v[0]) }
func (w *words) signed() clmath.I128 {
	v := w.next()
	return clmath.I128{Lo: v[0], Hi: int64(v[1])}
}
func (w *words) unsigned() clmath.U128 { v := w.next(); return clmath.U128{Lo: v[0], Hi: v[1]} }

// decode reads a log; the fields of the literals are evaluated in order.
func decode(l *chainLog) market.Event {
	text := l.Data[2:]
	for i := len(l.Topics) - 1; i > 0; i-- {
		text = l.Topics[i][2:] + text
	}

	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}

	w := words(b)
	switch l.Topics[0][:10] {
	case "0xdd466e67":
		return market.Initialize{
			Pool: market.PoolID(w.hash()), Currency0: w.addr(), Currency1: w.addr(), Fee: uint32(w.int()),
			TickSpacing: w.int(), Hooks: w.addr(), SqrtPriceX96: w.next(), Tick: w.int(),
		}
	case "0xf208f491":
		return market.ModifyLiquidity{
			Pool: market.PoolID(w.hash()), Sender: w.addr(), TickLower: w.int(), TickUpper: w.int(),
			LiquidityDelta: w.signed(), Salt: w.hash(),
		}
	case "0x40e9cecb":
		return market.Swap{
			Pool: market.PoolID(w.hash()), Sender: w.addr(), Amount0: w.signed(), Amount1: w.signed(),
			SqrtPriceX96: w.next(), Liquidity: w.unsigned(), Tick: w.int(), Fee: uint32(w.int()),
		}
	case "0x29ef05ca":
		return market.Donate{
			Pool: market.PoolID(w.hash()), Sender: w.addr(), Amount0: w.next(), Amount1: w.next(),
		}
	case "0xe9c42593":
		return market.ProtocolFeeUpdated{Pool: market.PoolID(w.hash()), ProtocolFee: uint32(w.int())}
	case "0xddf252ad":
		return market.TransferNFT{From: w.addr(), To: w.addr(), ID: w.unsigned().Lo}
	}

	return nil
}

func address(s string) market.Address {
	a, err := market.ParseAddress(s)
	if err != nil {
		panic(err)
	}
	return a
}

func word(s string) market.Hash {
	h, err := market.ParsePoolID(s)
	if err != nil {
		panic(err)
	}
	return market.Hash(h)
}

// number reads a decimal, or hex digits after 0x.
func number(s string) uint64 {
	base := 10
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = rest, 16
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		panic(err)
	}
	return n
}
