package consistency

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// protocol is the one that the API serves.
const protocol = "swapdex-v4"

// poolDetails asks for every pool by itself.
func (c *checker) poolDetails(chain int64) error {
	for _, pool := range c.snapshots[chain].pools {
		id := text(pool, "poolId")
		path := fmt.Sprintf("/v1/pools/%d/%s/%s", chain, protocol, id)

		err := c.with(chain, path, func(s *snapshot, a *answer) {
			j := c.judge("detail", path)
			j.leaves("", a.object(), s.pool[id], "rank", "stale", "dataAsOf")
		})
		if err != nil {
			return err
		}
		if err := c.poolCharts(chain, id, path); err != nil {
			return err
		}
		if err := c.poolTicks(chain, id, path); err != nil {
			return err
		}
	}
	return nil
}

// positionDetails asks for positions one by one.
func (c *checker) positionDetails(chain int64) error {
	before := c.snapshots[chain]
	c.payments[chain] = payments{}
	for _, id := range c.sampledIDs(before) {
		path := fmt.Sprintf("/v1/positions/%d/%s/%s", chain, protocol, id)
		if err := c.positionDetail(chain, id, path); err != nil {
			return err
		}
		if err := c.positionCharts(chain, id, path); err != nil {
			return err
		}
		if err := c.checkExplanation(chain, id, path); err != nil {
			return err
		}
	}

	// A transaction's gas is all there only when all positions are.
	switch {
	case c.snapshots[chain] != before:
		c.noteSkipped("gas of transactions that change several positions: chain %d moved on", chain)
	case c.Sample > 0 && c.Sample < len(before.positions):
		c.noteSkipped("gas of transactions that change several positions: only a sample was looked at")
	default:
		c.checkPayments(chain)
	}
	return nil
}

// positionDetail checks a detail against its row and its own history.
func (c *checker) positionDetail(chain int64, id, path string) error {
	for range c.Tries {
		whole := true
		err := c.with(chain, path, func(s *snapshot, a *answer) {
			detail := a.object()
			if whole = !flag(detail, "transactionsDegraded"); !whole {
				return
			}

			j := c.judge("detail", path)
			j.equal("rank", detail["rank"], nil)
			j.leaves("", detail, s.position[id], "rank", "transactions", "transactionsTruncated",
				"stale", "dataAsOf")
			if flag(detail, "transactionsTruncated") {
				c.noteSkipped("sums of histories that are longer than the node serves")
				return
			}
			h := history{judge: j, row: detail, entries: list(detail, "transactions"), s: s}
			h.checkAll()
			c.payments[chain].add(h.entries, id)
		})
		if err != nil || whole {
			return err
		}
	}
	return unfinished("the transactions of %s are not loaded, %d times", path, c.Tries)
}

// history is the transactions of a position, newest first.
type history struct {
	judge
	row     row
	entries []map[string]any
	s       *snapshot
}

func (h *history) checkAll() {
	h.holds("transactions", len(h.entries) > 0, len(h.entries), "at least the mint")
	for i, e := range h.entries {
		h.checkEntry(fmt.Sprintf("transactions[%d]", i), e)
		if i > 0 {
			h.by("history").holds(fmt.Sprintf("transactions[%d]", i), isBefore(e, h.entries[i-1]),
				e["blockNumber"], "before the entry above it")
		}
	}
	h.checkSums()
	h.checkOwner()
	h.checkTimes()
	h.atCost()
}

func isBefore(a, b map[string]any) bool {
	if x, y := number(a, "blockNumber"), number(b, "blockNumber"); x != y {
		return x < y
	}
	return number(a, "logIndex") < number(b, "logIndex")
}

// checkEntry checks one entry by its own fields.
func (h *history) checkEntry(at string, e map[string]any) {
	j := h.by("fields")
	j.fieldsOf(at, e, transactionFields)

	j = h.by("entry")
	for _, leg := range legs {
		decimals := number(h.row, "token"+leg+".decimals")
		if text(e, "type") == "transfer" {
			decimals = 0 // no tokens move, of whatever decimals
		}
		for _, name := range []string{"amount", "fees"} {
			j.equal(at+"."+name+leg, e[name+leg], amountOf(text(e, name+leg+"Raw"), decimals))
		}
	}
	delta, kind := integerOf(text(e, "liquidityDelta")), text(e, "type")
	if delta == nil {
		delta = new(big.Int)
	}
	name, told := at+".liquidityDelta", text(e, "liquidityDelta")
	switch kind {
	case "mint":
		j.holds(name, delta.Sign() > 0, told, "above 0, as it is a mint")
	case "burn":
		j.holds(name, delta.Sign() < 0, told, "below 0, as it is a burn")
	default:
		isOther := kind == "collect" || kind == "transfer"
		j.holds(at+".type", isOther, kind, "mint, burn, collect or transfer")
		j.holds(name, delta.Sign() == 0, told, "0")
	}
	if kind == "transfer" {
		j.holds(at+".from", e["from"] != nil && e["to"] != nil, e["from"], "who transferred to whom")
		j.equal(at+".amount0Raw", text(e, "amount0Raw"), "0")
		j.equal(at+".amount1Raw", text(e, "amount1Raw"), "0")
	}
	h.entryUsd(j, at, e, kind)
}

