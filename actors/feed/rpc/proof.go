package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

const (
	// receiptsAtOnce is how many blocks' receipts one request asks for: those of
	// a full block are a megabyte.
	receiptsAtOnce = 8
	// maxProofs bounds the blocks whose events are kept until their span is
	// complete: two polls.
	maxProofs = 2 * maxWalk
	// agreements is how often every source must give the same logs of a block
	// whose receipts no one has before they count as proven.
	agreements = 3
)

// proofs are the blocks whose events are known although the span that they
// belong to is not complete yet, by hash.
type proofs struct {
	blocks    map[word]provenBlock
	agreed    map[word]int // how often all sources agreed on the logs
	rootsHold bool         // a block's receipts had its receiptsRoot
}

type provenBlock struct {
	number uint64
	events []rawBlock // none or one
	proven bool
}

func (p *proofs) put(h *wireHeader, b provenBlock) {
	if p.blocks == nil || len(p.blocks) >= maxProofs {
		p.blocks = make(map[word]provenBlock)
	}
	b.number = uint64(*h.Number)
	p.blocks[h.Hash] = b
}

// forget drops what was kept of the blocks up to the end of a complete span. What
// sources agreed on counts on while the ledger refuses it.
func (p *proofs) forget(to uint64, refused bool) {
	maps.DeleteFunc(p.blocks, func(_ word, b provenBlock) bool { return b.number <= to })
	if !refused {
		p.agreed = nil
	}
}

// readBlocks returns the events of blocks, and whether all of them are proven.
// A block whose bloom filter excludes them has none. The events of the others are
// taken from their receipts, which are checked against the header's root: an answer
// to eth_getLogs can be empty or short where the node has not indexed the block yet.
// After an error the walk ends before the first block that is not known.
func (f *Feed) readBlocks(ctx context.Context, walk *headerWalk) ([]rawBlock, bool, error) {
	var open []*wireHeader
	for _, h := range walk.headers {
		if _, known := f.proofs.blocks[h.Hash]; !known && f.mayHold(walk.source, h) {
			open = append(open, h)
		}
	}
	var failed error
	for part := range slices.Chunk(open, receiptsAtOnce) {
		if failed = f.proveBlocks(ctx, part); failed != nil {
			break
		}
	}

	var blocks []rawBlock
	proven := true
	for i, h := range walk.headers {
		b, known := f.proofs.blocks[h.Hash]
		if !known && slices.Contains(open, h) {
			walk.headers = walk.headers[:i]
			break
		}
		if known {
			proven = proven && b.proven
		}
		blocks = append(blocks, b.events...)
	}
	return blocks, proven, failed
}

// mayHold reports whether a block may hold one of our events. A source whose
// headers never had a bit in their bloom filter does not keep them.
func (f *Feed) mayHold(s *source, h *wireHeader) bool {
	if h.ReceiptsRoot == emptyRoot {
		return false
	}
	return !s.blooms.Load() || f.blooms.mayHold(h.Bloom)
}

// proveBlocks reads the receipts of blocks, and the logs of those whose receipts no
// source has.
func (f *Feed) proveBlocks(ctx context.Context, headers []*wireHeader) error {
	need := uint64(*headers[len(headers)-1].Number)
	left := headers
	err := f.trySources(ctx, Live, need, func(s *source) error {
		var err error
		left, err = f.readReceipts(ctx, s, left)
		return err
	})

	if err == nil || ctx.Err() != nil {
		return err
	}

	for _, h := range left {
		if logErr := f.readLogs(ctx, h); logErr != nil && ctx.Err() == nil {
			return fmt.Errorf("%w; receipts: %w", logErr, err)
		}
	}
	return nil
}

// readReceipts reads the receipts of blocks from one source and returns those
// that it could not show with proof.
func (f *Feed) readReceipts(
	ctx context.Context, s *source, headers []*wireHeader,
) (left []*wireHeader, err error) {
	answers := make([]*[]wireReceipt, len(headers))
	calls := make([]endpoint.Call, len(headers))
	for i, h := range headers {
		calls[i] = endpoint.Call{
			Method: "eth_getBlockReceipts", Args: []any{market.Hash(h.Hash).String()},
			Result: &answers[i],
		}
	}
	if err := s.Ask(ctx, calls); err != nil {
		return headers, err
	}

	var failed error
	for i, h := range headers {
		err := endpoint.CallError(&calls[i])
		if err == nil && answers[i] == nil {
			err = absentError("receipts of block %d", *h.Number)
		}

		var receipts []wireReceipt
		switch {
		case err == nil:
			receipts = *answers[i]
		case endpoint.IsAnswer(err) && h.Txs != nil:
			receipts, err = s.receiptsOneByOne(ctx, h)
		}
		if err == nil {
			err = f.takeReceipts(h, receipts)
		}
		if err != nil {
			left, failed = append(left, h), err
		}
	}
	return left, failed
}

