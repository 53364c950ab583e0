package archive

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tidemark/rankings/clmath"
	"tidemark/rankings/field"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

var update = flag.Bool("update", false, "write the golden file again")

// maker makes spans that follow one another, with everything that a span can have.
type maker struct {
	r    *rand.Rand
	at   market.Head
	fork byte
}

func newMaker(seed uint64, start uint64) *maker {
	return &maker{r: rand.New(rand.NewPCG(seed, 7)), at: market.Head{Number: start - 1}}
}

func (m *maker) bytes(b []byte) {
	for i := range b {
		b[i] = byte(m.r.Uint32())
	}
}

func (m *maker) u256() (u clmath.U256) {
	for i := range m.r.IntN(5) {
		u[i] = m.r.Uint64() >> m.r.IntN(64)
	}
	return u
}

func (m *maker) u128() clmath.U128 {
	return clmath.U128{Lo: m.r.Uint64() >> m.r.IntN(64), Hi: m.r.Uint64() >> m.r.IntN(64) * uint64(m.r.IntN(2))}
}

func (m *maker) i128() clmath.I128 {
	u := m.u128()
	v := clmath.I128{Lo: u.Lo, Hi: int64(u.Hi >> 1)}
	if m.r.IntN(2) == 0 {
		return v.Neg()
	}
	return v
}

func (m *maker) event() market.Event {
	var pool market.PoolID
	var a, b market.Address
	var salt market.Hash
	m.bytes(pool[:])
	m.bytes(a[:])
	m.bytes(b[:])
	m.bytes(salt[:])
	tick := int32(m.r.IntN(2*887272) - 887272)

	switch m.r.IntN(8) {
	case 0:
		return market.Initialize{
			Pool: pool, Currency0: a, Currency1: b, Fee: market.DynamicFee, TickSpacing: 60,
			Hooks: a, SqrtPriceX96: m.u256(), Tick: tick,
		}
	case 1:
		return market.ModifyLiquidity{
			Pool: pool, Sender: a, TickLower: tick, TickUpper: tick + 60, LiquidityDelta: m.i128(), Salt: salt,
		}
	case 2:
		return market.Donate{Pool: pool, Sender: a, Amount0: m.u256(), Amount1: m.u256()}
	case 3:
		return market.ProtocolFeeUpdated{Pool: pool, ProtocolFee: 500<<12 | 300}
	case 4:
		return market.TransferNFT{From: a, To: b, ID: m.r.Uint64()}
	case 5:
		return market.Subscription{ID: 7, Subscriber: a}
	case 6:
		return market.Unsubscription{ID: 7, Subscriber: b}
	}
	return market.Swap{
		Pool: pool, Sender: a, Amount0: m.i128(), Amount1: m.i128(), SqrtPriceX96: m.u256(),
		Liquidity: m.u128(), Tick: tick, Fee: 3000,
	}
}

// span makes the next span: of some blocks, of which some have events.
func (m *maker) span() market.Span {
	from := m.at.Number + 1
	s := market.Span{
		From: from, To: from + uint64(m.r.IntN(20)), Parent: m.at.Hash,
		Final: m.r.IntN(2) == 0, Strict: m.r.IntN(2) == 0,
	}
	time := m.at.Time
	for n := s.From; n <= s.To; n++ {
		time += int64(m.r.IntN(30))
		if m.r.IntN(4) == 0 {
			s.Blocks = append(s.Blocks, m.block(n, time))
		}
	}

	for range m.r.IntN(3) {
		s.Tokens = append(s.Tokens, m.token())
	}
	s.Time = time
	m.bytes(s.Hash[:])
	s.Hash[0] = m.fork
	m.at = s.Head()
	return s
}

func (m *maker) block(n uint64, time int64) market.Block {
	b := market.Block{Number: n, Time: time}
	index := uint32(0)
	for i := range 1 + m.r.IntN(3) {
		tx := market.Tx{GasKnown: m.r.IntN(2) == 0}
		m.bytes(tx.Hash[:])
		if tx.GasKnown {
			tx.GasUsed, tx.GasPrice = m.r.Uint64()>>40, m.u128()
		}
		b.Txs = append(b.Txs, tx)
		for range 1 + m.r.IntN(3) {
			index += 1 + uint32(m.r.IntN(5))
			b.Logs = append(b.Logs, market.Log{Index: index, Tx: uint32(i), Event: m.event()})
		}
	}

	return b
}