func (h *history) entryUsd(j judge, at string, e map[string]any, kind string) {
	if isQuarantined(h.row) {
		for _, name := range []string{"valueUsd", "gasUsd", "token0PriceUsd", "token1PriceUsd"} {
			j.equal(at+"."+name, e[name], nil)
		}
		return
	}

	want := 0.0
	if kind != "transfer" {
		for _, leg := range legs {
			want += h.usd(e, "amount"+leg, leg) + h.usd(e, "fees"+leg, leg)
		}
	}
	j.near(at+".valueUsd", number(e, "valueUsd"), want, 0)

	// Where the native currency is a leg, gas is valued at the leg's price. A price that
	// only the position's own pool supports is none for the leg, but one for gas.
	gas := number(e, "gasUsd")
	for _, leg := range legs {
		price := number(e, "token"+leg+"PriceUsd")
		if flag(h.row, "token"+leg+".isNative") && e["gasNative"] != nil && known(price) {
			j.near(at+".gasUsd", gas, floatOf(weiOf(e), nativeDecimals)*price, 0)
		}
	}
}

// usd is what a raw amount of an entry was worth when it happened.
func (h *history) usd(e map[string]any, name, leg string) float64 {
	raw := integerOf(text(e, name+"Raw"))
	if raw == nil || raw.Sign() == 0 {
		return 0
	}
	return floatOf(raw, int(number(h.row, "token"+leg+".decimals"))) * number(e, "token"+leg+"PriceUsd")
}

// weiOf is the raw amount of an entry's gasNative.
func weiOf(e map[string]any) *big.Int {
	gas, ok := new(big.Rat).SetString(text(e, "gasNative"))
	if !ok {
		return new(big.Int)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(nativeDecimals), nil)
	scaled := gas.Mul(gas, new(big.Rat).SetInt(unit))
	return new(big.Int).Div(scaled.Num(), scaled.Denom())
}

// checkSums checks the row's raw amounts against what went in and out.
func (h *history) checkSums() {
	sum := map[string]*big.Int{}
	add := func(name string, v *big.Int) {
		if sum[name] == nil {
			sum[name] = new(big.Int)
		}
		if v != nil {
			sum[name].Add(sum[name], v)
		}
	}
	gasKnown := true
	for _, e := range h.entries {
		for _, leg := range legs {
			add("collectedFees"+leg, integerOf(text(e, "fees"+leg+"Raw")))
			switch text(e, "type") {
			case "mint":
				add("deposits"+leg, integerOf(text(e, "amount"+leg+"Raw")))
			case "burn":
				add("withdrawals"+leg, integerOf(text(e, "amount"+leg+"Raw")))
			}
		}
		add("liquidity", integerOf(text(e, "liquidityDelta")))
		add("gas", weiOf(e))
		gasKnown = gasKnown && e["gasNative"] != nil
	}

	j := h.by("history sums")
	for _, name := range []string{"deposits", "withdrawals", "collectedFees"} {
		for _, leg := range legs {
			add(name+leg, nil)
			at := "amounts." + name + ".amount" + leg + "Raw"
			j.equal(at, text(h.row, at), sum[name+leg].String())
		}
	}
	add("liquidity", nil)
	j.equal("liquidity", text(h.row, "liquidity"), sum["liquidity"].String())
	if gasKnown {
		add("gas", nil)
		j.equal("amounts.gas.nativeRaw", text(h.row, "amounts.gas.nativeRaw"), sum["gas"].String())
	} else {
		j.equal("amounts.gas.nativeRaw", group(h.row, "amounts.gas")["nativeRaw"], nil)
	}
}

// checkOwner checks the owner: whoever got the NFT last, a burn aside.
func (h *history) checkOwner() {
	for _, e := range h.entries {
		if to := text(e, "to"); to != "" && to != zeroAddress {
			h.by("owner").equal("owner", text(h.row, "owner"), to)
			return
		}
	}
}

const zeroAddress = "0x0000000000000000000000000000000000000000"

// checkTimes checks the age: from the first mint to now, or to the last closing.
func (h *history) checkTimes() {
	if len(h.entries) == 0 {
		return
	}
	minted := math.NaN()
	closed := math.NaN()
	liquidity := new(big.Int)
	for _, e := range slices.Backward(h.entries) {
		if !known(minted) && text(e, "type") == "mint" {
			minted = number(e, "timestamp")
		}
		if delta := integerOf(text(e, "liquidityDelta")); delta != nil && delta.Sign() != 0 {
			liquidity.Add(liquidity, delta)
			if liquidity.Sign() == 0 {
				closed = number(e, "timestamp")
			}
		}
	}

	age := number(h.row, "metrics.ageSeconds")
	if flag(h.row, "isActive") {
		h.s.learnNow(h.judge, "metrics.ageSeconds after the mint", minted+age)
	} else {
		h.by("age").same("metrics.ageSeconds", age, closed-minted)
	}
	for name, want := range map[string]float64{"openedAtTimestamp": minted, "closedAtTimestamp": closed} {
		if name == "closedAtTimestamp" && flag(h.row, "isActive") {
			want = math.NaN()
		}
		h.by("age").same(name, number(h.row, name), want)
	}
}

// atCost recomputes pnlCostUsd: every flow at its value when it happened.
func (h *history) atCost() {
	p := partsOf(h.row)
	sum, scale := p.v+p.uncollected, math.Abs(p.v)+math.Abs(p.uncollected)
	for _, e := range h.entries {
		sign := 0.0
		switch text(e, "type") {
		case "mint":
			sign = -1
		case "burn":
			sign = 1
		}

		gas := number(e, "gasUsd")
		sum -= gas
		scale += math.Abs(gas)
		for _, leg := range legs {
			principal, fees := h.usd(e, "amount"+leg, leg), h.usd(e, "fees"+leg, leg)
			if sign == 0 {
				principal = 0
			}
			sum += sign*principal + fees
			scale += math.Abs(principal) + math.Abs(fees)
		}
	}

	if isQuarantined(h.row) || flag(h.row, "metrics.unrealizableLeg") {
		sum = math.NaN()
	}
	h.by("pnl at cost").near("metrics.pnlCostUsd", number(h.row, "metrics.pnlCostUsd"), sum, scale)
}
