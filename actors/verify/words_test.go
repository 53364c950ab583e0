package verify

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The first word of a pool has its parts where the contracts have them, and the LP fee is
// not compared.
func TestSlot0(t *testing.T) {
	p := &market.Pool{
		SqrtPriceX96: clmath.U256{0x8877665544332211, 0xffeeddccbbaa9988, 0x1234abcd}, Tick: -2, ProtocolFee: 0x0a0b0c,
	}
	want := unhex(t, "000000 000000 0a0b0c fffffe 1234abcd ffeeddccbbaa9988 8877665544332211")
	if got := slot0(p); !bytes.Equal(got[:], want) {
		t.Errorf("slot0 is %x; want %x", got, want)
	}

	p.Tick = 0x010203
	copy(want[9:], []byte{1, 2, 3})
	if got := slot0(p); !bytes.Equal(got[:], want) {
		t.Errorf("slot0 is %x; want %x", got, want)
	}
	mask := unhex(t, "000000 000000"+strings.Repeat("ff", 26))
	if !bytes.Equal(slot0Mask[:], mask) {
		t.Errorf("compared are %x; want %x", slot0Mask, mask)
	}
}

// Words are asked for as the ABI has them: the place of the list, its length, its items.
func TestExtsload(t *testing.T) {
	got := extsload([]slot{{0: 0xaa}, {31: 0xbb}})
	want := append(selector("extsload(bytes32[])"), unhex(t, strings.Repeat("00", 31)+"20"+strings.Repeat("00", 31)+"02"+
		"aa"+strings.Repeat("00", 62)+"bb")...)
	if !bytes.Equal(got, want) {
		t.Errorf("asked %x; want %x", got, want)
	}
	if got := hex.EncodeToString(selector("balanceOf(address)")); got != "70a08231" {
		t.Errorf("balanceOf is %s; want 70a08231", got)
	}
}

// An answer of words is taken as a whole: all that were asked for, and nothing behind them.
func TestReadWords(t *testing.T) {
	place, words := strings.Repeat("00", 31)+"20", strings.Repeat("aa", 32)+strings.Repeat("bb", 32)
	count := func(n byte) string { return hex.EncodeToString(append(make([]byte, 31), n)) }
	f := func(what, text string, ok bool) {
		t.Helper()
		r := reader{ask: answering{text: text}}
		got, err := r.readWords(t.Context(), make([]slot, 2))
		if (err == nil) != ok || ok && (len(got) != 2 || got[0][0] != 0xaa || got[1][31] != 0xbb) {
			t.Errorf("%s: %x, %v", what, got, err)
		}
	}

	f("two words", "0x"+place+count(2)+words, true)
	f("half a byte behind them", "0x"+place+count(2)+words+"c", false)
	f("what is no number behind them", "0x"+place+count(2)+words+"zz", false)
	f("a word behind them", "0x"+place+count(2)+words+place, false)
	f("one word", "0x"+place+count(1)+words[:64], false)
	f("one word, by its count", "0x"+place+count(1)+words, false)
	f("three words, by their count", "0x"+place+count(3)+words, false)
	f("no words", "0x"+place+count(0), false)
	f("nothing", "0x", false)

	r := reader{ask: answering{err: errors.New("pruned")}, block: market.Head{Number: 9}}
	if _, err := r.readWords(t.Context(), make([]slot, 2)); err == nil || err.Error() != "extsload at block 9: eth_call: pruned" {
		t.Errorf("refused: %v", err)
	}
}

// A mapping's word is at the hash of its key and then its place, which is that of the pool
// and a number.
func TestPlaces(t *testing.T) {
	id := market.PoolID{0x11, 31: 0x22}
	at := keccak(unhex(t, hex.EncodeToString(id[:])+strings.Repeat("00", 31)+"06"))
	f := func(what string, got slot, key string, place byte) {
		t.Helper()
		end := at.plus(place)
		if want := keccak(append(unhex(t, key), end[:]...)); got != want {
			t.Errorf("%s is at %x; want %x", what, got, want)
		}
	}

	if got := poolSlot(id); got != at {
		t.Errorf("the pool is at %x; want %x", got, at)
	}
	f("tick -1", tickSlot(at, -1), strings.Repeat("ff", 32), 4)
	f("tick 258", tickSlot(at, 258), strings.Repeat("00", 30)+"0102", 4)
	f("the ticks from 256 on", bitmapSlot(at, 1), strings.Repeat("00", 31)+"01", 5)
	owner, salt := market.Address{0xaa, 19: 0xbb}, saltOf(0x0102)
	key := keccak(unhex(t, "aa"+strings.Repeat("00", 18)+"bb fffffe 000003"+strings.Repeat("00", 30)+"0102"))
	f("the position", positionSlot(at, owner, -2, 3, salt), hex.EncodeToString(key[:]), 6)
}

