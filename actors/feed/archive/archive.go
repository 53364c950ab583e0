package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings/market"
)

const (
	suffix = ".spans"
	// partSuffix is behind the name of a file that is not complete yet.
	partSuffix = ".tmp"
	// DefaultSegmentBytes is small enough that a damaged segment is fetched again in
	// minutes, and large enough that an archive has hundreds of files, not thousands.
	DefaultSegmentBytes = 64 << 20
	// MinSegmentBytes keeps the number of files, and so the time of a start, bounded.
	MinSegmentBytes = 1 << 20
)

// Config says where the archive of one chain is kept.
type Config struct {
	Identity
	Dir          string // of this chain alone; made when it is not there
	SegmentBytes int64  // when a file is full; 0: DefaultSegmentBytes
	// MaxBytes is how much is kept; the oldest segments are removed above it. 0: all.
	MaxBytes int64
	ReadOnly bool
	// Full reports whether the disk has too little space: then nothing is written
	// before Sync. nil: never.
	Full func() bool
	Log  *slog.Logger // nil: silent
	// Metrics has what there is of the archive; nil: none.
	Metrics *metrics.Set
}

// Archive is the spans of one chain as they were fetched. Its methods may be called
// from any goroutine; one writes at a time.
type Archive struct {
	cfg Config

	mu       sync.Mutex
	segments []*segment // ascending; they do not overlap
	active   *segment   // the one that is written; nil: none
	file     *os.File   // of the active one
	unsynced bool       // what was written to file
	pending  pending
	version  uint64 // raised when spans are superseded or removed
	checked  scrub
	unread   []*Damage // what Open could not read
	m        meters
}

// Open finds what there is of an archive. An unfinished write at its end is dropped;
// a damaged segment is cut where the damage begins, and told.
func Open(c Config) (*Archive, error) {
	c.SegmentBytes = cmp.Or(c.SegmentBytes, DefaultSegmentBytes)
	if c.Full == nil {
		c.Full = func() bool { return false }
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	a := &Archive{cfg: c}
	a.m = a.newMeters(c.Metrics)
	if !c.ReadOnly {
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make an archive: %w", err)
		}
		a.removeUnfinished()
	}

	if err := a.openSegments(); err != nil {
		return nil, fmt.Errorf("cannot open the archive of chain %d: %w", c.Chain, err)
	}
	return a, nil
}

func (a *Archive) openSegments() error {
	names, err := segmentFiles(a.cfg.Dir)
	if err != nil {
		return err
	}

	for i, name := range names {
		if err := a.addSegment(name, i == len(names)-1); err != nil {
			return err
		}
	}

	return a.clampSegments()
}

// addSegment adds the segment in a file, cut where its damage begins. Only in the last one is
// the end of a file that cannot be read a write that was interrupted, and no damage.
func (a *Archive) addSegment(name string, isLast bool) error {
	s, damage, err := openSegment(name)
	if err != nil {
		return err
	}
	if s == nil {
		return a.setAside(name, damage)
	}
	if err := a.cfg.Identity.check(s.Identity); err != nil {
		return fmt.Errorf("%s: %w; move the directory away, or give the configuration it was made with", name, err)
	}

	if damage != nil {
		unfinished := isLast
		if unfinished {
			if unfinished, err = s.endsUnfinished(); err != nil {
				return err
			}
		}
		if err := a.cutTail(s, damage, unfinished); err != nil {
			return err
		}
	}
	a.segments = append(a.segments, s)
	return nil
}

// segmentFiles lists the files of segments in a directory, ascending by their first blocks; none
// if it is not there.
func segmentFiles(dir string) (names []string, err error) { return filesOf(dir, suffix) }

func filesOf(dir, ending string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ending) {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// removeUnfinished removes the files that a writer which was killed has left. Nothing needs them,
// so a failure only leaves less space.
func (a *Archive) removeUnfinished() {
	names, err := filesOf(a.cfg.Dir, suffix+partSuffix)
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		a.cfg.Log.Warn("cannot remove unfinished files of an archive", "chain", a.cfg.Chain, "error", err)
	}
}

// clampSegments drops what a segment has above the base of the next: after a kill
// between the two writes of a replacement both have it.
func (a *Archive) clampSegments() error {
	for i := len(a.segments) - 2; i >= 0; i-- {
		s, next := a.segments[i], a.segments[i+1]
		if s.last.Number > next.base.Number {
			if err := a.cutBack(s, next.base); err != nil {
				return err
			}
		}
	}
	return nil
}

// setAside renames a file whose header is damaged: its blocks are fetched again.
func (a *Archive) setAside(name string, damage error) error {
	a.noteUnread(name, 0, damage)
	a.cfg.Log.Error("a segment of the archive cannot be read; its blocks are fetched again",
		"chain", a.cfg.Chain, "segment", filepath.Base(name), "error", damage)
	if a.cfg.ReadOnly {
		return nil
	}
	return os.Rename(name, name+".damaged")
}

// noteUnread notes damage that Open found in a file from a block on; 0: in all of it,
// whose first block its name says. The segment that follows tells where the damage ends.
func (a *Archive) noteUnread(path string, from uint64, damage error) {
	a.m.damages.Inc()
	name := filepath.Base(path)
	if from == 0 {
		from, _ = strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
	}
	a.unread = append(a.unread, &Damage{File: name, From: from, Err: damage})
}

