// Package registry administers accounts and their API keys.
//
// It connects the store, which keeps accounts durably, and the book, which the
// request path reads. Every change takes three steps:
//
//	check the request -> write it to the store, synced -> put it into the book
//
// So every change that the book shows survives a crash, and applies to every later
// request as soon as the call returns.
//
// On a node of a cluster a change is stored for all nodes first (Sharing), and those of
// other nodes are taken in the same way (Apply).
//
// The registry starts no goroutines. Its methods may be called from any goroutine.
// One mutex serialises them; requests of the API do not take it.
package registry
