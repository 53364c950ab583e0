package accounts

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
)

// Kind says where a key may be used.
type Kind uint8

const (
	// Server keys are for backends: a request with an Origin is refused.
	Server Kind = iota
	// Browser keys work only from the origins they list.
	Browser
)

// String returns the kind as used in commands and JSON.
func (k Kind) String() string {
	if k == Browser {
		return "browser"
	}
	return "server"
}

// ParseKind reads what String writes.
func ParseKind(s string) (Kind, error) {
	switch s {
	case "server":
		return Server, nil
	case "browser":
		return Browser, nil
	}
	return 0, fmt.Errorf("unknown key kind %q; it is server or browser", s)
}

// A key is tag, random characters, checksum:
//
//	tm_srv_ 0123456789abcdefghijABCDEFGHIJ 00Xk3P
//	0       7                              37    43
//
// The checksum is the CRC-32 (IEEE) of the 37 characters before it, in base62,
// most significant digit first, padded with zeros: a mistyped or truncated key
// is counted as such, and scanners can recognise a leaked one.
const (
	tagLen    = 7
	randomLen = 30
	sumAt     = tagLen + randomLen
	KeyLen    = sumAt + 6
	// PrefixLen characters identify a key in lists. The rest is never stored.
	PrefixLen = 16

	digits    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	serverTag = "tm_srv_"
	webTag    = "tm_web_"
)

// digitOf maps a byte to its base62 value, or to 0xff.
var digitOf = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range len(digits) {
		t[digits[i]] = byte(i)
	}
	return t
}()

// Hash identifies a key. The key itself is never stored.
type Hash [sha256.Size]byte

// Prefix is the part of a key that people know it by.
type Prefix [PrefixLen]byte

// PrefixOf returns the prefix of a key, or of what is left of it.
func PrefixOf(key string) (p Prefix) {
	copy(p[:], key)
	return p
}

func (p Prefix) String() string { return string(p[:]) }

// HashKey returns the hash of a key's characters.
func HashKey(key []byte) Hash { return sha256.Sum256(key) }

// NewKey makes a key from random bytes, about 31 of them: 178 bits of secret.
func NewKey(rand io.Reader, kind Kind) (string, error) {
	key := append(make([]byte, 0, KeyLen), serverTag...)
	if kind == Browser {
		key = append(key[:0], webTag...)
	}

	var b [1]byte
	for len(key) < sumAt {
		if _, err := io.ReadFull(rand, b[:]); err != nil {
			return "", fmt.Errorf("cannot generate a key: %w", err)
		}
		if b[0] < 4*62 { // 248..255 would favour the first digits
			key = append(key, digits[b[0]%62])
		}
	}

	return string(appendSum(key, crc32.ChecksumIEEE(key))), nil
}

func appendSum(dst []byte, sum uint32) []byte {
	var d [KeyLen - sumAt]byte
	for i := len(d) - 1; i >= 0; i-- {
		d[i] = digits[sum%62]
		sum /= 62
	}
	return append(dst, d[:]...)
}

// ParseKey returns the kind of a well-formed key. It does no lookup: false means
// that such a key can never have been issued.
func ParseKey(key []byte) (Kind, bool) {
	if len(key) != KeyLen {
		return 0, false
	}

	kind := Server
	switch {
	case bytes.HasPrefix(key, []byte(serverTag)):
	case bytes.HasPrefix(key, []byte(webTag)):
		kind = Browser
	default:
		return 0, false
	}

	for _, c := range key[tagLen:sumAt] {
		if digitOf[c] == 0xff {
			return 0, false
		}
	}

	var sum uint64
	for _, c := range key[sumAt:] {
		if digitOf[c] == 0xff {
			return 0, false
		}
		sum = sum*62 + uint64(digitOf[c])
	}
	return kind, sum == uint64(crc32.ChecksumIEEE(key[:sumAt]))
}
