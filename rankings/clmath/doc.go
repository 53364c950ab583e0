// Package clmath is the integer arithmetic of a concentrated-liquidity AMM,
// bit-exact with the contracts, rounding included.
//
// Prices are sqrtPriceX96: the square root of raw token1 per raw token0, times
// 2^96. Liquidity has at most 128 bits, raw amounts at most 256. Fee growth is
// raw fees per unit of liquidity, times 2^128. It wraps modulo 2^256 by design,
// so only differences of it are meaningful.
//
// Amounts paid into a pool round up, amounts paid out round down, and a swap
// rounds at each of its steps.
//
//	int, muldiv         128, 256 and 384 bits
//	tick, amount, swap  what the contracts compute: prices of ticks, amounts, steps
//	feegrowth, seconds  what is inside of a range: fees, and time by the same rules
//	replay              a Swap event -> the ticks it crossed and its exact fees
//	decimal, digits,    integers -> text, without an allocation
//	scaled
//	float               floats -> integers
package clmath
