// Package value turns exact on-chain amounts into what they are worth: prices
// of tokens, the market of a pool, and every number and flag of a position.
//
// Everything is a function of one market.State, and now is the time of its
// block. Amounts are exact integers until the last step, which makes USD of
// them; USD are floats, finite or market.Unknown. Nothing allocates by the
// row, and nothing depends on the order of anything but the State's tables.
//
//	Pricer     once a generation   markets -> a Price for every token; Prices solves them alone
//	Stats      per changed pool    ticks and hours -> PoolStats
//	Ranker     per position        what it is sorted and filtered by
//	Position   per rendered row    the same, with the exact amounts
//	Explain    when asked          the arithmetic of one row
//
// # Whom to believe
//
// Anybody can mint a token, open a pool at any price, trade with himself and
// lend his pool a billion for one block. What he cannot do for free is to
// leave other people's money in it. So every rule asks for USD that really
// come out: by walking the initialised ticks, never by a formula over virtual
// reserves; by the median of half an hour, never by one block; and counted in
// tokens whose own way to USD is proven. A price is what such markets say. It
// is corroborated when enough of them do, and a claim on a token is worth no
// more than selling it would yield. Params has the thresholds.
//
// # A worked example
//
// A pool of TIDE and a stable, 18 decimals both, stands at sqrtPrice 2, so at
// 4 stables per TIDE. All of its liquidity lies between the ticks 0 and 27726,
// where sqrtPrice is 1 and 1.0001^13863 = 3.999745: 100,000e18 of others, and
// 400e18 of our position. The stable is on its peg: 1 USD. The native currency
// is at 2,500 USD by the median of its deepest pools.
//
// Price of TIDE. The pool's 30-minute median is 2 * 2 * 1 = 4 USD. Selling
// takes sqrtPrice down. To 2 % off, 2 * sqrt(0.98) = 1.979899, there is room for
//
//	100,400 * (1/1.979899 - 1/2) = 509.7 TIDE, 2,039 USD     market-usd: 1,000
//
// and to a tenth, 2 * sqrt(0.1) = 0.63, which the ticks end before, there is
//
//	100,400 * (2 - 1) = 100,400 USD reachable                lone-usd: 50,000
//
// The pool is a month old and has seen a thousand swaps, so it corroborates
// TIDE alone: it may price its own positions. ExitUsd is 100,400.
//
// Principal, at sqrtPrice 2 between 1 and 3.999745:
//
//	amount0 = 400 * (1/2 - 1/3.999745) = 99.993633 TIDE
//	amount1 = 400 * (2 - 1)            = 400 stables
//	V       = 99.993633 * 4 + 400      = 799.97 USD
//
// Its claim of 399.97 USD in TIDE stands against the exit without its own
// share, 100,400 - 400 * (2 - 1) = 100,000 USD: the leg is realizable.
//
// Fees. The growth inside has risen by 0.05 stables per unit of liquidity, so
// 0.05 * 400 = 20 stables are uncollected; 5 TIDE were collected before.
//
//	F = 20 + 5 * 4 = 40 USD
//
// Flows. 375 TIDE went in at sqrtPrice 1 and 75 came out there:
//
//	D = 375 * 4 = 1,500 USD    W = 75 * 4 = 300 USD
//
// Gas. 0.004 of the native currency: G = 0.004 * 2,500 = 10 USD.
//
// Results, minted 73 days ago:
//
//	divergence = 799.97 + 300 - 1,500        = -400.03 USD
//	pnl        = -400.03 + 40 - 10           = -370.03 USD
//	roi        = -370.03 / 1,500 * 100       = -24.668 %
//	apr        = -24.668 * 365 / 73          = -123.34 %
//	feeApr     = 40 / 1,500 * 100 * 365 / 73 = 13.333 %
//
// At the values of their time the flows were 75 + 10 - 375 - 8 = -298 USD,
// with TIDE at 1 and later 2 USD, which makes
//
//	pnlCost = 799.97 + 20 - 298 = 521.97 USD
//
// Pool. Its 100,400 of liquidity hold 25,098.40 TIDE and 100,400 stables:
//
//	tvl    = 25,098.40 * 4 + 100,400    = 200,793.61 USD
//	feeApr = 150 / 200,793.61 * 36,500  = 27.27 %
//
// from 150 USD of fees in the last 24 hour buckets. Its volume of 7 days is
// 7,000 + 50,000 = 57,000 USD.
package value
