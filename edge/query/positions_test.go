package query

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

var chains = Chains{{1, true}, {42161, true}, {43114, true}, {10, false}}

const (
	owner = "0xAbCdEf0123456789abcdef0123456789ABCDEF01"
	pool1 = "0x00112233445566778899aAbBcCdDeEfF00112233445566778899aabbccddeeff"
)

func positionQuestion(change func(*rankings.PositionQuestion)) rankings.PositionQuestion {
	q := rankings.DefaultPositionQuestion()
	change(&q)
	return q
}

func TestPositions(t *testing.T) {
	f := func(raw string, change func(*rankings.PositionQuestion)) {
		t.Helper()
		got, err := chains.Positions([]byte(raw), new(Options))
		want := positionQuestion(change)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
	}

	type Q = rankings.PositionQuestion
	f("", func(q *Q) {})
	f("&&", func(q *Q) {})
	f("chainId=42161&protocol=swapdex-v4", func(q *Q) { q.Chain = 42161 })
	f("sort=nft_id_desc", func(q *Q) { q.Sort = rankings.ByIDDescending })
	f("s%6Frt=fee%5fapr", func(q *Q) { q.Sort = rankings.ByFeeAPR })
	f("page=2&limit=100", func(q *Q) { q.Page, q.Limit = 2, 100 })
	f("page=999999999999999999", func(q *Q) { q.Page = 999999999999999999 })
	f("status=all", func(q *Q) { q.Status = rankings.AnyStatus })
	f("range=all", func(q *Q) {})
	f("range=out", func(q *Q) { q.Range = rankings.OutOfRange })
	f("includeRisky=1", func(q *Q) { q.IncludeRisky = true })
	f("includeRisky=tRUE", func(q *Q) { q.IncludeRisky = true })
	f("includeRisky=False", func(q *Q) {})
	f("minValueUsd=1E3&minPoolTvl=2.5E-1", func(q *Q) { q.MinValueUsd, q.MinPoolTVLUsd = 1000, 0.25 })
	f("includeRisky=false", func(q *Q) {})
	f("minValueUsd=-5", func(q *Q) {})
	f("minValueUsd=-0", func(q *Q) {})
	f("minValueUsd=1e2", func(q *Q) { q.MinValueUsd = 100 })
	f("minValueUsd=1.5e%2B2", func(q *Q) { q.MinValueUsd = 150 })
	f("minPoolTvl=12.5e-1", func(q *Q) { q.MinPoolTVLUsd = 1.25 })
	f("minPoolTvl=0", func(q *Q) { q.MinPoolTVLUsd = 0 })
	f("owner="+owner, func(q *Q) {
		a, _ := market.ParseAddress(strings.ToLower(owner))
		q.Owner = &a
	})

	f("poolId="+pool1, func(q *Q) {
		id, _ := market.ParsePoolID(strings.ToLower(pool1))
		q.Pool = &id
	})

	f("positionId=7", func(q *Q) { q.ID = new(uint64(7)) })
	f("positionId=18446744073709551615", func(q *Q) { q.ID = new(uint64(1<<64 - 1)) })
	for _, nobody := range []string{"abc", "007", "-1", "%2B7", "7.0", "18446744073709551616", "+"} {
		f("positionId="+nobody, func(q *Q) { q.NoSuchID = true })
	}
}

func TestPositionsRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		q, err := chains.Positions([]byte(raw), new(Options))
		if err == nil {
			t.Errorf("%q: accepted as %+v; want error %q", raw, q, want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %q; want %q", raw, err, want)
		}
	}

	f("foo=1", `unknown parameter "foo"; allowed are chainId, protocol, sort`)
	f("KC-APIKey=secret", `unknown parameter "KC-APIKey"`)
	f("Page=1", `unknown parameter "Page"`)
	f("=1", `unknown parameter ""`)
	f("minTvlUsd=1", `unknown parameter "minTvlUsd"`)
	f("sort=tvl", `sort "tvl" is not allowed; allowed are apr, fee_apr, roi, pnl,`)
	f("sort=APR", `sort "APR" is not allowed`)
	f("status=open", `status "open" is not allowed; allowed are active, inactive, all`)
	f("range=IN", `range "IN" is not allowed; allowed are all, in, out`)
	f("protocol=swapdex-v3", `protocol "swapdex-v3" is not served; allowed is swapdex-v4`)
	f("includeRisky=yes", `includeRisky "yes" is not allowed; allowed are true, false, 1, 0`)
	f("page=1&page=1", `parameter page is given more than once`)
	f("owner=", `parameter owner has no value`)
	f("owner", `parameter owner has no value`)
	f("page=%zz", `parameter page: malformed percent-encoding "%zz"`)
	f("page=1%2", `malformed percent-encoding "%2"`)
	f("page=1%", `malformed percent-encoding "%"`)
	f("page=%1z", `malformed percent-encoding "%1z"`)
	for _, c := range "/:@G`g" { // beside those of hex digits
		f("page=%1"+string(c), `malformed percent-encoding "%1`+string(c)+`"`)
	}
	f("page=%z1", `malformed percent-encoding "%z1"`)
	f("positionId=%ff", `parameter positionId: its value is not valid UTF-8`)
	f("positionId=\xff", `not valid UTF-8`)
	f("%ff=1", `parameter name: its value is not valid UTF-8`)
	f("chainId=5", `chainId 5 is not registered; registered are 1, 42161, 43114, 10`)
	f("chainId=0", `chainId 0 is not registered`)
	f("chainId=10", `chainId 10 has no enabled protocol here`)
	f("chainId=mainnet", `chainId "mainnet" is not an integer`)
	for _, n := range []string{"%2B5", "+5", "1e1", "1.0", "0x1", "-1", "020", "%201", "1+", "1_0", "٣"} {
		f("page="+n, "is not an integer")
		f("limit="+n, "is not an integer")
	}

	f("page=1000000000000000000", `page "1000000000000000000" is too large; allowed are up to 18 digits`)
	for _, word := range []string{"yes", "t", "tRue ", "fal%C5%BFe", "01"} {
		f("includeRisky="+word, "is not allowed; allowed are true, false, 1, 0")
	}

	f("page=0", "page 0 is out of range; pages count from 1")
	f("limit=0", "limit 0 is out of range; allowed are 1 to 100")
	f("limit=101", "limit 101 is out of range; allowed are 1 to 100")
	for _, x := range []string{"NaN", "Infinity", "inf", "0x10", "1_000", "1e400", ".5", "5.",
		"%2B5", "+5", "1e", "1e%2B", "--1", "-", "1 ", "1.e5"} {
		f("minValueUsd="+x, "is not a finite number; allowed are digits")
		f("minPoolTvl="+x, "is not a finite number")
	}
	f("minValueUsd=1e+3", `"1e 3" is not`)
	f("minValueUsd=1e+3", "1000, 0.5, 1e3") // which can be copied: + is a space

	for _, a := range []string{"abc", owner[:41], owner + "0", "0X" + owner[2:], owner[:41] + "g"} {
		f("owner="+a, "is not an address; the format is 0x and 40 hex digits")
	}

	for _, id := range []string{"abc", pool1[:65], "0X" + pool1[2:], owner} {
		f("poolId="+id, "Invalid poolId")
	}
}

