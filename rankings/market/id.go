package market

import (
	"encoding/hex"
	"fmt"
	"math"
)

// ChainID is an EVM chain id, as every endpoint takes it.
type ChainID uint64

// Protocol is the key of the only protocol that is served.
const Protocol = "swapdex-v4"

// Address is an EVM address; all zero is the chain's native currency.
type Address [20]byte

// Hash is a 32-byte word: a block hash, a transaction hash or a salt.
type Hash [32]byte

// PoolID is the keccak-256 of a pool's key.
type PoolID [32]byte

// NoIndex stands for no record where an index is expected.
const NoIndex = math.MaxUint32

// Unknown is a USD value, price or percentage that is not known. It is NaN, so
// compare with Known, not with ==.
var Unknown = math.NaN()

// Known reports whether x is a known value.
func Known(x float64) bool { return x == x }

// SameValue reports whether two values are the same to the bit, or both unknown.
func SameValue(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || !Known(a) && !Known(b)
}

// AppendHex appends a as 0x and 40 lower-case digits.
func (a Address) AppendHex(dst []byte) []byte { return appendHex(dst, a[:]) }

// AppendHex appends h as 0x and 64 lower-case digits.
func (h Hash) AppendHex(dst []byte) []byte { return appendHex(dst, h[:]) }

// AppendHex appends id as 0x and 64 lower-case digits.
func (id PoolID) AppendHex(dst []byte) []byte { return appendHex(dst, id[:]) }

func (a Address) String() string { return string(a.AppendHex(make([]byte, 0, 2+2*len(a)))) }
func (h Hash) String() string    { return string(h.AppendHex(make([]byte, 0, 2+2*len(h)))) }
func (id PoolID) String() string { return string(id.AppendHex(make([]byte, 0, 2+2*len(id)))) }

// IsZero reports whether a is the zero address: nobody, or the native currency.
func (a Address) IsZero() bool { return a == Address{} }

// IsZero reports whether h is all zero, which stands for an unknown hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseAddress reads 0x and 40 hex digits of any case.
func ParseAddress(s string) (a Address, err error) { return a, parseHex(a[:], s) }

// ParsePoolID reads 0x and 64 hex digits of any case.
func ParsePoolID(s string) (id PoolID, err error) { return id, parseHex(id[:], s) }

func appendHex(dst, b []byte) []byte { return hex.AppendEncode(append(dst, '0', 'x'), b) }

func parseHex(dst []byte, s string) error {
	if len(s) == 2+2*len(dst) && s[:2] == "0x" {
		if _, err := hex.Decode(dst, []byte(s[2:])); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%.80q is not 0x and %d hex digits", s, 2*len(dst))
}
