// Package gate stands before every metered route. It decides whose key a
// request carries, where it may come from, how fast, and how many units are
// left. The server calls it in the order of checks that api.md fixes:
//
//	Preflight                answered at once
//	Admit                    401, 403, 429 burst
//	(no such route, parameters: the server's own 404, 405, 400)
//	Reserve                  429 quota, 503
//	(the work)
//	Settle or Refuse         headers set, units billed or given back
//
// An admitted request ends in exactly one Settle (a route answered it) or
// Refuse (no route did), whatever happens in between. Both only set headers, so
// the caller may set body and status before or after. Nobody may reset the
// response's headers after Admit.
//
// Everything is decided in memory, from immutable maps and atomic counters of
// storage/accounts: no lock, no message, no allocation. The one exception is
// the first request of an account after an idle second, which waits for a lease
// of units to be written to disk.
package gate