func TestPrintPositions(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		q, err := chains.Positions([]byte(raw), new(Options))
		if got := string(AppendPositions([]byte("?"), &q)); got != "?"+want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", raw, got, err, "?"+want)
		}
	}

	f("", "")
	f("page=1&limit=20&minPoolTvl=1e3&sort=apr&status=active", "")
	f("limit=5&page=3&chainId=1", "chainId=1&page=3&limit=5")
	f("positionId=abc", "positionId=none")
	f("minValueUsd=1e21&includeRisky=1", "minValueUsd=1e%2B21&includeRisky=true")
	f("owner="+owner, "owner="+strings.ToLower(owner))
	f("range=in&status=all&sort=roi", "sort=roi&status=all&range=in")
}

func FuzzPositions(f *testing.F) {
	f.Add("chainId=1&sort=pnl&page=3&limit=7&minValueUsd=1e-7&minPoolTvl=-1")
	f.Add("owner=" + owner + "&poolId=" + pool1 + "&positionId=12&range=in&includeRisky=1")
	f.Add("tokens=" + tokenB + "," + tokenA + "&fee=0&hooks=any")
	f.Add("a=%zz&&=;%00+")

	f.Fuzz(func(t *testing.T, raw string) {
		q, err := chains.Positions([]byte(raw), new(Options))
		if err != nil {
			return
		}

		printed := AppendPositions(nil, &q)
		again, err := chains.Positions(printed, new(Options))
		if err != nil || !reflect.DeepEqual(q, again) {
			t.Errorf("%q: %+v prints as %q, which is %+v, %v", raw, q, printed, again, err)
		}
		if reprinted := AppendPositions(nil, &again); string(reprinted) != string(printed) {
			t.Errorf("%q prints as %q, then as %q", raw, printed, reprinted)
		}
	})
}

func BenchmarkPositions(b *testing.B) {
	raw := []byte("chainId=42161&sort=underlying_value&page=173&limit=20&minValueUsd=1000")
	key := make([]byte, 0, 256)
	for b.Loop() {
		q, err := chains.Positions(raw, new(Options))
		if err != nil {
			b.Fatal(err)
		}
		key = AppendPositions(key[:0], &q)
	}
	b.ReportAllocs()
}

// TestNames: every name of a parameter's values reads as itself, and nothing
// that only looks like one does.
func TestNames(t *testing.T) {
	f := func(names []string, read func(v []byte) (string, error)) {
		t.Helper()
		for _, name := range names {
			if got, err := read([]byte(name)); err != nil || got != name {
				t.Errorf("%q reads as %q, %v", name, got, err)
			}
		}
		for _, name := range []string{"", "APR", names[0] + " ", "x"} {
			if got, err := read([]byte(name)); err == nil {
				t.Errorf("%q reads as %q; want an error", name, got)
			}
		}
	}

	f(rankings.PositionSorts, reads[rankings.PositionSort](rankings.PositionSorts))
	f(rankings.PoolSorts, reads[rankings.PoolSort](rankings.PoolSorts))
	f(rankings.Statuses, reads[rankings.Status](rankings.Statuses))
	f(rankings.Ranges, reads[rankings.Range](rankings.Ranges))
}

// reads returns the reader of one parameter's values.
func reads[T interface {
	~uint8
	String() string
}](names []string) func(v []byte) (string, error) {
	return func(v []byte) (string, error) {
		var to T
		err := parseName(&to, "name", v, names)
		return to.String(), err
	}
}

// TestPositionID: a segment is an id if it is how the id is printed.
func TestPositionID(t *testing.T) {
	f := func(segment string, want uint64, ok bool) {
		t.Helper()
		if id, got := PositionID([]byte(segment)); got != ok || ok && id != want {
			t.Errorf("%q: got %d, %v; want %d, %v", segment, id, got, want, ok)
		}
	}

	f("0", 0, true)
	f("7", 7, true)
	f("10", 10, true)
	f("18446744073709551615", 1<<64-1, true)
	f("18446744073709551616", 0, false)
	f("100000000000000000000", 0, false)
	f("", 0, false)
	f("00", 0, false)
	f("01", 0, false)
	f("1a", 0, false)
	f("-1", 0, false)
}
