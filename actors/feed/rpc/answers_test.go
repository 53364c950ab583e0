package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// headersOf are the headers of a chain's last blocks, as a node answers them.
func (l *follower) headersOf(n *fakeNode, count int) (list []*wireHeader) {
	l.t.Helper()
	for i := len(n.blocks) - count; i < len(n.blocks); i++ {
		list = append(list, asWire[*wireHeader](l.t, n.block(fmt.Sprint(i))))
	}
	return list
}

// asWire reads a value as a node's answer.
func asWire[T any](t testing.TB, v any) (w T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fails checks the text of an error; "" stands for none.
func fails(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
		t.Errorf("%s: %s; want %q", what, got, want)
	}
}

// The logs that are read are those of a contract with one of its own topics.
func TestContracts(t *testing.T) {
	c := Contracts{manager, positions}
	f := func(address market.Address, topic market.Hash, want bool) {
		t.Helper()
		if got := c.Reads(address, topic); got != want {
			t.Errorf("%s of %s is read: %t; want %t", topic, address, got, want)
		}
	}
	for _, topic := range managerTopics {
		f(manager, topic, true)
		f(positions, topic, false)
		f(token, topic, false)
	}
	for _, topic := range positionTopics {
		f(manager, topic, false)
		f(positions, topic, true)
	}

	e, err := c.Decode(positions, []market.Hash{positionTopics[1], number(3), padded(market.Address{9})}, nil)
	if want := (market.Subscription{ID: 3, Subscriber: market.Address{9}}); err != nil || e != want {
		t.Errorf("decoded %+v, %v; want %+v", e, err, want)
	}
	_, err = c.Decode(manager, []market.Hash{positionTopics[1], number(3), {}}, nil)
	fails(t, "an event of the other contract", err, "was not asked for")
}

// What a receipt says of gas is read past all else that it has, and the first field that
// cannot be read is told.
func TestGasReader(t *testing.T) {
	f := func(text string, found bool, problem string) *gasReader {
		t.Helper()
		r := &gasReader{wrong: context.Canceled} // of an answer before
		if err := r.ReadJSON(endpoint.NewReader(strings.NewReader(text))); err != nil || r.found != found {
			t.Errorf("%s: found %t, %v; want %t", text, r.found, err, found)
		}
		if r.wrong != nil || problem != "" {
			fails(t, text, r.wrong, problem)
		}
		return r
	}

	f(`null`, false, "")
	f(`"full"`, true, `a receipt begins with '"'; want an object`)
	f(`[]`, true, `a receipt begins with '['; want an object`)
	f(`{"gasUsed":"full","blockHash":7}`, true, `a receipt's gasUsed: "\"full\"" is not a hex string`)
	f(`{"transactionHash":"0x12"}`, true, `a receipt's transactionHash: "0x12" has 2 hex digits; want 64`)
	f(`{"effectiveGasPrice":7}`, true, "a receipt's effectiveGasPrice: ")
	hash := market.Hash{5}
	r := f(`{"logs":[{"blockHash":7}],"transactionHash":"`+hash.String()+`","blockHash":"`+market.Hash{6}.String()+
		`","gasUsed":"0x10","effectiveGasPrice":"0x10000000000000002","x":null}`, true, "")
	if r.TxHash != word(hash) || *r.Block != (word{6}) || *r.GasUsed != 16 || r.GasPrice.Hi != 1 || r.GasPrice.Lo != 2 {
		t.Errorf("%+v", r)
	}
	if r := f(`{"gasUsed":null,"blockHash":null,"effectiveGasPrice":null}`, true, ""); r.Block != nil || r.GasUsed != nil || r.GasPrice != nil {
		t.Errorf("%+v", r)
	}
}