// answering answers every call with one text or one error.
type answering struct {
	text string
	err  error
}

func (a answering) Ask(_ context.Context, calls []endpoint.Call) error {
	for i := range calls {
		*calls[i].Result.(*string), calls[i].Error = a.text, a.err
	}
	return nil
}

// A balance is any number of 32 bytes at most; what is none is not known.
func TestReadBalances(t *testing.T) {
	f := func(text string, err error, known bool, want uint64) {
		t.Helper()
		r := reader{ask: answering{text, err}}
		held, knows, failed := r.readBalances(t.Context(), []market.Address{{}, {1}})
		for i := range knows {
			if failed != nil || knows[i] != known || held[i] != (clmath.U256{want}) {
				t.Errorf("%q, %v: %s, known %t, %v; want %d, %t", text, err, held[i].Dec(), knows[i], failed, want, known)
			}
		}
	}

	f("0x7", nil, true, 7)
	f("0x07", nil, true, 7)
	f("0x"+strings.Repeat("00", 31)+"09", nil, true, 9)
	f("0x"+strings.Repeat("00", 32)+"09", nil, false, 0)
	f("0x", nil, false, 0)
	f("", nil, false, 0)
	f("0xzz", nil, false, 0)
	f("0x07", errors.New("reverted"), false, 0)
}

// A contract that reverts says that there is no such NFT; any other error says nothing.
func TestReverted(t *testing.T) {
	f := func(e endpoint.Error, want bool) {
		t.Helper()
		if got := reverted(&e); got != want {
			t.Errorf("%+v: reverted %t; want %t", e, got, want)
		}
		r := reader{ask: answering{err: &e}}
		owners, err := r.readOwners(t.Context(), []uint64{7})
		if (err == nil) != want || want && owners[0] != (market.Address{}) {
			t.Errorf("%+v: the owner is %v, %v", e, owners, err)
		}
	}

	f(endpoint.Error{Kind: endpoint.Refused, Code: 3}, true)
	f(endpoint.Error{Kind: endpoint.Refused, Code: -32000, Text: "Execution Reverted"}, true)
	f(endpoint.Error{Kind: endpoint.Refused, Code: -32000, Text: "no such block"}, false)
	f(endpoint.Error{Kind: endpoint.Limited, Code: 3, Text: "reverted"}, false)
	f(endpoint.Error{Kind: endpoint.TimedOut}, false)
}

// NFTs that only one side knows are named, whichever it is.
func TestCounts(t *testing.T) {
	st := ledgerOf(t, "", "") // has the NFTs 1 to 4
	f := func(next uint64, want ...string) {
		t.Helper()
		c := deploy(st)
		c.next = next
		var got []string
		v := compare(t, c, st, Config{})
		for _, d := range v.Differences {
			got = append(got, fmt.Sprintf("%s %s: %s, %s", d.ID, d.Field, d.Ledger, d.Contract))
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") || v.Different != len(want) {
			t.Errorf("next id %d: %q; want %q", next, got, want)
		}
	}

	f(5)
	f(6, "5 minted: no, yes")
	f(7, "5 minted: no, yes", "6 minted: no, yes")
	f(4, "4 minted: 4, 3")
	f(3, "4 minted: 4, 2")

	c := &comparison{st: st}
	c.reportMissing(5, 5+rankings.MaxDifferences+1_000_000)
	if c.out.Different != rankings.MaxDifferences+1_000_000 || len(c.out.Differences) != rankings.MaxDifferences {
		t.Errorf("%d are missing, %d are named", c.out.Different, len(c.out.Differences))
	}
}

// Fees beyond what the contracts can move are never taken out.
func TestMostMoved(t *testing.T) {
	most := clmath.U256{^uint64(0), 1<<63 - 1}
	var more clmath.U256
	more.AddUint64(&most, 1)
	f := func(fees, want clmath.U256) {
		t.Helper()
		var c claim
		if c.add(&clmath.U256{5}, &fees); c.sum != want || c.shares != 1 {
			t.Errorf("5 and fees of %s are %s of %d shares; want %s", fees.Dec(), c.sum.Dec(), c.shares, want.Dec())
		}
	}

	f(clmath.U256{}, clmath.U256{5})
	f(most, clmath.U256{4, 1 << 63})
	f(more, clmath.U256{5})
}

