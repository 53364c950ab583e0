package verify

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Caller sends calls to a node of the chain.
type Caller interface {
	Ask(ctx context.Context, calls []endpoint.Call) error
}

const (
	// slotsAtOnce is how many words one eth_call reads: some 2.5 million gas, of
	// the 10 million that providers allow at least.
	slotsAtOnce = 1000
	// callsAtOnce bounds what is held in memory of the answers.
	callsAtOnce = 50
)

// reader reads the contracts at one block.
type reader struct {
	ask       Caller
	manager   market.Address
	positions market.Address
	block     market.Head
}

// selector is the beginning of a call's data.
func selector(signature string) []byte {
	h := keccak([]byte(signature))
	return h[:4]
}

// checkBlock makes sure that the node has the block and that it is the chain's.
func (r *reader) checkBlock(ctx context.Context) error {
	var header *struct{ Hash string }
	calls := []endpoint.Call{{
		Method: "eth_getBlockByNumber", Args: []any{fmt.Sprintf("%#x", r.block.Number), false},
		Result: &header,
	}}

	if err := r.ask.Ask(ctx, calls); err != nil {
		return err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return err
	}
	if header == nil || !strings.EqualFold(header.Hash, r.block.Hash.String()) {
		return fmt.Errorf("block %d is not %s at the node", r.block.Number, r.block.Hash)
	}

	return nil
}

// ethCall makes an eth_call at the block.
func (r *reader) ethCall(to market.Address, data []byte, result *string) endpoint.Call {
	msg := map[string]string{"to": to.String(), "data": "0x" + hex.EncodeToString(data)}
	return endpoint.Call{
		Method: "eth_call", Args: []any{msg, fmt.Sprintf("%#x", r.block.Number)}, Result: result,
	}
}

// readSlots reads storage words of the pool manager.
func (r *reader) readSlots(ctx context.Context, slots []slot) ([]word, error) {
	out := make([]word, 0, len(slots))
	for part := range slices.Chunk(slots, slotsAtOnce*callsAtOnce) {
		words, err := r.readWords(ctx, part)
		if err != nil {
			return nil, err
		}
		out = append(out, words...)
	}
	return out, nil
}

func (r *reader) readWords(ctx context.Context, slots []slot) ([]word, error) {
	var calls []endpoint.Call
	var counts []int
	var answers []*string
	for part := range slices.Chunk(slots, slotsAtOnce) {
		answer := new(string)
		calls = append(calls, r.ethCall(r.manager, extsload(part), answer))
		answers, counts = append(answers, answer), append(counts, len(part))
	}
	if err := r.ask.Ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return nil, fmt.Errorf("extsload at block %d: %w", r.block.Number, err)
	}

	var out []word
	for i, answer := range answers {
		b, err := hex.DecodeString(strings.TrimPrefix(*answer, "0x"))
		if err != nil || len(b) != 64+32*counts[i] ||
			binary.BigEndian.Uint64(b[56:64]) != uint64(counts[i]) {
			return nil, fmt.Errorf("extsload of %d words gave %d bytes", counts[i], len(b))
		}
		for k := range counts[i] {
			out = append(out, word(b[64+32*k:]))
		}
	}
	return out, nil
}

// extsload is the data of a call of extsload(bytes32[]).
func extsload(slots []slot) []byte {
	var offset, count word
	offset[31] = 32
	binary.BigEndian.PutUint64(count[24:], uint64(len(slots)))
	data := append(selector("extsload(bytes32[])"), offset[:]...)
	data = append(data, count[:]...)
	for i := range slots {
		data = append(data, slots[i][:]...)
	}
	return data
}

// readOwners reads the owners of NFTs; the zero address stands for none.
func (r *reader) readOwners(ctx context.Context, ids []uint64) ([]market.Address, error) {
	out := make([]market.Address, 0, len(ids))
	for part := range slices.Chunk(ids, callsAtOnce) {
		answers := make([]string, len(part))
		calls := make([]endpoint.Call, len(part))
		for i, id := range part {
			salt := saltOf(id)
			calls[i] = r.ethCall(r.positions, append(selector("ownerOf(uint256)"), salt[:]...), &answers[i])
		}

		if err := r.ask.Ask(ctx, calls); err != nil {
			return nil, err
		}

		for i := range part {
			err := endpoint.CallError(&calls[i])
			if err != nil && !reverted(err) {
				return nil, fmt.Errorf("ownerOf at block %d: %w", r.block.Number, err)
			}
			b, bad := hex.DecodeString(strings.TrimPrefix(answers[i], "0x"))
			var owner market.Address
			if err == nil && bad == nil && len(b) == 32 {
				owner = market.Address(b[12:])
			}
			out = append(out, owner)
		}
	}
	return out, nil
}

// nextID reads the id that the next NFT will have.
func (r *reader) nextID(ctx context.Context) (uint64, error) {
	var answer string
	calls := []endpoint.Call{r.ethCall(r.positions, selector("nextTokenId()"), &answer)}
	if err := r.ask.Ask(ctx, calls); err != nil {
		return 0, err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return 0, fmt.Errorf("nextTokenId at block %d: %w", r.block.Number, err)
	}

	b, err := hex.DecodeString(strings.TrimPrefix(answer, "0x"))
	if err != nil || len(b) != 32 {
		return 0, fmt.Errorf("nextTokenId gave %d bytes", len(b))
	}
	return binary.BigEndian.Uint64(b[24:]), nil
}

// readBalances reads what the pool manager holds of currencies. What a token does not
// tell is not known.
func (r *reader) readBalances(
	ctx context.Context, currencies []market.Address,
) (held []clmath.U256, known []bool, err error) {
	for part := range slices.Chunk(currencies, callsAtOnce) {
		answers := make([]string, len(part))
		calls := make([]endpoint.Call, len(part))
		for i, a := range part {
			calls[i] = r.balanceCall(a, &answers[i])
		}
		if err := r.ask.Ask(ctx, calls); err != nil {
			return nil, nil, err
		}

		for i := range part {
			digits := strings.TrimPrefix(answers[i], "0x")
			b, bad := hex.DecodeString(strings.Repeat("0", len(digits)%2) + digits)
			var balance clmath.U256
			tells := calls[i].Error == nil && bad == nil && len(b) > 0 && len(b) <= 32
			if tells {
				balance.SetBytes(b)
			}
			held, known = append(held, balance), append(known, tells)
		}
	}
	return held, known, nil
}

// balanceCall asks for the pool manager's balance of a currency.
func (r *reader) balanceCall(currency market.Address, result *string) endpoint.Call {
	if currency.IsZero() {
		return endpoint.Call{
			Method: "eth_getBalance", Result: result,
			Args: []any{r.manager.String(), fmt.Sprintf("%#x", r.block.Number)},
		}
	}
	var manager word
	copy(manager[12:], r.manager[:])
	return r.ethCall(currency, append(selector("balanceOf(address)"), manager[:]...), result)
}

// reverted reports whether the contract itself refused: there is no such NFT.
func reverted(err error) bool {
	e := endpoint.AsError(err)
	return e.Kind == endpoint.Refused &&
		(e.Code == 3 || strings.Contains(strings.ToLower(e.Text), "revert"))
}
