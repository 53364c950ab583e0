// Package admin is the administration of a running node: accounts, keys,
// chains and backups, as JSON over HTTP on a unix socket in the data directory.
// Whoever may open the socket may do all of it; its mode is 0600.
//
//	GET  /accounts                 POST /accounts             {name, plan}
//	GET  /accounts/{name}          POST /accounts/{name}/suspend, …/resume
//	POST /accounts/{name}/plan     {plan}
//	GET  /keys?account=            POST /keys                 registry.KeyRequest
//	POST /keys/{id}/revoke         GET  /usage/{name}?month=
//	GET  /chains                   POST /chains/{id}/offline, …/online, …/resync
//	POST /backup?dir=
//
// An answer is 200 with JSON; an error is {"error": message} with the status
// 400, 404 or 409 when the caller can mend it, else 500.
package admin
