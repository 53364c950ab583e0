package storage

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Check looks at every invariant of the store and returns what does not hold,
// a line each. It reads and decodes everything that is there, and holds one
// chain after the other in memory:
//
//   - every key is one of schema.go and every record decodes;
//   - every table has the rows that the head counts, and no more;
//   - entries of the series belong to rows, and are as many as those say;
//   - undos follow each other up to the head;
//   - every leaf of the directory is there, whole, with the rows that the
//     directory counts, and every other leaf is one that it has retired;
//   - the State is one that a ledger can be in (ledger.Check).
//
// An error is a store that cannot be read at all.
func (s *Store) Check() (findings []string, err error) {
	chains, err := s.Chains()
	if err != nil {
		return nil, err
	}

	for _, chain := range chains {
		c := &checker{s: s, chain: chain}
		if err := c.check(); err != nil {
			c.report("%v", err)
		}
		findings = append(findings, c.found...)
	}

	return findings, nil
}

// maxFindings a chain is what a check lists: more lines help nobody.
const maxFindings = 1000

// checker looks at one chain.
type checker struct {
	s     *Store
	chain market.ChainID
	head  *head
	st    *market.State
	found []string

	entries []uint32 // transactions seen, by position
	leaves  map[uint64]leafUse
}

// leafUse is how the directory uses a leaf.
type leafUse struct {
	rows    int    // as the directory has it
	first   uint32 // row
	below   uint32 // all rows are below
	retired bool   // no order of the directory uses it
	seen    bool
}

func (c *checker) report(format string, args ...any) {
	if len(c.found) < maxFindings {
		line := fmt.Sprintf(format, args...)
		c.found = append(c.found, fmt.Sprintf("chain %d: %s", c.chain, line))
	}
}

// check ends with an error at damage that leaves nothing to compare with.
func (c *checker) check() (err error) {
	defer catchDamage(&err)

	h, ok, err := c.s.head(c.chain)
	if err != nil || !ok {
		return errors.Join(err, errors.New("there are keys but no head"))
	}

	r, err := c.s.Restore(c.chain)
	if err != nil {
		return err
	}

	r.Warm(func() bool { return false })
	c.head, c.st = &h, r.State
	for _, f := range ledger.Check(r.State) {
		c.report("%v", f)
	}

	c.undos()
	c.directory(r)
	c.entries = make([]uint32, c.st.Positions.Len())
	if err := c.scan(); err != nil {
		return fmt.Errorf("cannot read on: %w", err)
	}

	c.totals()
	return nil
}

// undos checks that the inverses lead from the head back, block to block.
func (c *checker) undos() {
	undos, err := c.s.undos(c.st)
	if err != nil {
		c.report("undos: %v", err)
	}

	at := c.head.At.Number
	for _, u := range slices.Backward(undos) {
		if u.To != at || u.Before.Number >= at {
			c.report("undo of block %d leads to %d; it should lead back from %d",
				u.To, u.Before.Number, at)
		}
		at = u.Before.Number
	}
}

// directory notes every leaf that there should be.
func (c *checker) directory(r *Restored) {
	c.leaves = make(map[uint64]leafUse)
	if r.Generation == 0 {
		return
	}
	d, err := block.DecodeDirectory(r.Directory)
	if err != nil {
		c.report("directory: %v", err)
		return
	}

	if d.Chain != uint64(c.chain) || d.Generation != r.Generation {
		c.report("directory is of chain %d, generation %d; the head has generation %d",
			d.Chain, d.Generation, r.Generation)
	}

	if r.Current() && (d.Positions != c.st.Positions.Len() || d.Pools != c.st.Pools.Len()) {
		c.report("directory orders %d positions and %d pools of %d and %d",
			d.Positions, d.Pools, c.st.Positions.Len(), c.st.Pools.Len())
	}

	for i := range d.Orders {
		o := &d.Orders[i]
		for k, number := range o.Numbers {
			if _, twice := c.leaves[number]; twice {
				c.report("directory uses leaf %d twice", number)
			}
			c.leaves[number] = leafUse{
				rows: int(o.Rows[k+1] - o.Rows[k]), first: o.First[k],
				below: max(d.Positions, d.Pools),
			}
		}
	}

	for _, leaf := range d.Retired {
		c.leaves[leaf.Number] = leafUse{retired: true}
	}
}

// scan reads every key of the chain.
func (c *checker) scan() (err error) {
	it, err := c.s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendChain(nil, c.chain), UpperBound: appendChainEnd(nil, c.chain),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		_, tail, _ := cutChain(it.Key())
		k, known := kinds[kind(tail[0])]
		if tail = tail[1:]; !known || len(tail) != k.tail {
			c.report("unknown key %x", it.Key())
			continue
		}
		if err := c.key(k, it.Key(), tail, it.Value()); err != nil {
			c.report("%s: key %x: %v", k.name, it.Key(), err)
		}
	}

	return it.Error()
}

// totals compares what the scan has counted.
func (c *checker) totals() {
	total := uint64(0)
	for i, n := range c.entries {
		total += uint64(n)
		if p := c.st.Positions.At(uint32(i)); p.Entries != n {
			c.report("position %d has %d entries and counts %d", i, n, p.Entries)
		}
	}

	if total != c.st.Transactions {
		c.report("there are %d entries; the head counts %d", total, c.st.Transactions)
	}

	for number, use := range c.leaves {
		if !use.seen && !use.retired {
			c.report("leaf %d of the directory is missing", number)
		}
	}

	for i := range c.st.Days.Len() {
		c.runningDay(i, c.st.Days.At(i))
	}
}

// runningDay checks that the series has what the table of days has.
func (c *checker) runningDay(pool uint32, want *market.PoolDay) {
	if want.Day == 0 {
		return
	}
	got, ok, err := c.s.PoolDayAt(c.chain, pool, market.NoIndex)
	a, b := coder{}, coder{}
	codeDay(&a, want)
	codeDay(&b, &got)
	if err != nil || !ok || string(a.buf) != string(b.buf) {
		c.report("pool %d: newest day of the series, %d, is not the running day %d: %v",
			pool, got.Day, want.Day, err)
	}
}
