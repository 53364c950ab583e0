// Package verify compares a chain's ledger with the contracts' own storage at
// one block, by eth_call on extsload and ownerOf.
//
// What is compared: of every pool the price, tick, protocol fee, liquidity and
// both fee growths; of every initialised tick its liquidity, gross and net, and
// the fee growth outside; of every position its liquidity, its fee growth inside
// at the last change, and its owner; how many positions were ever minted; and
// the liquidity of those that are no NFTs. A sample compares some pools with
// their ticks and some positions.
//
// What no event tells stays outside: the fee of a dynamic pool between swaps,
// and what a hook keeps for itself.
//
// The files: layout (where the contracts keep it), compare (what is held against
// what), calls (how it is read).
package verify
