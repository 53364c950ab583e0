package verify

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// contracts answers calls as the contracts would whose state is that of a ledger.
type contracts struct {
	st       *market.State
	storage  map[slot]word
	owners   map[uint64]market.Address
	balances map[market.Address]clmath.U256
	next     uint64
	mute     market.Address // a token that answers nothing
	vague    uint64         // an NFT of which no owner is answered
}

var testManager = market.Address{0xaa}

func deploy(st *market.State) *contracts {
	c := &contracts{
		st: st, storage: map[slot]word{}, owners: map[uint64]market.Address{}, next: 1,
		balances: map[market.Address]clmath.U256{},
	}
	for i := range st.Pools.Len() {
		c.storePool(i)
	}

	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		c.storeShare(p.Pool, script.Manager, p.TickLower, p.TickUpper, saltOf(p.ID), p.Liquidity(),
			&p.FeeGrowthInside0LastX128, &p.FeeGrowthInside1LastX128)
		c.next = p.ID + 1
		if !p.Burned {
			c.owners[p.ID] = *st.Owners.At(p.Owner)
		}
	}

	for i := range st.NonNFT.Len() {
		d := st.NonNFT.At(i)
		c.storeShare(d.Pool, d.Sender, d.TickLower, d.TickUpper, d.Salt, d.Liquidity,
			&d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128)
	}
	return c
}

func (c *contracts) storePool(i uint32) {
	p := c.st.Pools.At(i)
	at := poolSlot(p.ID)
	first := slot0(p)
	for b := range first { // no one knows what the contract has in the bits that it does not use
		first[b] |= ^slot0Mask[b]
	}
	c.storage[at] = first
	c.storage[at.plus(1)] = word256(&p.FeeGrowthGlobal0X128)
	c.storage[at.plus(2)] = word256(&p.FeeGrowthGlobal1X128)
	c.storage[at.plus(3)] = word128(p.Liquidity)

	for _, ref := range c.st.TickLists.At(i) {
		t := c.st.Ticks.At(ref.Slot)
		gross, net := t.LiquidityGross, t.LiquidityNet
		var packed word
		binary.BigEndian.PutUint64(packed[0:], uint64(net.Hi))
		binary.BigEndian.PutUint64(packed[8:], net.Lo)
		binary.BigEndian.PutUint64(packed[16:], gross.Hi)
		binary.BigEndian.PutUint64(packed[24:], gross.Lo)
		c.storage[tickSlot(at, t.Tick)] = packed
		c.storage[tickSlot(at, t.Tick).plus(1)] = word256(&t.FeeGrowthOutside0X128)
		c.storage[tickSlot(at, t.Tick).plus(2)] = word256(&t.FeeGrowthOutside1X128)

		place := t.Tick / p.TickSpacing // ticks are multiples of the spacing
		bits := c.storage[bitmapSlot(at, place>>8)]
		bits[31-uint8(place)/8] |= 1 << (uint8(place) % 8)
		c.storage[bitmapSlot(at, place>>8)] = bits
	}
}

func (c *contracts) storeShare(pool uint32, owner market.Address, lower, upper int32,
	salt market.Hash, liquidity clmath.U128, last0, last1 *clmath.U256,
) {
	at := positionSlot(poolSlot(c.st.Pools.At(pool).ID), owner, lower, upper, salt)
	c.storage[at] = word128(liquidity)
	c.storage[at.plus(1)], c.storage[at.plus(2)] = word256(last0), word256(last1)
}

func (c *contracts) Ask(_ context.Context, calls []endpoint.Call) error {
	for i := range calls {
		switch k := &calls[i]; k.Method {
		case "eth_getBlockByNumber":
			*k.Result.(**struct{ Hash string }) = &struct{ Hash string }{c.st.Head.Hash.String()}
		case "eth_getBalance":
			v := c.balances[market.Address{}]
			*k.Result.(*string) = v.Hex()
		case "eth_call":
			msg := k.Args[0].(map[string]string)
			answer, err := c.call(msg["to"], msg["data"])
			*k.Result.(*string), k.Error = answer, err
		default:
			k.Error = fmt.Errorf("the method %s does not exist", k.Method)
		}
	}

	return nil
}

