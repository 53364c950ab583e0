package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// patchedPrices is what a writer knows of the patches in the store.
type patchedPrices struct {
	rows  []bool // by row: it has a step since it was written
	slots uint16 // by number modulo patchTurns: there is a patch
}

// writePrices writes the rows of prices that changed, or their steps.
func writePrices(t *rows[market.Price], w *writer, cut *Cut) {
	was, n := w.last.Rows[t.index], t.length(cut.State)
	if w.state == nil || n < was {
		w.endPatches(t, cut, min(was, n))
	} else {
		w.patchPrices(t, cut)
	}

	for row := was; row < n; row++ {
		t.form.write(t, w, cut, row)
	}
	w.patched.rows = slices.Grow(w.patched.rows[:min(was, n)], int(n))[:n]
	clear(w.patched.rows[min(was, n):])
}

// endPatches writes all rows below n that changed or were patched, so that no patch is
// needed any more, and deletes them. So begin the commits of a process, since there is no
// State to compare with, and those that take rows away.
func (w *writer) endPatches(t *rows[market.Price], cut *Cut, n uint32) {
	w.patched.rows = append(w.patched.rows, make([]bool, max(int(n)-len(w.patched.rows), 0))...)
	for _, row := range t.changed(cut) {
		if row < n {
			w.patched.rows[row] = true
		}
	}

	for row := range n {
		if w.patched.rows[row] {
			t.form.write(t, w, cut, row)
			w.patched.rows[row] = false
		}
	}

	for slot := range patchTurns {
		if w.patched.slots>>slot&1 != 0 {
			w.deleteKey(appendPatch(w.key[:0], w.chain, uint64(slot)))
		}
	}
	w.patched.slots = 0
}

// rowsPerRecord is how many steps take the time of one record.
const rowsPerRecord = 16

// patchPrices writes a patch, the rows that cannot be patched, and those whose turn it is.
func (w *writer) patchPrices(t *rows[market.Price], cut *Cut) {
	number, before := w.sequence+1, &w.state.Prices
	turn := uint32(number % patchTurns)
	patch := pricePatch{number: number, factor: nativeFactor(w.state, cut.State)}
	changed := t.changed(cut)
	pays := len(changed) > int(before.Len())/patchTurns
	for k, row := range changed {
		if k%rowsPerRecord == 0 {
			w.countRecord(0)
		}
		if row >= before.Len() {
			break
		}
		if row/market.ChunkLen%patchTurns == turn {
			w.patched.rows[row] = true
			continue
		}

		step, ok := stepOf(before.At(row), t.of(cut.State).At(row), patch.factor)
		if ok = ok && pays; !ok {
			t.form.write(t, w, cut, row)
			step = stepWritten
		}
		if ok || w.patched.rows[row] {
			patch.add(row, step)
		}
		w.patched.rows[row] = ok
	}

	w.writeTurn(t, cut, turn)
	if len(patch.steps) > 0 {
		putRecord(w, appendPatch(w.key[:0], w.chain, number), &patch, codePatch)
		w.patched.slots |= 1 << turn
	}
}

// writeTurn writes the patched rows whose turn it is.
func (w *writer) writeTurn(t *rows[market.Price], cut *Cut, turn uint32) {
	n := uint32(len(w.patched.rows))
	for first := turn * market.ChunkLen; first < n; first += patchTurns * market.ChunkLen {
		for row := first; row < min(first+market.ChunkLen, n); row++ {
			if w.patched.rows[row] {
				t.form.write(t, w, cut, row)
				w.patched.rows[row] = false
			}
		}
	}
}

// nativeFactor is what the native price of a State is to that of the one before; 1 if
// either is not known.
func nativeFactor(was, is *market.State) float64 {
	if native := is.Native; native < was.Prices.Len() && native < is.Prices.Len() {
		factor := is.Prices.At(native).Usd / was.Prices.At(native).Usd
		if factor > 0 && market.Known(factor) {
			return factor
		}
	}
	return 1
}

