package consistency

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// page makes the body of a page from metrics of its rows, each with the rank
// before it.
func page(pagination string, rows ...string) []byte {
	var all []string
	for _, r := range rows {
		rank, metrics, _ := strings.Cut(r, " ")
		row := ""
		for name, k := range positionFields {
			if name != "rank" && name != "metrics" && name != "positionId" {
				row += fmt.Sprintf(`,%q:%s`, name, sampleOf(k))
			}
		}
		all = append(all, `{"rank":`+rank+`,"positionId":"`+rank+`","metrics":`+metrics+row+`}`)
	}
	return []byte(`{"positions":[` + strings.Join(all, ",") + `],"pagination":` + pagination + `}`)
}

// sampleOf is a value of a type, as JSON.
func sampleOf(k kind) string {
	for _, text := range []string{`1`, `"1"`, `"0x1"`, `true`, `{}`, `[]`} {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil && k.fits(v) {
			return text
		}
	}
	panic("BUG: no sample of " + kindNames[k])
}

func TestCheckAnswer(t *testing.T) {
	const two = `{"page":1,"limit":20,"total":2,"totalPages":1,"hasMore":false}`
	const behind = "no row before it that is behind"
	f := func(path string, status int, body []byte, complaint string) {
		t.Helper()
		err := CheckAnswer(status, path, body)
		if complaint == "" && err != nil || complaint != "" && !strings.Contains(fmt.Sprint(err), complaint) {
			t.Errorf("%s: %v; want %q", path, err, complaint)
		}
	}

	f("/v1/positions", 200, page(two, `1 {"apr":5}`, `2 {"apr":5}`), "")
	f("/v1/positions?sort=pnl", 200, page(two, `1 {"pnlUsd":-1}`, `2 {"pnlUsd":null}`), "")
	f("/v1/positions", 200, page(two, `1 {"apr":4}`, `2 {"apr":5}`), behind)
	f("/v1/positions?sort=pnl", 200, page(two, `1 {"pnlUsd":null}`, `2 {"pnlUsd":7}`), behind)
	f("/v1/positions?sort=age", 200, page(two, `1 {"ageSeconds":9}`, `2 {"ageSeconds":8}`), behind)
	f("/v1/positions?sort=nft_id_desc", 200, page(two, `1 {}`, `2 {}`), behind)
	f("/v1/positions", 200, page(two, `1 {"apr":5}`, `3 {"apr":4}`), "rank is 3; want 2")
	f("/v1/positions?page=2", 200, page(two, `21 {"apr":5}`), "pagination.page is 1; want 2")
	f("/v1/positions", 200, page(`{"page":1,"limit":20,"total":9,"hasMore":true}`, `1 {}`), "hasMore")
	f("/v1/positions", 200, []byte(`{"positions":[{"rank":1}],"pagination":`+two+`}`), "is missing")
	f("/v1/positions", 200, []byte(`{"pools":[]}`), "is missing")
	f("/v1/positions", 200, []byte(`{"positions":[`), "not JSON")
	f("/v1/pools/1/swapdex-v4/0x", 200, []byte(`{}`), "is missing")
	f("/v1/pools/1/swapdex-v4/0x/charts", 200, []byte(`{"range":"30d"}`), "is missing")
	f("/v1/chains", 200, []byte(`[{"id":1}]`), "")
	f("/v1/chains", 200, []byte(`[{]`), "not JSON")
	f("/v1/positions", 429, []byte(`{"error":"slow down"}`), "")
	f("/v1/positions", 503, []byte(`{}`), "without an error")
	f("/v1/positions", 503, []byte(`busy`), "not JSON")
}
