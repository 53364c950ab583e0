// Package accountstore stores accounts, keys and usage in a Pebble database of their own,
// so that publishing, resyncs and damaged market data cannot affect billing.
//
//	Open                   refuses a store that lacks acknowledged batches   open.go, loss.go
//	Put, Clear             accounts and keys                                 store.go
//	Flush                  usage: the months to a journal                    store.go, journal.go
//	Load, Month, Days      reads                                             read.go
//	Check                  verifies every invariant                          check.go
//	Checkpoint             copies the store                                  store.go
//
// schema.go has every key, and records.go what is under it. Every batch has a number and a
// hash over all before it, which a file beside the store proves (proof.go): Pebble takes
// damage at the end of its log for the end, and a revoked key must not come back.
//
// The rules of accounts, keys and quotas are in package accounts, which stores nothing;
// package registry keeps both in agreement.
package accountstore
