package archive

import (
	"math"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
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
func walkSpan(c *field.Coder, s *market.Span) {
	more := s.To - s.From
	c.U64("from", &s.From)
	c.U64("more", &more)
	if c.Read {
		if s.To = s.From + more; s.To < s.From {
			c.Fail("more")
		}
	}
	c.Flags("flags", &s.Final, &s.Strict)
	c.Fixed("parent", s.Parent[:])
	c.Fixed("hash", s.Hash[:])
	c.I64("time", &s.Time)

	s.Tokens = walkList(c, "tokens", leastToken, s.Tokens, walkToken)
	next, time := s.From, s.Time
	s.Blocks = walkList(c, "blocks", leastBlock, s.Blocks, func(c *field.Coder, b *market.Block) {
		skipped, later := b.Number-next, b.Time-time
		c.U64("block", &skipped)
		c.I64("later", &later)
		if c.Read && (next > s.To || skipped > s.To-next) {
			c.Fail("block")
			return
		}
		b.Number, b.Time = next+skipped, time+later
		next, time = b.Number+1, b.Time
		walkBlock(c, b)
	})
}

// The least bytes of records: a decoder makes room for no more of them than can follow. So
// what is decoded takes at most four times its records, 256 MB for the largest frame. That
// needs an event in every block, and spans have no others: without it a block of 64 bytes
// in memory would be 4 bytes.
const (
	leastSpan  = 1 + 1 + 1 + 32 + 32 + 1 + 1 + 1
	leastToken = 20 + 1 + 1 + 1 + 1
	leastBlock = 1 + 1 + 1 + leastTx + 1 + leastLog
	leastTx    = 32 + 1 + 1 + 1
	leastLog   = 1 + 1 + 1 + 1 + 20
)

// walkList walks the number of elements and each of them, of least bytes or more. A list of
// none is nil.
func walkList[T any](
	c *field.Coder, field string, least int, list []T, walk func(*field.Coder, *T),
) []T {
	n := c.Count(field, len(list))
	if c.Read && n > len(c.Buf)/least {
		c.Fail(field)
		return nil
	}
	if c.Read {
		if list = nil; n > 0 {
			list = make([]T, n)
		}
	}

	for i := range list {
		if c.Failed() {
			return nil
		}
		walk(c, &list[i])
	}
	return list
}

// walkToken is the metadata of a currency.
func walkToken(c *field.Coder, t *market.TokenMeta) {
	c.Fixed("address", t.Address[:])
	walkText(c, "symbol", &t.Symbol)
	walkText(c, "name", &t.Name)
	c.Small("decimals", &t.Decimals, math.MaxUint8)
	c.Flags("badDecimals", &t.BadDecimals)
}

// walkText is a length and the bytes. No text is a single 0; others have their
// length plus one. A longer text than feeds keep is cut as they cut it, so that an
// archive made elsewhere gives the ledger what the chain itself would.
func walkText(c *field.Coder, name string, v *texts.Text) {
	var n uint64
	text, ok := v.Get()
	if ok {
		n = uint64(len(text)) + 1
	}
	c.U64(name, &n)
	if n == 0 {
		*v = 0
		return
	}

	if !c.Read {
		c.Fixed(name, []byte(text))
		return
	}
	if n-1 > uint64(len(c.Buf)) {
		c.Fail(name)
		return
	}

	raw := c.Take(name, int(n-1))
	if len(raw) > texts.MaxLen {
		*v = texts.FromContract(raw)
		return
	}
	*v = texts.New(string(raw))
}

// walkBlock is what a block holds: an event or more.
func walkBlock(c *field.Coder, b *market.Block) {
	b.Txs = walkList(c, "txs", leastTx, b.Txs, walkTx)
	var index, tx uint32
	b.Logs = walkList(c, "logs", leastLog, b.Logs, func(c *field.Coder, l *market.Log) {
		walkLog(c, l, &index, &tx)
		if c.Read && int(l.Tx) >= len(b.Txs) {
			c.Fail("on")
		}
	})
	c.Require("logs", len(b.Logs) > 0)
}

// walkTx is a transaction that emitted events.
func walkTx(c *field.Coder, t *market.Tx) {
	c.Fixed("tx", t.Hash[:])
	c.Flags("gasKnown", &t.GasKnown)
	c.U64("gasUsed", &t.GasUsed)
	c.U128("gasPrice", &t.GasPrice)
}

// walkLog is a log: its place relative to the log before it, and its event.
func walkLog(c *field.Coder, l *market.Log, index, tx *uint32) {
	skipped, on := l.Index-*index, l.Tx-*tx
	c.U32("log", &skipped)
	c.U32("on", &on)
	l.Index, l.Tx = *index+skipped, *tx+on
	*index, *tx = l.Index, l.Tx

	kind := kindOf(l.Event)
	c.Small("kind", &kind, math.MaxUint8)
	if c.Read {
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

func appendEvent(c *field.Coder, e market.Event) {
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

func readEvent(c *field.Coder, kind uint8) market.Event {
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

	c.Fail("kind")
	return nil
}

func readAs[E any](c *field.Coder, walk func(*field.Coder, *E)) (e E) {
	walk(c, &e)
	return e
}

func walkInitialize(c *field.Coder, e *market.Initialize) {
	c.Fixed("pool", e.Pool[:])
	c.Fixed("currency0", e.Currency0[:])
	c.Fixed("currency1", e.Currency1[:])
	c.U32("fee", &e.Fee)
	c.I32("tickSpacing", &e.TickSpacing)
	c.Fixed("hooks", e.Hooks[:])
	c.U256("sqrtPriceX96", &e.SqrtPriceX96)
	c.I32("tick", &e.Tick)
}

func walkModify(c *field.Coder, e *market.ModifyLiquidity) {
	c.Fixed("pool", e.Pool[:])
	c.Fixed("sender", e.Sender[:])
	c.I32("tickLower", &e.TickLower)
	c.I32("tickUpper", &e.TickUpper)
	c.I128("liquidityDelta", &e.LiquidityDelta)
	c.Fixed("salt", e.Salt[:])
}

func walkSwap(c *field.Coder, e *market.Swap) {
	c.Fixed("pool", e.Pool[:])
	c.Fixed("sender", e.Sender[:])
	c.I128("amount0", &e.Amount0)
	c.I128("amount1", &e.Amount1)
	c.U256("sqrtPriceX96", &e.SqrtPriceX96)
	c.U128("liquidity", &e.Liquidity)
	c.I32("tick", &e.Tick)
	c.U32("fee", &e.Fee)
}

func walkDonate(c *field.Coder, e *market.Donate) {
	c.Fixed("pool", e.Pool[:])
	c.Fixed("sender", e.Sender[:])
	c.U256("amount0", &e.Amount0)
	c.U256("amount1", &e.Amount1)
}

func walkProtocolFee(c *field.Coder, e *market.ProtocolFeeUpdated) {
	c.Fixed("pool", e.Pool[:])
	c.U32("protocolFee", &e.ProtocolFee)
}

func walkTransfer(c *field.Coder, e *market.TransferNFT) {
	c.Fixed("from", e.From[:])
	c.Fixed("to", e.To[:])
	c.U64("id", &e.ID)
}

func walkSubscription(c *field.Coder, e *market.Subscription) {
	c.U64("id", &e.ID)
	c.Fixed("subscriber", e.Subscriber[:])
}
