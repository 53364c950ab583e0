package query

import (
	"reflect"
	"strings"
	"testing"
)

// TestOptions checks the parameters that only exports have, and those that they lack.
func TestOptions(t *testing.T) {
	f := func(raw string, want Options) {
		t.Helper()
		var o, p Options
		if _, err := chains.PositionExport([]byte(raw), &o); err != nil || !reflect.DeepEqual(o, want) {
			t.Errorf("positions?%s: got %+v, %v; want %+v", raw, o, err, want)
		}
		if _, err := chains.PoolExport([]byte(raw), &p); err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("pools?%s: got %+v, %v; want %+v", raw, p, err, want)
		}
	}

	f("", Options{})
	f("format=ndjson", Options{})
	f("format=csv&after=0", Options{Format: CSV})
	f("after=999999999999999999&generation=pin", Options{Cut: Cut{Pin: true}, After: 999999999999999999})
	f("fields=rank", Options{Fields: []string{"rank"}})
	f("fields=rank%2Ctoken0.symbol,metrics&chainId=1", Options{Fields: []string{"rank", "token0.symbol", "metrics"}})

	refused := func(raw, want string) {
		t.Helper()
		if _, err := chains.PositionExport([]byte(raw), new(Options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("positions?%s: got %v; want %q", raw, err, want)
		}
		if _, err := chains.PoolExport([]byte(raw), new(Options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pools?%s: got %v; want %q", raw, err, want)
		}
	}
	refused("page=1", `unknown parameter "page"; allowed are chainId, protocol, sort, `)
	refused("limit=20", `generation, format, fields, after`)
	refused("format=JSON", "allowed are ndjson, csv")
	refused("format=", "parameter format has no value")
	refused("fields=,", "empty name")
	refused("fields=rank,", "empty name")
	refused("fields=rank,fee,rank", `"rank" twice`)
	refused("fields="+strings.Repeat("a,", maxFields)+"b", "allowed are up to 200")
	refused("after=01", "after")
	refused("after=1000000000000000000", "too large")
	refused("after=1&after=2", "given more than once")

	for _, raw := range []string{"format=csv", "fields=rank", "after=1"} {
		if _, err := chains.Positions([]byte(raw), new(Options)); err == nil || strings.Contains(err.Error(), "fields, after") {
			t.Errorf("the list of positions takes %s: %v", raw, err)
		}
		if _, err := chains.Pools([]byte(raw), new(Options)); err == nil {
			t.Errorf("the list of pools takes %s", raw)
		}
	}
}

// FuzzOptions checks that exports are read without a panic, and that what they take
// of a list means the same there.
func FuzzOptions(f *testing.F) {
	f.Add("chainId=1&sort=pnl&after=3&format=csv&fields=rank,token0.symbol&generation=1:17")
	f.Add("search=usd&fields=a,,b&after=-1")
	f.Add("generation=pin&format=ndjson&fee=3000")

	f.Fuzz(func(t *testing.T, raw string) {
		q, err := chains.PositionExport([]byte(raw), new(Options))
		if err == nil {
			if again, err := chains.Positions(AppendPositions(nil, &q), new(Options)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%q: an export is %+v; the list %+v, %v", raw, q, again, err)
			}
		}
		p, err := chains.PoolExport([]byte(raw), new(Options))
		if err == nil {
			if again, err := chains.Pools(AppendPools(nil, &p), new(Options)); err != nil || !reflect.DeepEqual(p, again) {
				t.Errorf("%q: an export is %+v; the list %+v, %v", raw, p, again, err)
			}
		}
	})
}
