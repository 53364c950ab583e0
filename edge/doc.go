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
// This package owns connections and HTTP:
//
//	listener, conn, frame, socket         connections, and what may come over them
//	routes, request, requestid, nearest   a request read, or the route it may have meant
//	parameters                            the question of a metered route
//	reply, coding, errors, site, openapi  an answer written at once
//	export, streams                       the answers that go on for long
//	longanswers, longwriter, packer       how those are written, each on a goroutine
//	server, metrics                       what is started, changed and stopped, and counted
//	limits                                bounds of connections and answers, with their reasons
package edge
