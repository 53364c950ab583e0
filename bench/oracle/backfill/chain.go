package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"tidemark/rankings/market"
)

// mockChain is a chain of which only the blocks with events are stored. What is asked
// for by the ten thousand is rendered when it is added: the time that a provider takes
// is its latency, and its processor is not the node's.
type mockChain struct {
	id       market.ChainID
	head     atomic.Uint64
	final    uint64 // blocks under the head that are not finalized
	times    func(number uint64) int64
	blocks   []mockBlock            // with events, ascending
	logs     []byte                 // JSON, of all blocks, a comma between them
	receipts map[market.Hash][]byte // JSON, by transaction
	tokens   map[market.Address]market.TokenMeta
}

type mockBlock struct {
	number   uint64
	events   int
	from, to int // where its logs stand
	bloom    bloom
}

type bloom [256]byte

// newChain makes a chain of blocks with events.
func newChain(id market.ChainID, head uint64, times func(uint64) int64) *mockChain {
	c := &mockChain{
		id: id, times: times, receipts: make(map[market.Hash][]byte),
		tokens: make(map[market.Address]market.TokenMeta),
	}
	c.head.Store(head)
	return c
}

// add appends a block with events.
func (c *mockChain) add(b *market.Block) {
	if len(c.logs) > 0 {
		c.logs = append(c.logs, ',')
	}
	block := mockBlock{number: b.Number, events: len(b.Logs), from: len(c.logs)}
	ofTx, blooms := make([][][]byte, len(b.Txs)), make([]bloom, len(b.Txs))
	var all [][]byte
	for i := range b.Logs {
		l := &b.Logs[i]
		w := encode(l.Event)
		text := appendLog(nil, w, b, l)
		all, ofTx[l.Tx] = append(all, text), append(ofTx[l.Tx], text)
		blooms[l.Tx].addLog(&w)
	}
	c.logs = append(c.logs, bytes.Join(all, []byte(","))...)
	block.to = len(c.logs)

	for i := range b.Txs {
		for k := range block.bloom {
			block.bloom[k] |= blooms[i][k]
		}
		c.receipts[b.Txs[i].Hash] = appendReceipt(nil, b, i, bytes.Join(ofTx[i], []byte(",")), &blooms[i])
	}
	c.blocks = append(c.blocks, block)
}

// addSpans appends what a recording holds.
func (c *mockChain) addSpans(spans []*market.Span) {
	for _, s := range spans {
		for i := range s.Blocks {
			c.add(&s.Blocks[i])
		}
		for _, t := range s.Tokens {
			c.tokens[t.Address] = t
		}
	}
}

func (m *bloom) addLog(w *wire) {
	m.set(w.address[:])
	for i := range w.topics {
		m.set(w.topics[i][:])
	}
}

// set sets the three bits of an address or a topic.
func (m *bloom) set(b []byte) {
	h := keccak(b)
	for i := range 3 {
		bit := (uint16(h[2*i])<<8 | uint16(h[2*i+1])) & 2047
		m[255-bit/8] |= 1 << (bit % 8)
	}
}

// find returns the place of the first block with events from number on.
func (c *mockChain) find(number uint64) int {
	i, _ := slices.BinarySearchFunc(c.blocks, number,
		func(b mockBlock, n uint64) int { return cmp.Compare(b.number, n) })
	return i
}

var emptyBloom = string(appendHex(nil, make([]byte, 256)))

// header returns a header as JSON; null above the head.
func (c *mockChain) header(tag string) string {
	head := c.head.Load()
	number, err := strconv.ParseUint(tag, 0, 64)
	switch {
	case tag == "latest":
		number = head
	case tag == "finalized":
		number = head - min(head, c.final)
	case err != nil || number > head:
		return "null"
	}

	bits, root := emptyBloom, hashOf(0)
	if i := c.find(number); i < len(c.blocks) && c.blocks[i].number == number {
		bits = string(appendHex(nil, c.blocks[i].bloom[:]))
	}
	return fmt.Sprintf(`{"number":"%#x","hash":"%s","parentHash":"%s","timestamp":"%#x",`+
		`"logsBloom":"%s","receiptsRoot":"%s","transactions":[]}`,
		number, hashOf(number), hashOf(number-1), c.times(number), bits, root)
}

// logsOf returns the logs of a range as an array in parts; not ok where there are more
// than most. Those of all its blocks are one part, which is written as it stands.
func (c *mockChain) logsOf(from, to uint64, most int) (parts [][]byte, ok bool) {
	first := c.find(from)
	blocks := c.blocks[first:max(first, c.find(min(to, c.head.Load())+1))]
	if len(blocks) == 0 {
		return [][]byte{[]byte("[]")}, true
	}

	n := 0
	for i := range blocks {
		n += blocks[i].events
	}
	logs := c.logs[blocks[0].from:blocks[len(blocks)-1].to]
	return [][]byte{[]byte("["), logs, []byte("]")}, n <= most || from == to
}

// receipt returns a transaction's receipt, or null.
func (c *mockChain) receipt(hash string) []byte {
	h, err := market.ParsePoolID(hash)
	if text, found := c.receipts[market.Hash(h)]; err == nil && found {
		return text
	}
	return []byte("null")
}
