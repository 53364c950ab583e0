// Package market holds the nouns: chains, tokens, pools, ticks, positions, the
// events that change them, the spans of blocks in which those arrive, and the
// State, which is everything known of one chain at one block.
//
// Records are fixed-size and free of pointers wherever there are many of them,
// so that a million cost the garbage collector nothing. They name each other
// by index: a record's place in its Table. NoIndex is no record.
//
// On-chain quantities are integers. USD is float64, and a float that is not
// known is Unknown (NaN), never 0.
package market