func (m *maker) token() (t market.TokenMeta) {
	m.bytes(t.Address[:])
	if t.BadDecimals = m.r.IntN(3) == 0; t.BadDecimals {
		return t
	}
	t.Symbol, t.Name, t.Decimals = texts.New("TKN"), texts.New(""), uint8(m.r.IntN(37))
	return t
}

func (m *maker) spans(n int) (list []market.Span) {
	for range n {
		list = append(list, m.span())
	}
	return list
}

func encodeSpan(s market.Span) []byte {
	c := field.Coder{}
	walkSpan(&c, &s)
	return c.Buf
}

func decodeSpan(b []byte) (s market.Span, err error) {
	c := field.Reader(b)
	walkSpan(&c, &s)
	return s, c.Done()
}

func TestSpansReadBackAsWritten(t *testing.T) {
	m := newMaker(1, 1000)
	for range 200 {
		want := m.span()
		b := encodeSpan(want)
		got, err := decodeSpan(b)
		if err != nil {
			t.Fatalf("cannot decode %+v: %v", want, err)
		}

		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("a span read back differently (-want +got):\n%s", d)
		}
		for n := range b {
			if _, err := decodeSpan(b[:n:n]); err == nil {
				t.Fatalf("the first %d of %d bytes decode", n, len(b))
			}
		}
	}
}

// What is no kind of event is refused, and never read as none.
func TestUnknownEvents(t *testing.T) {
	for _, kind := range []byte{0, 0x7f} {
		c := field.Reader(nil)
		if e := readEvent(&c, kind); e != nil || c.Done() == nil {
			t.Errorf("kind %d is read as %v, %v", kind, e, c.Done())
		}
	}
}

// TestGolden holds the drawing of the format against the code: every field of a span
// with every kind of event, and the headers around it.
func TestGolden(t *testing.T) {
	var out bytes.Buffer
	span := goldenSpan()
	c := field.Reader(encodeSpan(span))
	c.Note = func(field string, raw []byte) { fmt.Fprintf(&out, "%-16s %x\n", field, raw) }
	out.WriteString("span\n")
	walkSpan(&c, new(market.Span))
	if err := c.Done(); err != nil {
		t.Fatal(err)
	}

	p := packing()
	head := frame{first: span.From, last: span.To, finalized: 900, spans: 1, events: 8}
	b := p.appendFrame([]byte("prefix"), head, encodeSpan(span))[len("prefix"):]
	fmt.Fprintf(&out, "\nframe header\n%x\n", b[:frameHead])
	id := Identity{Chain: 42161, PoolManager: market.Address{0xaa}, PositionManager: market.Address{0xbb}, Start: 1000}
	h := fileHeader{id, market.Head{Number: 999, Hash: market.Hash{9}, Time: 1_700_000_000}}
	fmt.Fprintf(&out, "\nfile header\n%x\n", h.append(nil))
	n := content{last: span.Head(), spans: 1, events: 8, finalized: 900}
	fmt.Fprintf(&out, "\nfooter\n%x\n", n.append(nil))

	const path = "testdata/format.txt"
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); d != "" {
		t.Errorf("the format is another (-golden +code):\n%s", d)
	}
}

