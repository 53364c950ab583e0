package edge

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
)

// requestIDs generates ids for requests: a counter run through a permutation, so
// that the ids of one process are distinct and cannot be guessed by counting.
type requestIDs struct {
	seed uint64
	last *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [8]byte
	rand.Read(b[:])
	return requestIDs{binary.LittleEndian.Uint64(b[:]), new(atomic.Uint64)}
}

// requestIDLen is the length of an id of ours.
const requestIDLen = 16

// choose returns the id of the answer: the client's own one if it is well-formed, which is
// valid as long as the request, or else a new one in room.
func (r *requestIDs) choose(ctx *fasthttp.RequestCtx, room *[requestIDLen]byte) []byte {
	name := []byte(gate.HeaderRequestID) // in canonical form
	if own := ctx.Request.Header.PeekCanonical(name); isRequestID(own) {
		return own
	}

	// The mixing steps of splitmix64, which map distinct counters to distinct ids.
	x := r.seed + r.last.Add(1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31

	for i := range room {
		room[i] = "0123456789abcdef"[x>>60]
		x <<= 4
	}
	return room[:]
}

// maxRequestID bounds a client's own id, which is repeated in a header and in the
// log.
const maxRequestID = 64

// isRequestID reports whether id matches [A-Za-z0-9_-]{1,64}.
func isRequestID(id []byte) bool {
	if len(id) == 0 || len(id) > maxRequestID {
		return false
	}
	for _, c := range id {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
