package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Pebble treats damage near the end of its log as the end of the log: it opens
// without an error, and the last commits are missing. So commits of a chain are
// numbered, and the last one is recorded twice: in the batch, and in a file beside
// the store. A chain that is behind the file has lost commits. It reads those
// blocks again from its feed, and its generations go on from the recorded one, so
// that no generation number is used twice.
//
// The file has two slots of one disk block for each chain. Commit n goes into slot
// n mod 2, so that a torn write leaves the previous one intact:
//
//	0  "TMHEADS1"
//	8  chain, sequence, generation, block number: big-endian, 8 bytes each
//	40 block hash
//	72 1 if the chain was dropped, else 0
//	73 CRC-32C of the above, big-endian
const (
	headMagic   = "TMHEADS1"
	headSlot    = 4096
	headSumAt   = 8 + 4*8 + 32 + 1
	maxHeadFile = 2 * headSlot << 10 // more chains than a node has
)

// acknowledgedHead is the last acknowledged commit of a chain.
type acknowledgedHead struct {
	chain      market.ChainID
	sequence   uint64
	generation uint64 // the newest one published
	block      uint64
	hash       market.Hash
	dropped    bool // nothing is stored on purpose
}

// Rollback says that a chain lost its last commits.
type Rollback struct {
	Chain   market.ChainID
	Commits uint64      // how many are missing
	Stored  market.Head // the head that is left; zero: none
	Block   uint64      // the last acknowledged block
}

func (r *Rollback) String() string {
	if r.Stored == (market.Head{}) {
		return fmt.Sprintf("all data of chain %d is missing; block %d was committed", r.Chain, r.Block)
	}
	return fmt.Sprintf("the last %d commits of chain %d are missing: its data ends at block %d; "+
		"block %d was committed", r.Commits, r.Chain, r.Stored.Number, r.Block)
}

// headFile is the file of the last acknowledged heads.
type headFile struct {
	fs   vfs.FS
	path string

	mu     sync.Mutex
	file   vfs.File // nil before the first write
	chains []market.ChainID
	last   map[market.ChainID]acknowledgedHead
}

// openHeads reads the file, which may be missing. A damaged slot is skipped: without
// it a lost commit is not noticed, and nothing else.
func openHeads(fsys vfs.FS, dir string) (*headFile, error) {
	h := &headFile{fs: fsys, path: dir + ".heads", last: make(map[market.ChainID]acknowledgedHead)}
	f, err := fsys.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", h.path, err)
	}

	content, err := io.ReadAll(io.LimitReader(f, maxHeadFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", h.path, err)
	}

	for ; len(content) >= headSlot+headSumAt+4; content = content[min(2*headSlot, len(content)):] {
		var a, b acknowledgedHead
		inA, inB := a.decode(content), b.decode(content[headSlot:])
		if !inA || inB && b.sequence > a.sequence {
			a = b
		}
		h.chains = append(h.chains, a.chain) // 0: both slots are damaged
		if inA || inB {
			h.last[a.chain] = a
		}
	}
	return h, nil
}

