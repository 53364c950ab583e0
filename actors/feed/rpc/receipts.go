package rpc

import (
	"context"
	"fmt"

	geth "github.com/ethereum/go-ethereum/rpc"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// patience is how often in a row a span is read again because no URL has a
// receipt or can describe a token: with the growing pauses some five minutes.
// Then that stays unknown, since a node that has thrown its old receipts away
// never finds one.
const patience = 10

// pay reads what the transactions that change an NFT used and paid.
func (f *Feed) pay(ctx context.Context, blocks []rawBlock, need uint64) error {
	var wanted []*rawBlock // by transaction
	var txs []*market.Tx
	for i := range blocks {
		for k, paid := range blocks[i].paid {
			if paid {
				wanted, txs = append(wanted, &blocks[i]), append(txs, &blocks[i].Txs[k])
			}
		}
	}
	if len(txs) == 0 {
		return nil
	}
	err := f.try(ctx, need, func(n *node) error { return f.receipts(ctx, n, wanted, txs) })
	if err == nil {
		f.unpaid = 0
		return nil
	}
	if f.unpaid++; f.unpaid <= patience || ctx.Err() != nil || !isMissing(err) {
		return err
	}
	f.unpaid = 0
	for _, tx := range txs {
		if !tx.GasKnown {
			f.m.noReceipts.Inc()
			f.cfg.Log.Warn("no node has a receipt; gas stays unknown",
				"chain", f.cfg.Chain, "transaction", tx.Hash.String())
		}
	}
	return nil
}

// isMissing reports whether every URL merely did not have something.
func isMissing(err error) bool {
	j, ok := err.(joined)
	for _, e := range j {
		ok = ok && isNotThere(e)
	}
	return ok
}

// receipts fills the transactions' gas from one URL, those that it does not
// find by hash from the receipts of their blocks: nodes index hashes of the
// last year only and keep receipts for longer.
func (f *Feed) receipts(
	ctx context.Context, n *node, blocks []*rawBlock, txs []*market.Tx,
) error {
	got := make([]*wireReceipt, len(txs))
	calls := make([]geth.BatchElem, len(txs))
	for i, tx := range txs {
		calls[i] = geth.BatchElem{
			Method: "eth_getTransactionReceipt", Args: []any{tx.Hash.String()}, Result: &got[i],
		}
	}
	if err := n.ask(ctx, calls); err != nil {
		return err
	}
	for i, tx := range txs {
		if err := callError(&calls[i]); err != nil && isLimit(err) {
			return err
		}
		if got[i] != nil && calls[i].Error == nil {
			if err := got[i].fill(tx, blocks[i].hash); err != nil {
				return err
			}
		}
	}
	for i, tx := range txs {
		if tx.GasKnown || got[i] != nil {
			continue
		}
		if err := blockReceipts(ctx, n, blocks[i]); err != nil {
			return err
		}
		if !tx.GasKnown {
			return fmt.Errorf("receipt of %s: %w", tx.Hash, errNotThere)
		}
	}
	return nil
}

func blockReceipts(ctx context.Context, n *node, b *rawBlock) error {
	var all []wireReceipt
	if err := n.call(ctx, &all, "eth_getBlockReceipts", market.Hash(b.hash).String()); err != nil {
		if isLimit(err) || !isAnswer(err) {
			return err
		}
		return fmt.Errorf("receipts of block %d: %w: %w", b.Number, errNotThere, err)
	}
	for i := range all {
		for k := range b.Txs {
			if !b.paid[k] || b.Txs[k].Hash != market.Hash(all[i].TxHash) {
				continue
			}
			if err := all[i].fill(&b.Txs[k], b.hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill gives a transaction its gas. A receipt without a price, as some old
// nodes give, leaves the gas unknown.
func (r *wireReceipt) fill(tx *market.Tx, block word) error {
	switch {
	case market.Hash(r.TxHash) != tx.Hash:
		return fmt.Errorf("asked for the receipt of %s, got that of %s",
			tx.Hash, market.Hash(r.TxHash))
	case r.Block == nil || *r.Block != block:
		return fmt.Errorf("transaction %s is in another block now: %w", tx.Hash, errMoved)
	case r.GasUsed == nil:
		return fmt.Errorf("receipt of %s lacks gasUsed", tx.Hash)
	}
	tx.GasUsed = uint64(*r.GasUsed)
	if r.GasPrice != nil {
		tx.GasPrice, tx.GasKnown = clmath.U128(*r.GasPrice), true
	}
	return nil
}
