package query

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings"
)

func TestPools(t *testing.T) {
	f := func(raw string, change func(*rankings.PoolQuestion)) {
		t.Helper()
		want := rankings.DefaultPoolQuestion()
		change(&want)
		got, err := chains.Pools([]byte(raw), new(Options))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
	}

	type Q = rankings.PoolQuestion
	f("", func(q *Q) {})
	f("chainId=1&sort=fee_apr&page=4&limit=1", func(q *Q) {
		q.Chain, q.Sort, q.Page, q.Limit = 1, rankings.ByPoolFeeAPR, 4, 1
	})

	f("minTvlUsd=2.5e3&includeRisky=true", func(q *Q) { q.MinTVLUsd, q.IncludeRisky = 2500, true })
	f("search=", func(q *Q) {})
	f("search", func(q *Q) {})
	f("search=wrapped+%45TH", func(q *Q) { q.Search = "wrapped ETH" })
	f("search=%E2%82%AC", func(q *Q) { q.Search = "€" })
	f("search="+strings.Repeat("ß", 64), func(q *Q) { q.Search = strings.Repeat("ß", 64) })
}

func TestPoolsRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		q, err := chains.Pools([]byte(raw), new(Options))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, error %v; want %q", raw, q, err, want)
		}
	}

	f("search="+strings.Repeat("ß", 65), "search has 65 characters; allowed are up to 64")
	f("search=a&search=b", "parameter search is given more than once")
	f("search=%C3", "not valid UTF-8")
	f("sort=apr", `sort "apr" is not allowed; allowed are tvl, volume, fees, fee_apr, age`)
	f("status=all", `unknown parameter "status"; allowed are chainId, protocol, sort, page`)
	f("minTvlUsd=", "parameter minTvlUsd has no value")
	f("limit=1000", "limit 1000 is out of range; allowed are 1 to 100")
}

func TestCharts(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		got, err := Charts([]byte(raw))
		if text := got.Range.String() + " " + got.Interval.String(); err != nil || text != want {
			t.Errorf("%q: got %v, %v; want %v", raw, text, err, want)
		}
	}

	f("", "30d 1d")
	f("range=180d", "180d 1d")
	f("range=all", "all 1d")
	f("range=7d", "30d 1d")
	f("range=ALL", "30d 1d")
	f("range=", "30d 1d")
	f("range", "30d 1d")
	f("range=60d&range=90d", "30d 1d")
	f("range=60d&range=60d", "30d 1d")
	f("interval=1d&range=all", "all 1d")
	f("interval=1h", "30d 1h")
	f("range=30d&interval=1h", "30d 1h")
	f("interval=1h&range=7d", "30d 1h")
	f("range=60d&interval=1h&range=60d", "30d 1h")

	refused := func(raw, want string) {
		t.Helper()
		if got, err := Charts([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want %q", raw, got, err, want)
		}
	}
	refused("days=30", `unknown parameter "days"; allowed are range, interval`)
	refused("range=%zz", "malformed percent-encoding")
	refused("range=%ff", "not valid UTF-8")
	refused("=30d", "unknown parameter")
	refused("interval=1m", `interval "1m" is not allowed; allowed are 1d, 1h`)
	refused("interval=1H", `interval "1H" is not allowed; allowed are 1d, 1h`)
	refused("interval=", "parameter interval has no value")
	refused("interval=1h&interval=1h", "parameter interval is given more than once")
	for _, r := range []string{"60d", "90d", "180d", "all"} {
		refused("interval=1h&range="+r, "interval 1h is not allowed with range "+r+"; allowed is 30d")
	}
}

// FuzzCharts checks that what is accepted is a chart that is served, and that the
// spelling in its answer asks for the same one.
func FuzzCharts(f *testing.F) {
	for _, seed := range []string{
		"", "range=all", "range=60d&range=90d", "interval=1h", "interval=1h&range=30d",
		"interval=1h&range=60d", "interval=%31h", "interval=1d&interval=1d", "range=&interval=1d",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, raw string) {
		c, err := Charts([]byte(raw))
		if err != nil {
			return
		}
		again, err := Charts([]byte("range=" + c.Range.String() + "&interval=" + c.Interval.String()))
		if err != nil || again != c || c.Interval == Interval1h && c.Range != Range30d {
			t.Errorf("%q: got %+v, then %+v, %v", raw, c, again, err)
		}
	})
}

func TestNone(t *testing.T) {
	if err := None([]byte("&&")); err != nil {
		t.Errorf("no parameter: got %v", err)
	}
	const want = `unknown parameter "page"; this route takes none`
	if err := None([]byte("page=1")); err == nil || err.Error() != want {
		t.Errorf("a parameter: got %v; want %s", err, want)
	}
}

func TestPlace(t *testing.T) {
	f := func(chain, protocol, want string) {
		t.Helper()
		id, err := chains.Place([]byte(chain), []byte(protocol))
		if want == "" && (err != nil || id == 0) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q, %q: got %d, %v; want %q", chain, protocol, id, err, want)
		}
	}

	f("1", "swapdex-v4", "")
	f("43114", "swapdex-v4", "")
	f("01", "swapdex-v4", `chain "01" is not an integer`)
	f("ethereum", "swapdex-v4", `chain "ethereum" is not an integer`)
	f("2", "swapdex-v4", "chain 2 is not registered")
	f("10", "swapdex-v4", "chain 10 has no enabled protocol")
	f("1", "swapdex-v3", `protocol "swapdex-v3" is not served; allowed is swapdex-v4`)
	f("1", "", `protocol "" is not served`)
}

func TestPoolID(t *testing.T) {
	f := func(protocol, segment string, ok bool) {
		t.Helper()
		_, err := PoolID([]byte(protocol), []byte(segment))
		if (err == nil) != ok || err != nil && err.Error() != "Invalid poolId" {
			t.Errorf("%q under %q: got %v; want ok = %v", segment, protocol, err, ok)
		}
	}

	f("swapdex-v4", pool1, true)
	f("swapdex-v9", pool1, true)
	f("swapdex-v4", owner, false)
	f("swapdex-v3", owner, true)
	f("swapdex-v3", pool1, false)
	f("swapdex-v4", "0X"+pool1[2:], false)
	f("swapdex-v4", pool1[2:], false)
	f("swapdex-v4", "", false)
}

func FuzzPools(f *testing.F) {
	f.Add("chainId=1&sort=volume&page=3&limit=7&minTvlUsd=1e3&search=a%20b+c%E2%82%AC&includeRisky=0")
	f.Add("search=%f0%9f%98%80&;=")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := chains.Pools([]byte(raw), new(Options))
		if err != nil {
			return
		}
		printed := AppendPools(nil, &q)
		if again, err := chains.Pools(printed, new(Options)); err != nil || !reflect.DeepEqual(q, again) {
			t.Errorf("%q: %+v prints as %q, which is %+v, %v", raw, q, printed, again, err)
		}
	})
}