// goldenSpan is one of each.
func goldenSpan() market.Span {
	weth := market.TokenMeta{
		Address: market.Address{0x70}, Symbol: texts.New("WETH"), Name: texts.New("Wrapped Ether"), Decimals: 18,
	}
	pool := market.PoolID{0x11}
	one := func(lo uint64) clmath.U256 { return clmath.U256{lo} }

	return market.Span{
		From: 1000, To: 1004, Parent: market.Hash{9}, Hash: market.Hash{8}, Time: 1_700_000_048, Strict: true,
		Tokens: []market.TokenMeta{weth, {Address: market.Address{0x71}, BadDecimals: true}},
		Blocks: []market.Block{
			{
				Number: 1001, Time: 1_700_000_012,
				Txs: []market.Tx{{Hash: market.Hash{1}}},
				Logs: []market.Log{
					{Index: 4, Event: market.Initialize{
						Pool: pool, Currency1: market.Address{0x70}, Fee: 3000, TickSpacing: 60, SqrtPriceX96: one(1 << 40), Tick: -1,
					}},
					{Index: 5, Event: market.ProtocolFeeUpdated{Pool: pool, ProtocolFee: 300}},
				},
			},
			{
				Number: 1004, Time: 1_700_000_048,
				Txs: []market.Tx{
					{Hash: market.Hash{2}, GasUsed: 21000, GasPrice: clmath.U128{Lo: 1_000_000_000}, GasKnown: true},
					{Hash: market.Hash{3}},
				},
				Logs: []market.Log{
					{Index: 0, Event: market.TransferNFT{To: market.Address{0xcc}, ID: 300}},
					{Index: 1, Event: market.ModifyLiquidity{
						Pool: pool, Sender: market.Address{0xbb}, TickLower: -60, TickUpper: 60,
						LiquidityDelta: clmath.I128{Lo: 1_000_000}, Salt: market.Hash{31: 1},
					}},
					{Index: 2, Event: market.Subscription{ID: 300, Subscriber: market.Address{0xdd}}},
					{Index: 3, Event: market.Unsubscription{ID: 300, Subscriber: market.Address{0xdd}}},
					{Index: 9, Tx: 1, Event: market.Swap{
						Pool: pool, Sender: market.Address{0xcc}, Amount0: clmath.I128{Lo: 500}.Neg(),
						Amount1: clmath.I128{Lo: 498}, SqrtPriceX96: one(1 << 41), Liquidity: clmath.U128{Lo: 1_000_000},
						Tick: 2, Fee: 3000,
					}},
					{Index: 10, Tx: 1, Event: market.Donate{
						Pool: pool, Sender: market.Address{0xcc}, Amount0: one(1), Amount1: one(0),
					}},
				},
			},
		},
	}
}

// A text longer than feeds keep is read as they would have cut it, whoever wrote it.
func TestLongTexts(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		meta := market.TokenMeta{Symbol: texts.New(text), Name: texts.New("USD")}
		s, err := decodeSpan(encodeSpan(market.Span{Tokens: []market.TokenMeta{meta}}))
		if err != nil || len(s.Tokens) != 1 || s.Tokens[0].Symbol.String() != want || s.Tokens[0].Name != meta.Name {
			t.Errorf("a symbol of %d bytes: read as %+v, %v", len(text), s.Tokens, err)
		}
	}

	most := strings.Repeat("x", texts.MaxLen)
	f(most, most)
	f(most+"x", most)
	f(most[1:]+"é", most[1:])
	f(strings.Repeat(most, 300), most)
}

// isCut reports whether a token may have lost the end of a text that was too long.
func isCut(t market.TokenMeta) bool {
	return max(len(t.Symbol.String()), len(t.Name.String())) > texts.MaxLen-utf8.UTFMax
}

// FuzzSpan holds that whatever decodes encodes to the same bytes, unless a text was cut,
// and that no bytes make the decoder panic or allocate without end.
func FuzzSpan(f *testing.F) {
	m := newMaker(2, 1)
	for range 20 {
		f.Add(encodeSpan(m.span()))
	}

	f.Add(encodeSpan(goldenSpan()))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSpan(b)
		if err != nil {
			return
		}
		if again := encodeSpan(s); !bytes.Equal(b, again) && !slices.ContainsFunc(s.Tokens, isCut) {
			t.Errorf("%x decodes as %+v, which encodes as %x", b, s, again)
		}
	})
}

// FuzzFile holds that no bytes of a file make reading it panic, and that what it gives
// follows one another.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	a := openAt(f, dir)
	m := newMaker(3, 100)
	appendAll(f, a, m.spans(12))
	if err := a.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(a.pathOf(100))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])

	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/00000000000000000100.spans", b, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(Config{Identity: identity, Dir: dir})
		if err != nil {
			return
		}
		defer a.Close()
		st := a.Status()
		if st.Segments == 0 {
			return
		}
		r, err := a.ReadAfter(st.Base)
		if err != nil || r == nil {
			return
		}
		defer r.Close()
		for at := st.Base; ; {
			s, err := r.Next()
			if s == nil || err != nil {
				return
			}
			if err := checkFollows(at, s); err != nil {
				t.Fatal(err)
			}
			at = s.Head()
		}
	})
}
