package rpc

import (
	"context"
	"fmt"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// patience is how often in a row a span is read again because no URL has a
// receipt: with the growing pauses some two minutes. Then its gas stays unknown,
// since a node that has thrown its old receipts away never finds one. prunedPatience is
// that of history afterwards, until a receipt is found: it has thousands of such spans.
const (
	patience       = 10
	prunedPatience = 1
)

// fetchReceipts reads what the transactions that change an NFT used and paid. absent
// counts how often in a row they were not there. Those of history may have been thrown
// away; at the head they can only be late.
func (f *Feed) fetchReceipts(
	ctx context.Context, blocks []rawBlock, need uint64, absent *int, history bool,
) error {
	in, txs := withoutGas(blocks)
	if len(txs) == 0 {
		return nil
	}

	err := f.trySources(ctx, Backfill, need, func(s *source) error {
		return f.fetchGas(ctx, s, in, txs)
	})
	if err == nil {
		*absent = 0
		if history {
			f.pruned.Store(false)
		}
		return nil
	}
	if ctx.Err() != nil || !allErrors(err, isAbsent) || !f.losesPatience(absent, history) {
		return err
	}

	for _, tx := range txs {
		if !tx.GasKnown {
			f.m.noReceipts.Inc()
		}
	}
	f.cfg.Log.Warn("no node has some receipts; their gas stays unknown",
		"chain", f.cfg.Chain, "transactions", len(txs), "first", txs[0].Hash.String())
	return nil
}

// withoutGas returns the transactions whose gas is needed and not known yet, and the block of
// each.
func withoutGas(blocks []rawBlock) (in []*rawBlock, txs []*market.Tx) {
	for i := range blocks {
		for k, needs := range blocks[i].needsGas {
			if tx := &blocks[i].Txs[k]; needs && !tx.GasKnown {
				in, txs = append(in, &blocks[i]), append(txs, tx)
			}
		}
	}
	return in, txs
}

// losesPatience counts that no source had the receipts of a span, and reports whether their
// gas is to stay unknown.
func (f *Feed) losesPatience(absent *int, history bool) bool {
	allowed := patience
	if history && f.pruned.Load() {
		allowed = prunedPatience
	}
	if *absent++; *absent <= allowed {
		return false
	}

	*absent = 0
	if history {
		f.pruned.Store(true)
	}
	return true
}

// fetchGas fills the transactions' gas from one source, those that it does not
// find by hash from the receipts of their blocks: nodes index hashes of the
// last year only and keep receipts for longer. What is found is kept when the
// rest fails.
func (f *Feed) fetchGas(
	ctx context.Context, s *source, blocks []*rawBlock, txs []*market.Tx,
) error {
	unpriced, err := fetchGasByHash(ctx, s, blocks, txs)
	if err != nil {
		return err
	}

	for i, tx := range txs {
		if tx.GasKnown || unpriced[i] {
			continue
		}
		if err := fetchBlockGas(ctx, s, blocks[i]); err != nil {
			return err
		}
		if !tx.GasKnown {
			return absentError("receipt of %s", tx.Hash)
		}
	}
	return nil
}

// fetchGasByHash fills the gas of the transactions whose receipts a source finds by hash. It
// reports which receipts name no price.
func fetchGasByHash(
	ctx context.Context, s *source, blocks []*rawBlock, txs []*market.Tx,
) (unpriced []bool, err error) {
	got := make([]gasReader, len(txs))
	var calls []endpoint.Call
	for i, tx := range txs {
		if tx.GasKnown {
			continue
		}
		calls = append(calls, endpoint.Call{
			Method: "eth_getTransactionReceipt", Args: []any{tx.Hash.String()}, Result: &got[i],
		})
	}
	asked := s.AskAtOnce(ctx, calls)

	unpriced = make([]bool, len(txs))
	for i, tx := range txs {
		if !got[i].found {
			continue
		}
		if got[i].wrong != nil {
			return nil, got[i].wrong
		}
		if err := got[i].check(tx, blocks[i].hash); err != nil {
			return nil, err
		}
		got[i].fill(tx)
		unpriced[i] = !tx.GasKnown
	}
	return unpriced, asked
}

func fetchBlockGas(ctx context.Context, s *source, b *rawBlock) error {
	var all []wireReceipt
	err := s.Call(ctx, &all, "eth_getBlockReceipts", market.Hash(b.hash).String())
	if endpoint.IsAnswer(err) {
		return absentError("receipts of block %d (%v)", b.Number, err)
	}
	if err != nil {
		return err
	}
	return takeGas(b, all)
}

// takeGas fills the gas of a block's transactions from its receipts.
func takeGas(b *rawBlock, receipts []wireReceipt) error {
	for i := range receipts {
		for k := range b.Txs {
			if !b.needsGas[k] || b.Txs[k].Hash != market.Hash(receipts[i].TxHash) {
				continue
			}
			if err := receipts[i].check(&b.Txs[k], b.hash); err != nil {
				return err
			}
			receipts[i].fill(&b.Txs[k])
		}
	}
	return nil
}

func (r *wireReceipt) check(tx *market.Tx, block word) error {
	switch {
	case market.Hash(r.TxHash) != tx.Hash:
		return fmt.Errorf("asked for the receipt of %s, got that of %s",
			tx.Hash, market.Hash(r.TxHash))
	case r.Block == nil || *r.Block != block:
		return movedError("transaction %s is in another block now", tx.Hash)
	case r.GasUsed == nil:
		return fmt.Errorf("receipt of %s lacks gasUsed", tx.Hash)
	}
	return nil
}

// fill gives a transaction its gas. A receipt without a price, as some old
// nodes give, leaves the gas unknown.
func (r *wireReceipt) fill(tx *market.Tx) {
	tx.GasUsed = uint64(*r.GasUsed)
	if r.GasPrice != nil {
		tx.GasPrice, tx.GasKnown = clmath.U128(*r.GasPrice), true
	}
}
