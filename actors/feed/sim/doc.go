// Package sim is a simulated market, the node's default feed. It delivers the
// same events into the same ledger as the feed that reads real nodes, so that
// nothing downstream knows the difference.
//
// It holds no state. Block N is a function of the Config, of N, and of the
// market after block N-1, which Next reads from the Cursor's State. Within one
// call a world keeps what the span has changed so far on top of that State.
// So a restart, another cut of the spans and a reorganisation need no
// bookkeeping, and a seed always gives the same history. Three closed forms
// make that possible:
//
//	randomness  a hash of seed, chain, block, action and draw    noise.go
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
//	births   pools are initialised, by their founders            genesis.go
//	beats    the core pools' daily round, which guarantees what  rota.go
//	         chance would only make likely
//	actions  trade, mints and changes of positions               trader.go,
//	                                                  provider.go, keeper.go
//
// Swaps are computed forwards, from an amount and a limit to a price, by the
// contracts' steps (swap.go). The event has only what a log would have, and the
// ledger replays it from there: each checks the other.
//
// A Crowd gives the same market another shape: who leaves, how wide ranges are,
// which pools are traded, and a past of which little is known (crowd.go). The
// built-in market has none.
//
// The pools and tokens that every market has are listed in pools.go (cast) and
// tokens.go (named), the most important ones first: five pools keep every
// promise of the simulated market, the whole list shows every state of the API.
// Pools beyond the list are invented, ever smaller. A price feed answers for
// tokens that no pool trades (pricefeed.go).
package sim
