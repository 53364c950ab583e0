// Package gate authenticates, rate-limits and charges the requests of metered
// routes. The server calls it in the order of checks that api.md fixes:
//
//	Preflight                answers a CORS preflight
//	Admit                    401, 403, 429 burst
//	(the server's own 404, 405 and 400)
//	Reserve                  429 quota, 503
//	(the work)
//	Settle                   bills or releases the units
//	SetMeter or AppendMeter  the headers that say so
//
// Admit is in auth.go, Preflight and the check of origins in cors.go, Reserve and Settle
// in charge.go, and the headers of an answer in headers.go.
//
// Every request for which units were reserved ends in exactly one Settle, whatever
// happens in between. Admit and the functions that set headers touch nothing else of
// the response, so the caller may set status and body before or after. Nobody may
// reset the response headers after Admit.
//
// All checks run in memory on immutable maps and atomic counters of
// storage/accounts, without locks, messages or allocations, but for three waits: an
// account's first request after an idle second, and the next part of a long answer, wait
// until a lease of units is written to disk; /v1/usage in a cluster waits for the account's
// share.
package gate
