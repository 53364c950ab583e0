// Package script reads market scripts: tests in plain text that list the events
// on a chain and the output that is expected afterwards.
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
// The caller implements commands such as "show"; lines that begin with ">" are
// the expected output of the line before. The package implements the clock, the
// tokens and the events. A line of events is one transaction in its own block;
// events are separated by ";":
//
//	pool P A B FEE SPACING [TICK|@PRICE] [HOOKS]   FEE in pips, or dynamic; HOOKS in hex
//	mint ID OWNER P LOWER UPPER LIQUIDITY          direct SENDER P LOWER UPPER ±LIQUIDITY
//	add ID LIQUIDITY           remove ID LIQUIDITY|all
//	collect ID                 burn ID [only]      with its liquidity, or the NFT only
//	give ID OWNER              donate P AMOUNT0 AMOUNT1
//	protocol P DOWN UP
//	sell0 P AMOUNT [FEE] | sell1 …                 a swap with exact input
//	buy0 P AMOUNT [FEE]  | buy1 …                  a swap with exact output
//	push P @PRICE [FEE]                            a swap to a price
//	crash P SQRTPRICE                              an impossible swap event
//	block                                          an empty block
//	wait +SECONDS|m|h|d                            an empty block, that much later
//
//	times N LINE | LINE | …                        those lines, N times
//
//	token A DECIMALS|unknown   gas USED PRICE|unknown     at +SECONDS|m|h|d
//
// Amounts are raw and may be written 1_000 or 1.5e18. A price is in whole units of
// the pool's second token per whole unit of its first. A tick is a number, a
// price, which is rounded down to the spacing, min or max. A token called native
// is the native currency. The names of tokens and pools are the last bytes of
// their addresses and ids. Of a person's name only the first letter counts.
package script
