package block

// Publication is what a generation adds to the store and deletes from it. All of
// it must be committed in one batch, with the state of the generation.
type Publication struct {
	Generation uint64
	First      bool      // it uses no earlier leaf, so all of those are to be deleted
	Directory  []byte    // encoded
	Leaves     []NewLeaf // leaves to write
	Dead       []uint64  // numbers of leaves to delete; some may be deleted already
}

// NewLeaf is an encoded leaf with its number, which no other leaf ever has.
type NewLeaf struct {
	Number uint64
	Bytes  []byte
}

// Size returns the number of bytes of leaves and directory.
func (p *Publication) Size() int {
	n := len(p.Directory)
	for i := range p.Leaves {
		n += len(p.Leaves[i].Bytes)
	}
	return n
}
