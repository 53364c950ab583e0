// Package feed says how events of a chain reach its ledger: pulled, one span
// at a time, so that whoever applies them sets the pace.
//
//	the ledger's Cursor -> Next -> a Step: a span, or a revert, or neither
//
// The feeds are in packages of their own, and deliver the same events:
//
//	rpc       from the nodes of a chain, through endpoint
//	archive   from the spans that were fetched before, and then from another feed
//	sim       a simulated market
//
// cryo reads the files of an extractor into an archive. endpoint sends calls to one URL
// of a provider; it knows nothing of chains.
package feed