// A receipt is taken for the transaction that it is of, in its block, with what it used.
func TestReceiptOfTransaction(t *testing.T) {
	used, price := quantity(7), wide{Lo: 3}
	f := func(problem string, change func(*wireReceipt)) {
		t.Helper()
		r := wireReceipt{TxHash: word{1}, Block: &word{2}, GasUsed: &used, GasPrice: &price}
		change(&r)
		tx := market.Tx{Hash: market.Hash{1}}
		err := r.check(&tx, word{2})
		fails(t, "the receipt", err, problem)
	}
	f("", func(*wireReceipt) {})
	f("asked for the receipt of 0x01", func(r *wireReceipt) { r.TxHash = word{9} })
	f("is in another block now: the chain changed", func(r *wireReceipt) { r.Block = nil })
	f("is in another block now: the chain changed", func(r *wireReceipt) { r.Block = &word{9} })
	f("lacks gasUsed", func(r *wireReceipt) { r.GasUsed = nil })

	b := rawBlock{hash: word{2}, needsGas: []bool{false, true, true}}
	b.Txs = []market.Tx{{Hash: market.Hash{1}}, {Hash: market.Hash{2}}, {Hash: market.Hash{3}}}
	list := []wireReceipt{
		{TxHash: word{1}, Block: &word{9}}, // wrong, and of no interest
		{TxHash: word{3}, Block: &word{2}, GasUsed: &used, GasPrice: &price},
		{TxHash: word{2}, Block: &word{2}, GasUsed: &used},
	}
	if err := takeGas(&b, list); err != nil || b.Txs[0].GasUsed != 0 || b.Txs[1].GasUsed != 7 || b.Txs[1].GasKnown ||
		b.Txs[2].GasUsed != 7 || !b.Txs[2].GasKnown || b.Txs[2].GasPrice.Lo != 3 {
		t.Errorf("%v, %+v", err, b.Txs)
	}
	list[2].GasUsed = nil
	fails(t, "a receipt without gas", takeGas(&b, list), "lacks gasUsed")
}

