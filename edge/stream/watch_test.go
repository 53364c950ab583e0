package stream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// watching returns a stream of positions.
func watching(ids ...uint64) *Stream {
	s := new(Stream)
	for _, id := range ids {
		s.keys = append(s.keys, positionKey(1, id))
	}
	return s
}

// TestKeysLinger checks that a key is kept while a stream watches it, and then until the
// time that its last stream named.
func TestKeysLinger(t *testing.T) {
	x := newIndex()
	at := func(now int64, want ...uint64) {
		t.Helper()
		x.forget(now)
		var got []uint64
		for id := range uint64(10) {
			if x.watches[positionKey(1, id)] != nil {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %d the watched positions are %v; want %v", now, got, want)
		}
	}

	a, b, c := watching(1, 2), watching(2, 3), watching(3)
	x.add(a)
	x.add(b)
	x.remove(a, 100)
	at(99, 1, 2, 3)
	at(100, 2, 3)
	x.remove(b, 200)
	x.add(c) // comes back to 3
	at(200, 3)
	x.remove(c, 300)
	x.add(b)
	x.remove(b, 400) // later than c was to be forgotten
	at(300, 2, 3)
	at(399, 2, 3)
	at(400)
	if !x.empty() || len(x.left) != 0 {
		t.Errorf("%d keys and %d departures are left", len(x.watches), len(x.left))
	}
}

// TestTooManyKeysLinger checks that the keys that left first are forgotten when too many
// of them linger.
func TestTooManyKeysLinger(t *testing.T) {
	x, many := newIndex(), watching()
	for id := range uint64(maxLingering + 2) {
		many.keys = append(many.keys, positionKey(1, id))
	}

	x.add(many)
	x.remove(many, 100)
	x.forget(0)
	if len(x.watches) != maxLingering || len(x.left) != maxLingering {
		t.Errorf("%d keys and %d departures are kept; want %d", len(x.watches), len(x.left), maxLingering)
	}
	for id, want := range map[uint64]bool{0: false, 1: false, 2: true, maxLingering + 1: true} {
		if got := x.watches[positionKey(1, id)] != nil; got != want {
			t.Errorf("position %d is kept: %v; want %v", id, got, want)
		}
	}
}

// TestKeysDiffer checks that an owner, a position and a pool are never taken for each
// other, nor those of two chains.
func TestKeysDiffer(t *testing.T) {
	keys := []key{
		ownerKey(market.Address{}), ownerKey(market.Address{1}), ownerKey(market.Address{19: 1}),
		positionKey(1, 0), positionKey(1, 1), positionKey(1, 1<<56), positionKey(2, 1),
		poolKey(1, market.PoolID{}), poolKey(1, market.PoolID{1}), poolKey(2, market.PoolID{1}), poolKey(1, market.PoolID{31: 1}),
	}
	for i, k := range keys {
		if slices.Contains(keys[:i], k) {
			t.Errorf("key %d is the same as one before it", i)
		}
	}
}

// TestKeptEvents checks that rendered events are kept up to a number of bytes and while
// the log has their step, the oldest leaving first.
func TestKeptEvents(t *testing.T) {
	k := newEventCache()
	first, second, third := eventID{1, 0}, eventID{1, 1}, eventID{2, 0}
	f := func(what string, want ...eventID) {
		t.Helper()
		bytes := 0
		for _, id := range want {
			bytes += len(k.events[id])
		}
		if !slices.Equal(k.order, want) || len(k.events) != len(want) || k.bytes != bytes {
			t.Errorf("%s: %v are kept, %d in %d bytes; want %v in %d", what, k.order, len(k.events), k.bytes, want, bytes)
		}
	}

	k.add(first, make([]byte, keptBytes/2))
	k.add(second, make([]byte, keptBytes/2))
	k.add(eventID{1, 2}, nil) // a row that is gone
	f("all fit", first, second)
	k.add(third, []byte("x"))
	f("a byte too many", second, third)

	k = newEventCache()
	k.add(first, []byte("a"))
	k.add(third, []byte("bc"))
	board := new(rankings.Board)
	k.forget(board.Load().Log)
	f("no step is left")
}

// turns has a wheel with a stream in each of some slots, from a second on.
func turns(from int64, slots ...int64) (h *Hub, streams []*Stream) {
	s := new(Hub)
	s.wheel.at = from
	for _, slot := range slots {
		one := &Stream{hub: s, ready: make(chan struct{}, 1)}
		s.wheel.add(one, time.Unix(slot-1, 0))
		streams = append(streams, one)
	}
	return s, streams
}

// TestWheelSlots checks that a stream that leaves takes no other one out of its slot.
func TestWheelSlots(t *testing.T) {
	for gone := range 3 {
		h, list := turns(600, 630, 630, 630, 631)
		h.wheel.remove(list[gone])

		left := map[*Stream]bool{}
		h.wheel.each(func(s *Stream) { left[s] = true })
		if len(left) != 3 || left[list[gone]] {
			t.Fatalf("after stream %d left there are %d, with it: %v", gone, len(left), left[list[gone]])
		}
		for s := range left {
			h.wheel.remove(s)
		}
		h.wheel.each(func(*Stream) { t.Error("a stream is left on the wheel") })
	}
}

// TestWheelMissesNoMinute checks that every minute is paid once, whether the clock goes
// evenly, stands still, jumps over many minutes or steps back.
func TestWheelMissesNoMinute(t *testing.T) {
	f := func(what string, want int, seconds ...int64) {
		t.Helper()
		s := newStage(t)
		s.begin()
		s.now = time.Unix(6000, 0)
		a := s.open("a", "positions=1-1", "")
		for _, at := range seconds {
			s.now = time.Unix(6000+at, 0)
			s.poll()
		}
		if a.paid != want {
			t.Errorf("%s: %d minutes were paid; want %d", what, a.paid, want)
		}
	}

	f("before the minute is over", 0, 30, 59)
	f("a look within the second", 1, 59, 60, 61, 61, 61)
	f("one look in two minutes", 1, 61)
	f("a jump over the slot", 1, 30, 90)
	f("the clock stepped back", 1, 30, 10, 40, 62)
	f("every minute", 3, 61, 121, 181)
}

// TestServedChains checks that a stream is told to start again when a chain begins or
// comes back to be served, and hears nothing of a chain that is not.
func TestServedChains(t *testing.T) {
	s := newStage(t)
	s.begin()
	a, b := s.open("a", "owner="+script.Person("alice").String(), ""), s.open("b", "positions=1-1", "")
	p := s.open("p", "pools=1-"+s.scenes[1].view.State.Pools.At(0).ID.String(), "")
	f := func(what string, status rankings.ChainStatus, wantA, wantB string) {
		t.Helper()
		s.board.SetStatus(42161, status)
		s.poll()
		s.at = s.scenes[42161]
		s.happen("collect 1", "collect 2", "collect 3")
		s.publish()
		for stream, want := range map[*follower]string{a: wantA, b: wantB, p: wantB} {
			var names []string
			for _, e := range parse(t, stream.text) {
				if e.name != "" {
					names = append(names, e.name)
				}
			}
			stream.text = nil
			if got := fmt.Sprint(names); got != want {
				t.Errorf("%s: got %s; want %s", what, got, want)
			}
		}
	}

	a.text, b.text, p.text = nil, nil, nil
	f("served", rankings.ChainStatus{Enabled: true}, "[changed generation]", "[]")
	f("offline", rankings.ChainStatus{Enabled: true, Offline: true}, "[]", "[]")
	f("back", rankings.ChainStatus{Enabled: true}, "[reset changed generation]", "[]")
	f("not enabled", rankings.ChainStatus{}, "[]", "[]")
	f("enabled again", rankings.ChainStatus{Enabled: true}, "[reset changed generation]", "[]")
}
