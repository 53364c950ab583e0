package texts

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Text is a text that a contract returned. The zero Text is none: the call failed.
type Text uint32

// A Text is a block, and the place in it where the text begins with its length.
const (
	blockBits = 16
	blockLen  = 1 << blockBits
	blockMask = blockLen - 1
	maxBlocks = 1 << (32 - blockBits)
)

// MaxLen is how many bytes of an answer FromContract keeps, more than are ever shown. A
// contract can return many times as much at little cost.
const MaxLen = 1024

// all has the texts of the process. Readers take no lock.
var all = newSet()

// New returns the Text of s, or none if there is no room for it.
func New(s string) Text { return all.add(s) }

// FromContract returns the Text of what a contract returned: of its first MaxLen bytes,
// without those that are not UTF-8.
func FromContract(answer []byte) Text {
	return New(strings.ToValidUTF8(string(answer[:min(len(answer), MaxLen)]), ""))
}

// Get returns the text, and false if there is none.
func (t Text) Get() (s string, ok bool) {
	if t == 0 {
		return "", false
	}
	return all.at(t), true
}

// String returns the text, or "" if there is none.
func (t Text) String() string {
	s, _ := t.Get()
	return s
}

// set keeps texts in blocks, and finds them by a table of their numbers, of which
// at most half is in use.
type set struct {
	seed   maphash.Seed
	blocks atomic.Pointer[[][]byte]
	table  atomic.Pointer[[]atomic.Uint32]

	adding sync.Mutex
	free   []byte // what is left of the last block
	count  int
}

func newSet() *set {
	t := &set{seed: maphash.MakeSeed()}
	t.blocks.Store(new([][]byte))
	table := make([]atomic.Uint32, 1<<10)
	t.table.Store(&table)
	t.take(1) // no text is 0
	return t
}

func (t *set) at(text Text) string {
	b := (*t.blocks.Load())[text>>blockBits][text&blockMask:]
	n, width := binary.Uvarint(b)
	return unsafe.String(unsafe.SliceData(b[width:]), n)
}

func (t *set) add(s string) Text {
	hash := maphash.String(t.seed, s)
	if text, _ := t.find(s, hash); text != 0 {
		return text
	}

	t.adding.Lock()
	defer t.adding.Unlock()
	text, slot := t.find(s, hash)
	if text != 0 {
		return text // added meanwhile
	}
	if text = t.keep(s); text == 0 {
		return 0
	}
	slot.Store(uint32(text))
	if t.count++; 2*t.count > len(*t.table.Load()) {
		t.grow()
	}
	return text
}

// find returns a text, or 0 and the slot for it.
func (t *set) find(s string, hash uint64) (Text, *atomic.Uint32) {
	table := *t.table.Load()
	for mask := uint64(len(table) - 1); ; hash++ {
		slot := &table[hash&mask]
		text := Text(slot.Load())
		if text == 0 || t.at(text) == s {
			return text, slot
		}
	}
}

// keep copies a text into a block. It returns 0 if there is no room.
func (t *set) keep(s string) Text {
	var length [binary.MaxVarintLen64]byte
	width := binary.PutUvarint(length[:], uint64(len(s)))
	text, room := t.take(width + len(s))
	if room == nil {
		return 0
	}

	copy(room, length[:width])
	copy(room[width:], s)
	return text
}

// take returns n bytes of a block, or none if all numbers of blocks are in use. A text
// that is longer than a block has a block to itself.
func (t *set) take(n int) (Text, []byte) {
	blocks := *t.blocks.Load()
	if n > len(t.free) {
		if len(blocks) == maxBlocks {
			return 0, nil
		}
		t.free = make([]byte, max(n, blockLen))
		blocks = append(blocks, t.free)
		t.blocks.Store(&blocks)
	}

	last := len(blocks) - 1
	from := len(blocks[last]) - len(t.free)
	room := t.free[:n:n]
	t.free = t.free[n:]
	return Text(last<<blockBits | from), room
}

// grow doubles the table.
func (t *set) grow() {
	table := *t.table.Load()
	next := make([]atomic.Uint32, 2*len(table))
	for i := range table {
		text := Text(table[i].Load())
		if text == 0 {
			continue
		}

		mask, hash := uint64(len(next)-1), maphash.String(t.seed, t.at(text))
		for next[hash&mask].Load() != 0 {
			hash++
		}
		next[hash&mask].Store(uint32(text))
	}
	t.table.Store(&next)
}
