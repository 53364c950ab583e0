package rpc

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tidemark/rankings/market"
)

var (
	manager   = market.Address{0xaa}
	positions = market.Address{0xbb}
	token     = market.Address{0x70}
)

type object = map[string]any

// fakeChain is the chain that fake nodes show. Its times are 12 s apart.
type fakeChain struct {
	mu     sync.Mutex
	blocks []*fakeBlock
	forks  int  // so that a block made again has another hash
	fast   bool // four blocks a second
}

type fakeBlock struct {
	number       uint64
	hash, parent market.Hash
	time         int64
	bloom        [bloomLen]byte
	logs         []object
	receipts     []object // of its transactions, whose logs are all known
	root         word     // of its receipts
	txs          []any
}

func newChain(blocks int) *fakeChain {
	c := new(fakeChain)
	for range blocks {
		c.mine()
	}
	return c
}

func (c *fakeChain) head() *fakeBlock { return c.blocks[len(c.blocks)-1] }

// mine adds a block with these logs, each of them in a transaction of its own
// unless it says "same".
func (c *fakeChain) mine(logs ...object) *fakeBlock {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.blocks)
	b := &fakeBlock{number: uint64(n), time: 1_700_000_000 + 12*int64(n)}
	if c.fast {
		b.time = 1_700_000_000 + int64(n)/4
	}
	b.hash = keccak(fmt.Appendf(nil, "block %d of fork %d", n, c.forks))
	if n > 0 {
		b.parent = c.head().hash
	}

	tx := -1
	for i, l := range logs {
		if _, same := l["same"]; !same {
			tx++
		}
		delete(l, "same")
		l["blockNumber"], l["blockHash"] = hex(b.number), b.hash.String()
		l["blockTimestamp"], l["logIndex"] = hex(uint64(b.time)), hex(uint64(3*i))
		l["transactionIndex"] = hex(uint64(tx))
		l["transactionHash"] = keccak(fmt.Appendf(nil, "%s/%d", b.hash, tx)).String()
		l["removed"] = false
		b.setBloom(l)
		b.logs = append(b.logs, l)
	}

	b.receipts = b.makeReceipts()
	b.root, b.txs = rootOf(b.receipts), []any{}
	for _, r := range b.receipts {
		b.txs = append(b.txs, r["transactionHash"])
	}

	c.blocks = append(c.blocks, b)
	return b
}

func (b *fakeBlock) makeReceipts() (all []object) {
	for _, l := range b.logs {
		if n := len(all); n == 0 || all[n-1]["transactionHash"] != l["transactionHash"] {
			all = append(all, object{
				"transactionHash": l["transactionHash"], "blockHash": b.hash.String(),
				"transactionIndex": hex(uint64(n)), "type": "0x2", "status": "0x1",
				"gasUsed": hex(21000 + b.number), "effectiveGasPrice": "0x1234567890abcdef0",
				"cumulativeGasUsed": hex(uint64(n+1) * (21000 + b.number)), "logs": []object{},
			})
		}
		r := all[len(all)-1]
		r["logs"] = append(r["logs"].([]object), l)
	}

	for _, r := range all {
		var bloom fakeBlock
		for _, l := range r["logs"].([]object) {
			bloom.setBloom(l)
		}
		r["logsBloom"] = fmt.Sprintf("%#x", bloom.bloom[:])
	}

	return all
}

// rootOf computes the root as a node would: from the same receipts.
func rootOf(receipts []object) word {
	text, _ := json.Marshal(receipts)
	var decoded []wireReceipt
	_ = json.Unmarshal(text, &decoded)
	root, err := receiptsRoot(decoded)
	if err != nil {
		panic(err)
	}
	return root
}

func (b *fakeBlock) setBloom(l object) {
	a, _ := market.ParseAddress(l["address"].(string))
	parts := [][]byte{a[:]}
	for _, s := range l["topics"].([]string) {
		h, _ := market.ParsePoolID(s)
		parts = append(parts, h[:])
	}
	for _, p := range parts {
		bitsOf(p).set(&b.bloom)
	}
}

