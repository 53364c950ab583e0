// Package script reads market scripts: tests that say in lines of text what
// happens on a chain, and what must be seen of it afterwards.
//
//	token TIDE 18
//	token USD 6
//	pool P TIDE USD 3000 60 @4      # 4 USD per TIDE
//	mint 1 alice P min max 1e18
//	at +1h
//	sell0 P 5e18
//	show position 1
//	> alice liquidity 1000000000000000000 …
//
// Whoever runs a script knows what "show" means; the lines that begin with ">"
// are what it must print. The package knows what makes a market of it: the
// clock, the tokens, and events, of which one line is one transaction in a
// block of its own, its events separated by ";":
//
//	pool P A B FEE SPACING [TICK|@PRICE] [HOOKS]   FEE in pips, or dynamic; HOOKS in hex
//	mint ID OWNER P LOWER UPPER LIQUIDITY          direct SENDER P LOWER UPPER ±LIQUIDITY
//	add ID LIQUIDITY           remove ID LIQUIDITY|all
//	collect ID                 burn ID             its liquidity first gone or not
//	give ID OWNER              donate P AMOUNT0 AMOUNT1
//	protocol P DOWN UP
//	sell0 P AMOUNT [FEE] | sell1 …                 exact input, computed forwards
//	buy0 P AMOUNT [FEE]  | buy1 …                  exact output
//	push P @PRICE [FEE]                            whatever brings the pool there
//	crash P SQRTPRICE                              a swap event that cannot be
//	block                                          nothing
//	wait +SECONDS|m|h|d                            nothing, that much later
//
//	times N LINE | LINE | …                        those lines, N times over
//
//	token A DECIMALS [bad]     gas USED PRICE|unknown     at +SECONDS|m|h|d
//
// Amounts are raw and may be written 1_000 or 1.5e18. A price is whole units of
// the pool's second token per whole unit of its first. A tick is a number, a
// price, which is aligned downwards, min or max. A token called native is the
// native currency. Names of tokens and pools are the ends of their addresses
// and ids; people are known by their first letter.
package script
