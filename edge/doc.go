// Package edge serves the API over HTTP. serve.go handles every request from top
// to bottom, in the order of checks that api.md fixes:
//
//	parseTarget      well-formed HTTP, route       400, 431, 505 (or fasthttp)
//	Preflight        204                           edge/gate
//	Admit            key, origin, burst            edge/gate: 401, 403, 429
//	checkRoute       route, method                 404, 405
//	parseParameters  parameters -> question        edge/query: 400
//	Reserve          units                         edge/gate: 429, 503
//	compute          question -> body              edge/pages: 404, 503
//	settleCharge     bills or releases the units   edge/gate
//	sendReply        age flags, content coding
//
// This package owns connections and HTTP: request.go and routes.go read requests,
// reply.go and errors.go write answers, listener.go, conn.go and frame.go handle
// connections. limits.go lists every bound with its reason.
package edge
