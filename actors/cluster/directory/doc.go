// Package directory shares accounts, keys and plans between the nodes of a cluster.
//
// They are in the bucket TIDEMARK_ACCOUNTS, one key for each record:
//
//	account.1   {"id": 1, "name": "acme", "plan": "growth", …}
//	key.7       {"id": 7, "account": 1, "hash": "…", "kind": "browser", "origins": [ … ], …}
//	plans       the plans that are in force
//
// A change is one record. It is stored by compare-and-swap on the whole bucket: it names
// the last change of all that its node has seen, and the servers refuse it if there is
// another one. So what a node has checked before (that a name is free, that the account
// may have one more key) is still true when the change is stored. A node that is refused
// takes what it had missed, checks again and tries again (storage/registry, inOrder).
// Nothing is ever deleted.
//
// Every node watches the bucket, so a change acts on all nodes at once. The watch is
// replaced every 30 s by a new one, which begins with the whole content: also if a watch
// was lost without a word, a key that was revoked is refused everywhere within a minute.
package directory
