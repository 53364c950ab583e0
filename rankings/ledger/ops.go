package ledger

// Op is an operation on a series; see Series for how to make and read one.
type Op struct {
	Series int
	Drop   bool // delete the entry with the key of Entry; else write Entry
	Entry  any  // a pointer to the entry
}

// Ops is a sequence of operations that is kept for long, as undos are. An object for every
// entry would be most of the objects of a node, and the garbage collector passes each of
// them in every cycle. So the entries of a series are in one slice, and a byte says of each
// operation what it is:
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
	clone() entryList
	reset()
}

// entriesOf is the entries of a series.
type entriesOf[E any] struct{ all []E }

func (l *entriesOf[E]) append(entry any) { l.all = append(l.all, *entry.(*E)) }

func (l *entriesOf[E]) at(i int) any { return &l.all[i] }

func (l *entriesOf[E]) clone() entryList {
	return &entriesOf[E]{append(make([]E, 0, len(l.all)), l.all...)}
}

func (l *entriesOf[E]) reset() { l.all = l.all[:0] }

// newEntries make empty lists of entries, by series.
var newEntries []func() entryList

// Len returns the number of operations.
func (o *Ops) Len() int { return len(o.tags) }

// Add adds an operation; it copies the entry.
func (o *Ops) Add(op Op) {
	o.tag(op.Series, op.Drop)
	o.entries[op.Series].append(op.Entry)
}

// tag notes the next operation, the entry of which is to be added to its list.
func (o *Ops) tag(series int, drop bool) {
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
}

// Each calls f for every operation in order. The entries are those of o: they must not be
// changed, and are valid as long as nothing is added.
func (o *Ops) Each(f func(op Op)) {
	next := make([]int, len(o.entries)) // by series
	for _, tag := range o.tags {
		series := int(tag &^ tagDrop)
		f(Op{Series: series, Drop: tag&tagDrop != 0, Entry: o.entries[series].at(next[series])})
		next[series]++
	}
}

// reset removes all operations, and keeps the memory.
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