// cutTail cuts a file after its last whole frame. An unfinished end is the write that a
// kill interrupted.
func (a *Archive) cutTail(s *segment, damage error, unfinished bool) error {
	a.cfg.Log.Warn("the end of a segment of the archive is dropped", "chain", a.cfg.Chain,
		"segment", filepath.Base(s.path), "after", s.last.Number, "unfinished", unfinished, "error", damage)
	if !unfinished {
		a.noteUnread(s.path, s.last.Number+1, damage)
	}
	if a.cfg.ReadOnly {
		return nil
	}
	return os.Truncate(s.path, s.size)
}

// Close writes what is pending and closes the archive.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.sync()
	if a.file != nil {
		err = errors.Join(err, a.file.Close())
	}
	a.active, a.file = nil, nil
	if err != nil {
		return fmt.Errorf("cannot close the archive of chain %d: %w", a.cfg.Chain, err)
	}
	return nil
}

// Range is blocks of an archive, both included.
type Range struct{ From, To uint64 }

func (r Range) String() string { return fmt.Sprintf("%d to %d", r.From, r.To) }

// Status is what an archive has.
type Status struct {
	Base      market.Head // the block before its first
	Head      market.Head // its last block; zero: it has none
	Finalized uint64
	Spans     uint64
	Events    uint64
	Bytes     int64
	Segments  int
	Holes     []Range // between the two: damaged or never written
	Damages   int     // found since it was opened
}

// Status returns what the archive has, what is pending included.
func (a *Archive) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := Status{Segments: len(a.segments), Damages: int(a.m.damages.Get())}
	for _, h := range a.holes() {
		st.Holes = append(st.Holes, h.blocks())
	}
	for i, s := range a.segments {
		if i == 0 {
			st.Base = s.base
		}
		st.Head = s.last
		st.Spans += s.spans
		st.Events += s.events
		st.Bytes += s.size
		st.Finalized = max(st.Finalized, s.finalized)
	}

	if a.active != nil && a.active == a.segments[len(a.segments)-1] {
		st.Head = a.tip()
	}
	if st.Head.Number <= st.Base.Number { // a segment with no block, after a kill or a reorganisation
		st.Base, st.Head = market.Head{}, market.Head{}
	}
	st.Spans += uint64(a.pending.head.spans)
	st.Events += uint64(a.pending.head.events)
	st.Finalized = max(st.Finalized, a.pending.finalized)
	return st
}

// Whole reports whether the archive has every block from a chain's start on.
func (s *Status) Whole(start uint64) bool {
	return s.Head.Number > 0 && s.Base.Number < max(start, 1) && len(s.Holes) == 0
}

// hole is blocks that are missing between two segments.
type hole struct {
	after market.Head
	until uint64
}

func (h *hole) blocks() Range { return Range{h.after.Number + 1, h.until} }

// holes lists what is missing between the segments, ascending.
func (a *Archive) holes() (list []hole) {
	for i := 1; i < len(a.segments); i++ {
		after, next := a.endOf(a.segments[i-1]), a.segments[i].base.Number
		if after.Number < next {
			list = append(list, hole{after, next})
		}
	}
	return list
}

// firstHole returns the hole with the lowest blocks, or nil.
func (a *Archive) firstHole() *hole {
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.holes(); len(list) > 0 {
		return &list[0]
	}
	return nil
}

// endOf returns the last block of a segment, what is pending included.
func (a *Archive) endOf(s *segment) market.Head {
	if s == a.active {
		return a.tip()
	}
	return s.last
}

// end returns the last block of the archive; zero: it has none.
func (a *Archive) end() market.Head {
	if len(a.segments) == 0 {
		return market.Head{}
	}
	return a.endOf(a.segments[len(a.segments)-1])
}

// Drop removes everything, before a chain is indexed anew from its nodes.
func (a *Archive) Drop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.pending.clear()
	a.pending.finalized, a.checked, a.unsynced = 0, scrub{}, false
	err := a.closeActive()
	for _, s := range slices.Backward(a.segments) {
		if gone := os.Remove(s.path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}

	a.segments = nil
	if err = errors.Join(err, syncDir(a.cfg.Dir)); err != nil {
		return fmt.Errorf("cannot drop the archive of chain %d: %w", a.cfg.Chain, err)
	}
	return nil
}

// closeActive closes the file of the active segment. Sync does not reach it any more, so that
// what was written to it is made durable first.
func (a *Archive) closeActive() (err error) {
	f, unsynced := a.file, a.unsynced
	a.active, a.file, a.unsynced = nil, nil, false
	if f == nil {
		return nil
	}
	if unsynced {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// pathOf returns the file of the segment that begins with a block. The name has as
// many digits as a block number can have, so that names sort by number.
func (a *Archive) pathOf(first uint64) string {
	return filepath.Join(a.cfg.Dir, fmt.Sprintf("%020d%s", first, suffix))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// currentVersion changes when spans that a reader may have are superseded.
func (a *Archive) currentVersion() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// ending is where an archive ends.
type ending struct {
	head      market.Head
	finalized uint64
}

func (a *Archive) tail() (e ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.head, e.finalized = a.end(), a.pending.finalized
	for _, s := range a.segments {
		e.finalized = max(e.finalized, s.finalized)
	}
	return e
}