// readPatched reads which rows have steps.
func (w *writer) readPatched(s *Store) error {
	w.patched = patchedPrices{}
	patches, commit, err := s.readPatches(w.chain)

	for i := range patches {
		p := &patches[i]
		w.patched.slots |= 1 << (p.number % patchTurns)
		for _, k := range p.chunks {
			end := int(k.chunk+1) * market.ChunkLen
			w.patched.rows = append(w.patched.rows, make([]bool, max(end-len(w.patched.rows), 0))...)
			if p.counts(k.chunk, commit) {
				p.eachOf(&k, func(row uint32, step uint64) { w.patched.rows[row] = step != stepWritten })
			}
		}
	}
	return err
}

// readPatches reads the patches of a chain that count, ascending by number, and the number
// of its last commit.
func (s *Store) readPatches(chain market.ChainID) (patches []pricePatch, commit uint64, err error) {
	if commit, err = s.readCommit(chain); err != nil {
		return nil, 0, err
	}
	it := database.Iterate(s.db, appendKind(nil, chain, kindPatch), appendKind(nil, chain, kindPatch+1))
	defer func() { err = errors.Join(err, it.Close()) }()

	for ok := it.First(); ok; ok = it.Next() {
		p, err := decodePatch(it.Key(), it.Value(), commit)
		if err != nil {
			return nil, 0, s.reportDamage(chain, "patches", err)
		}
		patches = append(patches, p)
	}
	if err := it.Error(); err != nil {
		return nil, 0, s.reportDamage(chain, "patches", err)
	}
	slices.SortFunc(patches, func(a, b pricePatch) int { return cmp.Compare(a.number, b.number) })
	return patches, commit, nil
}

// decodePatch decodes the patch under a key, after a number of commits.
func decodePatch(key, value []byte, commit uint64) (p pricePatch, err error) {
	c := field.Reader(value)
	codePatch(&c, &p)
	if err := c.Done(); err != nil {
		return p, fmt.Errorf("patch %x: %w", key, err)
	}
	if slot := key[len(key)-1]; p.number > commit || p.number%patchTurns != uint64(slot) {
		return p, fmt.Errorf("patch %x is of commit %d; there were %d", key, p.number, commit)
	}
	return p, nil
}

// pricePatcher applies the patches of a cut to chunks of rows. It reads them when the first
// chunk is read, and again if they could not be read: an error of the disk may pass.
func pricePatcher(f rowReader) func(first uint32, rows []market.Price) error {
	type read struct {
		patches []pricePatch
		commit  uint64
	}
	var kept atomic.Pointer[read]

	return func(first uint32, rows []market.Price) error {
		r := kept.Load()
		if r == nil {
			patches, commit, err := f.s.readPatches(f.chain)
			if err != nil {
				return err
			}
			r = &read{patches, commit}
			kept.Store(r)
		}
		patchChunk(r.patches, r.commit, first/market.ChunkLen, rows)
		return nil
	}
}

// patchChunk brings the rows of a chunk from how they were written to how they were after a
// number of commits: patches up to the last one that says that a row was written are in the
// row.
func patchChunk(patches []pricePatch, commit uint64, chunk uint32, rows []market.Price) {
	var written [market.ChunkLen]uint64 // by row: the last commit that says so
	for i := range patches {
		p := &patches[i]
		if k, ok := p.chunk(chunk); ok && p.counts(chunk, commit) {
			p.eachOf(&k, func(row uint32, step uint64) {
				if step == stepWritten {
					written[row%market.ChunkLen] = p.number
				}
			})
		}
	}

	for i := range patches {
		p := &patches[i]
		if k, ok := p.chunk(chunk); ok && p.counts(chunk, commit) {
			p.eachOf(&k, func(row uint32, step uint64) {
				if n := row % market.ChunkLen; n < uint32(len(rows)) && p.number > written[n] {
					applyStep(&rows[n], step, p.factor)
				}
			})
		}
	}
}

// applyPatch applies the patch of the last batch: to rows that are not in it.
func (r *Replica) applyPatch(value []byte) error {
	p, c := &r.patch, field.Reader(value)
	codePatch(&c, p)
	err := c.Done()
	t := replicaTable[market.Price](r, pricesIndex)

	for i := range p.chunks {
		p.eachOf(&p.chunks[i], func(row uint32, step uint64) {
			if step == stepWritten || err != nil {
				return
			}
			if row >= t.table.Len() {
				err = fmt.Errorf("a patch of row %d; there are %d", row, t.table.Len())
				return
			}
			t.touch(row)
			applyStep(t.table.Mut(row), step, p.factor)
		})
	}
	return err
}
