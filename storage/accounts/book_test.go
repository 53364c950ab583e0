package accounts

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func TestResolve(t *testing.T) {
	b, keys := filled(t, 3000, 1, "free")

	f := func(key string, want Reason) *Key {
		t.Helper()
		k, got := b.Resolve([]byte(key))
		if got != want || (k == nil) != (want == Malformed || want == Unknown) {
			t.Errorf("Resolve(%q) = %v, %d; want reason %d", key, k, got, want)
		}
		return k
	}

	for i, key := range keys {
		if k := f(key, Accepted); k.ID != uint64(i+1) || k.Cell.Name != fmt.Sprintf("account%d", i) {
			t.Errorf("key %d is key %d of %s", i+1, k.ID, k.Cell.Name)
		}
	}

	stranger, err := NewKey(chacha{rand.NewChaCha8([32]byte{2})}, Server)
	if err != nil {
		t.Fatal(err)
	}

	f("", Malformed)
	f(keys[0][:KeyLen-1], Malformed)
	f(strings.ToUpper(keys[0]), Malformed)
	f(keys[0][:KeyLen-1]+"-", Malformed) // its prefix is known
	f(stranger, Unknown)
	b.Revoke(f(keys[1], Accepted), 5)
	f(keys[1], Revoked)

	cell := f(keys[2], Accepted).Cell
	b.SetTerms(cell, NewTerms(&cell.Terms().Plan, true))
	f(keys[2], Suspended)
	b.SetTerms(cell, NewTerms(&cell.Terms().Plan, false))
	f(keys[2], Accepted)
}

// Keys with the same prefix are told apart by the whole key.
func TestResolveSamePrefix(t *testing.T) {
	b := NewBook(NewTurner(0, 0).Step(0, 0))
	cell := NewCell(1, "acme", 0, NewTerms(&Plan{ID: "p"}, false))
	issue := func(id uint64, rest string) string {

		body := []byte("tm_srv_012345678" + rest)
		key := string(appendSum(body, crc32.ChecksumIEEE(body)))
		b.Add(&Issued{
			ID: id, Hash: HashKey([]byte(key)), Prefix: PrefixOf(key), Cell: cell,
		}, 0, 0)
		return key
	}

	f := func(key string, want uint64) {
		t.Helper()
		if k, reason := b.Resolve([]byte(key)); reason != Accepted || k.ID != want {
			t.Errorf("Resolve(%s) = %v, %d; want key %d", key, k, reason, want)
		}
	}

	first, second := issue(1, "aaaaaaaaaaaaaaaaaaaaa"), issue(2, "bbbbbbbbbbbbbbbbbbbbb")
	f(first, 1)
	f(second, 2)
	third := issue(3, "ccccccccccccccccccccc")
	f(third, 3)
	body := []byte("tm_srv_012345678ddddddddddddddddddddd")
	never := appendSum(body, crc32.ChecksumIEEE(body))
	if _, reason := b.Resolve(never); reason != Unknown {
		t.Errorf("a key that was never issued: reason %d; want %d", reason, Unknown)
	}
}

func TestListed(t *testing.T) {
	b := NewBook(NewTurner(0, 0).Step(0, 0))
	cell := NewCell(1, "acme", 0, NewTerms(&Plan{ID: "p"}, false))
	var keys []*Key

	for i := range 200 {
		origins := []string{fmt.Sprintf("https://app%d.example.com", i), "https://shared.example.com"}
		number := b.Add(&Issued{
			ID: uint64(i), Hash: Hash{byte(i)}, Prefix: PrefixOf("tm_web_000000000"), Cell: cell,
			Kind: Browser, Origins: origins,
		}, int64(i%2), 0) // every other one is revoked
		keys = append(keys, b.Key(number))
	}

	f := func(origin string, want bool) {
		t.Helper()
		if got := b.Listed([]byte(origin)); got != want {
			t.Errorf("Listed(%q) = %v; want %v", origin, got, want)
		}
	}

	f("https://app0.example.com", true)
	f("https://APP0.example.com:443", true)
	f("https://app1.example.com", false)
	f("http://app0.example.com", false)
	f("null", false)
	f("", false)
	f("https://shared.example.com", true)
	for _, k := range keys[:199] {
		b.Revoke(k, 9)
	}
	f("https://app0.example.com", false)
	f("https://shared.example.com", false)
}

func TestTouch(t *testing.T) {
	b, keys := filled(t, 2, 1, "free")
	now := testMonth.Start().UnixNano() + 59*int64(time.Second)
	k, _ := b.Resolve([]byte(keys[1]))
	for range 3 {
		b.Admit(k, now)
	}

	if got := b.DirtyKeys(nil); len(got) != 1 || got[0] != k {
		t.Errorf("keys used = %v; want the one, once", got)
	}
	if got, want := k.UsedMinute(), testMonth.Start().Unix()/60; got != want {
		t.Errorf("used in minute %d; want %d", got, want)
	}

	b.Admit(k, now)
	if got := b.DirtyKeys(nil); len(got) != 0 {
		t.Errorf("keys used in the same minute = %v; want none", got)
	}
	b.Admit(k, now+int64(time.Second))
	if got := b.DirtyKeys(nil); len(got) != 1 {
		t.Errorf("keys used in the next minute = %v; want one", got)
	}

	// Two keys in turns for some minutes before anybody asks: each is there once.
	other, _ := b.Resolve([]byte(keys[0]))
	for minute := range int64(4) {
		b.Admit(k, now+(5+minute)*minuteNs)
		b.Admit(other, now+(5+minute)*minuteNs)
	}
	seen := map[*Key]int{}
	for next := b.dirtyKeys.head.Load(); next != nil && seen[next] < 2; next = next.dirty.next {
		seen[next]++
	}
	if seen[k] != 1 || seen[other] != 1 {
		t.Fatalf("keys used for minutes are listed %v times; want each once", seen)
	}
	if got := b.DirtyKeys(nil); len(got) != 2 {
		t.Errorf("keys used for minutes = %v; want two", got)
	}
}

