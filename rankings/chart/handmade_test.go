package chart

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// today is the running day of handmade States, in its sixth hour.
const (
	today    = uint32(20_000)
	thisHour = today*market.HoursOfDay + 5
	nowUnix  = int64(thisHour)*market.Hour + 1200
)

// handmade is a State of one pool of two tokens with 2 and 1 decimals, worth 3 and 2
// USD, at tick 0.
type handmade struct {
	tokens    market.Table[market.Token]
	prices    market.Table[market.Price]
	ticks     market.Table[market.Tick]
	positions market.Table[market.Position]
	hours     market.Table[market.HourBucket]

	pool      market.Pool
	day       market.PoolDay
	stats     market.PoolStats
	now       int64
	hoursFrom uint32
}

func newHandmade() *handmade {
	h := &handmade{
		now: nowUnix, hoursFrom: 1,
		pool: market.Pool{
			Currency1: 1, TickSpacing: 10, CreatedAt: Daily.Start(today - 40), LastHour: market.NoIndex,
			SqrtPriceX96: clmath.SqrtPriceAtTick(0),
		},
		day: market.PoolDay{Day: today, Close: clmath.SqrtPriceAtTick(0)},
	}
	for n, decimals := range []uint8{2, 1} {
		h.tokens.Append(market.Token{Address: market.Address{byte(n + 1)}, Decimals: decimals})
		h.prices.Append(market.Price{
			Usd: float64(3 - n), ExitUsd: math.Inf(1), OnlyPool: market.NoIndex, Corroborated: true,
		})
	}
	return h
}

func (h *handmade) state() *market.State {
	var pools market.Table[market.Pool]
	var days market.Table[market.PoolDay]
	var stats market.Table[market.PoolStats]
	pools.Append(h.pool)
	days.Append(h.day)
	stats.Append(h.stats)
	return &market.State{
		Head: market.Head{Time: h.now}, Tokens: h.tokens.Freeze(), Prices: h.prices.Freeze(),
		Pools: pools.Freeze(), Days: days.Freeze(), Stats: stats.Freeze(), Hours: h.hours.Freeze(),
		Ticks: h.ticks.Freeze(), Positions: h.positions.Freeze(),
		Native: market.NoIndex, HoursFrom: h.hoursFrom,
	}
}

// quotes are numbered from 1 on, by interval: those of token 1 a hundred times as high.
func quotes(n int) (q [2][]value.Quote) {
	for i := range n {
		for leg, factor := range [2]float64{1, 100} {
			q[leg] = append(q[leg], value.Quote{
				Usd: factor * float64(i+1), ExitUsd: math.Inf(1), OnlyPool: market.NoIndex,
			})
		}
	}
	return q
}

func same(a, b float64) bool { return a == b || !market.Known(a) && !market.Known(b) }
