package accountstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/database"
)

// Pebble treats damage near the end of its log as the end of the log: it opens
// without an error, and durable records are missing. That must not undo the
// revocation of a key. So every batch of accounts has a number and a hash that
// covers all batches before it, and both are stored twice: in the batch itself,
// and in a proof file beside the store. A batch is acknowledged when both are
// synced. A store that is behind its proof file has lost data.
//
//	chain(0) = 0
//	chain(n) = SHA-256(chain(n-1) | n, 8 bytes big-endian | batch n)
//
// Batches are written one at a time, so a crash leaves the store at most one
// batch ahead of the file.

// proof is the number and the chained hash of a batch.
type proof struct {
	sequence uint64
	chain    [sha256.Size]byte
}

// next returns the proof of the next batch.
func (p *proof) next(batch []byte) proof {
	n := proof{sequence: p.sequence + 1}
	h := sha256.New()
	h.Write(p.chain[:])
	h.Write(binary.BigEndian.AppendUint64(nil, n.sequence))
	h.Write(batch)
	h.Sum(n.chain[:0])
	return n
}

// storedProof is the record inside a batch: its proof and the hash of the batch
// before it.
type storedProof struct {
	proof
	before [sha256.Size]byte
}

// append writes sequence (8 bytes), chain and before (32 bytes each).
func (p *storedProof) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, p.sequence)
	dst = append(dst, p.chain[:]...)
	return append(dst, p.before[:]...)
}

func (p *storedProof) decode(b []byte) error {
	const size = 8 + 2*sha256.Size
	if len(b) != size {
		return fmt.Errorf("the proof has %d bytes, want %d", len(b), size)
	}
	p.sequence = binary.BigEndian.Uint64(b)
	copy(p.chain[:], b[8:])
	copy(p.before[:], b[8+sha256.Size:])
	return nil
}

// follows reports whether the store has every acknowledged batch: it is at the
// acknowledged batch or one further.
func (p *storedProof) follows(acknowledged proof) bool {
	switch p.sequence {
	case acknowledged.sequence:
		return p.chain == acknowledged.chain
	case acknowledged.sequence + 1:
		return p.before == acknowledged.chain
	}
	return false
}

// The proof file has two slots of one disk block each. Batch n goes into slot
// n mod 2, so that a torn write leaves the previous slot intact:
//
//	0  "TMPROOF1"
//	8  sequence, big-endian
//	16 chain
//	48 CRC-32C of the above, big-endian
const (
	proofMagic    = "TMPROOF1"
	proofSlot     = 4096
	proofBytes    = 8 + 8 + sha256.Size + 4
	proofFileSize = 2 * proofSlot
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (p *proof) appendSlot(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, proofMagic...)
	dst = binary.BigEndian.AppendUint64(dst, p.sequence)
	dst = append(dst, p.chain[:]...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

// decodeSlot returns false for a slot that is empty, torn or damaged.
func (p *proof) decodeSlot(b []byte) bool {
	const sum = proofBytes - 4
	if !bytes.HasPrefix(b, []byte(proofMagic)) ||
		binary.BigEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli) {
		return false
	}
	p.sequence = binary.BigEndian.Uint64(b[8:])
	copy(p.chain[:], b[16:])
	return true
}

// proofPath is the path of the proof file. It is beside the directory, so that it
// still exists when the directory was removed.
func proofPath(dir string) string { return dir + ".proof" }

// acknowledgement is the content of the proof file and when it was written.
type acknowledgement struct {
	proof
	at time.Time
}

// readProof reads the proof file; nil if there is none.
func readProof(fsys vfs.FS, path string) (*acknowledgement, error) {
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	content := make([]byte, proofFileSize)
	if n, err := f.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %s at %d: %w", path, n, err)
	}

	best, found := proof{}, false
	for at := 0; at < proofFileSize; at += proofSlot {
		var p proof
		if p.decodeSlot(content[at:]) && (!found || p.sequence > best.sequence) {
			best, found = p, true
		}
	}
	if !found {
		return nil, fmt.Errorf("cannot read %s: both slots are damaged", path)
	}
	return &acknowledgement{best, info.ModTime()}, nil
}

// replaceProof writes a new proof file.
func replaceProof(fsys vfs.FS, path string, p *proof) error {
	content := make([]byte, proofFileSize)
	for at := 0; at < proofFileSize; at += proofSlot {
		copy(content[at:], p.appendSlot(nil))
	}

	return database.ReplaceFile(fsys, path, content)
}

// writeProof writes a proof into its slot, synced. It overwrites existing blocks
// and so needs no free disk space.
func writeProof(f vfs.File, p *proof) error {
	_, err := f.WriteAt(p.appendSlot(nil), int64(p.sequence%2)*proofSlot)
	if err == nil {
		err = f.SyncData()
	}
	if err != nil {
		return fmt.Errorf("cannot write the proof of batch %d of accounts: %w", p.sequence, err)
	}
	return nil
}
