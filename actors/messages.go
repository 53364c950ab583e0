package actors

import (
	"tidemark/actors/feed"
	"tidemark/rankings"
)

// What a chain's actor is told. The epoch counts how often it was opened:
// what was on its way to an earlier one is dropped.
type (
	// open restores the chain from the store.
	open struct{ epoch uint64 }
	// loaded says that the records are in memory, or why not.
	loaded struct {
		epoch uint64
		err   error
	}
	// fetched is the feed's answer.
	fetched struct {
		epoch uint64
		step  feed.Step
		err   error
	}
	// refresh is the tick; a later one replaces it.
	refresh struct{ epoch, tick uint64 }
	// verified is what a comparison with the contracts found.
	verified struct{ result *rankings.Verification }
	// command runs an operator's wish between two other messages.
	command struct {
		do    func(*chainActor) error
		reply chan<- error // of capacity 1
	}
)
