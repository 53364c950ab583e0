package ledger

import (
	"iter"
	"slices"
)

// Op is an operation on a series; see Series for how to make and read one.
type Op struct {
	Series int
	Drop   bool // delete the entry with the key of Entry; else write Entry
	Entry  any  // a pointer to the entry
}

// Ops is a sequence of operations. Some are kept for long, as undos are, and a chain that
// catches up has many. An object for every entry would be most of the objects of a node, and
// the garbage collector passes each of them in every cycle. So the entries of a series are
// together, and a byte says of each operation what it is:
//
//	tags     TickDays, drop | Transactions, drop | TickDays, put | ...
//	entries  TickDays: [first, second, ...]   Transactions: [first, ...]
type Ops struct {
	tags    []uint8
	entries []entryList // by series; empty without operations
}

// tagDrop is added to the number of a series in the tag of an operation that deletes.
const tagDrop = 0x80

// entryList is entries of any type of series.
type entryList interface {
	append(entry any) // a pointer to it
	at(i int) any     // likewise
	removeLast()
	clone() entryList
	reset()
}

// entriesOf is the entries of a series, in blocks that are full but for the last. Nothing
// is copied when more are added, except in the first block, which grows so that few entries
// take little memory.
type entriesOf[E any] struct{ blocks [][]E }

// entriesPerBlock is up to 30 KB.
const entriesPerBlock = 64

func (l *entriesOf[E]) add(entry *E) {
	last := len(l.blocks) - 1
	switch {
	case last < 0:
		l.blocks = append(l.blocks, nil)
		last = 0
	case len(l.blocks[last]) == entriesPerBlock:
		l.blocks = append(l.blocks, make([]E, 0, entriesPerBlock))
		last++
	}
	l.blocks[last] = append(l.blocks[last], *entry)
}

func (l *entriesOf[E]) append(entry any) { l.add(entry.(*E)) }

func (l *entriesOf[E]) at(i int) any { return &l.blocks[i/entriesPerBlock][i%entriesPerBlock] }

func (l *entriesOf[E]) removeLast() {
	last := len(l.blocks) - 1
	if n := len(l.blocks[last]); n > 1 || last == 0 {
		l.blocks[last] = l.blocks[last][:n-1]
	} else {
		l.blocks = l.blocks[:last]
	}
}

// clone copies all entries into one object.
func (l *entriesOf[E]) clone() entryList {
	all := slices.Chunk(slices.Concat(l.blocks...), entriesPerBlock)
	return &entriesOf[E]{slices.AppendSeq(make([][]E, 0, len(l.blocks)), all)}
}

// reset keeps the memory of the first block.
func (l *entriesOf[E]) reset() {
	if len(l.blocks) > 0 {
		l.blocks = l.blocks[:1]
		l.blocks[0] = l.blocks[0][:0]
	}
}

// newEntries make empty lists of entries, by series.
var newEntries []func() entryList

// Len returns the number of operations.
func (o *Ops) Len() int { return len(o.tags) }

// Add adds operations; it copies their entries.
func (o *Ops) Add(ops ...Op) {
	for _, op := range ops {
		o.tag(op.Series, op.Drop).append(op.Entry)
	}
}

// put adds what Series.Put returns, without an object for the entry.
func put[E any](o *Ops, s Series[E], entry *E) { o.tag(s.index, false).(*entriesOf[E]).add(entry) }

// drop adds what Series.Drop returns, likewise.
func drop[E any](o *Ops, s Series[E], key *E) { o.tag(s.index, true).(*entriesOf[E]).add(key) }

// tag notes the next operation, and returns the list to which its entry is to be added.
func (o *Ops) tag(series int, drop bool) entryList {
	if o.entries == nil {
		o.entries = make([]entryList, len(newEntries))
	}
	if o.entries[series] == nil {
		o.entries[series] = newEntries[series]()
	}

	tag := uint8(series)
	if drop {
		tag |= tagDrop
	}
	o.tags = append(o.tags, tag)
	return o.entries[series]
}

// All returns all operations in order. The entries are those of o: they must not be
// changed.
func (o *Ops) All() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		next := make([]int, len(o.entries)) // by series
		for _, tag := range o.tags {
			series := int(tag &^ tagDrop)
			op := Op{Series: series, Drop: tag&tagDrop != 0, Entry: o.entries[series].at(next[series])}
			if !yield(op) {
				return
			}
			next[series]++
		}
	}
}

// truncate removes the operations from n on.
func (o *Ops) truncate(n int) {
	for _, tag := range o.tags[n:] {
		o.entries[tag&^tagDrop].removeLast()
	}
	o.tags = o.tags[:n]
}

// reset removes all operations, and keeps some memory.
func (o *Ops) reset() {
	o.tags = o.tags[:0]
	for _, l := range o.entries {
		if l != nil {
			l.reset()
		}
	}
}

// clone returns a copy without spare capacity.
func (o *Ops) clone() (c Ops) {
	if len(o.tags) == 0 {
		return c
	}
	c.tags = append(make([]uint8, 0, len(o.tags)), o.tags...)
	c.entries = make([]entryList, len(o.entries))
	for i, l := range o.entries {
		if l != nil {
			c.entries[i] = l.clone()
		}
	}
	return c
}
