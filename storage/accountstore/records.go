package accountstore

import (
	"encoding/binary"
	"errors"
	"math"

	"tidemark/storage/accounts"
)

// AccountRecord is a stored account.
type AccountRecord struct {
	ID        uint64
	Name      string
	Plan      string // a plan's id; the plan itself is configuration
	Suspended bool
	CreatedAt int64 // Unix ms
}

// KeyRecord is a stored key. It has the hash of the key, never the key itself.
type KeyRecord struct {
	ID         uint64
	Account    uint64
	Hash       accounts.Hash
	Kind       accounts.Kind
	Origins    []string
	Prefix     string
	Label      string
	CreatedAt  int64 // Unix ms
	RevokedAt  int64 // Unix ms; 0: active
	UsedMinute int64 // minutes since 1970; 0: never. Stored under its own key
}

// MonthRecord is a month of an account. It also has the totals before its newest
// day, so that a flush writes one record per account.
type MonthRecord struct {
	Account uint64
	accounts.Tally
	Day    accounts.Day // the newest day with usage; 0: none
	Before [accounts.NumRoutes]accounts.Count
}

// DayRecord is a day of an account, for reports. A day before the month's newest
// has its own record.
type DayRecord struct {
	Account uint64
	Day     accounts.Day
	Routes  [accounts.NumRoutes]accounts.Count
}

// Newest returns the month's newest day.
func (m *MonthRecord) Newest() DayRecord {
	d := DayRecord{Account: m.Account, Day: m.Day}
	for i := range d.Routes {
		d.Routes[i].Requests = m.Routes[i].Requests - m.Before[i].Requests
		d.Routes[i].Units = m.Routes[i].Units - m.Before[i].Units
	}
	return d
}

var errBadRecord = errors.New("record is truncated or has trailing bytes")

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// recordReader reads fields in the order in which they were appended. After the
// first field that is missing it is bad and returns zeros.
type recordReader struct {
	b   []byte
	bad bool
}

func (r *recordReader) number() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxInt64 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

func (r *recordReader) bytes(n int64) []byte {
	if n > int64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *recordReader) text() string { return string(r.bytes(r.number())) }

func (r *recordReader) err() error {
	if r.bad || len(r.b) > 0 {
		return errBadRecord
	}
	return nil
}

// append writes name, plan, suspended (0 or 1), created.
func (a *AccountRecord) append(dst []byte) []byte {
	dst = appendText(dst, a.Name)
	dst = appendText(dst, a.Plan)
	suspended := uint64(0)
	if a.Suspended {
		suspended = 1
	}
	dst = binary.AppendUvarint(dst, suspended)
	return binary.AppendUvarint(dst, uint64(a.CreatedAt))
}

func (a *AccountRecord) decode(b []byte) error {
	r := recordReader{b: b}
	a.Name, a.Plan = r.text(), r.text()
	a.Suspended = r.number() != 0
	a.CreatedAt = r.number()
	return r.err()
}

// append writes account, hash (32 bytes), kind, prefix, label, created,
// revoked, and the origins after their number.
func (k *KeyRecord) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, k.Account)
	dst = append(dst, k.Hash[:]...)
	dst = binary.AppendUvarint(dst, uint64(k.Kind))
	dst = appendText(dst, k.Prefix)
	dst = appendText(dst, k.Label)
	dst = binary.AppendUvarint(dst, uint64(k.CreatedAt))
	dst = binary.AppendUvarint(dst, uint64(k.RevokedAt))
	dst = binary.AppendUvarint(dst, uint64(len(k.Origins)))
	for _, o := range k.Origins {
		dst = appendText(dst, o)
	}
	return dst
}

// decode fills an empty record.
func (k *KeyRecord) decode(b []byte) error {
	r := recordReader{b: b}
	k.Account = uint64(r.number())
	copy(k.Hash[:], r.bytes(int64(len(k.Hash))))
	k.Kind = accounts.Kind(r.number())
	k.Prefix, k.Label = r.text(), r.text()
	k.CreatedAt, k.RevokedAt = r.number(), r.number()
	for n := r.number(); n > 0 && !r.bad; n-- {
		k.Origins = append(k.Origins, r.text())
	}
	return r.err()
}

// appendCounts writes the number of routes with usage, and of each its number,
// requests and units. The decoder refuses routes that this build does not know.
func appendCounts(dst []byte, routes *[accounts.NumRoutes]accounts.Count) []byte {
	n := uint64(0)
	for i := range routes {
		if routes[i] != (accounts.Count{}) {
			n++
		}
	}

	dst = binary.AppendUvarint(dst, n)
	for i := range routes {
		if c := routes[i]; c != (accounts.Count{}) {
			dst = binary.AppendUvarint(dst, uint64(i))
			dst = binary.AppendUvarint(dst, uint64(c.Requests))
			dst = binary.AppendUvarint(dst, uint64(c.Units))
		}
	}
	return dst
}

// counts reads what appendCounts wrote into routes, which are empty.
func (r *recordReader) counts(routes *[accounts.NumRoutes]accounts.Count) {
	for n := r.number(); n > 0 && !r.bad; n-- {
		i := r.number()
		c := accounts.Count{Requests: r.number(), Units: r.number()}
		if i >= accounts.NumRoutes {
			r.bad = true
			return
		}
		routes[i] = c
	}
}

// append writes lease, counts, newest day and the counts before that day. The
// rest is in the key.
func (m *MonthRecord) append(dst []byte) []byte {
	dst = appendCounts(binary.AppendUvarint(dst, uint64(m.Lease)), &m.Routes)
	return appendCounts(binary.AppendUvarint(dst, uint64(m.Day)), &m.Before)
}

func (m *MonthRecord) decode(b []byte) error {
	r := recordReader{b: b}
	m.Lease = r.number()
	r.counts(&m.Routes)
	day := r.number()
	m.Day = accounts.Day(day)
	r.bad = r.bad || day > math.MaxInt32
	r.counts(&m.Before)
	return r.err()
}

// append writes the counts. The rest is in the key.
func (d *DayRecord) append(dst []byte) []byte { return appendCounts(dst, &d.Routes) }

func (d *DayRecord) decode(b []byte) error {
	r := recordReader{b: b}
	r.counts(&d.Routes)
	return r.err()
}
