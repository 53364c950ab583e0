package main

import (
	"fmt"
	"math"
	"slices"

	"tidemark/rankings/script"
)

// check asks for all that follows from the events and holds it to what was computed.
func (m *replay) check() {
	m.s.publish()
	id := "/v1/pools/1/swapdex-v4/" + script.Pool("P").String()
	hourly := m.s.answered(id+"/charts", "interval=1h")
	points := hourly["poolPrice"].([]any)
	for _, point := range points[:len(points)-1] {
		usd := numberAt(point, "token0PriceUsd")
		m.usd[int64(numberAt(point, "timestamp"))/3600] = usd
	}

	m.compute()
	pool := m.s.answered(id, "")
	m.checkWindows(pool)
	m.checkChart(hourly, 3600, false)
	m.checkChart(m.s.answered(id+"/charts", "range=all"), 86400, true)
	usd := numberAt(pool["token0"], "priceUsd")
	m.checkEstimate(id, usd)
	for _, p := range m.positions[1:] { // the first is no NFT
		m.checkPosition(p, usd)
	}
}

// numberAt is a number of a row or a point; NaN if it is null.
func numberAt(v any, name string) float64 { return number(find(v.(map[string]any), name)) }

func (m *replay) near(what string, got, want, scale float64) {
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-7*max(scale, math.Abs(want)) {
		m.s.t.Errorf("%s, at %d: %s is %v; the events make %v", m.s.where, m.now, what, got, want)
	}
}

// checkWindows sums what was traded in the hours and days of each window, of the oldest one
// the share that the window still has in steps of five minutes.
func (m *replay) checkWindows(pool map[string]any) {
	for name, window := range map[string][2]int64{
		"1h": {3600, 1}, "24h": {3600, 24}, "7d": {3600, 168}, "30d": {86400, 30},
	} {
		var volume, fees float64
		unit, length := window[0], window[1]
		for hour, h := range m.hours {
			share := 1.0
			switch age := m.now/unit - hour*3600/unit; {
			case age > length:
				continue
			case age == length:
				share = 1 - float64(m.now%unit/300*300)/float64(unit)
			}

			volume, fees = volume+share*h[0], fees+share*h[1]
		}
		m.near("volumeUsd"+name, numberAt(pool, "volumeUsd"+name), volume, 1)
		m.near("feesUsd"+name, numberAt(pool, "feesUsd"+name), fees, 1)
	}
}

// checkChart holds every candle, and what was traded in it, to the swaps.
func (m *replay) checkChart(chart map[string]any, unit int64, extremes bool) {
	group := chart["poolOverview"].(map[string]any)
	for i, point := range chart["poolPrice"].([]any) {
		begin := int64(numberAt(point, "timestamp"))
		var open, high, low, last, volume, fees float64
		for _, c := range m.closes {
			price := c.root * c.root
			if c.time >= begin+unit {
				break
			}
			if last = price; open == 0 || c.time < begin {
				open, high, low = price, price, price
			}
			high, low = max(high, price), min(low, price)
		}
		for hour, h := range m.hours {
			if hour*3600 >= begin && hour*3600 < begin+unit {
				volume, fees = volume+h[0], fees+h[1]
			}
		}

		name := fmt.Sprintf(" of %d, %d s", begin, unit)
		m.near("open"+name, numberAt(point, "open"), open, 0)
		m.near("close"+name, numberAt(point, "close"), last, 0)
		if extremes {
			m.near("high"+name, numberAt(point, "high"), high, 0)
			m.near("low"+name, numberAt(point, "low"), low, 0)
		}
		m.near("volumeUsd"+name, numberAt(group["volumeUsd"].([]any)[i], "value"), volume, 1)
		m.near("feesUsd"+name, numberAt(group["feesUsd"].([]any)[i], "value"), fees, 1)
	}
}

// checkEstimate asks what bob's range would have earned, whose ticks stay initialised.
func (m *replay) checkEstimate(id string, usd float64) {
	bob := m.positions[2]
	e := m.s.answered(id+"/estimate", fmt.Sprintf("tickLower=%d&tickUpper=%d&valueUsd=1000", bob.lower, bob.upper))
	from := int64(numberAt(e, "from"))
	if slices.Contains(e["approximated"].([]any), any("feesUsd")) || math.IsNaN(usd) {
		return
	}

	root := 0.0
	for _, c := range m.closes {
		if root == 0 || c.time < from {
			root = c.root
		}
	}
	price := m.price(from)
	if math.IsNaN(price) {
		price = root * root
	}
	a0, a1 := bob.amounts(1, root)
	liquidity := 1000 / (a0*price + a1)

	grown := [2]float64{}
	for _, paid := range bob.earned {
		if paid.time >= from {
			grown[paid.side] += paid.raw / bob.liquidity
		}
	}
	m.estimates++
	fees := liquidity * (grown[0]*usd + grown[1])
	m.near("feesUsd of the estimate", numberAt(e, "feesUsd"), fees, 1)
	d0, d1 := bob.amounts(liquidity, root)
	n0, n1 := bob.amounts(liquidity, m.root)
	m.near("divergenceLossUsd of the estimate", numberAt(e, "divergenceLossUsd"), (n0-d0)*usd+n1-d1, 1000)
	deposited := d0*usd + d1
	m.near("feeApr of the estimate", numberAt(e, "feeApr"), fees/deposited*100*365*86400/float64(max(m.now-from, 3600)), 1)
}

func (m *replay) checkPosition(p *holding, usd float64) {
	row := m.s.answered(fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", p.id), "")
	name := fmt.Sprintf(" of position %d", p.id)
	if (p.liquidity > 0) != (row["isActive"] == true) {
		m.s.t.Errorf("%s: isActive%s is %v", m.s.where, name, row["isActive"])
	}
	if p.liquidity == 0 {
		return
	}

	a0, a1 := p.amounts(p.liquidity, m.root)
	m.near("underlyingValueUsd"+name, numberAt(row, "underlyingValueUsd"), m.worth(a0, usd)+a1/1e18, 0)
	pending := m.worth(p.owed[0], usd) + p.owed[1]/1e18
	m.near("pendingFeesUsd"+name, numberAt(row, "pendingFeesUsd"), pending, 1)
	cost := m.worth(a0, usd) + a1/1e18 + pending + p.cost
	m.near("pnlCostUsd"+name, numberAt(row, "pnlCostUsd"), cost, a0+a1)
	share := math.NaN()
	if m.now > p.since {
		share = float64(p.inside) / float64(m.now-p.since)
	}
	m.near("timeInRange"+name, numberAt(row, "timeInRange"), share, 1)
}
