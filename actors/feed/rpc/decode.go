package rpc

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/rankings/market"
)

// Topics of the events that are read, in the order of their decoders.
var (
	managerTopics = []market.Hash{
		topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)"),
		topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)"),
		topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)"),
		topic("Donate(bytes32,address,uint256,uint256)"),
		topic("ProtocolFeeUpdated(bytes32,uint24)"),
	}
	managerEvents = []shape{
		{4, 5, initialize}, {3, 4, modifyLiquidity}, {3, 6, swap}, {3, 2, donate},
		{2, 1, protocolFeeUpdated},
	}
	positionTopics = []market.Hash{
		topic("Transfer(address,address,uint256)"),
		topic("Subscription(uint256,address)"),
		topic("Unsubscription(uint256,address)"),
	}
	positionEvents = []shape{
		{4, 0, transferNFT}, {3, 0, subscription}, {3, 0, unsubscription},
	}
)

func topic(signature string) market.Hash { return keccak([]byte(signature)) }

// shape is how an event is encoded: how many topics and how many words of
// data it has, and what reads them.
type shape struct {
	topics, words int
	decode        func(words) (market.Event, error)
}

// decode returns the event of a log of one of the two contracts.
func (f *Feed) decode(address market.Address, topics []word, data []byte) (market.Event, error) {
	if len(topics) == 0 {
		return nil, fmt.Errorf("log of %s has no topic", address)
	}
	return decodeLog(address == f.cfg.PositionManager, topics, data)
}

// decodeLog decodes a log of the position manager, or of the pool manager.
func decodeLog(ofPositions bool, topics []word, data []byte) (market.Event, error) {
	known, shapes := managerTopics, managerEvents
	if ofPositions {
		known, shapes = positionTopics, positionEvents
	}

	for i, s := range shapes {
		if known[i] != market.Hash(topics[0]) {
			continue
		}
		if len(topics) != s.topics || len(data) != 32*s.words {
			return nil, impossibleError{fmt.Errorf("event has %d topics and %d bytes of data; want %d and %d",
				len(topics), len(data), s.topics, 32*s.words)}
		}
		e, err := s.decode(words{topics: topics[1:], data: data})
		if err != nil {
			return nil, impossibleError{err}
		}
		return e, nil
	}

	return nil, fmt.Errorf("topic %s was not asked for", market.Hash(topics[0]))
}

// impossibleError is of a log that the contracts cannot have written.
type impossibleError struct{ error }

func (e impossibleError) Unwrap() error { return e.error }

// impossibleEvent returns what the ledger gets of such a log where the block's receipts prove
// that it is on the chain: an event that the ledger refuses, so that the pool is quarantined
// and the chain goes on. ok is false where the log names no pool.
func impossibleEvent(topics []word, data []byte) (e market.Event, ok bool) {
	if len(topics) < 2 {
		return nil, false
	}
	pool := market.PoolID(topics[1])

	// What can be read is kept: the tokens of a pool, and whose liquidity it is.
	switch market.Hash(topics[0]) {
	case managerTopics[0]:
		made := market.Initialize{Pool: pool}
		if len(topics) == 4 && len(data) == 5*32 {
			read, _ := initialize(words{topics: topics[1:], data: data})
			made = read.(market.Initialize)
		}
		made.Fee = math.MaxUint32
		return made, true
	case managerTopics[1]:
		changed := market.ModifyLiquidity{Pool: pool}
		if len(topics) == 3 && len(data) == 4*32 {
			read, _ := modifyLiquidity(words{topics: topics[1:], data: data})
			changed = read.(market.ModifyLiquidity)
		}
		changed.TickUpper = changed.TickLower
		return changed, true
	case managerTopics[2]:
		return market.Swap{Pool: pool, Fee: math.MaxUint32}, true
	case managerTopics[3], managerTopics[4]:
		return market.ProtocolFeeUpdated{Pool: pool, ProtocolFee: math.MaxUint32}, true
	}
	return nil, false
}

func initialize(w words) (market.Event, error) {
	e := market.Initialize{
		Pool: market.PoolID(w.next()), Currency0: w.address(), Currency1: w.address(),
		Fee: w.unsigned(24), TickSpacing: w.signed24(), Hooks: w.address(),
		SqrtPriceX96: w.sqrtPrice(), Tick: w.tick(),
	}
	want(&w, e.Fee <= maxFee || e.Fee == market.DynamicFee, "fee", e.Fee)
	want(&w, e.TickSpacing >= 1 && e.TickSpacing <= maxTickSpacing, "tickSpacing", e.TickSpacing)
	want(&w, string(e.Currency0[:]) < string(e.Currency1[:]), "currency1", e.Currency1)
	want(&w, poolID(&e) == e.Pool, "pool id", e.Pool)
	return e, w.err
}

func modifyLiquidity(w words) (market.Event, error) {
	e := market.ModifyLiquidity{
		Pool: market.PoolID(w.next()), Sender: w.address(),
		TickLower: w.tick(), TickUpper: w.tick(), LiquidityDelta: w.signed128(),
		Salt: market.Hash(w.next()),
	}
	want(&w, e.TickLower < e.TickUpper, "tickUpper", e.TickUpper)
	return e, w.err
}

func swap(w words) (market.Event, error) {
	e := market.Swap{
		Pool: market.PoolID(w.next()), Sender: w.address(),
		Amount0: w.signed128(), Amount1: w.signed128(), SqrtPriceX96: w.sqrtPrice(),
		Liquidity: w.unsigned128(), Tick: w.tick(), Fee: w.unsigned(24),
	}
	want(&w, e.Fee <= maxFee, "fee", e.Fee)
	return e, w.err
}

func donate(w words) (market.Event, error) {
	e := market.Donate{Pool: market.PoolID(w.next()), Sender: w.address()}
	e.Amount0, e.Amount1 = w.unsigned256(), w.unsigned256()
	return e, w.err
}

func protocolFeeUpdated(w words) (market.Event, error) {
	e := market.ProtocolFeeUpdated{Pool: market.PoolID(w.next()), ProtocolFee: w.unsigned(24)}
	want(&w, e.ProtocolFee&0xfff <= maxProtocolFee && e.ProtocolFee>>12 <= maxProtocolFee,
		"protocolFee", e.ProtocolFee)
	return e, w.err
}

func transferNFT(w words) (market.Event, error) {
	e := market.TransferNFT{From: w.address(), To: w.address(), ID: w.unsigned64()}
	return e, w.err
}

func subscription(w words) (market.Event, error) {
	e := market.Subscription{ID: w.unsigned64(), Subscriber: w.address()}
	return e, w.err
}

func unsubscription(w words) (market.Event, error) {
	e := market.Unsubscription{ID: w.unsigned64(), Subscriber: w.address()}
	return e, w.err
}

// poolID is the hash of the pool's key, as the contract computes it.
func poolID(e *market.Initialize) market.PoolID {
	var key [5 * 32]byte
	copy(key[12:32], e.Currency0[:])
	copy(key[44:64], e.Currency1[:])
	binary.BigEndian.PutUint32(key[92:96], e.Fee)
	binary.BigEndian.PutUint32(key[124:128], uint32(e.TickSpacing))
	copy(key[140:160], e.Hooks[:])
	return market.PoolID(keccak(key[:]))
}

// Bounds of the contracts, beside those of clmath.
const (
	maxFee         = 1_000_000
	maxProtocolFee = 1000
	maxTickSpacing = 32767
)
