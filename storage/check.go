package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/rankings/block"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Check verifies every invariant of the store and returns a line for each
// violation. It reads and decodes all data, and holds one chain at a time in
// memory:
//
//   - every table is there, and as long as it should be;
//   - every key is one of schema.go and every record decodes;
//   - every table has exactly the rows that the head counts;
//   - entries of the series belong to existing rows, and positions have as many
//     entries as they count;
//   - undos lead from the head back without a gap;
//   - every leaf of the directory and every base exists and has the rows that the
//     directory counts, and every other leaf is listed as retired;
//   - the State is consistent (ledger.Check).
//
// It returns an error if the store cannot be read at all.
func (s *Store) Check() (findings []string, err error) {
	chains, err := s.Chains()
	if err != nil {
		return nil, err
	}

	findings = s.listStandIns(chains)
	for _, chain := range slices.Sorted(maps.Keys(s.rollbacks)) {
		findings = append(findings, fmt.Sprintf("chain %d: %s; a node reads those blocks again "+
			"from its feed when it starts", chain, s.rollbacks[chain]))
	}

	if s.headerDamage != nil {
		findings = append(findings, fmt.Sprintf("records that chains share: %s; a node writes them "+
			"again when it starts", describeDamage(s.headerDamage)))
	}

	for _, chain := range chains {
		c := &checker{s: s, chain: chain}
		err := s.findGap(chain)
		if err == nil {
			err = c.checkChain()
		}
		if err != nil {
			c.reportError(err)
		}
		findings = append(findings, c.found...)
	}

	return findings, nil
}

// maxFindings is how many findings of a chain are listed.
const maxFindings = 1000

// checker checks one chain.
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
	rows    int    // number of rows
	first   uint32 // its first row
	below   uint32 // every row is below this
	base    bool   // only leaves that are coded from it use it
	retired bool   // only an earlier generation uses it
	seen    bool   // the store has it
}

func (c *checker) report(format string, args ...any) {
	if len(c.found) < maxFindings {
		line := fmt.Sprintf(format, args...)
		c.found = append(c.found, fmt.Sprintf("chain %d: %s", c.chain, line))
	}
}

// reportError reports an error that ended the check of a chain, with the way out.
func (c *checker) reportError(err error) {
	var damage *Damage
	if database.FindTableDamage(err) != nil || errors.As(err, &damage) {
		c.report("%s; a node builds the chain again from its feed when it reads this, or on "+
			"`tidemark chains resync %d`", describeDamage(err), c.chain)
		return
	}
	c.report("%v", err)
}

// checkChain returns an error if there is too much damage to check the rest.
func (c *checker) checkChain() (err error) {
	defer catchDamage(&err)

	h, ok, err := c.s.readHead(c.chain)
	if dropped, _ := c.s.heads.get(c.chain); err == nil && !ok && dropped.dropped {
		return c.checkDropped()
	}
	if err != nil || !ok {
		return errors.Join(err, errors.New("there are keys but no head record"))
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

	c.checkUndos()
	c.collectLeaves(r)
	c.entries = make([]uint32, c.st.Positions.Len())
	if err := c.scanKeys(); err != nil {
		return fmt.Errorf("cannot read all keys: %w", err)
	}

	c.compareTotals()
	return nil
}

// checkDropped checks that a chain that was dropped has nothing but its place.
func (c *checker) checkDropped() (err error) {
	it := database.Iterate(c.s.db, appendChain(nil, c.chain), appendChainEnd(nil, c.chain))
	defer func() { err = errors.Join(err, it.Close()) }()

	place := appendKind(nil, c.chain, kindPlace)
	for ok := it.First(); ok; ok = it.Next() {
		if string(it.Key()) != string(place) {
			c.report("key %x is left of a chain that was dropped", it.Key())
		}
	}
	return it.Error()
}

// checkUndos checks that the undos lead from the head back without a gap.
func (c *checker) checkUndos() {
	undos, err := c.s.readUndos(c.st, nil)
	if err != nil {
		c.report("undos: %v", err)
	}
	at := c.head.At.Number
	for _, u := range slices.Backward(undos) {
		if u.To != at || u.Before.Number >= at {
			c.report("undo of block %d leads to block %d; want an undo that leads back from %d",
				u.To, u.Before.Number, at)
		}
		at = u.Before.Number
	}
}

// collectLeaves collects every leaf that the directory uses.
func (c *checker) collectLeaves(r *Restored) {
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
		c.report("directory belongs to chain %d, generation %d; the head has generation %d",
			d.Chain, d.Generation, r.Generation)
	}

	if r.Current() && (d.Positions != c.st.Positions.Len() || d.Pools != c.st.Pools.Len()) {
		c.report("directory has %d positions and %d pools; the tables have %d and %d",
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
	for i := range d.Orders {
		for _, b := range d.Orders[i].Bases {
			if _, isLeaf := c.leaves[b.Number]; !isLeaf {
				c.leaves[b.Number] = leafUse{rows: int(b.Rows), base: true}
			}
		}
	}

	for _, leaf := range d.Retired {
		c.leaves[leaf.Number] = leafUse{retired: true}
	}
}

// scanKeys reads every key of the chain.
func (c *checker) scanKeys() (err error) {
	it := database.Iterate(c.s.db, appendChain(nil, c.chain), appendChainEnd(nil, c.chain))
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		_, tail, _ := parseChain(it.Key())
		k, known := kinds[kind(tail[0])]
		if tail = tail[1:]; !known || !k.fits(len(tail)) {
			c.report("unknown key %x", it.Key())
			continue
		}
		if err := c.checkKey(k, it.Key(), tail, it.Value()); err != nil {
			c.report("%s: key %x: %v", k.name, it.Key(), err)
		}
	}

	return it.Error()
}

// compareTotals compares what the scan counted with what the records say.
func (c *checker) compareTotals() {
	total := uint64(0)
	for i, n := range c.entries {
		total += uint64(n)
		if p := c.st.Positions.At(uint32(i)); p.Entries != n {
			c.report("position %d has %d entries; its row counts %d", i, n, p.Entries)
		}
	}

	if total != c.st.Transactions {
		c.report("there are %d transactions; the head counts %d", total, c.st.Transactions)
	}

	for number, use := range c.leaves {
		if !use.seen && !use.retired {
			c.report("leaf %d of the directory is missing", number)
		}
	}

	for i := range c.st.Days.Len() {
		c.checkRunningDay(i, c.st.Days.At(i))
	}
}

// checkRunningDay checks that the series has the running day of a pool.
func (c *checker) checkRunningDay(pool uint32, want *market.PoolDay) {
	if want.Day == 0 {
		return
	}
	got, _, err := c.s.PoolDayAt(c.chain, pool, market.NoIndex) // day 0 is none
	a, b := field.Coder{}, field.Coder{}
	codePoolDay(&a, want)
	codePoolDay(&b, &got)
	if err != nil || got.Day != want.Day || string(a.Buf) != string(b.Buf) {
		c.report("pool %d: the newest day of the series is %d and differs from the running day %d: %v",
			pool, got.Day, want.Day, err)
	}
}