// Gas is asked for where an NFT changed, once for each transaction, and of those that an
// answer lacks, in the receipts of their block.
func TestGasOfBlocks(t *testing.T) {
	c := busy(5)
	n := newNode(t, c)
	mined := c.mine(append(minted(8), swapped(1), swapped(2))...)
	c.mine(minted(9)...)
	l := follow(t, nil, n)
	var blocks []rawBlock
	for i, h := range l.headersOf(n, 2) {
		made, err := l.f.assembleBlock(h, asWire[[]wireLog](t, c.blocks[5+i].logs), false)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, made...)
	}
	if got := fmt.Sprint(blocks[0].needsGas, blocks[1].needsGas); got != "[true false false] [true]" {
		t.Fatalf("gas is needed of %s", got)
	}

	known := market.Tx{Hash: market.Hash(blocks[1].Txs[0].Hash), GasUsed: 1, GasKnown: true}
	blocks[1].Txs[0] = known
	n.answer = func(method string, _ object) any {
		if method == "eth_getTransactionReceipt" {
			return null{}
		}
		return nil
	}
	absent := 3
	if err := l.f.fetchReceipts(t.Context(), blocks, 6, &absent, true); err != nil || absent != 0 {
		t.Errorf("%v, %d times absent", err, absent)
	}
	tx := blocks[0].Txs[0]
	if !tx.GasKnown || tx.GasUsed != 21000+mined.number || tx.GasPrice.Hi != 1 || blocks[1].Txs[0] != known {
		t.Errorf("%+v, %+v", tx, blocks[1].Txs[0])
	}
	if one, all := n.calls["eth_getTransactionReceipt"], n.calls["eth_getBlockReceipts"]; one != 1 || all != 1 {
		t.Errorf("%d receipts and those of %d blocks were asked for; want one of each", one, all)
	}

	// What was found by its hash is asked for no more, even without a price.
	for _, price := range []any{"0x5", nil} {
		blocks[0].Txs[0].GasKnown = false
		n.answer = func(method string, o object) any {
			r, ok := o["result"].(object)
			if ok && method == "eth_getTransactionReceipt" {
				r["effectiveGasPrice"] = price
			}
			return nil
		}
		err := l.f.fetchReceipts(t.Context(), blocks, 6, &absent, true)
		if tx := blocks[0].Txs[0]; err != nil || tx.GasKnown != (price != nil) || n.calls["eth_getBlockReceipts"] != 1 {
			t.Errorf("a receipt with the price %v: %v, %+v, asked for %d blocks; want none again", price, err, tx,
				n.calls["eth_getBlockReceipts"]-1)
		}
	}

	// Of two, what is known already is not asked for.
	blocks[0].Txs[0].GasKnown = true
	blocks[1].Txs[0].GasKnown, n.answer = false, nil
	before := n.calls["eth_getTransactionReceipt"]
	err := l.f.fetchGas(t.Context(), l.f.sources[0], []*rawBlock{&blocks[0], &blocks[1]},
		[]*market.Tx{&blocks[0].Txs[0], &blocks[1].Txs[0]})
	if asked := n.calls["eth_getTransactionReceipt"] - before; err != nil || asked != 1 || !blocks[1].Txs[0].GasKnown {
		t.Errorf("%v, %d receipts were asked for, %+v; want one", err, asked, blocks[1].Txs[0])
	}

	var first any = null{}
	f := func(what, problem string, answer any) {
		t.Helper()
		blocks[0].Txs[0].GasKnown = false
		n.answer = func(method string, o object) any {
			switch {
			case method == "eth_getTransactionReceipt" && first == nil:
				panic(http.ErrAbortHandler)
			case method == "eth_getTransactionReceipt":
				return first
			case method == "eth_getBlockReceipts":
				return answer
			}
			return nil
		}
		fails(t, what, l.f.fetchGas(t.Context(), l.f.sources[0], []*rawBlock{&blocks[0]}, []*market.Tx{&blocks[0].Txs[0]}), problem)
	}
	f("a node without them", "receipts of block 5 (", fail(-32000, "pruned"))
	f("none of the transaction", "receipt of "+tx.Hash.String()+": the node does not have it", []object{})
	f("an answer that is none", "not a hex string", []object{{"transactionHash": "x"}})
	f("those of another block", "is in another block now", []object{{"transactionHash": tx.Hash.String(), "gasUsed": "0x1"}})

	// What is wrong with the answer for the transaction counts, whatever its block has.
	first = object{"transactionHash": tx.Hash.String(), "gasUsed": "full"}
	f("a receipt that is none", `a receipt's gasUsed: "\"full\"" is not a hex string`, nil)
	first = object{"transactionHash": tx.Hash.String(), "gasUsed": "0x1"}
	f("one of another block", "is in another block now", nil)
	first = nil
	f("a connection that breaks", "the connection broke", nil)
}