func (c *contracts) call(to, text string) (string, error) {
	data, err := hex.DecodeString(text[2:])
	if err != nil {
		return "", err
	}
	args := data[4:]

	switch string(data[:4]) {
	case string(selector("extsload(bytes32[])")):
		if to != testManager.String() {
			return "", fmt.Errorf("%s has no words", to)
		}
		out := slices.Clone(args[:64])
		for at := 64; at < len(args); at += 32 {
			w := c.storage[slot(args[at:at+32])]
			out = append(out, w[:]...)
		}
		return "0x" + hex.EncodeToString(out), nil
	case string(selector("ownerOf(uint256)")):
		id := binary.BigEndian.Uint64(args[24:])
		owner, ok := c.owners[id]
		if id == c.vague {
			return "0x", nil
		}
		if !ok {
			return "", &endpoint.Error{Kind: endpoint.Refused, Code: 3, Text: "execution reverted"}
		}
		return fmt.Sprintf("0x%064x", owner[:]), nil
	case string(selector("nextTokenId()")):
		return fmt.Sprintf("0x%064x", c.next), nil
	case string(selector("balanceOf(address)")):
		token, _ := market.ParseAddress(to)
		if token == c.mute {
			return "0x", nil
		}
		v, ok := c.balances[token]
		if !ok {
			return "", &endpoint.Error{Kind: endpoint.Refused, Code: 3, Text: "execution reverted"}
		}
		b := v.Bytes32()
		return "0x" + hex.EncodeToString(b[:]), nil
	}

	return "", fmt.Errorf("no function %x", data[:4])
}

// history is a market of which single lines can be left out without that the
// replay of what follows could notice.
const history = `
pool P A B 3000 60
pool Q A B 500 1
pool W A B 100 32767
mint 1 alice P -600 600 1e18
direct bob P -60000 60000 1e18
mint 2 alice P 6000 6600 1e18
mint 3 carol Q -887272 887272 1e18
direct dave W min max 1e18
direct erin Q 100 200 5e17
sell0 P 1e15
sell1 Q 1e15
mint 4 carol P -600 600 1e18
`

// ledgerOf replays history and then the lines but the lost ones.
func ledgerOf(t *testing.T, lines, lost string) *market.State {
	t.Helper()
	l, m := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager}), script.New()
	for _, token := range []string{"A", "B"} {
		if _, err := m.Set([]string{"token", token, "18"}); err != nil {
			t.Fatal(err)
		}
	}

	text := strings.TrimSpace(history + lines)
	for line := range strings.SplitSeq(text, "\n") {
		st := l.Freeze()
		span, err := m.Span(st, line)
		if err != nil {
			t.Fatalf("%s: %s", line, err)
		}
		if line == lost {
			span.Blocks = nil
		}
		if quarantined, err := l.Apply(span); err != nil || len(quarantined) > 0 {
			t.Fatalf("%s: %v %v", line, err, quarantined)
		}
	}
	return l.Freeze()
}

