package rankings

// Membership is what a node of a cluster knows of a chain that it shares with the others.
type Membership struct {
	Writer string // the node that writes the chain; empty: none is heard of
	Cut    uint64 // the last commit of the writers that this node has
	// LagCuts are the commits of the writer that this node does not have yet. LagMillis
	// is how long ago it had all of them.
	LagCuts   uint64
	LagMillis int64
	// Snapshot is the newest one of the chain; the zero value: none is known.
	Snapshot ChainSnapshot
}

// ChainSnapshot is a stored copy of a chain, from which nodes begin.
type ChainSnapshot struct {
	Cut    uint64
	Bytes  uint64
	MadeAt int64 // unix milliseconds
}
