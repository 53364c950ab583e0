package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// wire is an event as a contract logs it.
type wire struct {
	address market.Address
	topics  []market.Hash
	data    []byte
}

func topic(signature string) market.Hash { return keccak([]byte(signature)) }

var (
	initializeTopic = topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
	modifyTopic     = topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
	swapTopic       = topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
	donateTopic     = topic("Donate(bytes32,address,uint256,uint256)")
	protocolTopic   = topic("ProtocolFeeUpdated(bytes32,uint24)")
	transferTopic   = topic("Transfer(address,address,uint256)")
	subscribeTopic  = topic("Subscription(uint256,address)")
	leaveTopic      = topic("Unsubscription(uint256,address)")
)

// encode returns an event as it stands in a log.
func encode(e market.Event) wire {
	switch e := e.(type) {
	case market.Initialize:
		return wire{manager, []market.Hash{initializeTopic, market.Hash(e.Pool), padded(e.Currency0),
			padded(e.Currency1)}, words(number(int64(e.Fee)), number(int64(e.TickSpacing)),
			padded(e.Hooks), e.SqrtPriceX96.Bytes32(), number(int64(e.Tick)))}
	case market.ModifyLiquidity:
		return wire{manager, []market.Hash{modifyTopic, market.Hash(e.Pool), padded(e.Sender)},
			words(number(int64(e.TickLower)), number(int64(e.TickUpper)), signed(e.LiquidityDelta), e.Salt)}
	case market.Swap:
		return wire{manager, []market.Hash{swapTopic, market.Hash(e.Pool), padded(e.Sender)},
			words(signed(e.Amount0), signed(e.Amount1), e.SqrtPriceX96.Bytes32(), unsigned(e.Liquidity),
				number(int64(e.Tick)), number(int64(e.Fee)))}

	case market.Donate:
		return wire{manager, []market.Hash{donateTopic, market.Hash(e.Pool), padded(e.Sender)},
			words(e.Amount0.Bytes32(), e.Amount1.Bytes32())}
	case market.ProtocolFeeUpdated:
		return wire{manager, []market.Hash{protocolTopic, market.Hash(e.Pool)},
			words(number(int64(e.ProtocolFee)))}
	case market.TransferNFT:
		return wire{positions, []market.Hash{transferTopic, padded(e.From), padded(e.To),
			number(int64(e.ID))}, nil}
	case market.Subscription:
		return wire{positions, []market.Hash{subscribeTopic, number(int64(e.ID)), padded(e.Subscriber)}, nil}
	case market.Unsubscription:
		return wire{positions, []market.Hash{leaveTopic, number(int64(e.ID)), padded(e.Subscriber)}, nil}
	}
	panic(fmt.Sprintf("BUG: no encoding of %T", e))
}

func words(list ...market.Hash) (b []byte) {
	for _, w := range list {
		b = append(b, w[:]...)
	}
	return b
}

func padded(a market.Address) (h market.Hash) { copy(h[12:], a[:]); return h }

func number(v int64) (h market.Hash) { return signed(clmath.I128{Lo: uint64(v), Hi: v >> 63}) }

func signed(v clmath.I128) (h market.Hash) {
	if v.Hi < 0 {
		for i := range h {
			h[i] = 0xff
		}
	}
	binary.BigEndian.PutUint64(h[16:], uint64(v.Hi))
	binary.BigEndian.PutUint64(h[24:], v.Lo)
	return h
}

func unsigned(v clmath.U128) (h market.Hash) {
	binary.BigEndian.PutUint64(h[16:], v.Hi)
	binary.BigEndian.PutUint64(h[24:], v.Lo)
	return h
}

// poolID is the hash of a pool's key, as the contract computes it.
func poolID(e *market.Initialize) market.PoolID {
	key := words(padded(e.Currency0), padded(e.Currency1), number(int64(e.Fee)),
		number(int64(e.TickSpacing)), padded(e.Hooks))
	return market.PoolID(keccak(key))
}

// appendLog appends a log as nodes write it.
func appendLog(dst []byte, w wire, b *market.Block, l *market.Log) []byte {
	dst = append(dst, `{"address":"`...)
	dst = append(appendHex(dst, w.address[:]), `","topics":[`...)
	for i, t := range w.topics {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendHex(append(dst, '"'), t[:]), '"')
	}
	dst = append(dst, `],"data":"`...)
	dst = append(appendHex(dst, w.data), `","blockNumber":"`...)
	dst = append(appendQuantity(dst, b.Number), `","transactionHash":"`...)

	tx, hash := b.Txs[l.Tx].Hash, hashOf(b.Number)
	dst = append(appendHex(dst, tx[:]), `","transactionIndex":"`...)
	dst = append(appendQuantity(dst, uint64(l.Tx)), `","blockHash":"`...)
	dst = append(appendHex(dst, hash[:]), `","blockTimestamp":"`...)
	dst = append(appendQuantity(dst, uint64(b.Time)), `","logIndex":"`...)
	return append(appendQuantity(dst, uint64(l.Index)), `","removed":false}`...)
}

// appendReceipt appends a transaction's receipt as nodes write it, with the logs of our
// contracts.
func appendReceipt(dst []byte, b *market.Block, i int, logs []byte, m *bloom) []byte {
	tx, hash := &b.Txs[i], hashOf(b.Number)
	dst = appendHex(append(dst, `{"blockHash":"`...), hash[:])
	dst = appendQuantity(append(dst, `","blockNumber":"`...), b.Number)
	dst = append(dst, `","contractAddress":null,"cumulativeGasUsed":"`...)
	dst = appendQuantity(dst, tx.GasUsed)
	price := tx.GasPrice.U256()
	dst = append(append(dst, `","effectiveGasPrice":"`...), price.Hex()...)
	dst = appendHex(append(dst, `","from":"`...), positions[:])
	dst = appendQuantity(append(dst, `","gasUsed":"`...), tx.GasUsed)

	dst = append(append(dst, `","logs":[`...), logs...)
	dst = appendHex(append(dst, `],"logsBloom":"`...), m[:])
	dst = appendHex(append(dst, `","status":"0x1","to":"`...), positions[:])
	dst = appendHex(append(dst, `","transactionHash":"`...), tx.Hash[:])
	dst = appendQuantity(append(dst, `","transactionIndex":"`...), uint64(i))
	return append(dst, `","type":"0x2"}`...)
}

func appendHex(dst, b []byte) []byte { return hex.AppendEncode(append(dst, "0x"...), b) }

func appendQuantity(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}
