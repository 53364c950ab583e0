package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"tidemark/rankings/market"
)

// mockChain is a chain of which only the blocks with events are stored.
type mockChain struct {
	id     market.ChainID
	head   atomic.Uint64
	final  uint64 // blocks under the head that are not finalized
	times  func(number uint64) int64
	blocks []mockBlock // with events, ascending
	txs    map[market.Hash]txPlace
	tokens map[market.Address]market.TokenMeta
}

type mockBlock struct {
	*market.Block
	logs  []byte // JSON, a comma between them
	bloom [256]byte
}

type txPlace struct{ block, tx int }

// newChain makes a chain of blocks with events.
func newChain(id market.ChainID, head uint64, times func(uint64) int64) *mockChain {
	c := &mockChain{
		id: id, times: times, txs: make(map[market.Hash]txPlace),
		tokens: make(map[market.Address]market.TokenMeta),
	}
	c.head.Store(head)
	return c
}

// add appends a block with events.
func (c *mockChain) add(b *market.Block) {
	block := mockBlock{Block: b}
	for i := range b.Logs {
		w := encode(b.Logs[i].Event)
		if i > 0 {
			block.logs = append(block.logs, ',')
		}
		block.logs = appendLog(block.logs, w, b, &b.Logs[i])
		setBits(&block.bloom, w.address[:])
		for _, t := range w.topics {
			setBits(&block.bloom, t[:])
		}
	}
	for i := range b.Txs {
		c.txs[b.Txs[i].Hash] = txPlace{len(c.blocks), i}
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

// setBits sets the three bits of an address or a topic in a block's bloom filter.
func setBits(bloom *[256]byte, b []byte) {
	h := keccak(b)
	for i := range 3 {
		bit := (uint16(h[2*i])<<8 | uint16(h[2*i+1])) & 2047
		bloom[255-bit/8] |= 1 << (bit % 8)
	}
}

// find returns the place of the first block with events from number on.
func (c *mockChain) find(number uint64) int {
	i, _ := slices.BinarySearchFunc(c.blocks, number,
		func(b mockBlock, n uint64) int { return cmp.Compare(b.Number, n) })
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

	bloom, root := emptyBloom, hashOf(0)
	if i := c.find(number); i < len(c.blocks) && c.blocks[i].Number == number {
		bloom = string(appendHex(nil, c.blocks[i].bloom[:]))
	}
	return fmt.Sprintf(`{"number":"%#x","hash":"%s","parentHash":"%s","timestamp":"%#x",`+
		`"logsBloom":"%s","receiptsRoot":"%s","transactions":[]}`,
		number, hashOf(number), hashOf(number-1), c.times(number), bloom, root)
}

// logs returns those of a range and how many bytes they are, and whether there are
// more than most.
func (c *mockChain) logs(from, to uint64, most int) (text []byte, ok bool) {
	to = min(to, c.head.Load())
	text = append(text, '[')
	n := 0
	for i := c.find(from); i < len(c.blocks) && c.blocks[i].Number <= to; i++ {
		if n += len(c.blocks[i].Logs); n > most && from < to {
			return nil, false
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, c.blocks[i].logs...)
	}
	return append(text, ']'), true
}

// receipt returns a transaction's receipt, without its logs.
func (c *mockChain) receipt(hash string) string {
	h, err := market.ParsePoolID(hash)
	place, found := c.txs[market.Hash(h)]
	if err != nil || !found {
		return "null"
	}
	b := c.blocks[place.block]
	tx := &b.Txs[place.tx]
	return fmt.Sprintf(`{"type":"0x2","status":"0x1","cumulativeGasUsed":"%#x","logsBloom":"%s",`+
		`"logs":[],"transactionHash":"%s","transactionIndex":"%#x","blockHash":"%s",`+
		`"blockNumber":"%#x","gasUsed":"%#x","effectiveGasPrice":"0x%s"}`,
		tx.GasUsed, emptyBloom, tx.Hash, place.tx, hashOf(b.Number), b.Number, tx.GasUsed,
		trimmed(tx))
}

func trimmed(tx *market.Tx) string {
	price := tx.GasPrice.U256()
	return price.Hex()[2:]
}
