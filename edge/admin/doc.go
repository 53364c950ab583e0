// Package admin serves the administration of a running node: accounts, keys,
// chains and backups, as JSON over HTTP on a unix socket in the data directory.
// Access is by file permission: whoever can open the socket, whose mode is 0600,
// may do everything.
//
//	GET  /accounts                 POST /accounts             {name, plan}
//	GET  /accounts/{name}          POST /accounts/{name}/suspend, …/resume
//	POST /accounts/{name}/plan     {plan}
//	GET  /keys?account=            POST /keys                 registry.KeyRequest
//	POST /keys/{id}/revoke         GET  /usage/{name}?month=
//	GET  /chains                   POST /chains/{id}/offline, …/online
//	GET  /cluster                  POST /chains/{id}/rebuild, …/resync
//	GET  /cluster/accounts         POST /chains/{id}/verify?sample=
//	POST /backup?dir=              GET  /ready
//
// A success is 200 with JSON. An error is {"error": message} with status 400, 404
// or 409 when the caller can correct the request, and 500 otherwise.
package admin
