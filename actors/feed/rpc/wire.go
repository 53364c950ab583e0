package rpc

import (
	"bytes"
	enchex "encoding/hex"
	"fmt"
	"strconv"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// The answers of a node, only the fields that are used. Optional fields and
// those whose absence must be noticed are pointers; a hash that is absent
// stays zero, which no block has.
type (
	wireHeader struct {
		Number       *quantity `json:"number"`
		Hash         word      `json:"hash"`
		Parent       word      `json:"parentHash"`
		Time         *quantity `json:"timestamp"`
		Bloom        *hexBytes `json:"logsBloom"`
		ReceiptsRoot word      `json:"receiptsRoot"`
		Txs          *[]word   `json:"transactions"`
	}
	wireLog struct {
		Address  address   `json:"address"`
		Topics   []word    `json:"topics"`
		Data     hexBytes  `json:"data"`
		Block    *quantity `json:"blockNumber"`
		Hash     *word     `json:"blockHash"`
		Time     *quantity `json:"blockTimestamp"`
		TxHash   *word     `json:"transactionHash"`
		TxIndex  *quantity `json:"transactionIndex"`
		LogIndex *quantity `json:"logIndex"`
		Removed  bool      `json:"removed"`
	}
	wireReceipt struct {
		Type          *quantity `json:"type"`
		Status        *quantity `json:"status"`
		CumulativeGas *quantity `json:"cumulativeGasUsed"`
		Bloom         *hexBytes `json:"logsBloom"`
		Logs          []wireLog `json:"logs"`
		Index         quantity  `json:"transactionIndex"`
		TxHash        word      `json:"transactionHash"`
		Block         *word     `json:"blockHash"`
		GasUsed       *quantity `json:"gasUsed"`
		GasPrice      *wide     `json:"effectiveGasPrice"`
	}
)

type (
	quantity uint64      // 0x and at most 16 digits
	wide     clmath.U128 // 0x and at most 32 digits
	word     market.Hash
	address  market.Address
	hexBytes []byte
)

func (q *quantity) UnmarshalJSON(b []byte) error {
	digits, err := quoted(b, 16)
	if err != nil {
		return err
	}
	v, err := strconv.ParseUint(string(digits), 16, 64)
	*q = quantity(v)
	return err
}

func (q *quantity) String() string {
	if q == nil {
		return "unknown"
	}
	return strconv.FormatUint(uint64(*q), 10)
}

func (w *wide) UnmarshalJSON(b []byte) error {
	digits, err := quoted(b, 32)
	if err != nil {
		return err
	}
	high := ""
	if n := len(digits) - 16; n > 0 {
		high, digits = string(digits[:n]), digits[n:]
	}
	if w.Lo, err = strconv.ParseUint(string(digits), 16, 64); err == nil && high != "" {
		w.Hi, err = strconv.ParseUint(high, 16, 64)
	}
	return err
}

func (w *word) UnmarshalJSON(b []byte) error    { return fixed(w[:], b) }
func (a *address) UnmarshalJSON(b []byte) error { return fixed(a[:], b) }

func (h *hexBytes) UnmarshalJSON(b []byte) error {
	digits, err := quoted(b, len(b))
	if err == nil {
		*h, err = enchex.AppendDecode((*h)[:0], digits)
	}
	return err
}

func fixed(dst, b []byte) error {
	digits, err := quoted(b, 2*len(dst))
	if err == nil && len(digits) != 2*len(dst) {
		err = fmt.Errorf("%.80s has %d hex digits; want %d", b, len(digits), 2*len(dst))
	}
	if err == nil {
		_, err = enchex.Decode(dst, digits)
	}
	return err
}

// quoted returns the digits of a JSON string "0x…" of at most limit of them, in b.
func quoted(b []byte, limit int) ([]byte, error) {
	digits, begins := bytes.CutPrefix(b, []byte(`"0x`))
	digits, ends := bytes.CutSuffix(digits, []byte(`"`))
	if !begins || !ends {
		return nil, fmt.Errorf("%.80q is not a hex string", b)
	}
	if n := len(digits); n > limit {
		return nil, fmt.Errorf("%.80q has %d hex digits; cannot exceed %d", b, n, limit)
	}
	return digits, nil
}

// check reports a header that lacks a field or is not of block number.
func (h *wireHeader) check(number uint64) error {
	switch {
	case h == nil:
		return absentError("block %d", number)
	case h.Number == nil || h.Time == nil || h.Hash == word{}:
		return fmt.Errorf("header of block %d lacks its number, hash or timestamp", number)
	case uint64(*h.Number) != number:
		return fmt.Errorf("asked for block %d, got %d", number, uint64(*h.Number))
	}
	return nil
}

// head returns a checked header as the nouns have it.
func (h *wireHeader) head() market.Head {
	return market.Head{
		Number: uint64(*h.Number), Hash: market.Hash(h.Hash), Time: int64(*h.Time),
	}
}
