package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/rankings/market"
)

// rawBlock is a block with events before all of it is known.
type rawBlock struct {
	market.Block
	hash     word
	dated    bool   // Time is known
	needsGas []bool // by transaction: it changes an NFT
}

// logFilter is the parameter of eth_getLogs for our events in the blocks that
// the pairs of names and values say.
func (f *Feed) logFilter(pairs ...string) map[string]any {
	var topics []string
	for _, t := range slices.Concat(managerTopics, positionTopics) {
		topics = append(topics, t.String())
	}
	m := map[string]any{"address": f.contractAddresses(), "topics": [][]string{topics}}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func (f *Feed) contractAddresses() []string {
	return []string{f.cfg.PoolManager.String(), f.cfg.PositionManager.String()}
}

// assembly makes blocks of the logs of the blocks from..to and refuses any answer
// that contradicts itself: each log must be complete, of one of our contracts, in
// ascending order and only once, in blocks of one hash.
type assembly struct {
	from, to uint64
	proven   bool // receipts show that the logs are on the chain
	blocks   []rawBlock
	logs     int

	// What the blocks have of these lies in a few pieces of memory.
	logSlab []market.Log
	txSlab  []market.Tx
	gasSlab []bool
}

// mostInSlab is how many elements of blocks share a piece of memory at most.
const mostInSlab = 512

// appendTo appends to a part that is the end of a slab.
func appendTo[T any](slab *[]T, part []T, v T) []T {
	if len(*slab) == cap(*slab) {
		size := max(min(2*cap(*slab), mostInSlab), 2*len(part), 4)
		*slab = append(make([]T, 0, size), part...)
	}
	*slab = append(*slab, v)
	end := len(*slab)
	return (*slab)[end-len(part)-1 : end : end]
}

func (f *Feed) assembleBlocks(logs []wireLog, from, to uint64, proven bool) ([]rawBlock, error) {
	a := assembly{from: from, to: to, proven: proven}
	for i := range logs {
		if err := f.assemble(&a, &logs[i]); err != nil {
			return nil, err
		}
	}
	return a.blocks, nil
}

// assemble adds the next log. It keeps nothing of l.
func (f *Feed) assemble(a *assembly, l *wireLog) error {
	i := a.logs
	a.logs++
	if err := f.checkLog(l, a.from, a.to); err != nil {
		return fmt.Errorf("log %d (block %s, index %s): %w", i, l.Block, l.LogIndex, err)
	}

	n, k := uint64(*l.Block), len(a.blocks)
	if k > 0 && a.blocks[k-1].Number > n {
		return fmt.Errorf("logs of block %d after those of block %d", n, a.blocks[k-1].Number)
	}
	if k == 0 || a.blocks[k-1].Number < n {
		b := rawBlock{Block: market.Block{Number: n}, hash: *l.Hash, dated: l.Time != nil}
		if b.dated {
			b.Time = int64(*l.Time)
		}
		a.blocks = append(a.blocks, b)
	}

	if err := f.addLog(a, &a.blocks[len(a.blocks)-1], l); err != nil {
		return fmt.Errorf("log %s of block %d, transaction %s: %w",
			l.LogIndex, n, market.Hash(*l.TxHash), err)
	}
	return nil
}

// maxLogIndex bounds the index of a log or a transaction in its block, so that both fit 32
// bits. No block has a thousandth of it.
const maxLogIndex = 1 << 31

func (f *Feed) checkLog(l *wireLog, from, to uint64) error {
	switch a := market.Address(l.Address); {
	case l.Block == nil || l.Hash == nil || l.TxHash == nil || l.TxIndex == nil || l.LogIndex == nil:
		return errors.New("its block, transaction or index is missing")
	case l.Removed:
		return errors.New("it is marked as removed")
	case !f.contracts().has(a):
		return fmt.Errorf("it is of %s, which was not asked for", a)
	case uint64(*l.Block) < from || uint64(*l.Block) > to:
		return fmt.Errorf("only blocks %d to %d were asked for", from, to)
	case *l.LogIndex > maxLogIndex || *l.TxIndex > maxLogIndex:
		return fmt.Errorf("log %s of transaction %s: an index in a block cannot exceed %d",
			l.LogIndex, l.TxIndex, maxLogIndex)
	}

	return nil
}

// addLog appends a checked log to the newest block.
func (f *Feed) addLog(a *assembly, b *rawBlock, l *wireLog) error {
	switch {
	case b.hash != *l.Hash:
		return fmt.Errorf("block hash %s; the log before it has %s",
			market.Hash(*l.Hash), market.Hash(b.hash))
	case l.Time != nil && b.dated && b.Time != int64(*l.Time):
		return fmt.Errorf("block timestamp %s; the log before it has %d", l.Time, b.Time)
	}

	index := uint32(*l.LogIndex)
	if k := len(b.Logs); k > 0 && b.Logs[k-1].Index >= index {
		return fmt.Errorf("it follows log %d", b.Logs[k-1].Index)
	}

	event, err := f.decode(market.Address(l.Address), l.Topics, l.Data)
	var impossible impossibleError
	if a.proven && errors.As(err, &impossible) {
		if e, ok := impossibleEvent(l.Topics, l.Data); ok {
			event, err = e, nil
		}
	}
	if err != nil {
		return err
	}
	b.dated = b.dated && l.Time != nil
	tx := len(b.Txs) - 1
	if tx < 0 || b.Txs[tx].Hash != market.Hash(*l.TxHash) {
		b.Txs = appendTo(&a.txSlab, b.Txs, market.Tx{Hash: market.Hash(*l.TxHash)})
		b.needsGas = appendTo(&a.gasSlab, b.needsGas, false)
		tx++
	}

	b.needsGas[tx] = b.needsGas[tx] || f.contracts().ChangesNFT(event)
	b.Logs = appendTo(&a.logSlab, b.Logs, market.Log{Index: index, Tx: uint32(tx), Event: event})
	return nil
}

// assembleBlock assembles the logs of one block, none or one. proven: receipts show that
// they are on the chain.
func (f *Feed) assembleBlock(h *wireHeader, logs []wireLog, proven bool) ([]rawBlock, error) {
	number := uint64(*h.Number)
	blocks, err := f.assembleBlocks(logs, number, number, proven)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	b := &blocks[0]
	if b.hash != h.Hash {
		return nil, fmt.Errorf("logs of block %d are of %s; asked for %s: the block hash differs",
			number, market.Hash(b.hash), market.Hash(h.Hash))
	}
	b.Time, b.dated = int64(*h.Time), true
	return blocks, nil
}

// ourLogs returns the logs of our contracts that are read.
func (f *Feed) ourLogs(logs []wireLog) (out []wireLog) {
	c := f.contracts()
	for _, l := range logs {
		if len(l.Topics) > 0 && c.Reads(market.Address(l.Address), market.Hash(l.Topics[0])) {
			out = append(out, l)
		}
	}
	return out
}

// completeSpan adds what the events of a span at the head need: gas and token metadata.
// absent counts how often in a row receipts were not there.
func (f *Feed) completeSpan(
	ctx context.Context, s *market.Span, blocks []rawBlock, absent *int,
) error {
	if err := f.fetchReceipts(ctx, blocks, s.To, absent, false); err != nil {
		return fmt.Errorf("cannot read receipts: %w", err)
	}

	s.Blocks = blocksOf(blocks)
	var err error
	if s.Tokens, err = f.fetchTokens(ctx, s); err != nil {
		return fmt.Errorf("cannot read tokens: %w", err)
	}
	return nil
}

func blocksOf(blocks []rawBlock) []market.Block {
	out := make([]market.Block, len(blocks))
	for i := range blocks {
		out[i] = blocks[i].Block
	}
	return out
}

// handOver has a complete span go out with the next step.
func (f *Feed) handOver(s *market.Span) {
	s.Tokens = append(s.Tokens, f.tokens.takeRepaired()...)
	f.m.events.Add(countEvents(s))
}

func countEvents(s *market.Span) (n int) {
	for i := range s.Blocks {
		n += len(s.Blocks[i].Logs)
	}
	return n
}
