package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

func decoder() *Feed {
	return &Feed{cfg: Config{PoolManager: manager, PositionManager: positions}}
}

func TestTopics(t *testing.T) {
	f := func(got market.Hash, want string) {
		t.Helper()
		if got.String() != want {
			t.Errorf("topic %s; want %s", got, want)
		}
	}

	f(managerTopics[0], "0xdd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438")
	f(managerTopics[1], "0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec")
	f(managerTopics[2], "0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f")
	f(managerTopics[3], "0x29ef05caaff9404b7cb6d1c0e9bbae9eaa7ab2541feba1a9c4248594c08156cb")
	f(managerTopics[4], "0xe9c42593e71f84403b84352cd168d693e2c9fcd1fdbcc3feb21d92b43e6696f9")
	f(positionTopics[0], "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	f(positionTopics[1], "0x9709492381f90bdc5938bb4e3b8e35b7e0eac8af058619e27191c5a40ce79fa9")
	f(positionTopics[2], "0xa0ebb1de82db929a9153472f37d3a66dbede4436258311ad0f52a35a2c91d150")
}

// The filter of a block with a single log, OwnershipTransferred(0, the owner)
// of a contract, as a node gave it: the places of its bytes that are not 0.
func TestBloom(t *testing.T) {
	var b fakeBlock
	contract, _ := market.ParseAddress("0x5fbdb2315678afecb367f032d93f642f64180aa3")
	owner, _ := market.ParseAddress("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
	b.setBloom(rawLog(contract, []market.Hash{
		topic("OwnershipTransferred(address,address)"), {}, padded(owner)}))

	got := ""
	for i, v := range b.bloom {
		if v != 0 {
			got += fmt.Sprintf("%d:%02x ", i, v)
		}
	}

	want := "25:80 81:01 99:40 100:02 107:01 110:08 127:40 155:02 195:40 199:20 212:20 222:20 "
	if got != want {
		t.Errorf("filter\n got %s\nwant %s", got, want)
	}
}

func TestDecode(t *testing.T) {
	f := func(l object, want market.Event, problem string) {
		t.Helper()
		var w wireLog
		b, _ := json.Marshal(l)
		if err := json.Unmarshal(b, &w); err != nil {
			t.Fatal(err)
		}
		got, err := decoder().decode(market.Address(w.Address), w.Topics, w.Data)
		if problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) ||
			problem == "" && (err != nil || got != want) {
			t.Errorf("got %+v, %v\nwant %+v, %q", got, err, want, problem)
		}
	}
	id, who := market.Hash{1}, market.Address{9}
	one := clmath.U256{0, 1 << 32}
	m := func(topic int, data ...market.Hash) object {
		return rawLog(manager, []market.Hash{managerTopics[topic], id, padded(who)}, data...)
	}
	f(swapped(5), market.Swap{Pool: market.PoolID(id), Sender: who,
		Amount0: clmath.I128{Lo: 5}.Neg(), Amount1: clmath.I128{Lo: 5}, SqrtPriceX96: one,
		Liquidity: clmath.U128{Lo: 77}, Tick: -3, Fee: 3000}, "")
	f(m(2, id, id, sqrtOne(), id, number(1), number(1)), nil, "integer is out of bounds")
	f(m(2, number(1), number(1), sqrtOne(), number(1), number(887273), number(1)), nil, "tick is out")
	f(m(2, number(1), number(1), sqrtOne(), number(1), number(1<<23), number(1)), nil, "integer is")
	f(m(2, number(1), number(1), number(1), number(1), number(1), number(1)), nil, "sqrtPriceX96 is")
	f(m(2, number(1), number(1), id, number(1), number(1), number(1)), nil, "sqrtPriceX96 is out")
	f(m(2, number(1), number(1), sqrtOne(), number(1), number(1), number(1000001)), nil, "fee is out")
	f(m(2, number(1), number(1), sqrtOne(), number(1), number(1), number(maxFee)), market.Swap{
		Pool: market.PoolID(id), Sender: who, Amount0: clmath.I128{Lo: 1}, Amount1: clmath.I128{Lo: 1},
		SqrtPriceX96: one, Liquidity: clmath.U128{Lo: 1}, Tick: 1, Fee: maxFee}, "")
	f(m(2, number(1)), nil, "event has 3 topics and 32 bytes of data; want 3 and 192")
	f(m(1, number(-887272), number(887272), number(-7), number(4)), market.ModifyLiquidity{
		Pool: market.PoolID(id), Sender: who, TickLower: -887272, TickUpper: 887272,
		LiquidityDelta: clmath.I128{Lo: 7}.Neg(), Salt: number(4)}, "")
	f(m(1, number(5), number(5), number(1), number(1)), nil, "tickUpper is out of bounds: 5")
	f(m(3, id, number(8)), market.Donate{Pool: market.PoolID(id), Sender: who,
		Amount0: clmath.U256{0, 0, 0, 1 << 56}, Amount1: clmath.U256{8}}, "")
	f(rawLog(manager, []market.Hash{managerTopics[4], id}, number(1000<<12|999)),
		market.ProtocolFeeUpdated{Pool: market.PoolID(id), ProtocolFee: 1000<<12 | 999}, "")
	f(rawLog(manager, []market.Hash{managerTopics[4], id}, number(1001)), nil, "protocolFee is out")
	f(rawLog(manager, []market.Hash{managerTopics[4], id}, number(1001<<12)), nil, "protocolFee is")
	f(rawLog(positions, []market.Hash{positionTopics[0], {}, padded(who), number(3)}),
		market.TransferNFT{To: who, ID: 3}, "")
	f(rawLog(positions, []market.Hash{positionTopics[0], {}, padded(who), id}), nil, "integer is out")
	f(rawLog(positions, []market.Hash{positionTopics[1], number(3), padded(who)}),
		market.Subscription{ID: 3, Subscriber: who}, "")
	f(rawLog(positions, []market.Hash{positionTopics[2], number(3), padded(who)}),
		market.Unsubscription{ID: 3, Subscriber: who}, "")
	f(rawLog(positions, []market.Hash{managerTopics[2]}), nil, "was not asked for")
	f(rawLog(manager, []market.Hash{positionTopics[0]}), nil, "was not asked for")

	pool := created(token)
	e := market.Initialize{Currency1: token, Fee: 3000, TickSpacing: 60, SqrtPriceX96: one}
	e.Pool = poolID(&e)
	f(pool, e, "")
	pool["topics"].([]string)[1] = id.String()
	f(pool, nil, "pool id is out of bounds")
	f(created(market.Address{}), nil, "currency1 is out of bounds")
}

// The bounds of an event's fields are those of the contracts, and the values at the bounds
// are taken.
func TestEventBounds(t *testing.T) {
	good := market.Initialize{
		Currency0: market.Address{1}, Currency1: market.Address{2}, Fee: 3000, TickSpacing: 60,
		Hooks: market.Address{3}, SqrtPriceX96: clmath.U256{0, 1 << 32}, Tick: 5,
	}
	f := func(problem string, change func(*market.Initialize)) {
		t.Helper()
		e := good
		change(&e)
		e.Pool = poolID(&e)
		var data []byte
		for _, w := range []market.Hash{
			number(int64(e.Fee)), number(int64(e.TickSpacing)), padded(e.Hooks), e.SqrtPriceX96.Bytes32(), number(int64(e.Tick)),
		} {
			data = append(data, w[:]...)
		}
		topics := []word{word(managerTopics[0]), word(e.Pool), word(padded(e.Currency0)), word(padded(e.Currency1))}

		got, err := decoder().decode(manager, topics, data)
		if problem == "" && (err != nil || got != e) {
			t.Errorf("%+v was decoded as %+v, %v", e, got, err)
		}
		if problem != "" && (err == nil || !strings.Contains(err.Error(), problem+" is out of bounds")) {
			t.Errorf("%+v was answered %v; want %s out of bounds", e, err, problem)
		}
	}
	fee := func(v uint32) func(*market.Initialize) { return func(e *market.Initialize) { e.Fee = v } }
	spacing := func(v int32) func(*market.Initialize) { return func(e *market.Initialize) { e.TickSpacing = v } }
	tick := func(v int32) func(*market.Initialize) { return func(e *market.Initialize) { e.Tick = v } }
	price := func(v clmath.U256, more int64) func(*market.Initialize) {
		if v.AddUint64(&v, uint64(max(more, 0))); more < 0 {
			v.SubUint64(&v, uint64(-more))
		}
		return func(e *market.Initialize) { e.SqrtPriceX96 = v }
	}

	f("", fee(0))
	f("", fee(1_000_000))
	f("", fee(market.DynamicFee))
	f("fee", fee(1_000_001))
	f("fee", fee(market.DynamicFee+1))
	f("", spacing(1))
	f("", spacing(32767))
	f("tickSpacing", spacing(0))
	f("tickSpacing", spacing(-1))
	f("tickSpacing", spacing(32768))
	f("", tick(clmath.MinTick))
	f("", tick(clmath.MaxTick))
	f("tick", tick(clmath.MinTick-1))
	f("tick", tick(clmath.MaxTick+1))
	f("", price(clmath.MinSqrtPrice, 0))
	f("", price(clmath.MaxSqrtPrice, 0))
	f("sqrtPriceX96", price(clmath.MinSqrtPrice, -1))
	f("sqrtPriceX96", price(clmath.MaxSqrtPrice, 1))
	f("currency1", func(e *market.Initialize) { e.Currency1 = e.Currency0 })
	f("currency1", func(e *market.Initialize) { e.Currency0, e.Currency1 = e.Currency1, e.Currency0 })
}

// Whatever a node sends: a log is refused or becomes an event within bounds.
func FuzzDecode(f *testing.F) {
	for _, l := range append(minted(5), swapped(3), created(token), approved()) {
		b, _ := json.Marshal(l)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var w wireLog
		if json.Unmarshal(b, &w) != nil {
			return
		}
		d := decoder()
		e, err := d.decode(market.Address(w.Address), w.Topics, w.Data)
		if s, ok := e.(market.Swap); ok && err == nil {
			if s.Tick < clmath.MinTick || s.Tick > clmath.MaxTick || s.Fee > maxFee {
				t.Errorf("swap %+v", s)
			}
		}

		if (e == nil) == (err == nil) {
			t.Errorf("event %v, error %v", e, err)
		}

		_, _ = d.assembleBlocks([]wireLog{w}, 0, 1<<40, false)
	})
}

