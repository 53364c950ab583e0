package sim

import "math"

// asset is what a token is worth over time, as a closed form: the logarithm of
// its USD price in thousandths of a tick. The same asset has the same path on
// every chain.
type asset struct {
	key  uint64 // of its own noise
	base int64  // at rest
	beta int64  // thousandths of the market's moves that it takes part in
	vol  int64  // its own deviation in a day
	// A stable coin that loses its peg is worth dip less from depegFrom on,
	// for depegFor seconds.
	dip, depegFrom, depegFor int64
}

const day = 86400

// octaves are the periods of a path's waves, and their amplitudes: the square
// root of the period in days, so that what they add up to wanders like prices.
var octaves = [...]struct{ period, amplitude int64 }{
	{64 * day, 8000},
	{32 * day, 5657},
	{16 * day, 4000},
	{8 * day, 2828},
	{4 * day, 2000},
	{2 * day, 1414},
	{day, 1000},
	{day / 2, 707},
	{day / 4, 500},
	{day / 8, 354},
	{day / 16, 250},
	{day / 32, 177},
	{day / 64, 125},
}

// walk is a path with trends and clusters of volatility: waves of every octave
// with the deviation vol in a day.
func walk(key uint64, t, vol int64) int64 {
	rough := 1000 + wave(key^0x5a, t, 3*day)*800/waveOne + wave(key^0x5b, t, day/2)*500/waveOne
	rough = max(rough, 200)
	var sum int64
	for i, o := range octaves {
		step := wave(key+uint64(i), t, o.period) * o.amplitude >> 15
		if o.period <= day {
			step = step * rough / 1000
		}
		sum += step
	}
	return sum * vol * 7 / 10_000
}

// marketVol is what the whole market moves in a day: 2.4 %.
const marketVol = 240_000

// marketAt is the path that all tokens share in proportion to their beta.
func marketAt(seed uint64, t int64) int64 { return walk(hash(seed, 'm'), t, marketVol) }

// at returns the asset's price at t seconds after genesis, in thousandths of a
// tick, given where the whole market is.
func (a *asset) at(t, market int64) int64 {
	price := a.base + a.beta*market/1000
	if a.vol > 0 {
		price += walk(a.key, t, a.vol)
	}
	if a.dip > 0 && t > a.depegFrom && t < a.depegFrom+a.depegFor {
		price -= a.dip * min(t-a.depegFrom, a.depegFrom+a.depegFor-t, a.depegFor/4) * 4 / a.depegFor
	}
	return price
}

// ticksOf returns the thousandths of a tick that stand for a price.
func ticksOf(usd float64) int64 {
	return int64(math.Round(math.Log(usd) / math.Log(1.0001) * 1000))
}

// tenfold is how many thousandths of a tick are a factor of ten.
const tenfold = 23_027_002