// Receipts of other blocks, or of none, prove nothing, and what they hold must be events.
func TestTakenReceipts(t *testing.T) {
	c := busy(5)
	n := newNode(t, c)
	c.mine(append(minted(8), swapped(1))...)
	f := func(what, problem string, spoil func(h *wireHeader, r []wireReceipt) []wireReceipt) *follower {
		t.Helper()
		l := follow(t, nil, n)
		h := l.headersOf(n, 1)[0]
		receipts := spoil(h, asWire[[]wireReceipt](t, c.head().receipts))
		err := l.f.takeReceipts(h, receipts)
		fails(t, what, err, problem)
		if missing := len(receipts) == 1; isAbsent(err) != missing {
			t.Errorf("%s: something is merely not there yet: %t; want %t", what, isAbsent(err), missing)
		}
		if _, kept := l.f.proofs.blocks[h.Hash]; kept != (problem == "") {
			t.Errorf("%s: its events are kept: %t", what, kept)
		}
		return l
	}

	l := f("all of them, in another order", "", func(_ *wireHeader, r []wireReceipt) []wireReceipt { r[0], r[1] = r[1], r[0]; return r })
	if !l.f.proofs.rootsHold || l.f.m.falsePositives.Get() != 0 {
		t.Errorf("the roots hold: %t, %d false positives", l.f.proofs.rootsHold, l.f.m.falsePositives.Get())
	}
	f("of another block", "receipts of block 5 are of another block", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		r[1].Block = &word{1}
		return r
	})
	f("of no block", "receipts of block 5 are of another block", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		r[0].Block = nil
		return r
	})
	f("not all of them", "the 1 receipts of block 5 are not those of its receiptsRoot",
		func(_ *wireHeader, r []wireReceipt) []wireReceipt { return r[:1] })
	f("one without a status", "receipts of block 5: ", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		r[1].Status = nil
		return r
	})
	f("logs without a place", "its block, transaction or index is missing", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		r[1].Logs[0].LogIndex = nil // which is no part of the root
		return r
	})
	f("logs of another block", "logs of block 5 are of 0x01", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		for i := range r {
			for k := range r[i].Logs {
				r[i].Logs[k].Hash = &word{1}
			}
		}
		return r
	})
	f("gas that is not told", "lacks gasUsed", func(_ *wireHeader, r []wireReceipt) []wireReceipt {
		r[0].GasUsed = nil
		return r
	})

	l = follow(t, nil, n)
	h := *l.headersOf(n, 1)[0]
	h.ReceiptsRoot, h.Hash = emptyRoot, word{7}
	if err := l.f.takeReceipts(&h, nil); err != nil || l.f.proofs.rootsHold || l.f.m.falsePositives.Get() != 1 {
		t.Errorf("%v: no receipts say that the roots hold: %t, and are %d false positives; want 1", err,
			l.f.proofs.rootsHold, l.f.m.falsePositives.Get())
	}
}

// The head is read again after a poll: what changed meanwhile is not taken.
func TestLooksAgain(t *testing.T) {
	c := busy(20)
	n := newNode(t, c)
	l := follow(t, nil, n)
	list := l.headersOf(n, 2)
	before := &observedHead{*list[0], l.f.sources[0], time.Unix(1_700_000_100, 0)}
	span := &market.Span{From: 18, To: 18, Hash: market.Hash(list[0].Hash)}
	f := func(what, problem string, last, latest any) (step feed.Step) {
		t.Helper()
		n.answer = func(_ string, o object) any {
			if string(o["params"].([]json.RawMessage)[0]) == `"latest"` {
				return latest
			}
			return last
		}
		step.Head = list[0].head()
		fails(t, what, l.f.confirmSpan(t.Context(), l.f.sources[0], &step, before, span), problem)
		return step
	}
	other := n.block("18").(object)
	other["hash"] = market.Hash{1}.String()

	f("no block any more", "block 18: the node does not have it", null{}, nil)
	f("another block", "block 18 was ", other, nil)
	f("no head", "the head: the node does not have it", nil, null{})
	f("a head without a number", "the head: the node does not have it", nil, object{"hash": market.Hash{1}.String()})
	f("a head without a time", "header of block 19 lacks its number", nil, object{"number": "0x13", "hash": market.Hash{1}.String()})
	f("a block that is refused", "eth_getBlockByNumber: ", fail(-32000, "no"), nil)

	step := f("a head that went on", "", nil, nil)
	if !step.SpanConfirmed.Equal(before.at) || step.Head.Number != 19 || l.f.sources[0].head.Load() != 19 {
		t.Errorf("%+v, the source's head is %d", step, l.f.sources[0].head.Load())
	}
	if step = f("the same head", "", nil, n.block("18")); step.SpanConfirmed.Equal(before.at) || step.SpanConfirmed.IsZero() {
		t.Errorf("%+v; want it confirmed by the second look", step)
	}
	far := n.block("19").(object)
	far["number"] = hex(18 + maxJump + 1)
	if step = f("a head too far away", "", nil, far); step.Head.Number != 18 {
		t.Errorf("%+v; want the head as it was", step)
	}
	if step = f("a lower head", "", nil, n.block("17")); step.Head.Number != 18 {
		t.Errorf("%+v; want the head as it was", step)
	}
}

