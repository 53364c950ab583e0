// Package quota shares the quotas of accounts between the nodes of a cluster.
//
// The bucket TIDEMARK_USAGE has one key for each account and month. Its value says, for
// each node, what it has billed and what it has leased beyond that:
//
//	1.2026-11   {"limit": 500000, "nodes": {
//	              "a": {"process": "…", "billed": 1200, "lease": 300, "routes": { … }},
//	              "b": {"process": "…", "billed":  900, "lease":  50, "routes": { … }}}}
//
// A node takes a lease before it spends it, by compare-and-swap, and only if all that is
// billed and leased stays within the limit. It spends the lease as one that is alone
// spends its quota (actors.Meter, storage/accounts): no request asks another node. With
// every lease it reports its totals, which are absolute, and it does so every second
// while it is in use. An idle account's lease is given back. Where the servers cannot
// store as many reports, they come later; a lease waits for none of them.
//
// A process never uses what an earlier one had leased. The lease of a node that was
// killed stays used for the quota, and is never billed: when the node starts again, what
// its store has billed is reported, and the rest of the lease is "lost".
//
// Leases are to last about a second: one that lasted less than half of that is followed by
// one of twice the size, one that lasted longer than two by one of half.
//
// Without a majority of the servers no lease is taken. What is leased is spent, then
// requests of accounts with a quota are refused (503); cluster.quota-on-outage allows
// them a number of units instead, which may go beyond the quota.
package quota
