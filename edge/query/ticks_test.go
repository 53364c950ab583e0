package query

import (
	"fmt"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	f := func(raw string, want Paging) {
		t.Helper()
		if got, err := Ticks([]byte(raw)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
	}

	f("", Paging{1, 100})
	f("page=3", Paging{3, 100})
	f("limit=1000&page=2", Paging{2, 1000})
	f("page=999999999999999999&limit=1", Paging{999999999999999999, 1})
}

func TestTicksRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got, err := Ticks([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want %q", raw, got, err, want)
		}
	}

	f("page=0", "page 0 is out of range; pages count from 1")
	f("limit=0", "limit 0 is out of range; allowed are 1 to 1000")
	f("limit=1001", "limit 1001 is out of range; allowed are 1 to 1000")
	f("limit=", "parameter limit has no value")
	f("page=1&page=1", "parameter page is given more than once")
	f("page=-1", `page "-1" is not an integer`)
	f("range=30d", `unknown parameter "range"; allowed are page, limit`)
}

func FuzzTicks(f *testing.F) {
	f.Add("page=3&limit=1000")
	f.Add("limit=%31&&page=")

	f.Fuzz(func(t *testing.T, raw string) {
		q, err := Ticks([]byte(raw))
		if err != nil {
			return
		}
		again, err := Ticks(fmt.Appendf(nil, "page=%d&limit=%d", q.Page, q.Limit))
		if err != nil || again != q || q.Limit < 1 || q.Limit > maxTicks {
			t.Errorf("%q: %+v, then %+v, %v", raw, q, again, err)
		}
	})
}