// Of many tokens that a pool manager has too little of, all are counted and a hundred are named.
// Liquidity that is no NFT's may be taken out too.
func TestManyShortfalls(t *testing.T) {
	const pools = rankings.MaxDifferences/2 + 1
	l, m := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager}), script.New()
	var lines []string
	for i := range pools {
		lines = append(lines, fmt.Sprintf("token A%d 18", i), fmt.Sprintf("token B%d 18", i))
	}
	for i := range pools {
		share := fmt.Sprintf("direct bob P%d -600 600 1e18", i)
		if i%2 == 0 {
			share = fmt.Sprintf("mint %d alice P%d -600 600 1e18", i/2+1, i)
		}
		lines = append(lines, fmt.Sprintf("pool P%d A%d B%d 3000 60", i, i, i), share)
	}
	for _, line := range lines {
		known, err := m.Set(strings.Fields(line))
		if !known {
			var span *market.Span
			if span, err = m.Span(l.Freeze(), line); err == nil {
				_, err = l.Apply(span)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}

	c := deploy(l.Freeze())
	for i := range c.st.Tokens.Len() {
		c.balances[c.st.Tokens.At(i).Address] = clmath.U256{1}
	}
	v := compare(t, c, c.st, Config{})
	if v.Different != 0 || v.Short != 2*pools || len(v.Shortfalls) != rankings.MaxDifferences {
		t.Errorf("%d differences, %d tokens short, %d of them named; want 0, %d, %d", v.Different, v.Short,
			len(v.Shortfalls), 2*pools, rankings.MaxDifferences)
	}
}

// A token is asked for the pool manager's balance; the native one is no token.
func TestBalanceCalls(t *testing.T) {
	r := reader{manager: testManager, block: market.Head{Number: 255}}
	var result string
	call := r.balanceCall(market.Address{7}, &result)
	msg := call.Args[0].(map[string]string)
	want := "0x70a08231" + strings.Repeat("0", 24) + testManager.String()[2:]
	if to := (market.Address{7}).String(); call.Method != "eth_call" || msg["to"] != to || msg["data"] != want ||
		call.Args[1] != "0xff" {
		t.Errorf("%s %v; want %s", call.Method, call.Args, want)
	}

	call = r.balanceCall(market.Address{}, &result)
	if call.Method != "eth_getBalance" || call.Args[0] != testManager.String() || call.Args[1] != "0xff" {
		t.Errorf("%s %v", call.Method, call.Args)
	}
}

// headerless has no block.
type headerless struct{}

func (headerless) Ask(context.Context, []endpoint.Call) error { return nil }

// A node that does not have the block cannot be compared with.
func TestNoBlock(t *testing.T) {
	r := reader{ask: headerless{}, block: market.Head{Number: 9, Hash: market.Hash{1}}}
	if err := r.checkBlock(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "block 9 is not 0x01") {
		t.Errorf("%v; want that the node does not have it", err)
	}
}

// An NFT whose call reverts has no owner, whatever else is answered.
func TestReadOwners(t *testing.T) {
	owner := "0x" + strings.Repeat("00", 12) + strings.Repeat("07", 20)
	f := func(text string, err error, want market.Address, problem string) {
		t.Helper()
		r := reader{ask: answering{text, err}}
		owners, failed := r.readOwners(t.Context(), []uint64{1, 2})
		if problem != "" {
			if failed == nil || !strings.Contains(failed.Error(), problem) {
				t.Errorf("%q, %v: %v; want %q", text, err, failed, problem)
			}
			return
		}
		if failed != nil || len(owners) != 2 || owners[0] != want || owners[1] != want {
			t.Errorf("%q, %v: %v, %v; want %s", text, err, owners, failed, want)
		}
	}

	seven := market.Address([]byte(strings.Repeat("\x07", 20)))
	f(owner, nil, seven, "")
	f(owner, &endpoint.Error{Kind: endpoint.Refused, Code: 3}, market.Address{}, "")
	f(owner+"00", nil, market.Address{}, "")
	f(owner[:64], nil, market.Address{}, "")
	f("0x", nil, market.Address{}, "")
	f(owner[:65]+"zz", nil, market.Address{}, "")
	f(owner, &endpoint.Error{Kind: endpoint.ServerError, Text: "gone"}, market.Address{}, "ownerOf at block 0: ")
}

// Liquidity that is no NFT's is found by its ticks; without liquidity it has none.
func TestTicksOf(t *testing.T) {
	st := ledgerOf(t, "direct bob P -60000 60000 -1e18", "")
	c := &comparison{st: st}
	found := 0
	for i := range st.NonNFT.Len() {
		d := st.NonNFT.At(i)
		lower, upper, ok := c.ticksOf(d)
		if ok != !d.Liquidity.IsZero() {
			t.Errorf("%+v has ticks: %t", d, ok)
		}
		if ok {
			found++
			if a, b := st.Ticks.At(lower), st.Ticks.At(upper); a.Tick != d.TickLower || b.Tick != d.TickUpper ||
				a.Pool != d.Pool || b.Pool != d.Pool {
				t.Errorf("%+v is found between %+v and %+v", d, a, b)
			}
		}
		gone := *d
		gone.Liquidity, gone.TickLower = clmath.U128{Lo: 1}, d.TickLower+1
		if _, _, ok := c.ticksOf(&gone); ok {
			t.Errorf("a tick that is not there is found")
		}
		gone.TickLower, gone.TickUpper = d.TickLower, d.TickUpper-1
		if _, _, ok := c.ticksOf(&gone); ok {
			t.Errorf("a tick that is not there is found")
		}
	}

	if found != 2 || st.NonNFT.Len() != 3 {
		t.Errorf("%d of %d are found; want 2 of 3", found, st.NonNFT.Len())
	}
}

// A sample is spread over all there is, and another one each turn.
func TestChosen(t *testing.T) {
	f := func(sample int, turn uint64, n uint32, want string) {
		t.Helper()
		c := &comparison{Config: Config{Sample: sample, Turn: turn}}
		got := ""
		for i := range n {
			if c.chosen(i, n) {
				got += fmt.Sprint(i)
			}
		}
		if got != want {
			t.Errorf("%d of %d, turn %d: %s; want %s", sample, n, turn, got, want)
		}
	}

	f(0, 5, 4, "0123")
	f(4, 1, 4, "0123")
	f(3, 0, 6, "024")
	f(3, 1, 6, "135")
	f(3, 2, 6, "024")
	f(2, 1, 9, "48")
	f(3, 0, 4, "023")
	f(3, 1, 4, "123")
}

// counting counts the requests for words.
type counting struct {
	*contracts
	words []int // of each request
}

func (c *counting) Ask(ctx context.Context, calls []endpoint.Call) error {
	n := 0
	for i := range calls {
		if msg, ok := calls[i].Args[0].(map[string]string); ok &&
			strings.HasPrefix(msg["data"], "0x"+hex.EncodeToString(selector("extsload(bytes32[])"))) {
			n += (len(msg["data"])/2 - 69) / 32
		}
	}
	if n > 0 {
		c.words = append(c.words, n)
	}
	return c.contracts.Ask(ctx, calls)
}

// Words are read once there are enough for a few calls, and not only when all are known.
func TestWordsAreReadInParts(t *testing.T) {
	c := &counting{contracts: deploy(ledgerOf(t, "", ""))}
	v, err := Compare(t.Context(), c, c.st, Config{PoolManager: testManager, PositionManager: script.Manager})
	if err != nil || v.Different != 0 {
		t.Fatal(v, err)
	}
	if len(c.words) != 3 || c.words[0] < slotsAtOnce*callsAtOnce/10 || c.words[1] > 100 || c.words[2] != 3*(4+3) {
		t.Errorf("words are read in parts of %v; want two of pools, the first of thousands, and one of 7 positions", c.words)
	}
}

// Of positions, too, only a sample is compared: three words and the owner of each.
func TestSampleOfPositions(t *testing.T) {
	st := ledgerOf(t, "", "") // has four NFTs, three pools and three shares that are none
	all, some := compare(t, deploy(st), st, Config{}), compare(t, deploy(st), st, Config{Sample: 3})
	if all.Compared-some.Compared != 3+1 {
		t.Errorf("%d values are compared, %d of a sample without one position", all.Compared, some.Compared)
	}
}

// flaky fails once.
type flaky struct {
	*contracts
	failed bool
}

var errGone = errors.New("the node is gone")

func (f *flaky) Ask(ctx context.Context, calls []endpoint.Call) error {
	if !f.failed {
		f.failed = true
		return errGone
	}
	return f.contracts.Ask(ctx, calls)
}

// A comparison ends with the first part that cannot be read.
func TestPartThatCannotBeRead(t *testing.T) {
	st := ledgerOf(t, "", "")
	for _, step := range []func(*comparison, context.Context) error{
		(*comparison).comparePools, (*comparison).comparePositions, (*comparison).compareCount,
		(*comparison).compareBalances,
	} {
		const full = slotsAtOnce * callsAtOnce / 10
		c := &comparison{st: st, slots: make([]slot, full), checks: make([]check, full)}
		c.reader = reader{&flaky{contracts: deploy(st)}, testManager, script.Manager, st.Head}
		if err := step(c, t.Context()); !errors.Is(err, errGone) {
			t.Errorf("%v; want the reason", err)
		}
	}
}

// What is read again begins with the first block that may be wrong.
func TestEarliest(t *testing.T) {
	at := func(block uint64) rankings.Difference { return rankings.Difference{FromBlock: block} }
	if got := Earliest([]rankings.Difference{at(9), at(7), at(8)}); got != 7 {
		t.Errorf("the first of 9, 7 and 8 is %d", got)
	}
}
