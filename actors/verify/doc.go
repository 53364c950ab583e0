// Package verify compares a chain's ledger with the contracts' own storage at
// one block, by eth_call on extsload and ownerOf.
//
// What is compared: of every pool the price, tick, protocol fee, liquidity and
// both fee growths; every word of its tickBitmap, so that a tick that the ledger
// lacks is found too; of every initialised tick its liquidity, gross and net, and
// the fee growth outside; of every position its liquidity, its fee growth inside
// at the last change, and its owner; which positions were ever minted; and the
// liquidity of those that are no NFTs. A sample compares some pools with their
// ticks and some positions.
//
// A comparison of everything also holds the balance of every token against what
// positions may take out. A shortfall is reported beside the differences: the
// ledger is right, and the token takes a fee on transfers or changes balances.
//
// What no event and no known slot tells stays outside: the fee of a dynamic pool
// between swaps, what a hook keeps for itself, and a pool that the ledger lacks
// and in which nothing has happened since it was created.
//
// The files: layout (where the contracts keep it), compare and bitmap (what is held
// against what), balances, calls (how it is read).
package verify