// The fields of a key and of a cell that every request uses are one cache line each:
// the allocator aligns sizes that are whole lines.
func TestLayout(t *testing.T) {
	f := func(what string, got, limit uintptr) {
		t.Helper()
		if got > limit {
			t.Errorf("%s: %d; want at most %d", what, got, limit)
		}
	}

	var k Key
	f("size of a key mod 64", unsafe.Sizeof(k)%64, 0)
	f("end of what is hot in a key", unsafe.Offsetof(k.Kind)+1, 64)
	var c Cell
	f("end of what is written in a cell", unsafe.Offsetof(c.ID), 64)
	f("end of what is read in a cell", unsafe.Offsetof(c.counts), 128)
}

func TestAllocations(t *testing.T) {
	book, keys := filled(t, 1000, 1, "scale")
	header := []byte(keys[7])
	now := testMonth.Start().UnixNano()
	if n := testing.AllocsPerRun(1000, func() {
		now += int64(time.Minute)
		k, _ := book.Resolve(header)
		ticket := book.Admit(k, now)
		if !ticket.TakeToken() {
			t.Error("no token")
		}
		book.SetAlive(now)
		if v := book.Reserve(&ticket, 1); v != Granted {
			t.Error(v)
		}
		book.Settle(&ticket, RoutePositions, 1)
	}); n != 0 {

		t.Errorf("%v allocations a request; want 0", n)
	}
}

// Keys are added and revoked while readers resolve those that are there, those
// that are on their way and those that never come. Under -race this fails on
// any field that a reader sees before the writer has published it.
func TestResolveBesideWriter(t *testing.T) {
	const n = 2000
	b := NewBook(NewTurner(0, 0).Step(0, 0))
	cell := NewCell(1, "acme", 0, NewTerms(&Plan{ID: "p"}, false))
	random := chacha{rand.NewChaCha8([32]byte{3})}
	issued, absent := make([]string, n), make([]string, n)
	for i := range n {
		for _, list := range [][]string{issued, absent} {
			key, err := NewKey(random, Server)
			if err != nil {
				t.Fatal(err)
			}
			list[i] = key
		}
	}

	var readers sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		readers.Go(func() {
			for i := 0; !done.Load(); i = (i + 1) % n {
				k, reason := b.Resolve([]byte(issued[i]))
				if reason == Accepted && k.Hash != HashKey([]byte(issued[i])) {
					t.Errorf("key %d resolves to another one", i)
				}
				if _, reason := b.Resolve([]byte(absent[i])); reason != Unknown {
					t.Errorf("a key that was never issued: reason %d", reason)
				}
			}
		})
	}

	for i, key := range issued {
		k := b.Key(b.Add(&Issued{ID: uint64(i + 1), Hash: HashKey([]byte(key)), Prefix: PrefixOf(key), Cell: cell}, 0, 0))
		if i%2 == 0 {
			b.Revoke(k, 5)
		}
		want := [2]Reason{Revoked, Accepted}[i%2]
		if _, reason := b.Resolve([]byte(key)); reason != want {
			t.Errorf("key %d: reason %d at once; want %d", i, reason, want)
		}
	}

	done.Store(true)
	readers.Wait()
}

// The origins of a key count while it is active and its account is not suspended,
// whatever is done to it and in whichever order.
func TestListedWhileUsable(t *testing.T) {
	const origin = "https://app.example.com"
	book := NewBook(NewTurner(0, 0).Step(0, 0))
	plan := DefaultPlans()[0]
	random := rand.NewChaCha8([32]byte{})
	key := func(suspended bool, revokedAt int64) *Key {
		text, err := NewKey(random, Browser)
		if err != nil {
			t.Fatal(err)
		}
		return book.Key(book.Add(&Issued{
			Hash: HashKey([]byte(text)), Prefix: PrefixOf(text), Kind: Browser, Origins: []string{origin},
			Cell: NewCell(1, "acme", 0, NewTerms(&plan, suspended)),
		}, revokedAt, 0))
	}
	f := func(what string, want bool) {
		t.Helper()
		if got := book.Listed([]byte(origin)); got != want {
			t.Errorf("%s: listed %v; want %v", what, got, want)
		}
	}

	key(false, 7)
	f("a revoked key", false)
	key(true, 0)
	f("a key of a suspended account", false)
	key(true, 7)
	f("both", false)
	active := key(false, 0)
	f("an active key", true)
	other := key(false, 0)
	book.Revoke(other, 8)
	book.Revoke(other, 9)
	f("another key, revoked twice", true)
	book.Revoke(active, 8)
	f("the last one revoked", false)
	key(false, 0)
	f("a new one", true)
}
