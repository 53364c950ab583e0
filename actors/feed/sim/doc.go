// Package sim is a simulated market: a chain in the box, the node's default
// feed. It delivers the same events into the same ledger as the one that reads
// real nodes, and nothing downstream knows the difference.
//
// It holds no state. Block N is a function of the Config, of N, and of the
// market after block N-1, which Next reads from the Cursor's State. Within one
// call a world lays what the span has changed over that State, and is thrown
// away; so a restart, another cut of the spans or a reorganisation need no
// bookkeeping, and a seed tells one history for ever. Three closed forms make
// that possible:
//
//	randomness  a hash of seed, chain, block, action and throw   noise.go
//	prices      sums of waves of hashed values over time         price.go
//	times       the i-th action has a slot of time to itself     calendar.go
//
// The market must not depend on the machine either. So logarithms of prices
// are integers, thousandths of a tick; powers come from the contracts' own
// integer arithmetic; and where floats are left, products are rounded before
// they are added, which keeps compilers from fusing them.
//
// What happens comes from three streams, merged by block:
//
//	births   pools come into being, with their founders          genesis.go
//	beats    the core pools' daily round, which guarantees what  rota.go
//	         chance would only make likely
//	actions  trade, mints and changes of positions               trader.go,
//	                                                  provider.go, keeper.go
//
// Swaps are computed forwards, from an amount and a limit to a price, by the
// contracts' steps (swap.go). The event says only what a log would, and the
// ledger replays it backwards: each checks the other.
//
// A Crowd gives the same market another shape: who leaves, how wide ranges are,
// which pools are traded, and a past of which little is known (crowd.go). The
// built-in market has none.
//
// What the market has in it, by its cast of pools and tokens: pools.go and
// tokens.go. A cast of five pools keeps every promise; more pools add what a
// real market has besides, and after the cast inventions, ever smaller.
package sim
