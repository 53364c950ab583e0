package script

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// kinds are the events, with the fewest words that they need.
var kinds = map[string]struct {
	words int
	make  func(m *Market, st *market.State, word []string) ([]market.Event, error)
}{
	"block":    {1, func(*Market, *market.State, []string) ([]market.Event, error) { return nil, nil }},
	"pool":     {6, (*Market).initialize},
	"mint":     {7, (*Market).mint},
	"direct":   {6, (*Market).direct},
	"donate":   {4, (*Market).donate},
	"protocol": {4, (*Market).protocol},
	"sell0":    {3, (*Market).swap},
	"sell1":    {3, (*Market).swap},
	"buy0":     {3, (*Market).swap},
	"buy1":     {3, (*Market).swap},
	"push":     {3, (*Market).push},
	"crash":    {3, (*Market).crash},
	"add":      {3, (*Market).position},
	"remove":   {3, (*Market).position},
	"collect":  {2, (*Market).position},
	"give":     {3, (*Market).position},
	"burn":     {2, (*Market).position},
}

func (m *Market) events(st *market.State, word []string) ([]market.Event, error) {
	if len(word) == 0 {
		return nil, nil
	}

	kind, ok := kinds[word[0]]
	switch {
	case !ok:
		return nil, fmt.Errorf("what is %q?", word[0])
	case len(word) < kind.words:
		return nil, fmt.Errorf("%s needs %d words more", word[0], kind.words-len(word))
	}

	events, err := kind.make(m, st, word)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word[0], err)
	}
	return events, nil
}

// initialize leaves a currency that no token names to the ledger to refuse.
func (m *Market) initialize(_ *market.State, word []string) ([]market.Event, error) {
	token0, token1 := m.metas[word[2]], m.metas[word[3]]
	e := market.Initialize{
		Pool: Pool(word[1]), Currency0: token0.Address, Currency1: token1.Address,
		Fee: market.DynamicFee,
	}

	if word[4] != "dynamic" {
		fee, err := integer(word[4])
		if err != nil {
			return nil, err
		}
		e.Fee = uint32(fee)
	}

	spacing, err := integer(word[5])
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
		e.SqrtPriceX96, err = sqrtPrice(at, token0.Decimals, token1.Decimals)
		e.Tick = clmath.TickAtSqrtPrice(&e.SqrtPriceX96)
		return []market.Event{e}, err
	}

	tick, err := integer(at)
	e.Tick, e.SqrtPriceX96 = int32(tick), clmath.SqrtPriceAtTick(int32(tick))
	return []market.Event{e}, err
}

func (m *Market) mint(st *market.State, word []string) ([]market.Event, error) {
	id, err := integer(word[1])
	if err != nil {
		return nil, err
	}
	e, err := m.change(st, word[3:])
	e.Sender, e.Salt = Manager, Salt(uint64(id))
	return []market.Event{market.TransferNFT{To: Person(word[2]), ID: uint64(id)}, e}, err
}

func (m *Market) direct(st *market.State, word []string) ([]market.Event, error) {
	e, err := m.change(st, word[2:])
	e.Sender = Person(word[1])
	return []market.Event{e}, err
}

// change reads P LOWER UPPER LIQUIDITY.
func (m *Market) change(st *market.State, word []string) (e market.ModifyLiquidity, err error) {
	e.Pool = Pool(word[0])
	if e.TickLower, err = m.tick(st, e.Pool, word[1]); err != nil {
		return e, err
	}
	if e.TickUpper, err = m.tick(st, e.Pool, word[2]); err != nil {
		return e, err
	}
	e.LiquidityDelta, err = liquidity(word[3])
	return e, err
}

