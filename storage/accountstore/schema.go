package accountstore

import (
	"encoding/binary"
	"fmt"

	"tidemark/storage/accounts"
)

// Every key of the accounts' database. Numbers are big-endian, so keys sort by
// number.
//
//	00 "format"              Format as a uvarint
//	00 "proof"               the last batch's storedProof
//	00 "batch" number(8)     the mark of the last batch; see findLoss
//	01 account(8)            an account
//	02 key(8)                an issued key
//	03 key(8)                the minute it was last used
//	10 month(4) account(8)   usage in the month by route, lease, newest day
//	11 account(8) day(4)     usage by route on a day before the newest
//	12 number(8)             months of a flush that are not under their own keys yet
//
// The month comes first in its key: a start reads one month of every account, and
// the last of these keys has the newest month with a charge.
const (
	accountPrefix = 0x01
	keyPrefix     = 0x02
	keyUsePrefix  = 0x03
	monthPrefix   = 0x10
	dayPrefix     = 0x11
	journalPrefix = 0x12
)

// Format is raised when a record changes its meaning.
//
//	1  the first
//	2  with a journal; see journal.go
const (
	Format       = 2
	OldestFormat = 1 // that this program reads
)

var (
	formatKey = []byte("\x00format")
	proofKey  = []byte("\x00proof")
)

// Bounds of the marks.
var (
	batchMarks    = []byte("\x00batch")
	batchMarksEnd = []byte("\x00batci")
)

// appendBatchMark appends the key of a batch's mark.
func appendBatchMark(dst []byte, batch uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, batchMarks...), batch)
}

func appendNumberedKey(dst []byte, prefix byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, prefix), n)
}

func appendMonthKey(dst []byte, m accounts.Month, account uint64) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, monthPrefix), uint32(m))
	return binary.BigEndian.AppendUint64(dst, account)
}

func appendDayKey(dst []byte, account uint64, d accounts.Day) []byte {
	dst = appendNumberedKey(dst, dayPrefix, account)
	return binary.BigEndian.AppendUint32(dst, uint32(d))
}

func parseNumberedKey(key []byte) (uint64, error) {
	if len(key) != 9 {
		return 0, fmt.Errorf("bad key %x: %d bytes, want 9", key, len(key))
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

func parseMonthKey(key []byte) (monthID, error) {
	if len(key) != 13 {
		return monthID{}, fmt.Errorf("bad month key %x: %d bytes, want 13", key, len(key))
	}
	m := accounts.Month(binary.BigEndian.Uint32(key[1:]))
	return monthID{m, binary.BigEndian.Uint64(key[5:])}, nil
}

func parseDayKey(key []byte) (uint64, accounts.Day, error) {
	if len(key) != 13 {
		return 0, 0, fmt.Errorf("bad day key %x: %d bytes, want 13", key, len(key))
	}
	return binary.BigEndian.Uint64(key[1:]), accounts.Day(binary.BigEndian.Uint32(key[9:])), nil
}