// receiptsOneByOne reads a block's receipts by its transactions, from a node
// that does not know eth_getBlockReceipts.
func (s *source) receiptsOneByOne(ctx context.Context, h *wireHeader) ([]wireReceipt, error) {
	answers := make([]*wireReceipt, len(*h.Txs))
	calls := make([]endpoint.Call, len(*h.Txs))
	for i, tx := range *h.Txs {
		calls[i] = endpoint.Call{
			Method: "eth_getTransactionReceipt", Args: []any{market.Hash(tx).String()},
			Result: &answers[i],
		}
	}

	if err := s.Ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return nil, err
	}
	receipts := make([]wireReceipt, len(answers))
	for i, r := range answers {
		if r == nil {
			return nil, absentError("receipt of %s", market.Hash((*h.Txs)[i]))
		}
		receipts[i] = *r
	}

	return receipts, nil
}

// takeReceipts checks that the receipts are those of the block, all of them, and
// keeps its events.
func (f *Feed) takeReceipts(h *wireHeader, receipts []wireReceipt) error {
	slices.SortStableFunc(receipts, func(a, b wireReceipt) int { return int(a.Index) - int(b.Index) })
	root, err := receiptsRoot(receipts)
	if err != nil {
		return fmt.Errorf("receipts of block %d: %w", *h.Number, err)
	}
	if root != h.ReceiptsRoot {
		// A chain may encode its receipts otherwise; then its blooms must do.
		if f.proofs.rootsHold || !completeByBloom(h, receipts) {
			return &endpoint.Error{Kind: endpoint.Absent, Text: fmt.Sprintf(
				"the %d receipts of block %d are not those of its receiptsRoot: some are missing",
				len(receipts), *h.Number)}
		}
	} else if len(receipts) > 0 {
		f.proofs.rootsHold = true
	}

	var logs []wireLog
	for i := range receipts {
		if b := receipts[i].Block; b == nil || *b != h.Hash {
			return movedError("receipts of block %d are of another block", *h.Number)
		}
		logs = append(logs, receipts[i].Logs...)
	}
	events, err := f.assembleBlock(h, f.ourLogs(logs), true)
	if err != nil {
		return err
	}
	for i := range events {
		if err := takeGas(&events[i], receipts); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		f.m.falsePositives.Inc()
	}
	f.proofs.put(h, provenBlock{events: events, proven: true})
	return nil
}

// completeByBloom reports whether the logs of the receipts set exactly the bits
// of the header's bloom filter and there is a receipt of every transaction.
func completeByBloom(h *wireHeader, receipts []wireReceipt) bool {
	if h.Bloom == nil || len(*h.Bloom) != bloomLen || h.Txs == nil || len(*h.Txs) != len(receipts) {
		return false
	}
	var bits [bloomLen]byte
	for i := range receipts {
		addLogs(&bits, receipts[i].Logs)
	}
	return string(bits[:]) == string(*h.Bloom)
}

// errInDoubt is of a block that may hold events that no node shows.
var errInDoubt = &endpoint.Error{
	Kind: endpoint.Absent,
	Text: "the block may hold events that no node shows; waiting for its receipts",
}

// readLogs reads the logs of a block whose receipts no source has. They are taken if they
// explain the block's bloom filter, and are proven when all sources have agreed often enough.
func (f *Feed) readLogs(ctx context.Context, h *wireHeader) error {
	found, agreed, err := f.askAllForLogs(ctx, h)
	if err != nil {
		return err
	}
	if !f.blooms.explained(h.Bloom, found) {
		return fmt.Errorf("block %d: %w", *h.Number, errInDoubt)
	}
	events, err := f.assembleBlock(h, f.ourLogs(found), false)
	if err != nil {
		return err
	}

	if f.proofs.agreed == nil {
		f.proofs.agreed = make(map[word]int)
	}
	if agreed {
		f.proofs.agreed[h.Hash]++
	}
	f.proofs.put(h, provenBlock{events: events, proven: f.proofs.agreed[h.Hash] >= agreements})
	return nil
}

// askAllForLogs asks every source for the logs of a block, without topics, so that other logs
// of our contracts explain bits of the bloom filter too. It returns those of the longest
// answer, since any may be short, and whether all answers are as long.
func (f *Feed) askAllForLogs(ctx context.Context, h *wireHeader) (found []wireLog, agreed bool, err error) {
	filter := map[string]any{
		"address": f.contractAddresses(), "blockHash": market.Hash(h.Hash).String(),
	}
	asked, alike := 0, 0
	var failed joined
	for _, s := range f.sourcesFor(Live) {
		var logs *[]wireLog
		err := f.useSource(ctx, s, func(s *source) error {
			return s.Call(ctx, &logs, "eth_getLogs", filter)
		})
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if err == nil && logs == nil {
			err = absentError("logs of the block")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
			continue
		}

		asked++
		switch {
		case len(*logs) > len(found):
			found, alike = *logs, 1
		case len(*logs) == len(found):
			alike++
		}
	}

	if asked == 0 {
		return nil, false, fmt.Errorf("block %d may hold events: %w", *h.Number, failed)
	}
	return found, alike == asked, nil
}