// A poll ends at the block that the ledger refuses, and reads nothing again of it.
func TestPollsToABlock(t *testing.T) {
	f := func(after int, last, want uint64, again int) {
		t.Helper()
		c := newChain(1)
		for i := range int64(39) {
			c.mine(swapped(i + 1))
		}
		n := newNode(t, c)
		n.receiptless = true
		l := follow(t, nil, n)
		l.f.pollSize = 16
		head, err := l.f.headFor(t.Context(), market.Head{})
		if err != nil {
			t.Fatal(err)
		}
		at := c.blocks[after]
		step, err := l.f.pollBlocks(t.Context(), feed.Step{Head: head.head()}, head,
			market.Head{Number: at.number, Hash: at.hash, Time: at.time}, &feed.Cursor{Refused: last})
		if err != nil || step.Span == nil || step.Span.From != at.number+1 || step.Span.To != want || len(l.f.recheck) != again {
			t.Errorf("to %d: %v, %+v, to be read again are %+v; want block %d", last, err, step.Span, l.f.recheck, want)
		}
		if l.f.pollSize != 32 {
			t.Errorf("the next poll has up to %d blocks; want 32", l.f.pollSize)
		}
	}

	f(20, 0, 36, 1)
	f(20, 21, 21, 0)
	f(20, 30, 30, 0)
	f(20, 100, 36, 0)
	f(0, 1, 1, 0)
}

// The head's own header is taken from the source that showed it; another source is asked
// for its own.
func TestHeaderOfTheHead(t *testing.T) {
	c, other := newChain(3), newChain(3)
	other.cut(1)
	other.mine()
	l := follow(t, nil, newNode(t, c), newNode(t, other))
	head := &observedHead{*l.headersOf(&fakeNode{fakeChain: c}, 1)[0], l.f.sources[0], time.Time{}}
	at := market.Head{Number: 1, Hash: c.blocks[1].hash}

	walk, err := l.f.walkHeaders(t.Context(), l.f.sources[0], 2, 2, at, head)
	if err != nil || len(walk.headers) != 1 || walk.headers[0] != &head.wireHeader || walk.source != l.f.sources[0] {
		t.Errorf("%+v, %v; want the header of the head", walk, err)
	}
	_, err = l.f.walkHeaders(t.Context(), l.f.sources[1], 2, 2, at, head)
	fails(t, "of another source", err, "block 2 is "+other.head().hash.String()+", the head was "+c.head().hash.String())
}

// An endpoint has the roles that it is given, or the first two.
func TestRolesOfEndpoints(t *testing.T) {
	f := func(backfill, live, fallback bool, roles ...Role) {
		t.Helper()
		c := &EndpointConfig{Roles: roles}
		if c.has(Backfill) != backfill || c.has(Live) != live || c.has(Fallback) != fallback {
			t.Errorf("%q: backfill %t, live %t, fallback %t", roles, c.has(Backfill), c.has(Live), c.has(Fallback))
		}
	}
	f(true, true, false)
	f(true, false, false, Backfill)
	f(false, true, false, Live)
	f(false, false, true, Fallback)
	f(false, true, true, Live, Fallback)

	_, err := New(Config{Chain: 7, Endpoints: []EndpointConfig{{URL: "http://a", Roles: []Role{Live}}}})
	fails(t, "without a role", err, "chain 7 has no endpoint with the role backfill")
	_, err = New(Config{Chain: 7, Endpoints: []EndpointConfig{{URL: "http://a", Roles: []Role{Backfill}}}})
	fails(t, "without a role", err, "chain 7 has no endpoint with the role live")
}