// cut takes the last blocks off, so that others can be mined in their place.
func (c *fakeChain) cut(depth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = c.blocks[:len(c.blocks)-depth]
	c.forks++
}

// fakeNode shows a chain, with the faults that a test sets.
type fakeNode struct {
	*fakeChain
	*httptest.Server
	id           uint64
	lag          int
	finalized    int // blocks under the head; -1: no such tag
	undated      bool
	maxRange     uint64
	status       int // of every answer, when not 0
	retryAfter   string
	single       bool                     // knows no batches
	receiptless  bool                     // has no receipts
	answer       func(string, object) any // overrides; nil: none
	calls        map[string]int
	params       map[string][]string // as they came, by method
	requestCount int
}

func newNode(t testing.TB, c *fakeChain) *fakeNode {
	n := &fakeNode{fakeChain: c, id: 1, finalized: 32, calls: map[string]int{},
		params: map[string][]string{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Server.Close)
	return n
}

type fakeCall struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requestCount++
	if n.status != 0 {
		w.Header().Set("Retry-After", n.retryAfter)
		w.WriteHeader(n.status)
		return
	}

	var raw json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&raw)
	var calls []fakeCall
	if raw[0] != '[' {
		calls = make([]fakeCall, 1)
		_ = json.Unmarshal(raw, &calls[0])
		_ = json.NewEncoder(w).Encode(n.reply(calls[0]))
		return
	}

	_ = json.Unmarshal(raw, &calls)
	if n.single {
		refusal := object{"jsonrpc": "2.0", "error": fail(-32600, "no batches").object}
		_ = json.NewEncoder(w).Encode(refusal)
		return
	}
	var answers []any
	for _, c := range calls {
		answers = append(answers, n.reply(c))
	}

	_ = json.NewEncoder(w).Encode(answers)
}

func (n *fakeNode) reply(c fakeCall) object {
	n.calls[c.Method]++
	n.params[c.Method] = append(n.params[c.Method], fmt.Sprintf("%s", c.Params))
	result := n.result(c)
	if n.answer != nil {
		if o := n.answer(c.Method, object{"params": c.Params, "result": result}); o != nil {
			result = o
		}
	}

	if e, ok := result.(failure); ok {
		return object{"jsonrpc": "2.0", "id": c.ID, "error": e.object}
	}

	if _, ok := result.(null); ok {
		result = nil
	}
	return object{"jsonrpc": "2.0", "id": c.ID, "result": result}
}

// failure is a JSON-RPC error as a result, null an answer of null.
type (
	failure struct{ object }
	null    struct{}
)

func fail(code int, message string) failure {
	return failure{object{"code": code, "message": message}}
}

func (n *fakeNode) result(c fakeCall) any {
	var first string
	if len(c.Params) > 0 {
		_ = json.Unmarshal(c.Params[0], &first)
	}

	switch c.Method {
	case "eth_chainId":
		return hex(n.id)
	case "eth_getBlockByNumber":
		return n.block(first)
	case "eth_getLogs":
		return n.getLogs(c.Params[0])
	case "eth_blockNumber":
		return hex(n.shown()[len(n.shown())-1].number)
	case "eth_getTransactionReceipt":
		return n.receipt(first)
	case "eth_getBlockReceipts":
		return n.blockReceipts(first)
	}

	return fail(-32601, "the method "+c.Method+" does not exist")
}

func (n *fakeNode) shown() []*fakeBlock { return n.blocks[:len(n.blocks)-n.lag] }

func (n *fakeNode) block(tag string) any {
	at := len(n.shown()) - 1
	switch tag {
	case "latest":
	case "finalized":
		if n.finalized < 0 {
			return fail(-39001, "Unknown block")
		}
		at = max(0, at-n.finalized)
	default:
		v, _ := strconv.ParseUint(tag, 0, 64)
		if v > uint64(at) {
			return nil
		}
		at = int(v)
	}

	b := n.blocks[at]
	return object{"number": hex(b.number), "hash": b.hash.String(), "parentHash": b.parent.String(),
		"timestamp": hex(uint64(b.time)), "logsBloom": fmt.Sprintf("%#x", b.bloom[:]),
		"receiptsRoot": market.Hash(b.root).String(), "transactions": b.txs}
}

