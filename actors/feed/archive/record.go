package archive

import (
	"tidemark/rankings/market"
)

// The kinds of events, as a log's record has them.
const (
	kindInitialize = 1 + iota
	kindModifyLiquidity
	kindSwap
	kindDonate
	kindProtocolFee
	kindTransfer
	kindSubscription
	kindUnsubscription
)

// walkSpan is the record of a span. The number of a block is relative to the least
// that it may have, and its time to that of the block before; that of the first
// block to the span's end.
func walkSpan(c *coder, s *market.Span) {
	more := s.To - s.From
	c.u64("from", &s.From)
	c.u64("more", &more)
	if c.read {
		if s.To = s.From + more; s.To < s.From {
			c.fail("more")
		}
	}
	c.flags("flags", &s.Final, &s.Strict)
	c.fixed("parent", s.Parent[:])
	c.fixed("hash", s.Hash[:])
	c.i64("time", &s.Time)

	s.Tokens = walkList(c, "tokens", s.Tokens, walkToken)
	next, time := s.From, s.Time
	s.Blocks = walkList(c, "blocks", s.Blocks, func(c *coder, b *market.Block) {
		skipped, later := b.Number-next, b.Time-time
		c.u64("block", &skipped)
		c.i64("later", &later)
		if c.read && (next > s.To || skipped > s.To-next) {
			c.fail("block")
			return
		}
		b.Number, b.Time = next+skipped, time+later
		next, time = b.Number+1, b.Time
		walkBlock(c, b)
	})
}

// walkList walks the number of elements and each of them. A list of none is nil.
func walkList[T any](c *coder, field string, list []T, walk func(*coder, *T)) []T {
	n := c.count(field, len(list))
	if c.read {
		if list = nil; n > 0 {
			list = make([]T, n)
		}
	}

	for i := range list {
		if c.bad != "" {
			return nil
		}
		walk(c, &list[i])
	}
	return list
}

// walkToken is the metadata of a currency.
func walkToken(c *coder, t *market.TokenMeta) {
	c.fixed("address", t.Address[:])
	c.text("symbol", &t.Symbol)
	c.text("name", &t.Name)
	c.u8("decimals", &t.Decimals)
	c.flags("badDecimals", &t.BadDecimals)
}

// walkBlock is what a block holds.
func walkBlock(c *coder, b *market.Block) {
	b.Txs = walkList(c, "txs", b.Txs, walkTx)
	var index, tx uint32
	b.Logs = walkList(c, "logs", b.Logs, func(c *coder, l *market.Log) {
		walkLog(c, l, &index, &tx)
		if c.read && int(l.Tx) >= len(b.Txs) {
			c.fail("on")
		}
	})
}

// walkTx is a transaction that emitted events.
func walkTx(c *coder, t *market.Tx) {
	c.fixed("tx", t.Hash[:])
	c.flags("gasKnown", &t.GasKnown)
	c.u64("gasUsed", &t.GasUsed)
	c.u128("gasPrice", &t.GasPrice)
}

// walkLog is a log: its place relative to the log before it, and its event.
func walkLog(c *coder, l *market.Log, index, tx *uint32) {
	skipped, on := l.Index-*index, l.Tx-*tx
	c.u32("log", &skipped)
	c.u32("on", &on)
	l.Index, l.Tx = *index+skipped, *tx+on
	*index, *tx = l.Index, l.Tx

	kind := kindOf(l.Event)
	c.u8("kind", &kind)
	if c.read {
		l.Event = readEvent(c, kind)
		return
	}
	appendEvent(c, l.Event)
}

func kindOf(e market.Event) uint8 {
	switch e.(type) {
	case market.Initialize:
		return kindInitialize
	case market.ModifyLiquidity:
		return kindModifyLiquidity
	case market.Swap:
		return kindSwap
	case market.Donate:
		return kindDonate
	case market.ProtocolFeeUpdated:
		return kindProtocolFee
	case market.TransferNFT:
		return kindTransfer
	case market.Subscription:
		return kindSubscription
	case market.Unsubscription:
		return kindUnsubscription
	}

	return 0
}

func appendEvent(c *coder, e market.Event) {
	switch e := e.(type) {
	case market.Initialize:
		walkInitialize(c, &e)
	case market.ModifyLiquidity:
		walkModify(c, &e)
	case market.Swap:
		walkSwap(c, &e)
	case market.Donate:
		walkDonate(c, &e)
	case market.ProtocolFeeUpdated:
		walkProtocolFee(c, &e)

	case market.TransferNFT:
		walkTransfer(c, &e)
	case market.Subscription:
		walkSubscription(c, &e)
	case market.Unsubscription:
		walkSubscription(c, (*market.Subscription)(&e))
	}
}

func readEvent(c *coder, kind uint8) market.Event {
	switch kind {
	case kindInitialize:
		return readAs(c, walkInitialize)
	case kindModifyLiquidity:
		return readAs(c, walkModify)
	case kindSwap:
		return readAs(c, walkSwap)
	case kindDonate:
		return readAs(c, walkDonate)
	case kindProtocolFee:
		return readAs(c, walkProtocolFee)
	case kindTransfer:
		return readAs(c, walkTransfer)
	case kindSubscription:
		return readAs(c, walkSubscription)
	case kindUnsubscription:
		return market.Unsubscription(readAs(c, walkSubscription))
	}

	c.fail("kind")
	return nil
}

func readAs[E any](c *coder, walk func(*coder, *E)) (e E) {
	walk(c, &e)
	return e
}

func walkInitialize(c *coder, e *market.Initialize) {
	c.fixed("pool", e.Pool[:])
	c.fixed("currency0", e.Currency0[:])
	c.fixed("currency1", e.Currency1[:])
	c.u32("fee", &e.Fee)
	c.i32("tickSpacing", &e.TickSpacing)
	c.fixed("hooks", e.Hooks[:])
	c.u256("sqrtPriceX96", &e.SqrtPriceX96)
	c.i32("tick", &e.Tick)
}

func walkModify(c *coder, e *market.ModifyLiquidity) {
	c.fixed("pool", e.Pool[:])
	c.fixed("sender", e.Sender[:])
	c.i32("tickLower", &e.TickLower)
	c.i32("tickUpper", &e.TickUpper)
	c.i128("liquidityDelta", &e.LiquidityDelta)
	c.fixed("salt", e.Salt[:])
}

func walkSwap(c *coder, e *market.Swap) {
	c.fixed("pool", e.Pool[:])
	c.fixed("sender", e.Sender[:])
	c.i128("amount0", &e.Amount0)
	c.i128("amount1", &e.Amount1)
	c.u256("sqrtPriceX96", &e.SqrtPriceX96)
	c.u128("liquidity", &e.Liquidity)
	c.i32("tick", &e.Tick)
	c.u32("fee", &e.Fee)
}

func walkDonate(c *coder, e *market.Donate) {
	c.fixed("pool", e.Pool[:])
	c.fixed("sender", e.Sender[:])
	c.u256("amount0", &e.Amount0)
	c.u256("amount1", &e.Amount1)
}

func walkProtocolFee(c *coder, e *market.ProtocolFeeUpdated) {
	c.fixed("pool", e.Pool[:])
	c.u32("protocolFee", &e.ProtocolFee)
}

func walkTransfer(c *coder, e *market.TransferNFT) {
	c.fixed("from", e.From[:])
	c.fixed("to", e.To[:])
	c.u64("id", &e.ID)
}

func walkSubscription(c *coder, e *market.Subscription) {
	c.u64("id", &e.ID)
	c.fixed("subscriber", e.Subscriber[:])
}
