package accounts

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// zeros reads as zero bytes, which give a fixed key.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestNewKey(t *testing.T) {
	f := func(kind Kind, want string) {
		t.Helper()
		got, err := NewKey(zeros{}, kind)
		if err != nil || got != want {
			t.Errorf("NewKey(zeros, %v) = %q, %v; want %q", kind, got, err, want)
		}
	}

	// CRC-32 of the first 37 characters, worked out apart from this code.
	f(Server, "tm_srv_000000000000000000000000000000"+"1m4K7Y")
	f(Browser, "tm_web_000000000000000000000000000000"+"3eDdDQ")

	if _, err := NewKey(bytes.NewReader(make([]byte, 29)), Server); err == nil {
		t.Error("a key of 29 random bytes; want an error")
	}
	if _, err := NewKey(strings.NewReader(strings.Repeat("\xff", 99)), Server); err == nil {
		t.Error("bytes above 247 made a key; they would favour the first digits")
	}
}

func TestParseKey(t *testing.T) {
	key, err := NewKey(rand.Reader, Browser)
	if err != nil {
		t.Fatal(err)
	}

	f := func(key string, want bool) {
		t.Helper()
		if _, got := ParseKey([]byte(key)); got != want {
			t.Errorf("ParseKey(%q) = %v; want %v", key, got, want)
		}
	}

	f(key, true)
	f("", false)
	f(key[:KeyLen-1], false)
	f(key+"0", false)
	f("tm_srv_"+key[tagLen:], false) // the checksum covers the tag
	f("TM_web_"+key[tagLen:], false)
	f(strings.Replace(key, key[10:11], "-", 1), false)
	f(string(overflow(key)), false)
	for i := tagLen; i < KeyLen; i++ {
		other := byte('A')
		if key[i] == 'A' {
			other = 'B'
		}
		f(key[:i]+string(other)+key[i+1:], false)
	}

	if kind, ok := ParseKey([]byte(key)); !ok || kind != Browser {
		t.Errorf("kind of %q = %v, %v", key, kind, ok)
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range []Kind{Server, Browser} {
		if got, err := ParseKind(k.String()); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %v, %v", k.String(), got, err)
		}
	}
	if _, err := ParseKind("Server"); err == nil {
		t.Error("ParseKind(Server); want an error")
	}
}

// What is accepted has a tag, digits and their checksum, and no other character in
// any place makes it another key.
func FuzzParseKey(f *testing.F) {
	for _, kind := range []Kind{Server, Browser} {
		key, err := NewKey(zeros{}, kind)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(key), 9, byte('1'))
		f.Add([]byte(key), KeyLen-1, byte('0'))
		f.Add([]byte(key[:KeyLen-1]), 0, byte('T'))
		f.Add(overflow(key), 3, byte('s'))
	}

	f.Fuzz(func(t *testing.T, b []byte, at int, other byte) {
		kind, ok := ParseKey(b)
		if !ok {
			return
		}
		tag := "tm_" + map[Kind]string{Server: "srv", Browser: "web"}[kind] + "_"
		sum := appendSum(nil, crc32.ChecksumIEEE(b[:sumAt]))
		if string(b[:tagLen]) != tag || string(b[sumAt:]) != string(sum) {
			t.Errorf("%q is a %v key; want the tag %q and the checksum %q", b, kind, tag, sum)
		}

		changed := bytes.Clone(b)
		changed[uint(at)%uint(len(b))] = other
		if _, ok := ParseKey(changed); ok != bytes.Equal(changed, b) {
			t.Errorf("%q and %q are both keys", b, changed)
		}
	})
}

// overflow returns a key whose checksum is larger by 2^32, which base62 has room for.
func overflow(key string) []byte {
	sum := uint64(crc32.ChecksumIEEE([]byte(key[:sumAt]))) + 1<<32
	b := []byte(key)
	for i := KeyLen - 1; i >= sumAt; i-- {
		b[i] = digits[sum%62]
		sum /= 62
	}
	return b
}

// TestKeysAreDigits: a character that is no digit is refused in every place, also where
// the checksum holds.
func TestKeysAreDigits(t *testing.T) {
	refuse := func(key []byte) {
		t.Helper()
		if _, ok := ParseKey(key); ok || len(key) != KeyLen {
			t.Errorf("%q is a key", key)
		}
	}

	for _, c := range []byte("-_ /:@[`{\x00\x7f\xff") {
		for at := tagLen; at < sumAt; at++ {
			body := []byte(serverTag + "0123456789abcdefghijABCDEFGHIJ")
			body[at] = c
			refuse(appendSum(body, crc32.ChecksumIEEE(body)))
		}
	}

	// As a digit of the checksum it would count 255. Some body has a checksum that ends so.
	for n := range 1 << 16 {
		body := fmt.Appendf(nil, "%s%030d", serverTag, n)
		if sum := crc32.ChecksumIEEE(body); sum%62 == 255%62 && sum > 255 {
			key := appendSum(body, sum-255)
			key[KeyLen-1] = '-'
			refuse(key)
			return
		}
	}
	t.Error("no body has such a checksum")
}
