package actors

import (
	"time"

	"tidemark/actors/cluster"
	"tidemark/actors/feed"
	"tidemark/rankings"
)

// Messages to a chain's actor. A new epoch begins whenever the actor gives up what is under
// way: when the chain is to be opened again, was dropped, or goes back to read blocks again.
// Messages of an earlier epoch are dropped.
type (
	// open restores the chain from the store.
	open struct{ epoch uint64 }
	// loaded says that the records are in memory, or why they are not.
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
	// heard is what came from the node that writes the chain.
	heard struct {
		epoch uint64
		event cluster.Event
		err   error
	}
	// joined says that the store has the cluster's data, or why it has not.
	joined struct {
		epoch uint64
		took  bool // a snapshot
		err   error
	}
	// snapshotted says when the next snapshot is due, or why this one failed.
	snapshotted struct {
		newest uint64
		due    time.Time
		err    error
	}
	// retry asks the feed of a stopped chain again.
	retry struct{ epoch uint64 }
	// refresh is the tick. Only the one that was set last counts.
	refresh struct{ epoch, tick uint64 }
	// verified is what a comparison with the contracts found.
	verified struct{ result *rankings.Verification }
	// command is an operator's.
	command struct {
		do    func(*chainActor) error
		reply chan<- error // of capacity 1
	}
)