// tick reads a tick of a pool: a number, @PRICE, min or max.
func (m *Market) tick(st *market.State, id market.PoolID, text string) (int32, error) {
	if strings.Trim(text, "-0123456789") == "" {
		n, err := integer(text)
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

	sqrt, err := priceIn(st, p, text)
	return clmath.Aligned(clmath.TickAtSqrtPrice(&sqrt), p.TickSpacing), err
}

func priceIn(st *market.State, p *market.Pool, text string) (clmath.U256, error) {
	return sqrtPrice(text, st.Tokens.At(p.Currency0).Decimals, st.Tokens.At(p.Currency1).Decimals)
}

func (m *Market) donate(_ *market.State, word []string) ([]market.Event, error) {
	amount0, err := Amount(word[2])
	if err != nil {
		return nil, err
	}
	amount1, err := Amount(word[3])
	return []market.Event{market.Donate{Pool: Pool(word[1]), Amount0: amount0, Amount1: amount1}}, err
}

func (m *Market) protocol(_ *market.State, word []string) ([]market.Event, error) {
	down, err := integer(word[2])
	if err != nil {
		return nil, err
	}
	up, err := integer(word[3])
	return []market.Event{
		market.ProtocolFeeUpdated{Pool: Pool(word[1]), ProtocolFee: uint32(down | up<<12)},
	}, err
}

func (m *Market) crash(_ *market.State, word []string) ([]market.Event, error) {
	sqrt, err := Amount(word[2])
	return []market.Event{market.Swap{Pool: Pool(word[1]), SqrtPriceX96: sqrt, Fee: 3000}}, err
}

// swap sells or buys an amount at any price.
func (m *Market) swap(st *market.State, word []string) (_ []market.Event, err error) {
	o := Order{ExactIn: strings.HasPrefix(word[0], "sell")}
	o.Down = o.ExactIn == strings.HasSuffix(word[0], "0")
	if o.Amount, err = Amount(word[2]); err != nil {
		return nil, err
	}
	o.Limit = clmath.SqrtPriceAtTick(clmath.MaxTick - 1)
	if o.Down {
		o.Limit = clmath.SqrtPriceAtTick(clmath.MinTick + 1)
	}
	return trade(st, word, &o)
}

// push trades without end until the pool is at a price.
func (m *Market) push(st *market.State, word []string) ([]market.Event, error) {
	i, err := findPool(st, Pool(word[1]))
	if err != nil {
		return nil, err
	}

	p := st.Pools.At(i)
	limit, err := priceIn(st, p, word[2])
	if err != nil {
		return nil, err
	}
	return trade(st, word, &Order{
		Amount: clmath.U256{0, 1 << 62}, ExactIn: true, Limit: limit, Down: limit.Lt(&p.SqrtPriceX96),
	})
}

func trade(st *market.State, word []string, o *Order) ([]market.Event, error) {
	i, err := findPool(st, Pool(word[1]))
	if err != nil {
		return nil, err
	}

	if len(word) > 3 {
		fee, err := integer(word[3])
		if err != nil {
			return nil, err
		}
		o.Fee = uint32(fee)
	}

	e, ok := Trade(st, i, *o)
	if !ok {
		return nil, fmt.Errorf("no such trade in %s", word[1])
	}

	return []market.Event{e}, nil
}

// position makes the events of one that exists; of any other the ledger is to
// refuse the change of nothing.
func (m *Market) position(st *market.State, word []string) ([]market.Event, error) {
	id, err := integer(word[1])
	if err != nil {
		return nil, err
	}

	e := market.ModifyLiquidity{Sender: Manager, Salt: Salt(uint64(id))}
	owner, all := market.Address{}, clmath.I128{}
	for i := range st.Positions.Len() {
		if row := st.Positions.At(i); row.ID == uint64(id) {
			e.Pool, e.TickLower, e.TickUpper = st.Pools.At(row.Pool).ID, row.TickLower, row.TickUpper
			owner = *st.Owners.At(row.Owner)
			all = clmath.I128{Lo: row.Liquidity.Lo, Hi: int64(row.Liquidity.Hi)}.Neg()
		}
	}

	leave := market.TransferNFT{From: owner, ID: uint64(id)}
	switch {
	case word[0] == "add":
		e.LiquidityDelta, err = liquidity(word[2])
	case word[0] == "remove" && word[2] != "all":
		e.LiquidityDelta, err = liquidity(word[2])
		e.LiquidityDelta = e.LiquidityDelta.Neg()
	case word[0] == "remove":
		e.LiquidityDelta = all
	case word[0] == "give":
		leave.To = Person(word[2])
		return []market.Event{leave}, nil
	case word[0] == "burn":
		if all.Sign() == 0 || len(word) > 2 { // burn ID only: the liquidity is forgotten
			return []market.Event{leave}, nil
		}
		e.LiquidityDelta = all
		return []market.Event{leave, e}, nil
	}

	return []market.Event{e}, err
}

func findPool(st *market.State, id market.PoolID) (uint32, error) {
	for i := range st.Pools.Len() {
		if st.Pools.At(i).ID == id {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no pool %s", id)
}

// Salt is the salt of the position manager's liquidity for an id.
func Salt(id uint64) (salt market.Hash) {
	binary.BigEndian.PutUint64(salt[24:], id)
	return salt
}
