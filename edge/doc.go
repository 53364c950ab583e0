// Package edge serves the API over HTTP. Every request takes one straight way,
// serve.go, in the order of checks that api.md fixes:
//
//	read       sound HTTP? which route?          400, 431, 505 (or fasthttp)
//	Preflight  204                               edge/gate
//	Admit      key, origin, burst                edge/gate: 401, 403, 429
//	exists     route, method                     404, 405
//	ask        parameters -> question            edge/query: 400
//	Reserve    units                             edge/gate: 429, 503
//	work       question -> body                  edge/pages: 404, 503
//	settle     units billed or given back        edge/gate
//	send       flags of age, coding
//
// This package owns the connections and what stands on the wire: request.go and
// routes.go read, reply.go and errors.go write, listener.go and conn.go carry.
// limits.go has every bound with its reason.
package edge
