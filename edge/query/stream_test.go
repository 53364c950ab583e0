package query

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

func TestStream(t *testing.T) {
	owner := market.Address{0: 0xab, 19: 1}
	pool, err := market.ParsePoolID(pool1)
	if err != nil {
		t.Fatal(err)
	}
	f := func(raw string, want Stream, chainIDs ...market.ChainID) {
		t.Helper()
		got, err := chains.Stream([]byte(raw))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
		if !reflect.DeepEqual(got.Chains(), chainIDs) {
			t.Errorf("%q: got chains %v; want %v", raw, got.Chains(), chainIDs)
		}
	}

	f("owner=0xAB00000000000000000000000000000000000001", Stream{Owner: &owner})
	f("positions=1-77,42161-x", Stream{Positions: []BatchID{
		{Text: "1-77", Chain: 1, Position: 77}, {Text: "42161-x", Chain: 42161, NoPosition: true},
	}}, 1, 42161)
	f("pools=1-"+pool1, Stream{Pools: []BatchID{
		{Text: "1-" + strings.ToLower(pool1), Chain: 1, Pool: pool},
	}}, 1)
}

func TestStreamRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		_, err := chains.Stream([]byte(raw))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q", raw, err, want)
		}
	}

	f("", "one of the parameters owner, positions and pools is needed")
	f("positions=1-7&pools=1-"+pool1, "only one of the parameters")
	f("owner=0x12", "owner")
	f("owner=", "owner")
	f("positions=7", "7")
	f("positions=5-7", "not registered")
	f("positions=1-7,1-7", "twice")
	f("pools=1-0x12", "Invalid poolId")
	f("pools=1-7&pools=1-8", "pools")
	f("after=1", "after")
	f("positions="+strings.Repeat("1-7,", 100)+"1-8", "up to 100")
}

func TestParseEventID(t *testing.T) {
	f := func(raw string, place int, want ...Generation) {
		t.Helper()
		got, err := ParseEventID([]byte(raw))
		if err != nil || got.Place != place || !slices.Equal(got.Generations, want) {
			t.Errorf("%q: got %+v, %v; want %v/%d", raw, got, err, want, place)
		}
	}
	f("1:17,42161:18/3", 3, Generation{1, 17}, Generation{42161, 18})
	f("42161:18,1:17", 0, Generation{1, 17}, Generation{42161, 18})
	f("99:1/0", 0, Generation{99, 1})

	id, _ := ParseEventID([]byte("1:17,42161:18/3"))
	list := id.Generations
	if list.Of(42161) != 18 || list.Of(1) != 17 || list.Of(2) != 0 {
		t.Errorf("the generations of %s are %d, %d and %d", list, list.Of(1), list.Of(42161), list.Of(2))
	}
	if got := list.String(); got != "1:17,42161:18" {
		t.Errorf("the generations are written as %q", got)
	}

	refused := func(raw, want string) {
		t.Helper()
		if _, err := ParseEventID([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want %q", raw, err, want)
		}
	}
	refused("", "Last-Event-ID \"\" is not allowed; allowed are ids of events: 1:17,42161:18/3")
	refused("17", "is not allowed")
	refused("1:17/", "place")
	refused("1:17/-1", "place")
	refused("1:17/1/2", "place")
	refused("1:17/9999999999", "place")
	refused("1:17,1:18", "twice")
	refused("1:x", "number")
}

// FuzzStream checks that whatever is accepted names at most a hundred rows, and that
// an id which is accepted reads the same when it is written again.
func FuzzStream(f *testing.F) {
	f.Add([]byte("owner=0xAB00000000000000000000000000000000000001"), []byte("1:17,42161:18/3"))
	f.Add([]byte("positions=1-77,42161-x"), []byte("42161:18,1:17"))
	f.Add([]byte("pools=1-"+pool1), []byte("1:0/0"))
	f.Fuzz(func(t *testing.T, raw, id []byte) {
		if s, err := chains.Stream(raw); err == nil {
			n := len(s.Positions) + len(s.Pools)
			if n > maxBatch || (n == 0) != (s.Owner != nil) {
				t.Errorf("%q: %+v", raw, s)
			}
		}

		e, err := ParseEventID(id)
		if err != nil {
			return
		}
		var parts []string
		for _, g := range e.Generations {
			parts = append(parts, fmt.Sprint(g.Chain, ":", g.Number))
		}
		again, err := ParseEventID(fmt.Appendf(nil, "%s/%d", strings.Join(parts, ","), e.Place))
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%q: got %+v, then %+v, %v", id, e, again, err)
		}
	})
}
