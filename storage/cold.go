package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
)

// faults reads chunks of the tables of one cut.
type faults struct {
	s     *Store
	chain market.ChainID
	head  *head
}

// cold returns table k of the cut with none of its rows in memory. fits
// reports whether what a row points at is inside its table, so that damage
// shows where it is and not as an index out of range in whoever reads the row.
func cold[T any](
	f faults, k kind, n uint32, code func(*coder, *T), fits func(h *head, row *T) bool,
) market.Frozen[T] {
	return market.Cold(n, func(first uint32, rows *[market.ChunkLen]T) {
		if err := readChunk(f, k, first, rows[:min(n-first, market.ChunkLen)], code, fits); err != nil {
			panic(f.s.damaged(f.chain, fmt.Sprintf("table %s", k), err))
		}
	})
}

// readChunk reads as many rows as there is room for, from first on, with one
// iterator.
func readChunk[T any](
	f faults, k kind, first uint32, rows []T, code func(*coder, *T), fits func(*head, *T) bool,
) (err error) {
	var low, high [maxKeyLen]byte
	lower := appendRow(low[:0], f.chain, k, first)
	upper := appendKind(high[:0], f.chain, k+1)
	if end := uint64(first) + uint64(len(rows)); end < 1<<32 {
		upper = appendRow(high[:0], f.chain, k, uint32(end))
	}
	it, err := f.s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	it.First()
	for i := range rows {
		row := first + uint32(i)
		if !it.Valid() || binary.BigEndian.Uint32(it.Key()[len(lower)-4:]) != row {
			return errors.Join(fmt.Errorf("row %d is missing", row), it.Error())
		}
		c := coder{buf: it.Value(), read: true}
		code(&c, &rows[i])
		if err := c.done(); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		if fits != nil && !fits(f.head, &rows[i]) {
			return fmt.Errorf("row %d names a row that is not there", row)
		}
		it.Next()
	}
	return it.Error()
}

// days reads a chunk of the table of days, and from the series those that are
// kept there.
func (f faults) days(first uint32, days *[market.ChunkLen]market.PoolDay) {
	var rows [market.ChunkLen]dayRow
	n := min(f.head.Lens.Pools-first, market.ChunkLen)
	err := readChunk(f, kindDay, first, rows[:n], codeDayRow, nil)
	for i := range rows[:n] {
		if d := &rows[i]; err == nil && d.inSeries {
			err = f.seriesDay(&d.PoolDay)
		}
		days[i] = rows[i].PoolDay
	}
	if err != nil {
		panic(f.s.damaged(f.chain, "table days", err))
	}
}

// seriesDay reads the day that d names.
func (f faults) seriesDay(d *market.PoolDay) error {
	var buf [maxKeyLen]byte
	value, closer, err := f.s.db.Get(appendPoolDay(buf[:0], f.chain, d.Pool, d.Day))
	if err != nil {
		return fmt.Errorf("day %d of pool %d: %w", d.Day, d.Pool, err)
	}
	c := coder{buf: value, read: true}
	codePoolDay(&c, d)
	if err := errors.Join(c.done(), closer.Close()); err != nil {
		return fmt.Errorf("day %d of pool %d: %w", d.Day, d.Pool, err)
	}
	return nil
}

// minutes reads a chunk of rings, of which every part is a row.
func (f faults) minutes(first uint32, rings *[market.ChunkLen]market.Minutes) {
	n := min(f.head.Lens.Pools-first, market.ChunkLen)
	if err := f.readRings(first, rings[:n]); err != nil {
		panic(f.s.damaged(f.chain, "table minutes", err))
	}
}

func (f faults) readRings(first uint32, rings []market.Minutes) (err error) {
	var low [maxKeyLen]byte
	lower := appendRingPart(low[:0], f.chain, first, 0)
	it, err := f.s.db.NewIter(&pebble.IterOptions{
		LowerBound: lower, UpperBound: appendKind(nil, f.chain, kindMinutes+1),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	it.First()
	for i := range rings {
		newest := false
		for part := range uint32(ringParts) {
			pool := first + uint32(i)
			key := appendRingPart(low[:0], f.chain, pool, part)
			if !it.Valid() || !bytes.Equal(it.Key(), key) {
				return errors.Join(fmt.Errorf("part %d of row %d is missing", part, pool), it.Error())
			}
			var r ringPart
			c := coder{buf: it.Value(), read: true}
			codeRingPart(&c, &r)
			if err := c.done(); err != nil {
				return fmt.Errorf("part %d of row %d: %w", part, pool, err)
			}
			if !r.put(&rings[i], part, &newest) || part == ringParts-1 && !newest {
				return fmt.Errorf("row %d has no newest minute, or two", pool)
			}
			it.Next()
		}
	}
	return it.Error()
}

func poolFits(h *head, p *market.Pool) bool {
	return p.Currency0 < h.Lens.Tokens && p.Currency1 < h.Lens.Tokens &&
		(p.LastHour < h.Lens.Hours || p.LastHour == market.NoIndex)
}

func tickFits(h *head, t *market.Tick) bool {
	return t.Pool < h.Lens.Pools || t.Pool == market.NoIndex
}

func positionFits(h *head, p *market.Position) bool {
	l := &h.Lens
	slots := p.Liquidity.IsZero() || p.LowerSlot < l.Ticks && p.UpperSlot < l.Ticks
	return slots && p.Pool < l.Pools && p.Owner < l.Owners &&
		(p.Wide < l.Wides || p.Wide == market.NoIndex)
}

func directFits(h *head, d *market.Direct) bool { return d.Pool < h.Lens.Pools }

func hourFits(h *head, b *market.HourBucket) bool {
	return b.Prev < h.Lens.Hours || b.Prev == market.NoIndex
}

func priceFits(h *head, p *market.Price) bool {
	return p.OnlyPool < h.Lens.Pools || p.OnlyPool == market.NoIndex
}

// makeTickLists sorts the initialised ticks of every pool.
func makeTickLists(st *market.State) []market.TickList {
	lists := make([]market.TickList, st.Pools.Len())
	counts := make([]uint32, st.Pools.Len())
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			counts[t.Pool]++
		}
	}
	for i, n := range counts {
		if n > 0 {
			lists[i].Refs = make([]market.TickRef, 0, n)
		}
	}
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			refs := &lists[t.Pool].Refs
			*refs = append(*refs, market.TickRef{Tick: t.Tick, Slot: i})
		}
	}
	for i := range lists {
		slices.SortFunc(lists[i].Refs, func(a, b market.TickRef) int {
			return cmp.Compare(a.Tick, b.Tick)
		})
	}
	return lists
}

var kindNames = map[kind]string{
	kindHead: "head", kindDirectory: "directory",
	kindToken: "tokens", kindOwner: "owners", kindPool: "pools", kindDay: "days",
	kindMinutes: "minutes", kindTick: "ticks", kindPosition: "positions",
	kindWide: "wides", kindDirect: "directs", kindHour: "hours",
	kindPrice: "prices", kindStats: "stats",
	kindTransaction: "transactions", kindPoolDay: "pool days",
	kindTickDay: "tick days", kindHourPrice: "hour prices",
	kindUndo: "undos", kindLeaf: "leaves",
}

func (k kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind %#02x", byte(k))
}