func (n *fakeNode) getLogs(param json.RawMessage) any {
	var q struct {
		From, To  string `json:"-"`
		FromBlock string
		ToBlock   string
		BlockHash string
		Topics    [][]string
	}

	_ = json.Unmarshal(param, &q)
	from, _ := strconv.ParseUint(q.FromBlock, 0, 64)
	to, _ := strconv.ParseUint(q.ToBlock, 0, 64)
	if n.maxRange > 0 && q.BlockHash == "" && to-from+1 > n.maxRange {
		return fail(-32005, "query returned more than 10000 results")
	}

	found, out := false, []object{}
	for _, b := range n.shown() {
		if q.BlockHash != "" && b.hash.String() != q.BlockHash ||
			q.BlockHash == "" && (b.number < from || b.number > to) {
			continue
		}
		found = true
		for _, l := range b.logs {
			if len(q.Topics) > 0 && !strings.Contains(
				strings.Join(q.Topics[0], " "), l["topics"].([]string)[0]) {
				continue
			}
			copied := object{}
			for k, v := range l {
				if k != "blockTimestamp" || !n.undated {
					copied[k] = v
				}
			}
			out = append(out, copied)
		}
	}

	if q.BlockHash != "" && !found {
		return fail(-32000, "unknown block")
	}

	return out
}

func (n *fakeNode) receipt(tx string) any {
	for _, b := range n.shown() {
		for _, r := range b.receipts {
			if r["transactionHash"] == tx && !n.receiptless {
				return r
			}
		}
	}
	return nil
}

func (n *fakeNode) blockReceipts(block string) any {
	for _, b := range n.shown() {
		if b.hash.String() == block && !n.receiptless {
			return append([]object{}, b.receipts...)
		}
	}
	return nil
}

// The logs of a chain.

func rawLog(a market.Address, topics []market.Hash, data ...market.Hash) object {
	l := object{"address": a.String(), "data": "0x"}
	var text []string
	for _, t := range topics {
		text = append(text, t.String())
	}
	for _, d := range data {
		l["data"] = l["data"].(string) + d.String()[2:]
	}
	l["topics"] = text
	return l
}

func padded(a market.Address) (h market.Hash) { copy(h[12:], a[:]); return h }

func number(v int64) (h market.Hash) {
	if v < 0 {
		for i := range h {
			h[i] = 0xff
		}
	}
	binary.BigEndian.PutUint64(h[24:], uint64(v))
	return h
}

func created(currency market.Address) object {
	e := market.Initialize{Currency1: currency, Fee: 3000, TickSpacing: 60}
	return rawLog(manager, []market.Hash{managerTopics[0], market.Hash(poolID(&e)),
		padded(e.Currency0), padded(currency)},
		number(3000), number(60), padded(e.Hooks), sqrtOne(), number(0))
}

func sqrtOne() (h market.Hash) { h[19] = 1; return h } // 2^96

func swapped(amount int64) object {
	return rawLog(manager, []market.Hash{managerTopics[2], {1}, padded(market.Address{9})},
		number(-amount), number(amount), sqrtOne(), number(77), number(-3), number(3000))
}

// minted is the two logs of a new position, in one transaction.
func minted(id int64) []object {
	transfer := rawLog(positions, []market.Hash{positionTopics[0], {}, padded(market.Address{7}),
		number(id)})
	change := rawLog(manager, []market.Hash{managerTopics[1], {1}, padded(positions)},
		number(-60), number(120), number(1000), number(id))
	change["same"] = true
	return []object{transfer, change}
}

func approved() object {
	return rawLog(positions, []market.Hash{{0x8c}, {}, {}, number(1)})
}
