// Package registry administers accounts and their API keys.
//
// It stands between the store, which keeps accounts, and the book, which
// answers for them on the request path. Every change takes the same way:
//
//	check the request -> write it to the store, synced -> put it into the book
//
// so that whatever the book admits or refuses survives a crash, and a change
// is in force for every later request as soon as the call returns.
//
// The registry has no goroutine of its own. Its methods may be called from any
// goroutine; one mutex serialises them, and no request of the API takes it.
package registry
