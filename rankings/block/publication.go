package block

// Publication is what a generation adds to the store, and what it takes away:
// everything of it is committed in the batch that holds the generation's cut.
type Publication struct {
	Generation uint64
	First      bool // it uses no leaf of an earlier generation: all of those are dead
	Directory  []byte
	Leaves     []NewLeaf // those that no earlier generation holds
	Dead       []uint64  // numbers that nothing reads any more; a few may be gone already
}

// NewLeaf is an encoded leaf under its number, which no other leaf ever has.
type NewLeaf struct {
	Number uint64
	Bytes  []byte
}

// Size returns the bytes that the publication writes.
func (p *Publication) Size() int {
	n := len(p.Directory)
	for i := range p.Leaves {
		n += len(p.Leaves[i].Bytes)
	}
	return n
}
