package stream

import (
	"encoding/binary"
	"slices"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// key is what a stream watches: an owner on all chains, a position or a pool.
type key struct {
	kind  kind
	chain market.ChainID // 0 of an owner
	id    [32]byte
}

type kind uint8

const (
	ofOwner kind = iota
	ofPosition
	ofPool
)

// ownerKey watches the positions of an owner.
func ownerKey(a market.Address) (k key) {
	copy(k.id[:], a[:])
	return k
}

func positionKey(chain market.ChainID, id uint64) key {
	k := key{kind: ofPosition, chain: chain}
	binary.BigEndian.PutUint64(k.id[:], id)
	return k
}

func poolKey(chain market.ChainID, id market.PoolID) key { return key{ofPool, chain, id} }

// keysOfQuery returns what a stream is asked to watch.
func keysOfQuery(q *query.Stream) (keys []key) {
	if q.Owner != nil {
		keys = append(keys, ownerKey(*q.Owner))
	}
	for i := range q.Positions {
		if p := &q.Positions[i]; !p.NoPosition {
			keys = append(keys, positionKey(p.Chain, p.Position))
		}
	}
	for i := range q.Pools {
		keys = append(keys, poolKey(q.Pools[i].Chain, q.Pools[i].Pool))
	}
	return keys
}

// chainsOfKeys returns the chains of keys; nil if one is of an owner, which has all.
func chainsOfKeys(keys []key) []market.ChainID {
	list := []market.ChainID{} // of no keys: no chain
	for _, k := range keys {
		if k.kind == ofOwner {
			return nil
		}
		if !slices.Contains(list, k.chain) {
			list = append(list, k.chain)
		}
	}
	return list
}

// maxKeys is how many keys one change can have.
const maxKeys = 3

// keysOfChange appends the keys under which a change is watched: of a position itself, its
// owner and the one before, of a pool itself. No stream has two of them.
func keysOfChange(step *rankings.Step, at int, dst []key) []key {
	if at >= len(step.Positions) {
		return append(dst, poolKey(step.Chain, step.Pools[at-len(step.Positions)].ID))
	}

	c := &step.Positions[at]
	dst = append(dst, positionKey(step.Chain, c.ID), ownerKey(c.Owner))
	if before := step.OwnerBefore(at); before != c.Owner {
		dst = append(dst, ownerKey(before))
	}
	return dst
}

// index finds the streams of a key. A key that lost its last stream lingers, so that
// its rows are rendered and kept for when the stream comes back.
type index struct {
	watches map[key]*watch
	left    []departure // of keys that lost their last stream, oldest first
}

// watch is the streams of one key.
type watch struct {
	streams []*Stream
	until   int64 // without streams: when it is forgotten, unix ms
}

// departure is a key that lost its last stream.
type departure struct {
	key   key
	until int64 // unix ms
}

func newIndex() index { return index{watches: map[key]*watch{}} }

// add adds a stream under its keys.
func (x *index) add(s *Stream) {
	for _, k := range s.keys {
		w := x.watches[k]
		if w == nil {
			w = new(watch)
			x.watches[k] = w
		}
		w.streams = append(w.streams, s)
	}
}

// remove removes a stream. Its keys linger until a time.
func (x *index) remove(s *Stream, until int64) {
	for _, k := range s.keys {
		w := x.watches[k]
		i := slices.Index(w.streams, s)
		w.streams = slices.Delete(w.streams, i, i+1)
		if len(w.streams) == 0 {
			w.until = until
			x.left = append(x.left, departure{k, until})
		}
	}
}

// forget removes the keys that have lingered long enough, or are too many.
func (x *index) forget(now int64) {
	n := 0
	for n < len(x.left) && (x.left[n].until <= now || len(x.left)-n > maxLingering) {
		d := x.left[n]
		if w := x.watches[d.key]; w != nil && len(w.streams) == 0 && w.until == d.until {
			delete(x.watches, d.key)
		}
		n++
	}
	x.left = slices.Delete(x.left, 0, n)
}

// empty reports whether nothing is watched.
func (x *index) empty() bool { return len(x.watches) == 0 }