func compare(t *testing.T, c *contracts, st *market.State, config Config) *rankings.Verification {
	t.Helper()
	config.PoolManager, config.PositionManager = testManager, script.Manager
	result, err := Compare(context.Background(), c, st, config)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// An event of any kind that the ledger lacks is found, and named.
func TestLostEventsAreFound(t *testing.T) {
	f := func(lost string, want string) {
		t.Helper()
		lines := lost
		if strings.Contains(history, "\n"+lost+"\n") {
			lines = ""
		}
		c := deploy(ledgerOf(t, lines, ""))
		if v := compare(t, c, c.st, Config{}); v.Different != 0 || v.Compared == 0 {
			t.Fatalf("%s: nothing is lost and %d of %d values differ: %+v", lost, v.Different, v.Compared,
				v.Differences)
		}

		v := compare(t, c, ledgerOf(t, lines, lost), Config{})
		for _, d := range v.Differences {
			if got := fmt.Sprintf("%s %s %s", d.What, strings.TrimLeft(d.ID, "0x"), d.Field); got == want {
				return
			}
		}
		t.Errorf("%s: lost, and not found as %s: %+v", lost, want, v.Differences)
	}

	id := hex.EncodeToString([]byte{'P'})
	q := hex.EncodeToString([]byte{'Q'})
	f("sell0 P 5e14", "pool "+id+" slot0")
	f("sell1 Q 5e14", "pool "+q+" feeGrowthGlobal1X128")
	f("donate P 1e15 1e15", "pool "+id+" feeGrowthGlobal0X128")
	f("protocol P 500 1000", "pool "+id+" slot0")
	f("mint 5 dora P -120 120 1e17", "position 5 minted")
	f("mint 5 dora Q 7 9 1e17", "tick "+q+"/7 initialised")
	f("mint 4 carol P -600 600 1e18", "position 4 minted")
	f("mint 2 alice P 6000 6600 1e18", "position 2 minted")
	f("push P @0.9", "tick "+id+"/-600 feeGrowthOutside0X128")
	f("push Q @1.0101", "tick "+q+"/100 feeGrowthOutside1X128")
	f("mint 2 alice P 6000 6600 1e18", "tick "+id+"/6600 initialised")
	f("direct erin Q 100 200 5e17", "tick "+q+"/100 initialised")
	f("direct frank P -887220 -887160 1", "tick "+id+"/-887220 initialised")
	f("direct erin Q 100 200 1e17", "tick "+q+"/200 liquidity")
	f("direct bob P -60000 60000 -1e17", "pool "+id+" liquidity")
	f("direct bob P -60000 60000 0", "position of "+script.Person("bob").String()+" feeGrowthInside0LastX128")
	f("add 1 1e17", "position 1 liquidity")
	f("remove 1 all", "position 1 liquidity")
	f("collect 1", "position 1 feeGrowthInside0LastX128")
	f("give 1 bob", "position 1 owner")
	f("burn 1", "position 1 owner")
}

// An answer that has no owner in it is one that the NFT has none.
func TestVagueOwner(t *testing.T) {
	c := deploy(ledgerOf(t, "", ""))
	c.vague = 1
	v := compare(t, c, c.st, Config{})
	if v.Different != 1 || v.Differences[0].ID != "1" || v.Differences[0].Field != "owner" {
		t.Errorf("%d differences: %+v", v.Different, v.Differences)
	}
}

// Every word that differs is found, and named.
func TestWordsAreNamed(t *testing.T) {
	st := ledgerOf(t, "", "")
	c := deploy(st)
	id := st.Pools.At(0).ID
	f := func(at slot, want ...string) {
		t.Helper()
		right := c.storage[at]
		w := right
		w[31] ^= 1
		c.storage[at] = w
		v := compare(t, c, st, Config{})
		c.storage[at] = right

		var got []string
		for _, d := range v.Differences {
			got = append(got, d.What+" "+d.Field)
			if d.Pool != id {
				t.Errorf("%s is of pool %s; want %s", d.Field, d.Pool, id)
			}
		}
		if !slices.Equal(got, want) || v.Different != len(want) {
			t.Errorf("got %q; want %q", got, want)
		}
	}

	pool := poolSlot(id)
	f(pool, "pool slot0")
	f(pool.plus(1), "pool feeGrowthGlobal0X128")
	f(pool.plus(2), "pool feeGrowthGlobal1X128")
	f(pool.plus(3), "pool liquidity")
	tick := tickSlot(pool, 600)
	f(tick, "tick liquidity")
	f(tick.plus(1), "tick feeGrowthOutside0X128")
	f(tick.plus(2), "tick feeGrowthOutside1X128")
	position := positionSlot(pool, script.Manager, -600, 600, saltOf(1))
	f(position, "position liquidity")
	f(position.plus(1), "position feeGrowthInside0LastX128")
	f(position.plus(2), "position feeGrowthInside1LastX128")
	f(bitmapSlot(pool, 0), "tick initialised")
	first, _ := bitOf(clmath.MinTick, 60)
	last, _ := bitOf(clmath.MaxTick, 60)
	f(bitmapSlot(pool, first), "tick initialised")
	f(bitmapSlot(pool, last), "tick initialised")
	f(bitmapSlot(pool, first-1))
	f(bitmapSlot(pool, last+1))

	id = st.Pools.At(1).ID
	pool = poolSlot(id)
	f(pool, "pool slot0")
	f(pool.plus(1), "pool feeGrowthGlobal0X128")
	f(pool.plus(2), "pool feeGrowthGlobal1X128")
	f(pool.plus(3), "pool liquidity")
	f(bitmapSlot(pool, 0), "tick initialised")
	for _, ref := range st.TickLists.At(1) {
		tick := tickSlot(pool, ref.Tick)
		f(tick, "tick liquidity")
		f(tick.plus(1), "tick feeGrowthOutside0X128")
		f(tick.plus(2), "tick feeGrowthOutside1X128")
	}
	shares := 0
	for i := range st.Positions.Len() {
		if p := st.Positions.At(i); p.Pool == 1 {
			at := positionSlot(pool, script.Manager, p.TickLower, p.TickUpper, saltOf(p.ID))
			f(at, "position liquidity")
			f(at.plus(1), "position feeGrowthInside0LastX128")
			f(at.plus(2), "position feeGrowthInside1LastX128")
			shares++
		}
	}
	if shares+len(st.TickLists.At(1)) == 0 {
		t.Error("the second pool has neither ticks nor positions")
	}
}

// All differences are counted, and the first hundred are named.
func TestManyDifferences(t *testing.T) {
	c := &comparison{st: ledgerOf(t, "", "")}
	for n := 1; n <= rankings.MaxDifferences+2; n++ {
		c.reportDifference(mintOf(uint64(n)), "no", "yes")
		if want := min(n, rankings.MaxDifferences); c.out.Different != n || len(c.out.Differences) != want {
			t.Fatalf("of %d differences %d are counted, %d named; want %d", n, c.out.Different, len(c.out.Differences), want)
		}
	}
}

// A sample looks at every pool and position in turn.
func TestSamplesTakeTurns(t *testing.T) {
	lost := "direct erin Q 100 200 1e17"
	c := deploy(ledgerOf(t, lost, ""))
	st := ledgerOf(t, lost, lost)
	found := 0
	for turn := range uint64(3) {
		if compare(t, c, st, Config{Sample: 1, Turn: turn}).Different > 0 {
			found++
		}
	}
	if found == 0 || found == 3 {
		t.Errorf("%d of 3 samples of one pool found the loss in one of three", found)
	}
}

// What differs lies after the last block at which all was well.
func TestDifferencesNameBlocks(t *testing.T) {
	lost := "sell0 P 5e14"
	c := deploy(ledgerOf(t, lost, ""))
	v := compare(t, c, ledgerOf(t, lost, lost), Config{Good: 7})
	if len(v.Differences) == 0 || v.Differences[0].FromBlock != 8 ||
		v.Differences[0].ToBlock != c.st.Head.Number || Earliest(v.Differences) != 8 {
		t.Errorf("%+v", v.Differences)
	}
}

// A pool manager that holds less of a token than positions may take out is told
// of, and is no difference.
func TestBalances(t *testing.T) {
	c := deploy(ledgerOf(t, "", ""))
	token0, token1 := c.st.Tokens.At(0).Address, c.st.Tokens.At(1).Address
	f := func(held string, short bool) {
		t.Helper()
		var balance clmath.U256
		if err := balance.SetFromDecimal(held); err != nil {
			t.Fatal(err)
		}
		c.balances[token0] = balance
		v := compare(t, c, c.st, Config{})
		if v.Different != 0 || (v.Short == 1) != short || len(v.Shortfalls) != v.Short {
			t.Errorf("%s held: %d short, %+v", held, v.Short, v.Shortfalls)
		}
		if short && (v.Shortfalls[0].Token != token0.String() || v.Shortfalls[0].Held != held) {
			t.Errorf("%+v", v.Shortfalls)
		}
	}

	run := comparison{st: c.st}
	claims := run.sumClaims()
	c.balances[token1] = claims[1].sum
	exact := claims[0].sum.Dec()
	f(exact, false)
	f("1"+exact, false)
	f("1000", true)
	most := clmath.U256{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	f(most.Dec(), false) // more than what is left of 256 bits

	// What a token does not tell is not known.
	delete(c.balances, token0)
	compared := compare(t, c, c.st, Config{}).Compared
	c.mute = token0
	if v := compare(t, c, c.st, Config{}); v.Short != 0 || v.Compared != compared {
		t.Errorf("a token that answers nothing: %d short, %d compared; want 0 and %d", v.Short, v.Compared, compared)
	}
}

// Positions may take out what went into the pool: what they deposited and what was
// donated to them, but for a unit of each that is rounded down.
func TestClaims(t *testing.T) {
	l, m := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager}), script.New()
	for line := range strings.Lines(`token A 18
		token B 18
		pool P A B 3000 60
		mint 1 alice P -600 600 1e18
		mint 2 alice P 6000 6600 3e18
		mint 3 carol P -1200 -60 5e17
		mint 4 carol P -887220 887220 1e16
		donate P 1e15 2e15`) {
		if known, err := m.Set(strings.Fields(line)); known {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		span, err := m.Span(l.Freeze(), line)
		if err == nil {
			_, err = l.Apply(span)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}

	st := l.Freeze()
	want := [2]clmath.U256{{1e15}, {2e15}}
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		for leg, in := range []clmath.U128{p.Deposited0, p.Deposited1} {
			amount := in.U256()
			want[leg].Add(&want[leg], &amount)
		}
	}
	for leg, got := range (&comparison{st: st}).sumClaims() {
		var less clmath.U256
		if less.Sub(&want[leg], &got.sum); less.GtUint64(2*got.shares) || got.shares != 4 {
			t.Errorf("token %d: %d positions may take out %s; %s went in", leg, got.shares, got.sum.Dec(), want[leg].Dec())
		}
	}

	// Fees that no transfer can move are no share. The donation is one of theirs here.
	pools := market.Thaw(st.Pools)
	huge := clmath.U256{3: 1 << 30}
	pools.Mut(0).FeeGrowthGlobal0X128, pools.Mut(0).FeeGrowthGlobal1X128 = huge, huge
	stuck := *st
	stuck.Pools = pools.Freeze()
	for leg, got := range (&comparison{st: &stuck}).sumClaims() {
		less, donated := want[leg], clmath.U256{[2]uint64{1e15, 2e15}[leg]}
		less.Sub(&less, &donated).Sub(&less, &got.sum)
		if less.GtUint64(2 * got.shares) {
			t.Errorf("token %d: with fees beyond int128 %s may be taken out; want what was deposited", leg, got.sum.Dec())
		}
	}

	// Liquidity that was taken out, or whose ticks are gone, is no share.
	owned := *st
	var none market.Table[market.NonNFT]
	none.Append(market.NonNFT{TickLower: -600, TickUpper: 600})
	none.Append(market.NonNFT{TickLower: -660, TickUpper: 600, Liquidity: clmath.U128{Lo: 5}})
	none.Append(market.NonNFT{TickLower: -600, TickUpper: 660, Liquidity: clmath.U128{Lo: 5}})
	owned.NonNFT = none.Freeze()
	for leg, got := range (&comparison{st: &owned}).sumClaims() {
		if got.shares != 4 {
			t.Errorf("token %d: %d shares; want 4", leg, got.shares)
		}
	}

	// What is known of a quarantined pool is wrong.
	pools = market.Thaw(st.Pools)
	pools.Mut(0).Quarantined = true
	quarantined := *st
	quarantined.Pools = pools.Freeze()
	for leg, got := range (&comparison{st: &quarantined}).sumClaims() {
		if got != (claim{}) {
			t.Errorf("token %d: %d positions of a quarantined pool may take out %s", leg, got.shares, got.sum.Dec())
		}
	}
}

// An owner that is no address is none; any other answer that is not of the right size
// ends the comparison.
func TestWrongAnswers(t *testing.T) {
	c := deploy(ledgerOf(t, "", ""))
	f := func(signature, answer, want string) {
		t.Helper()
		v, err := Compare(t.Context(), &liar{c, selector(signature), answer}, c.st,
			Config{PositionManager: script.Manager, PoolManager: testManager})
		got := fmt.Sprint(err)
		if err == nil {
			got = ""
			for _, d := range v.Differences {
				got += fmt.Sprintf("%s of %s is %s; ", d.Field, d.ID, strings.TrimRight(d.Contract, "0"))
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s gives %q: got %s; want %s", signature, answer, got, want)
		}
	}

	const none = "owner of 1 is 0x; owner of 2 is 0x; owner of 3 is 0x; owner of 4 is 0x; "
	f("ownerOf(uint256)", "0x", none)
	f("ownerOf(uint256)", "0x"+strings.Repeat("11", 31), none)
	f("ownerOf(uint256)", "0x"+strings.Repeat("11", 33), none)
	f("ownerOf(uint256)", "no hex", none)
	f("ownerOf(uint256)", "0x"+strings.Repeat("11", 32)+"zz", none)
	f("ownerOf(uint256)", "0x"+strings.Repeat("11", 32), "owner of 1 is 0x11")
	f("nextTokenId()", "0x", "nextTokenId gave 0 bytes")
	f("nextTokenId()", "0x"+strings.Repeat("00", 33), "nextTokenId gave 33 bytes")
	f("extsload(bytes32[])", "0x", "words gave 0 bytes")
	f("extsload(bytes32[])", "0x"+strings.Repeat("00", 96), "words gave 96 bytes")
}

// liar are contracts of which one function gives another answer.
type liar struct {
	*contracts
	selector []byte
	answer   string
}

func (l *liar) Ask(ctx context.Context, calls []endpoint.Call) error {
	err := l.contracts.Ask(ctx, calls)
	for i := range calls {
		if msg, ok := calls[i].Args[0].(map[string]string); ok &&
			strings.HasPrefix(msg["data"], "0x"+hex.EncodeToString(l.selector)) {
			*calls[i].Result.(*string), calls[i].Error = l.answer, nil
		}
	}
	return err
}

// A call that fails ends the comparison, whichever it is.
func TestFailingCalls(t *testing.T) {
	c := deploy(ledgerOf(t, "", ""))
	whole := &failing{c, -1} // every call
	if _, err := Compare(t.Context(), whole, c.st, Config{PositionManager: script.Manager, PoolManager: testManager}); err != nil {
		t.Fatal(err)
	}

	calls := -1 - whole.left
	for n := range calls {
		v, err := Compare(t.Context(), &failing{c, n}, c.st,
			Config{PositionManager: script.Manager, PoolManager: testManager})
		if err == nil || !strings.Contains(err.Error(), "the provider is gone") {
			t.Errorf("call %d of %d fails: %+v, %v", n, calls, v, err)
		}
	}
	if calls < 5 {
		t.Errorf("%d calls are no test", calls)
	}
}

// failing are contracts that answer all calls but one, which comes after a few.
type failing struct {
	*contracts
	left int
}

func (f *failing) Ask(ctx context.Context, calls []endpoint.Call) error {
	f.left--
	if f.left == -1 {
		return errors.New("the provider is gone")
	}
	return f.contracts.Ask(ctx, calls)
}

// Keys and places of mappings, worked out apart from this code: a negative key is
// extended with ones, and a carry goes through every byte.
func TestLayout(t *testing.T) {
	f := func(v int32, want string) {
		t.Helper()
		if key := signedKey(v); hex.EncodeToString(key[:]) != want {
			t.Errorf("key of %d is %x; want %s", v, key, want)
		}
	}
	f(0, strings.Repeat("0", 64))
	f(1, strings.Repeat("0", 63)+"1")
	f(-1, strings.Repeat("f", 64))
	f(-887272, strings.Repeat("f", 58)+"f27618")

	var s slot
	for i := 1; i < len(s); i++ {
		s[i] = 0xff
	}
	if next := s.plus(2); next != (slot{0: 1, 31: 1}) {
		t.Errorf("%x and 2 is %x", s, next)
	}
	s[0] = 0xff
	if next := s.plus(3); next != (slot{31: 2}) { // places go round
		t.Errorf("%x and 3 is %x", s, next)
	}
}

// A missing NFT belongs to no pool that is known.
func TestMissingNFT(t *testing.T) {
	if k := mintOf(7); k.pool != market.NoIndex || k.id != "7" {
		t.Errorf("%+v", k)
	}
}
