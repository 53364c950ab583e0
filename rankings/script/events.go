package script

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// eventKinds are the events, with the least number of words that each needs.
var eventKinds = map[string]struct {
	words int
	make  func(m *Market, st *market.State, word []string) ([]market.Event, error)
}{
	"block":    {1, (*Market).noEvents},
	"pool":     {6, (*Market).initializeEvents},
	"mint":     {7, (*Market).mintEvents},
	"direct":   {6, (*Market).directEvents},
	"donate":   {4, (*Market).donateEvents},
	"protocol": {4, (*Market).protocolFeeEvents},
	"sell0":    {3, (*Market).swapEvents},
	"sell1":    {3, (*Market).swapEvents},
	"buy0":     {3, (*Market).swapEvents},
	"buy1":     {3, (*Market).swapEvents},
	"push":     {3, (*Market).pushEvents},
	"crash":    {3, (*Market).impossibleSwapEvents},
	"add":      {3, (*Market).positionEvents},
	"remove":   {3, (*Market).positionEvents},
	"collect":  {2, (*Market).positionEvents},
	"give":     {3, (*Market).positionEvents},
	"burn":     {2, (*Market).positionEvents},
}

// events returns the log events of one event in a script.
func (m *Market) events(st *market.State, word []string) ([]market.Event, error) {
	if len(word) == 0 {
		return nil, nil
	}

	kind, ok := eventKinds[word[0]]
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown event %q", word[0])
	case len(word) < kind.words:
		return nil, fmt.Errorf("%s has %d words; it needs at least %d",
			word[0], len(word), kind.words)
	}

	events, err := kind.make(m, st, word)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word[0], err)
	}
	return events, nil
}

// noEvents makes an empty block.
func (m *Market) noEvents(*market.State, []string) ([]market.Event, error) { return nil, nil }

// initializeEvents makes the event of a new pool. An unknown token becomes the zero
// address, which the ledger refuses.
func (m *Market) initializeEvents(_ *market.State, word []string) ([]market.Event, error) {
	token0, token1 := m.metas[word[2]], m.metas[word[3]]
	e := market.Initialize{
		Pool: Pool(word[1]), Currency0: token0.Address, Currency1: token1.Address,
		Fee: market.DynamicFee,
	}

	if word[4] != "dynamic" {
		fee, err := parseInteger(word[4])
		if err != nil {
			return nil, err
		}
		e.Fee = uint32(fee)
	}

	spacing, err := parseInteger(word[5])
	if err != nil {
		return nil, err
	}

	e.TickSpacing = int32(spacing)
	if len(word) > 7 {
		hooks, err := hex.DecodeString(word[7])
		if err != nil {
			return nil, err
		}
		copy(e.Hooks[len(e.Hooks)-len(hooks):], hooks)
	}

	at := append(word[6:], "0")[0]
	if strings.HasPrefix(at, "@") {
		e.SqrtPriceX96, err = parseSqrtPrice(at, token0.Decimals, token1.Decimals)
		if err != nil {
			return nil, err
		}
		e.Tick = clmath.TickAtSqrtPrice(&e.SqrtPriceX96)
		return []market.Event{e}, nil
	}

	tick, err := parseInteger(at)
	e.Tick, e.SqrtPriceX96 = int32(tick), clmath.SqrtPriceAtTick(int32(tick))
	return []market.Event{e}, err
}

// mintEvents makes the transfer and the liquidity of a new position.
func (m *Market) mintEvents(st *market.State, word []string) ([]market.Event, error) {
	id, err := parseInteger(word[1])
	if err != nil {
		return nil, err
	}
	e, err := m.liquidityChange(st, word[3:])
	e.Sender, e.Salt = Manager, Salt(uint64(id))
	return []market.Event{market.TransferNFT{To: Person(word[2]), ID: uint64(id)}, e}, err
}

// directEvents makes a change of liquidity by a sender other than the position
// manager.
func (m *Market) directEvents(st *market.State, word []string) ([]market.Event, error) {
	e, err := m.liquidityChange(st, word[2:])
	e.Sender = Person(word[1])
	return []market.Event{e}, err
}

// liquidityChange reads P LOWER UPPER LIQUIDITY.
func (m *Market) liquidityChange(
	st *market.State, word []string,
) (e market.ModifyLiquidity, err error) {
	e.Pool = Pool(word[0])
	if e.TickLower, err = m.parseTick(st, e.Pool, word[1]); err != nil {
		return e, err
	}
	if e.TickUpper, err = m.parseTick(st, e.Pool, word[2]); err != nil {
		return e, err
	}
	e.LiquidityDelta, err = parseLiquidity(word[3])
	return e, err
}

// parseTick reads a tick of a pool: a number, @PRICE, min or max.
func (m *Market) parseTick(st *market.State, id market.PoolID, text string) (int32, error) {
	if strings.Trim(text, "-0123456789") == "" {
		n, err := parseInteger(text)
		return int32(n), err
	}
	i, err := findPool(st, id)
	if err != nil {
		return 0, err
	}

	p := st.Pools.At(i)
	edge := clmath.MaxTick / p.TickSpacing * p.TickSpacing
	switch text {
	case "min":
		return -edge, nil
	case "max":
		return edge, nil
	}

	sqrt, err := parsePoolPrice(st, p, text)
	if err != nil {
		return 0, err
	}
	return clmath.Aligned(clmath.TickAtSqrtPrice(&sqrt), p.TickSpacing), nil
}

