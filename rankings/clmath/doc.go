// Package clmath is the arithmetic of a singleton AMM with concentrated
// liquidity: exactly the contracts' integers, rounding included.
//
// Prices are sqrtPriceX96: the square root of raw token1 per raw token0, times
// 2^96. Liquidity has at most 128 bits, raw amounts at most 256. Fee growth is
// raw fees per unit of liquidity times 2^128 and wraps modulo 2^256 by design;
// only differences of it mean anything.
//
// Rounding is never a choice here: what is paid into a pool rounds up, what
// leaves it rounds down, and a swap rounds at every step it takes.
package clmath