// What the node asks beside the feed goes to the first endpoint that answers.
func TestAsksBesideTheFeed(t *testing.T) {
	c := busy(3)
	bad, good := newNode(t, c), newNode(t, c)
	l := follow(t, nil, bad, good)
	ask := func() (string, error) {
		var number *quantity
		err := l.f.Ask(t.Context(), []endpoint.Call{{Method: "eth_blockNumber", Result: &number}})
		return number.String(), err
	}

	if got, err := ask(); err != nil || got != "2" || good.requestCount != 0 {
		t.Errorf("answered %s, %v; the second was asked %d times", got, err, good.requestCount)
	}

	bad.status = 502
	if got, err := ask(); err != nil || got != "2" {
		t.Errorf("answered %s, %v by the second", got, err)
	}
	good.id = 9
	l.f.sources[1].checked.Store(0)
	_, err := ask()
	fails(t, "of two", err, "rpc-1: ")
	fails(t, "of two", err, "rpc-2: the node is on chain 9; want 1")
}

// A range that follows another block than the ledger's newest is refused, the first block's
// child too.
func TestRangesFollowTheLedger(t *testing.T) {
	f := func(at market.Head, problem string) {
		t.Helper()
		n := newNode(t, busy(400))
		l := follow(t, nil, n)
		head, err := l.f.headFor(t.Context(), market.Head{})
		if err != nil {
			t.Fatal(err)
		}
		if at.Hash == (market.Hash{1}) {
			at.Hash = n.blocks[at.Number].hash
		}
		step, err := l.f.backfillRange(t.Context(), feed.Step{Head: head.head()}, head, at, new(feed.Cursor))
		fails(t, fmt.Sprint("after block ", at.Number), err, problem)
		if given := step.Span != nil; given != (problem == "") || given && (step.Span.From != at.Number+1 || step.Span.Parent != at.Hash) {
			t.Errorf("after %+v: %+v", at, step.Span)
		}
	}

	f(market.Head{Number: 0, Hash: market.Hash{1}}, "")
	f(market.Head{Number: 9, Hash: market.Hash{1}}, "")
	f(market.Head{Number: 9}, "") // which the ledger begins after
	f(market.Head{Number: 0, Hash: market.Hash{9}}, "the ledger has 0x09")
	f(market.Head{Number: 9, Hash: market.Hash{9}}, "the ledger has 0x09")
}

// A text is that of the ABI or 32 bytes filled with zeros, and is read no further than the
// answer.
func TestTexts(t *testing.T) {
	f := func(answer string, want string) {
		t.Helper()
		b := hexBytes(answer)
		got, ok := text(&b).Get()
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%q is read as %q; want %q", answer, got, want)
		}
	}
	word := func(v int64) string { h := number(v); return string(h[:]) }

	f(word(32)+word(4)+"TIDE", "TIDE")
	f(word(32)+word(4)+"TIDE"+strings.Repeat("\x00", 28), "TIDE")
	f(word(32)+word(0), "")
	f(word(36)+"----"+word(4)+"TIDE", "TIDE")
	f(word(32)+word(5)+"TIDE", "none")
	f(word(37)+word(4)+"TIDE", "none")
	f(word(36)+word(4)+"TIDE", "none") // its size would be beyond the answer
	f(word(-1)+word(4)+"TIDE", "none")
	f(word(32)+word(-1)+"TIDE", "none")
	f("TIDE"+strings.Repeat("\x00", 28), "TIDE")
	f(strings.Repeat("T", 32), strings.Repeat("T", 32))
	f(strings.Repeat("T", 31), "none")
	f(word(32)+word(texts.MaxLen+5)+strings.Repeat("a", texts.MaxLen+5), strings.Repeat("a", texts.MaxLen))
	f(word(32)+word(3)+"a\xffb", "ab")
	if text(nil) != 0 {
		t.Error("no answer is a text")
	}
}