// parsePoolPrice reads @PRICE in a pool.
func parsePoolPrice(st *market.State, p *market.Pool, text string) (clmath.U256, error) {
	return parseSqrtPrice(text, st.Tokens.At(p.Currency0).Decimals, st.Tokens.At(p.Currency1).Decimals)
}

// donateEvents makes a donation.
func (m *Market) donateEvents(_ *market.State, word []string) ([]market.Event, error) {
	amount0, err := Amount(word[2])
	if err != nil {
		return nil, err
	}
	amount1, err := Amount(word[3])
	return []market.Event{market.Donate{Pool: Pool(word[1]), Amount0: amount0, Amount1: amount1}}, err
}

// protocolFeeEvents makes a change of the protocol fee.
func (m *Market) protocolFeeEvents(_ *market.State, word []string) ([]market.Event, error) {
	down, err := parseInteger(word[2])
	if err != nil {
		return nil, err
	}
	up, err := parseInteger(word[3])
	return []market.Event{
		market.ProtocolFeeUpdated{Pool: Pool(word[1]), ProtocolFee: uint32(down | up<<12)},
	}, err
}

// impossibleSwapEvents makes a swap with a price and without amounts.
func (m *Market) impossibleSwapEvents(_ *market.State, word []string) ([]market.Event, error) {
	sqrt, err := Amount(word[2])
	return []market.Event{market.Swap{Pool: Pool(word[1]), SqrtPriceX96: sqrt, Fee: 3000}}, err
}

// swapEvents makes a swap of an amount without a price limit.
func (m *Market) swapEvents(st *market.State, word []string) (_ []market.Event, err error) {
	o := Order{ExactIn: strings.HasPrefix(word[0], "sell")}
	o.Down = o.ExactIn == strings.HasSuffix(word[0], "0")
	if o.Amount, err = Amount(word[2]); err != nil {
		return nil, err
	}
	o.Limit = clmath.SqrtPriceAtTick(clmath.MaxTick - 1)
	if o.Down {
		o.Limit = clmath.SqrtPriceAtTick(clmath.MinTick + 1)
	}
	return tradeEvents(st, word, &o)
}

// pushEvents makes a swap that ends at a price, whatever the amount.
func (m *Market) pushEvents(st *market.State, word []string) ([]market.Event, error) {
	i, err := findPool(st, Pool(word[1]))
	if err != nil {
		return nil, err
	}

	p := st.Pools.At(i)
	limit, err := parsePoolPrice(st, p, word[2])
	if err != nil {
		return nil, err
	}
	return tradeEvents(st, word, &Order{
		Amount: clmath.U256{0, 1 << 62}, ExactIn: true, Limit: limit, Down: limit.Lt(&p.SqrtPriceX96),
	})
}

// tradeEvents makes the event of an order, with the fee in word if there is one.
func tradeEvents(st *market.State, word []string, o *Order) ([]market.Event, error) {
	i, err := findPool(st, Pool(word[1]))
	if err != nil {
		return nil, err
	}

	if len(word) > 3 {
		fee, err := parseInteger(word[3])
		if err != nil {
			return nil, err
		}
		o.Fee = uint32(fee)
	}

	e, ok := Trade(st, i, *o)
	if !ok {
		return nil, fmt.Errorf("nothing can be traded in pool %s", word[1])
	}

	return []market.Event{e}, nil
}

// positionEvents makes a change of a position. For an unknown id it makes events
// that the ledger refuses.
func (m *Market) positionEvents(st *market.State, word []string) ([]market.Event, error) {
	id, err := parseInteger(word[1])
	if err != nil {
		return nil, err
	}

	e := market.ModifyLiquidity{Sender: Manager, Salt: Salt(uint64(id))}
	owner, all := market.Address{}, clmath.I128{}
	for i := range st.Positions.Len() {
		if row := st.Positions.At(i); row.ID == uint64(id) {
			e.Pool, e.TickLower, e.TickUpper = st.Pools.At(row.Pool).ID, row.TickLower, row.TickUpper
			owner = *st.Owners.At(row.Owner)
			all = row.Liquidity().I128().Neg()
		}
	}

	leave := market.TransferNFT{From: owner, ID: uint64(id)}
	switch {
	case word[0] == "add":
		e.LiquidityDelta, err = parseLiquidity(word[2])
	case word[0] == "remove" && word[2] != "all":
		e.LiquidityDelta, err = parseLiquidity(word[2])
		e.LiquidityDelta = e.LiquidityDelta.Neg()
	case word[0] == "remove":
		e.LiquidityDelta = all
	case word[0] == "give":
		leave.To = Person(word[2])
		return []market.Event{leave}, nil
	case word[0] == "burn":
		if all.Sign() == 0 || len(word) > 2 { // burn ID only
			return []market.Event{leave}, nil
		}
		e.LiquidityDelta = all
		return []market.Event{leave, e}, nil
	}

	return []market.Event{e}, err
}

// findPool returns the index of a pool.
func findPool(st *market.State, id market.PoolID) (uint32, error) {
	for i := range st.Pools.Len() {
		if st.Pools.At(i).ID == id {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no pool %s", id)
}

// Salt returns the salt of the position manager's liquidity for an id.
func Salt(id uint64) (salt market.Hash) {
	binary.BigEndian.PutUint64(salt[24:], id)
	return salt
}