func (a *acknowledgedHead) append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, headMagic...)
	for _, n := range []uint64{uint64(a.chain), a.sequence, a.generation, a.block} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	dst = append(dst, a.hash[:]...)
	if a.dropped {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

// decode returns false for a slot that is empty, torn or damaged.
func (a *acknowledgedHead) decode(b []byte) bool {
	if len(b) < headSumAt+4 || !bytes.HasPrefix(b, []byte(headMagic)) ||
		binary.BigEndian.Uint32(b[headSumAt:]) != crc32.Checksum(b[:headSumAt], castagnoli) {
		return false
	}
	a.chain = market.ChainID(binary.BigEndian.Uint64(b[8:]))
	a.sequence = binary.BigEndian.Uint64(b[16:])
	a.generation = binary.BigEndian.Uint64(b[24:])
	a.block = binary.BigEndian.Uint64(b[32:])
	copy(a.hash[:], b[40:])
	a.dropped = b[72] != 0
	return true
}

// get returns the last acknowledged head of a chain.
func (h *headFile) get(chain market.ChainID) (acknowledgedHead, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, ok := h.last[chain]
	return a, ok
}

// stored returns the chains that should have data.
func (h *headFile) stored() (chains []market.ChainID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for chain, a := range h.last {
		if !a.dropped {
			chains = append(chains, chain)
		}
	}
	return chains
}

// write records a head, synced. Only the first head of a chain needs disk space: it goes
// into both slots, since a sync is slower where a file grows. Where commits are numbered
// anew, because they come from another node, no head of before may stay: its number would
// be the higher one.
func (h *headFile) write(a acknowledgedHead) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	slot := slices.Index(h.chains, a.chain)
	if slot < 0 {
		slot = len(h.chains)
	}
	halves := []uint64{a.sequence % 2}
	if slot == len(h.chains) || a.sequence <= h.last[a.chain].sequence {
		halves = append(halves, 1-halves[0])
	}

	err := h.open()
	block := append(a.append(nil), make([]byte, headSlot-headSumAt-4)...)
	for _, half := range halves {
		if err == nil {
			_, err = h.file.WriteAt(block, (int64(slot)*2+int64(half))*headSlot)
		}
	}
	if err == nil {
		err = h.file.SyncData()
	}
	if err != nil {
		return fmt.Errorf("cannot record commit %d of chain %d in %s: %w", a.sequence, a.chain, h.path, err)
	}

	if slot == len(h.chains) {
		h.chains = append(h.chains, a.chain)
	}
	h.last[a.chain] = a
	return nil
}

// drop records that nothing of a chain is stored, on purpose, and returns the number of the
// commit that says so. It follows the acknowledged commit and the last one that the caller
// knows of. Likewise the newest generation stays known, so that no number is used twice.
func (h *headFile) drop(chain market.ChainID, sequence, generation uint64) (uint64, error) {
	last, _ := h.get(chain)
	dropped := acknowledgedHead{
		chain: chain, sequence: max(sequence, last.sequence) + 1, dropped: true,
		generation: max(generation, last.generation),
	}
	return dropped.sequence, h.write(dropped)
}

// open opens the file for writing, the first time. A new file is there after a crash only
// if its directory was synced.
func (h *headFile) open() error {
	if h.file != nil {
		return nil
	}
	file, err := h.fs.OpenReadWrite(h.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := database.SyncDir(h.fs, h.fs.PathDir(h.path)); err != nil {
		return errors.Join(err, file.Close())
	}
	h.file = file
	return nil
}

func (h *headFile) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// findRollbacks compares the stored commits with the acknowledged ones.
func (s *Store) findRollbacks() error {
	for chain, acknowledged := range s.heads.last {
		stored, err := s.readCommit(chain)
		if isDamage(err) {
			continue // the chain is built again
		}
		if err != nil {
			return fmt.Errorf("cannot open store %s: %w", s.dir, err)
		}
		if acknowledged.dropped || stored >= acknowledged.sequence {
			continue
		}

		r := &Rollback{Chain: chain, Commits: acknowledged.sequence - stored, Block: acknowledged.block}
		if h, ok, _ := s.readHead(chain); ok { // its damage is noted
			r.Stored = h.At
		}
		s.rollbacks[chain] = r
		s.opts.Logger.Error("the store lost commits; their blocks are read again from the feed",
			"chain", uint64(chain), "commits", r.Commits, "block", r.Stored.Number, "committed", r.Block)
	}
	return nil
}

// readCommit reads the number of a chain's last commit; 0: none.
func (s *Store) readCommit(chain market.ChainID) (sequence uint64, err error) {
	value, ok, err := s.get(appendKind(nil, chain, kindCommit), nil)
	if err == nil && ok {
		if len(value) != 8 {
			return 0, s.reportDamage(chain, "commit", fmt.Errorf("%d bytes; want 8", len(value)))
		}
		sequence = binary.BigEndian.Uint64(value)
	}
	if err != nil {
		return 0, s.reportDamage(chain, "commit", err)
	}
	return sequence, nil
}

// Rollback returns what a chain had lost when the store was opened; nil: nothing.
func (s *Store) Rollback(chain market.ChainID) *Rollback { return s.rollbacks[chain] }

// LastGeneration returns the newest generation that a chain ever published, even if
// its data was lost or dropped since; 0: none.
func (s *Store) LastGeneration(chain market.ChainID) uint64 {
	a, _ := s.heads.get(chain)
	return a.generation
}
