package accountstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/accounts"
	"tidemark/storage/pace"
)

// To put a month under its own key is dear, since Pebble finds the place of each among
// all others. So a flush writes the months that changed as one record of a journal. A
// month is posted, which is to say put under its own key, some flushes later, once for
// all that it changed meanwhile.
//
// A record of the journal is deleted when each of its months was posted since, or is in
// a later record. A start reads the records that are left in their order. One may have
// a month that was posted since with more in it; then a later record has that too,
// because all after the first are kept. A flush that failed is made again under the same
// number: nothing in it was acknowledged.

const (
	// journalRecords is how many records later a month is posted. With ten flushes a
	// second it is some seconds, in which a busy account is in many of them. A start reads
	// so many records, which are a megabyte or two.
	journalRecords = 64
	// leastPosts is how many months are posted with a flush of fewer, so that the journal
	// of a busy hour ends. That is 0.2 ms of work.
	leastPosts = 256
)

// usageJournal is the journal in memory. Only opening, flushing and clearing the store
// change it, one at a time; months are read meanwhile.
type usageJournal struct {
	next    uint64          // the number of the next record
	queue   []*journalMonth // those not posted yet, by since
	encoded []byte          // of the last record, for reuse

	mu     sync.Mutex // held for microseconds at a time
	months map[monthID]*journalMonth
}

type monthID struct {
	month   accounts.Month
	account uint64
}

func (id monthID) compare(other monthID) int {
	return cmp.Or(cmp.Compare(id.month, other.month), cmp.Compare(id.account, other.account))
}

// journalMonth is a month that is not posted yet.
type journalMonth struct {
	monthID
	since uint64 // the oldest record that must stay for it
	value []byte // of an MonthRecord, from the newest record that has it
}

// encode returns the next record: of every month its account, its number, and the length
// and bytes of its value.
func (j *usageJournal) encode(months []*MonthRecord, pause func()) []byte {
	var value []byte
	dst := j.encoded[:0]
	for i, m := range months {
		pace.Every(recordsPerPause, i, pause)
		value = m.append(value[:0])
		dst = binary.AppendUvarint(dst, m.Account)
		dst = binary.AppendUvarint(dst, uint64(m.Month))
		dst = append(binary.AppendUvarint(dst, uint64(len(value))), value...)
	}
	j.encoded = dst
	return dst
}

// apply notes the months of a record, in about 0.1 ms for a thousand. It does not pause:
// requests wait for the leases in it, which are stored by now.
func (j *usageJournal) apply(number uint64, record []byte) error {
	r := recordReader{b: record}
	for len(r.b) > 0 {
		account, month := uint64(r.number()), r.number()
		value := r.bytes(r.number())
		r.bad = r.bad || month > math.MaxInt32
		if !r.bad {
			j.note(number, monthID{accounts.Month(month), account}, value)
		}
	}
	j.next = number + 1
	return r.err()
}

func (j *usageJournal) note(number uint64, id monthID, value []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.months[id]
	if m == nil {
		m = &journalMonth{monthID: id, since: number}
		j.months[id] = m
		j.queue = append(j.queue, m)
	}
	m.value = append(m.value[:0], value...)
}

// due returns the months to post with a flush of so many.
func (j *usageJournal) due(flushed int) []*journalMonth {
	most := min(max(flushed, leastPosts), len(j.queue))
	n, _ := slices.BinarySearchFunc(j.queue[:most], j.next, func(m *journalMonth, next uint64) int {
		return cmp.Compare(m.since+journalRecords, next)
	})
	return j.queue[:n]
}

// post puts the first months of the queue under their own keys, and deletes the records
// that are then not needed.
func (j *usageJournal) post(b *pebble.Batch, due []*journalMonth, pause func()) {
	var key []byte
	for i, m := range due {
		pace.Every(recordsPerPause, i, pause)
		key = appendMonthKey(key[:0], m.month, m.account)
		b.Set(key, m.value, nil)
	}

	keep := j.firstOf(j.queue[len(due):])
	for number := j.firstOf(j.queue); number < keep; number++ {
		b.Delete(appendNumberedKey(nil, journalPrefix, number), nil)
	}
}

// firstOf returns the first record that is needed for what is queued: the next, if
// nothing is.
func (j *usageJournal) firstOf(queue []*journalMonth) uint64 {
	if len(queue) > 0 {
		return queue[0].since
	}
	return j.next
}

// posted forgets the first months of the queue, which are under their own keys.
func (j *usageJournal) posted(due []*journalMonth) {
	j.mu.Lock()
	for _, m := range due {
		delete(j.months, m.monthID)
	}
	j.mu.Unlock()
	clear(due)
	j.queue = j.queue[len(due):]
}

// value returns a copy of a month's value, if the month is not posted.
func (j *usageJournal) value(id monthID) (value []byte, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m, ok := j.months[id]
	if ok {
		value = bytes.Clone(m.value)
	}
	return value, ok
}

// between copies the months that are not posted and whose keys are from lower up to upper.
func (j *usageJournal) between(lower, upper []byte) map[monthID][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	var key []byte
	values := map[monthID][]byte{}
	for id, m := range j.months {
		key = appendMonthKey(key[:0], id.month, id.account)
		if bytes.Compare(lower, key) <= 0 && bytes.Compare(key, upper) < 0 {
			values[id] = bytes.Clone(m.value)
		}
	}
	return values
}

// lastMonth returns the newest month that is not posted, 0 if there is none.
func (j *usageJournal) lastMonth() (last accounts.Month) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id := range j.months {
		last = max(last, id.month)
	}
	return last
}

// openJournal reads the journal. A damaged month is an error here and not of a request.
func (s *Store) openJournal() error {
	j := &s.journal
	j.months, j.next = map[monthID]*journalMonth{}, 1
	err := s.forEach([]byte{journalPrefix}, []byte{journalPrefix + 1}, func(k, v []byte) error {
		number, err := parseNumberedKey(k)
		if err != nil {
			return err
		}
		return j.apply(number, v)
	})
	if err != nil {
		return err
	}

	for _, m := range j.queue {
		if err := new(MonthRecord).decode(m.value); err != nil {
			return fmt.Errorf("cannot read month %s of account %d in the journal of accounts %s: %w",
				m.month, m.account, s.dir, err)
		}
	}
	return nil
}