// A header that passes the check is written and read again as the same block, and
// a name is never longer than its limit.
func FuzzWire(f *testing.F) {
	hash := market.Hash{0xab, 31: 1}.String()
	for _, header := range []object{
		{"number": "0x1", "hash": hash, "parentHash": hash, "timestamp": "0x6553f100", "logsBloom": "0x00"},
		{"number": "0x1", "hash": hash, "timestamp": "0x0", "receiptsRoot": hash},
		{"number": "0x2", "hash": hash, "timestamp": "0x1"},
		{"number": "0x1", "hash": "0x00", "logsBloom": "0xzz", "timestamp": "0x"},
		{"gasUsed": "0x5208", "effectiveGasPrice": "0x1234567890abcdef0", "status": 1},
	} {
		b, err := json.Marshal(header)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(fmt.Appendf(nil, `"0x%x"`, "TIDE\x00\x00"))

	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again wireHeader
		if json.Unmarshal(b, &h) == nil && h.check(1) == nil {
			head := h.head()
			text := fmt.Sprintf(`{"number":"0x%x","hash":%q,"timestamp":"0x%x"}`,
				head.Number, head.Hash, uint64(head.Time))
			if err := json.Unmarshal([]byte(text), &again); err != nil || again.check(1) != nil || again.head() != head {
				t.Errorf("%s is %+v; written as %s it is %v, %+v", b, head, text, err, again)
			}
		}

		var r wireReceipt
		_ = json.Unmarshal(b, &r)
		var answer hexBytes
		if json.Unmarshal(b, &answer) == nil {
			if s := text(&answer).String(); len(s) > texts.MaxLen {
				t.Errorf("text of %d bytes", len(s))
			}
		}
	})
}

// The seeds of FuzzWire that are headers of block 1 pass the check.
func TestWireHeader(t *testing.T) {
	f := func(text, problem string) {
		t.Helper()
		var h wireHeader
		err := json.Unmarshal([]byte(text), &h)
		if err == nil {
			err = h.check(1)
		}
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: got %v; want %q", text, err, problem)
		}
	}

	hash := market.Hash{31: 7}.String()
	f(`{"number":"0x1","hash":"`+hash+`","timestamp":"0x0"}`, "")
	f(`{"number":"0x2","hash":"`+hash+`","timestamp":"0x0"}`, "asked for block 1, got 2")
	f(`{"number":"0x1","timestamp":"0x0"}`, "lacks its number, hash or timestamp")
	f(`{"number":"0x1","hash":"`+hash+`"}`, "lacks its number, hash or timestamp")
	f(`{"hash":"`+hash+`","timestamp":"0x0"}`, "lacks its number, hash or timestamp")
}
