package query

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

func TestPositionBatch(t *testing.T) {
	f := func(raw string, want ...BatchID) {
		t.Helper()
		got, err := chains.PositionBatch([]byte(raw))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
	}

	f("ids=1-77", BatchID{Text: "1-77", Chain: 1, Position: 77})
	f("ids=42161-12%2C1-77", BatchID{Text: "42161-12", Chain: 42161, Position: 12},
		BatchID{Text: "1-77", Chain: 1, Position: 77})
	f("ids=1-7,42161-7", BatchID{Text: "1-7", Chain: 1, Position: 7},
		BatchID{Text: "42161-7", Chain: 42161, Position: 7})
	f("ids=1-abc,1-07", BatchID{Text: "1-abc", Chain: 1, NoPosition: true},
		BatchID{Text: "1-07", Chain: 1, NoPosition: true})
	f("ids=1-18446744073709551616", BatchID{
		Text: "1-18446744073709551616", Chain: 1, NoPosition: true,
	})
	f("ids=1--1", BatchID{Text: "1--1", Chain: 1, NoPosition: true})
}

func TestPoolBatch(t *testing.T) {
	id, err := market.ParsePoolID(pool1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := chains.PoolBatch([]byte("ids=42161-" + pool1))
	want := []BatchID{{Text: "42161-" + strings.ToLower(pool1), Chain: 42161, Pool: id}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}

	// The longest batch that fits a request.
	longest := "ids="
	for n := range maxBatch {
		longest += fmt.Sprintf("43114-0x%064x,", n)
	}
	if got, err := chains.PoolBatch([]byte(strings.TrimSuffix(longest, ","))); err != nil || len(got) != maxBatch {
		t.Errorf("a batch of %d: got %d, %v", maxBatch, len(got), err)
	}
}

func TestBatchRefused(t *testing.T) {
	const format = "is not an id; the format is chainId-id"
	refuses := func(read func([]byte) ([]BatchID, error)) func(raw, want string) {
		return func(raw, want string) {
			t.Helper()
			if got, err := read([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %+v, %v; want %q", raw, got, err, want)
			}
		}
	}

	f := refuses(chains.PositionBatch)
	f("", "parameter ids is missing; it takes ids as chainId-id, with commas between them")
	f("ids=", "parameter ids has no value")
	f("ids=77", `ids: "77" `+format)
	f("ids=1-", format)
	f("ids=1-7,", `ids: "" `+format)
	f("ids=-7", `ids: "-7" `+format)
	f("ids=x-7", `ids: chain "x" is not an integer`)
	f("ids=5-7", "ids: chain 5 is not registered")
	f("ids=10-7", "ids: chain 10 has no enabled protocol")
	f("ids=1-7,42161-8,1-7", `ids names "1-7" twice`)
	f("ids=1-abc,1-abc", `ids names "1-abc" twice`)
	f("ids=1-7&ids=1-8", "parameter ids is given more than once")
	f("page=1", `unknown parameter "page"; allowed are ids`)
	f("ids=1-7"+strings.Repeat(",1-8", 100), "ids names 101 ids; allowed are up to 100")

	f = refuses(chains.PoolBatch)
	f("ids=1-7", `ids: "1-7": Invalid poolId`)
	f("ids=1-"+pool1[:65], "Invalid poolId")
	f("ids=1-"+pool1+",1-"+strings.ToLower(pool1), "twice")
}

func FuzzBatch(f *testing.F) {
	f.Add("ids=1-77,42161-12,1-abc")
	f.Add("ids=1-" + pool1 + "%2C43114-" + pool1)
	f.Add("ids=1--1,,&ids=")

	f.Fuzz(func(t *testing.T, raw string) {
		for _, read := range []func([]byte) ([]BatchID, error){chains.PositionBatch, chains.PoolBatch} {
			got, err := read([]byte(raw))
			if err != nil {
				continue
			}
			if len(got) == 0 || len(got) > maxBatch {
				t.Errorf("%q: %d ids", raw, len(got))
			}

			// What the answer repeats asks for the same again.
			var texts []string
			for i := range got {
				texts = append(texts, string(appendEscaped(nil, got[i].Text)))
			}
			again, err := read([]byte("ids=" + strings.Join(texts, ",")))
			if err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("%q: %+v, then %+v, %v", raw, got, again, err)
			}
		}
	})
}
