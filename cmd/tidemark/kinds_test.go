package main

import (
	"reflect"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// A setting takes the values of its kind, as the file has them and as text, and refuses
// all others without a change.
func TestKindsOfSettings(t *testing.T) {
	refused := struct{}{}
	f := func(kind, raw, want any) {
		t.Helper()
		value := reflect.New(reflect.TypeOf(kind)).Elem()
		value.Set(reflect.ValueOf(kind))
		err := setting{name: "some.name", value: value}.set(raw)
		if want == refused {
			if err == nil || !reflect.DeepEqual(value.Interface(), kind) {
				t.Errorf("%T takes %T %v: it is %v, %v; want it refused", kind, raw, raw, value, err)
			}
			return
		}
		if err != nil || !reflect.DeepEqual(value.Interface(), want) {
			t.Errorf("%T takes %T %v: it is %v, %v; want %v", kind, raw, raw, value, err, want)
		}
	}
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.FixedZone("", 3600))
	utc := time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)
	address := market.Address{0xaa}

	f(false, true, true)
	f(false, "true", true)
	for _, raw := range []any{"perhaps", int64(1), 1.5, at, []any{true}} {
		f(true, raw, refused)
	}
	f(1, int64(7), 7)
	f(1, int64(0), 0)
	f(1, "7", 7)
	for _, raw := range []any{"seven", "-7", true, int64(-1), 1.5, at, []any{int64(7)}} {
		f(1, raw, refused)
	}
	f(uint64(1), int64(7), uint64(7))
	f(uint64(1), int64(0), uint64(0))
	f(uint64(1), "7", uint64(7))
	for _, raw := range []any{"-7", true, int64(-1), 1.5, at, []any{}} {
		f(uint64(1), raw, refused)
	}
	f(1.0, 2.5, 2.5)
	f(1.0, int64(2), 2.0)
	f(1.0, "2.5", 2.5)
	for _, raw := range []any{"many", true, at, []any{2.5}} {
		f(1.0, raw, refused)
	}

	f(time.Second, "5s", 5*time.Second)
	f(time.Second, int64(0), time.Duration(0))
	for _, raw := range []any{"soon", "5", int64(5), 5.0, true, at, []any{"5s"}} {
		f(time.Second, raw, refused)
	}
	f(utc, at, utc)
	f(time.Time{}, "2026-01-02T02:00:00Z", utc)
	for _, raw := range []any{"yesterday", int64(5), 5.0, true, []any{at}} {
		f(utc, raw, refused)
	}
	f("a", "b", "b")
	for _, raw := range []any{int64(5), 5.0, true, at, []any{"b"}} {
		f("a", raw, refused)
	}
	f(address, "0xbb00000000000000000000000000000000000000", market.Address{0xbb})
	for _, raw := range []any{"0xbb", int64(5), true, []any{"0xbb00000000000000000000000000000000000000"}} {
		f(address, raw, refused)
	}
	f([]string{"a"}, []any{"b", int64(31337)}, []string{"b", "31337"})
	f([]string{"a"}, []any{}, []string{})
	for _, raw := range []any{int64(5), true, []any{"b", true}, []any{1.5}} {
		f([]string{"a"}, raw, refused)
	}
}
