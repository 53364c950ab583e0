package edge

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// every are the filters of a list of everything.
const every = "status=all&sort=nft_id_asc&minPoolTvl=0&includeRisky=true"

// exported is an export taken apart.
type exported struct {
	rows []string // lines, without the last one
	end  map[string]any
}

// lines takes an answer of NDJSON apart, and checks that the trailer has its last line.
func (a answer) lines(t *testing.T) (e exported) {
	t.Helper()
	e.rows = strings.Split(strings.TrimSuffix(a.body, "\n"), "\n")
	last := e.rows[len(e.rows)-1]
	e.rows = e.rows[:len(e.rows)-1]
	if err := json.Unmarshal([]byte(last), &e.end); err != nil || a.code != 200 {
		t.Fatalf("an export of %d ends with %.300q: %v", a.code, last, err)
	}
	if got := a.trailer.Get("X-Export-End"); got != last {
		t.Errorf("the trailer has %q; the last line is %q", got, last)
	}
	return e
}

// paged returns the rows of all pages of a list, as they stand in its answers.
func (f *front) paged(list, query, generation string) (rows []string) {
	f.t.Helper()

	for page, more := 1, true; more; page++ {
		a := f.get(fmt.Sprintf("/v1/%s?%s&limit=100&page=%d&generation=%s", list, query, page, generation))
		var body struct {
			Positions, Pools []json.RawMessage
			Pagination       struct{ HasMore bool }
		}
		must(json.Unmarshal([]byte(a.body), &body))
		for _, row := range append(body.Positions, body.Pools...) {
			rows = append(rows, string(row))
		}
		more = body.Pagination.HasMore
	}
	return rows
}

// TestExport compares exports with the pages of a pinned walk, byte for byte, and what
// they cost with their price.
func TestExport(t *testing.T) {
	s := serve(t, nil)
	f := func(list, query string, price, least int) {
		t.Helper()
		a := s.get("/v1/" + list + "/export?" + query)
		generation := a.header.Get(gate.HeaderGeneration)
		e, want := a.lines(t), s.paged(list, query, generation)
		if !slices.Equal(e.rows, want) || len(want) < least {
			t.Errorf("%s?%s: %d rows are not the %d of its pages", list, query, len(e.rows), len(want))
		}
		wantEnd := map[string]any{"end": true, "rows": float64(len(want)), "generation": generation}
		if !reflect.DeepEqual(e.end, wantEnd) || a.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s?%s ends with %v as %s; want %v", list, query, e.end, a.header.Get("Content-Type"), wantEnd)
		}
		units := strconv.Itoa((len(want) + 19) / 20 * price)
		if got := a.trailer.Get("X-Units-Charged"); got != units {
			t.Errorf("%s?%s: %d rows cost %s; want %s", list, query, len(want), got, units)
		}

		// From any row on, the same generation has exactly the rest.
		for _, after := range []int{0, 1, len(want) / 2, len(want) - 1, len(want), len(want) + 7} {
			rest := s.get(fmt.Sprintf("/v1/%s/export?%s&after=%d&generation=%s", list, query, max(after, 0), generation)).lines(t)
			if !slices.Equal(rest.rows, want[min(max(after, 0), len(want)):]) {
				t.Errorf("%s?%s after %d has %d rows", list, query, after, len(rest.rows))
			}
		}
	}

	f("positions", every, 1, 300)
	f("positions", "chainId=42161", 1, 1)
	f("positions", every+"&minValueUsd=10&range=in", 1, 1)
	f("positions", "owner=0x"+strings.Repeat("12", 20), 1, 0)
	f("pools", "includeRisky=true", 2, 40)
	f("pools", "chainId=1&sort=age&search=usd", 2, 1)
}

// TestExportForms checks what rows of selected fields and of CSV have, against the
// rows of NDJSON.
func TestExportForms(t *testing.T) {
	s := serve(t, nil)
	f := func(list, fields string, kept ...string) {
		t.Helper()
		query := "/v1/" + list + "/export?chainId=1&includeRisky=true&fields=" + fields
		whole := s.get("/v1/" + list + "/export?chainId=1&includeRisky=true").lines(t)
		part := s.get(query).lines(t)
		a := s.get(query + "&format=csv")
		table, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		must(err)
		if len(part.rows) != len(whole.rows) || len(table) != 1+len(whole.rows) || !slices.Equal(table[0], kept) ||
			!strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") {
			t.Fatalf("%s: %d rows, %d lines with %v; want %d with %v", fields, len(part.rows), len(table), table[0],
				len(whole.rows), kept)
		}

		for i, text := range whole.rows {
			var row, selected map[string]any
			must(json.Unmarshal([]byte(text), &row))
			must(json.Unmarshal([]byte(part.rows[i]), &selected))
			if got := flatten(selected, ""); len(got) != len(kept) {
				t.Fatalf("%s: a row has %d values; want %d", fields, len(got), len(kept))
			}
			for k, path := range kept {
				want := flatten(row, "")[path]
				if got := flatten(selected, "")[path]; got != want {
					t.Errorf("%s: row %d has %s %v; want %v", fields, i, path, got, want)
				}
				if got := table[i+1][k]; got != cellOf(want) {
					t.Errorf("%s: line %d has %s %q; want %q", fields, i, path, got, cellOf(want))
				}
			}
		}
		var end map[string]any
		must(json.Unmarshal([]byte(a.trailer.Get("X-Export-End")), &end))
		if end["end"] != true || end["rows"] != float64(len(whole.rows)) {
			t.Errorf("the trailer of CSV is %v", end)
		}
	}

	f("positions", "rank", "rank")
	f("positions", "closedAtTimestamp", "closedAtTimestamp") // null, alone on its line
	f("positions", "metrics.apr,token1.symbol,rank,amounts.gas", "rank", "token1.symbol", "amounts.gas.native",
		"amounts.gas.nativeRaw", "amounts.gas.valueUsd", "metrics.apr")
	f("positions", strings.Join(render.PositionFields, ","), render.PositionFields...)
	f("pools", "poolId,fee,metrics.tvlUsd", "poolId", "fee", "metrics.tvlUsd")
	f("pools", strings.Join(render.PoolFields, ","), render.PoolFields...)
}

// flatten returns the values of an object by their paths.
func flatten(v map[string]any, under string) map[string]any {
	all := map[string]any{}
	for name, value := range v {
		if inner, ok := value.(map[string]any); ok {
			for path, leaf := range flatten(inner, under+name+".") {
				all[path] = leaf
			}
		} else {
			all[under+name] = value
		}
	}
	return all
}

// cellOf is a value of JSON as a cell.
func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		text, err := json.Marshal(v)
		must(err)
		return string(text)
	}
	return fmt.Sprint(v)
}

// TestExportExamples holds the examples of the document against two rows of an export.
func TestExportExamples(t *testing.T) {
	s := serve(t, nil)
	f := func(list, fields string) {
		t.Helper()
		query := "chainId=1&includeRisky=true"
		first := s.get("/v1/" + list + "?limit=1&" + query).decoded(t)
		rows := int(first["pagination"].(map[string]any)["total"].(float64))
		path := "/v1/" + list + "/export"
		query = fmt.Sprintf("%s?%s&fields=%s&after=%d", path, query, fields, rows-2)

		checkTextExample(t, path, "application/x-ndjson", s.get(query).body)
		checkTextExample(t, path, "text/csv", s.get(query+"&format=csv").body)
	}

	// Without floats, whose last digits are not the same on every machine.
	f("positions", "rank,positionId,owner,token0.symbol")
	f("pools", "rank,poolId,token0.symbol,fee")
}

// TestExportRefused checks what keeps an export from beginning. Nothing is charged.
func TestExportRefused(t *testing.T) {
	s := serve(t, nil)
	f := func(method, query string, code int, want string) {
		t.Helper()
		a := s.ask(method, "/v1/positions/export?"+query)
		if a.code != code || !strings.Contains(a.body, want) {
			t.Errorf("%s %s: got %d %.300s; want %d with %q", method, query, a.code, a.body, code, want)
		}
		if charged := a.header.Get("X-Units-Charged"); charged != "0" {
			t.Errorf("%s %s: charged %q", method, query, charged)
		}
	}

	f("GET", "page=1", 400, `unknown parameter \"page\"`)
	f("GET", "limit=1", 400, "allowed are chainId, protocol, sort, status")
	f("GET", "format=xml", 400, "ndjson, csv")
	f("GET", "fields=", 400, "fields has no value")
	f("GET", "fields=rank,nothing", 400, `no \"nothing\"; allowed are rank, positionId`)
	f("GET", "fields=met", 400, `no \"met\"`)
	f("GET", "fields=rank,rank", 400, "twice")
	f("GET", "after=-1", 400, "after")
	f("GET", "generation=1:999999,42161:1,43114:1", 410, "start again with generation=pin")
	f("HEAD", "", 405, "")
	f("POST", "", 405, "allowed are GET, OPTIONS")
	if a := s.ask("HEAD", "/v1/pools/export"); a.header.Get("Allow") != "GET, OPTIONS" {
		t.Errorf("HEAD: Allow is %q", a.header.Get("Allow"))
	}
	if a := s.get("/v1/positions?format=csv"); a.code != 400 || strings.Contains(a.body, "allowed are chainId, after") {
		t.Errorf("a list with the parameter of an export: %d %s", a.code, a.body)
	}

	// With a chain left out, a list is partial; an export is not begun.
	partial := serve(t, func(c *Config) { offline(c, chainsWith(1)...) })
	if a := partial.get("/v1/positions/export"); a.code != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("an export without a chain: %d %s", a.code, a.body)
	}
	if a := partial.get("/v1/positions/export?chainId=1"); a.code != 200 {
		t.Errorf("an export of another chain: %d %s", a.code, a.body)
	}
}

// TestExportOfOldClients checks that CSV, which has no last line of its own, is not sent to a
// client of HTTP/1.0, which gets no trailer.
func TestExportOfOldClients(t *testing.T) {
	s := serve(t, nil)
	f := func(format string, code int, ending string) {
		t.Helper()
		key := s.issueWith(100)
		a, closed := s.sendRaw("GET /v1/pools/export?format=" + format + " HTTP/1.0\r\nKC-APIKey: " + key + "\r\n\r\n")
		if a.code != code || !strings.Contains(a.body, ending) || !closed {
			t.Errorf("%s by HTTP/1.0: %d %.300s, closed %v; want %d with %s", format, a.code, a.body, closed, code, ending)
		}
		if charged := s.used(key).Units > 0; charged != (code == 200) {
			t.Errorf("%s by HTTP/1.0: %d, charged %v", format, code, charged)
		}
	}

	f("csv", 400, "format csv needs HTTP/1.1")
	f("ndjson", 200, `{"end":true,`)
}

// TestExportLimit checks that a long list is exported in several answers.
func TestExportLimit(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.ExportRows = 70 })
	var rows []string
	var generation string
	for more, tries := true, 0; more; tries++ {
		path := fmt.Sprintf("/v1/positions/export?%s&after=%d", every, len(rows))
		if generation != "" {
			path += "&generation=" + generation
		}
		e := s.get(path).lines(t)
		rows, generation = append(rows, e.rows...), e.end["generation"].(string)
		if more = e.end["more"] == true; more != (len(e.rows) == 70) || tries > 10 {
			t.Fatalf("%d rows, then %v", len(e.rows), e.end)
		}
	}

	if want := s.paged("positions", every, generation); !slices.Equal(rows, want) {
		t.Errorf("%d rows in all; want %d", len(rows), len(want))
	}
}

// issueWith creates an account of a plan with so many units a month.
func (f *front) issueWith(units int64) string {
	key := f.issue("scale", accounts.Server)
	cell := f.findKey(key).Cell
	plan := cell.Terms().Plan
	plan.MonthlyUnits = units
	f.book.SetTerms(cell, accounts.NewTerms(&plan, false))
	return key
}

// used returns what an account was charged for, and in how many requests.
func (f *front) used(key string) accounts.Count {
	tally, _ := f.findKey(key).Cell.Tally(f.book.Calendar().This.Month)
	all := accounts.Count{}
	for _, c := range tally.Routes {
		all.Requests, all.Units = all.Requests+c.Requests, all.Units+c.Units
	}
	return all
}

// TestExportQuota checks that an export ends with its account's quota, and has what
// was paid for.
func TestExportQuota(t *testing.T) {
	s := serve(t, nil)
	f := func(list, query string, quota int64, rows int) {
		t.Helper()
		key := s.issueWith(quota)
		a := s.get("/v1/"+list+"/export?"+query, gate.HeaderKey+": "+key)
		e := a.lines(t)
		if got := a.header.Get("X-Quota-Limit"); got != strconv.FormatInt(quota, 10) || a.header.Get("RateLimit") == "" {
			t.Errorf("%d units: the headers say a quota of %q and %q", quota, got, a.header.Get("RateLimit"))
		}
		if len(e.rows) != rows || e.end["end"] != false || !strings.Contains(fmt.Sprint(e.end["error"]), "monthly quota exceeded") {
			t.Errorf("%d units: %d rows, then %v; want %d", quota, len(e.rows), e.end, rows)
		}
		if used := s.used(key); used != (accounts.Count{Requests: 1, Units: quota / 2 * 2}) && list == "pools" {
			t.Errorf("%d units: used %+v", quota, used)
		}
		if again := s.get("/v1/"+list+"/export?"+query, gate.HeaderKey+": "+key); again.code != 429 {
			t.Errorf("an export without units: %d %s", again.code, again.body)
		}
	}

	f("positions", every, 1, 20)
	f("positions", every, 7, 140)
	f("positions", every+"&fields=rank", 9, 180)
	f("positions", every+"&fields=rank", 26, 520)
	f("pools", "includeRisky=true", 2, 20)
	f("pools", "includeRisky=true", 3, 20)

	key := s.issueWith(100)
	e := s.get("/v1/positions/export?"+every, gate.HeaderKey+": "+key).lines(t)
	if used, want := s.used(key), int64(len(e.rows)+19)/20; used != (accounts.Count{Requests: 1, Units: want}) {
		t.Errorf("%d rows used %+v; want %d units and one request", len(e.rows), used, want)
	}
	all := fmt.Sprint(1 + 7 + 9 + 26 + (len(e.rows)+19)/20)
	if got := s.metric(`tidemark_edge_units_charged_total{route="position_export"}`); got != all {
		t.Errorf("%s units of exports of positions are counted; want %s", got, all)
	}
}

// crawl begins an export and reads only its head and its first row. The rest does not
// fit the buffers.
func (f *front) crawl(key string) (net.Conn, *bufio.Reader) {
	f.t.Helper()
	c, err := net.Dial("tcp", f.addr)
	must(err)
	f.t.Cleanup(func() { c.Close() })

	must(c.(*net.TCPConn).SetReadBuffer(64 << 10))
	must(c.SetDeadline(time.Now().Add(20 * time.Second)))
	_, err = io.WriteString(c, "GET /v1/positions/export?"+every+" HTTP/1.1\r\nHost: x\r\n"+gate.HeaderKey+": "+key+"\r\n\r\n")
	must(err)

	res, err := http.ReadResponse(bufio.NewReaderSize(c, 4<<10), nil)
	must(err)
	for _, name := range []string{trailerEnd, trailerUnits} {
		if _, ok := res.Trailer[name]; !ok {
			f.t.Errorf("the head of an export announces %v; want %s", res.Trailer, name)
		}
	}
	in := bufio.NewReader(res.Body)
	_, err = in.ReadString('\n')
	must(err)
	return c, in
}

// waitFor waits until a metric has a value.
func (f *front) waitFor(name, want string) {
	f.t.Helper()
	for range 1000 {
		if f.metric(name) == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("%s is %s; want %s", name, f.metric(name), want)
}

// TestExportStops checks that a stop ends an export whose client reads, with its last
// line, and one whose client does not, and what both cost.
func TestExportStops(t *testing.T) {
	s := serve(t, func(c *Config) { c.Connections.UnsentBytes = 64 << 10 })
	reading, silent := s.issueWith(1000), s.issueWith(1000)
	_, in := s.crawl(reading)
	s.crawl(silent)
	time.Sleep(50 * time.Millisecond) // both are blocked

	s.server.long.interrupt()
	rows := 1
	last := ""
	for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
		last = line
		rows++
	}
	rows-- // the last line is none
	s.waitFor("tidemark_edge_long_answers", "0")
	if last != `{"end":false,"error":"the server is stopping"}`+"\n" {
		t.Errorf("an export that was stopped ends with %q", last)
	}
	if used := s.used(reading); rows%20 != 0 || used != (accounts.Count{Requests: 1, Units: int64(rows / 20)}) {
		t.Errorf("%d rows used %+v", rows, used)
	}
	if used := s.used(silent); used.Requests != 1 || used.Units >= int64(rows/20)+10 {
		t.Errorf("a client that did not read used %+v", used)
	}
	if pins := s.metric("tidemark_edge_pins"); pins != "1" {
		t.Errorf("%s cuts are pinned", pins)
	}
}

// TestExportToSlowReader checks that a client that does not read is cut, that others
// are not held up by it, and that it pays for what was sent.
func TestExportToSlowReader(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the grace of slow readers")
	}
	s := serve(t, func(c *Config) { c.Connections.UnsentBytes, c.Connections.ReaderMinRate = 64<<10, 1<<30 })
	slow := s.issueWith(1000)
	_, in := s.crawl(slow)

	for range 3 {
		if e := s.get("/v1/positions/export?" + every).lines(t); e.end["end"] != true {
			t.Fatalf("beside a slow reader: %v", e.end)
		}
	}
	s.waitFor("tidemark_edge_long_answers", "0")
	text, err := io.ReadAll(in)
	if err == nil || strings.Contains(string(text), `"end"`) {
		t.Errorf("a slow reader was not cut: %v", err)
	}
	rows := int64(1 + strings.Count(string(text), "\n"))
	if used := s.used(slow); used.Requests != 1 || used.Units == 0 || used.Units > rows/20 {
		t.Errorf("a client that got %d rows used %+v", rows, used)
	}
}

// TestExportTime checks that an export ends in time, with what it got.
func TestExportTime(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.ExportTime = time.Nanosecond })
	e := s.get("/v1/positions/export?" + every).lines(t)
	if len(e.rows) != 0 || e.end["end"] != false || e.end["error"] != errTooLong.Error() {
		t.Errorf("an export that has no time: %d rows, then %v", len(e.rows), e.end)
	}
}

// TestEndedExport checks that an export whose answer has to end sends no row, whatever it
// waits for at that moment.
func TestEndedExport(t *testing.T) {
	s := serve(t, nil)
	for range 50 { // its turn may come first
		q := &pages.Question{Route: accounts.RoutePositionExport, Now: time.Now().UnixMilli()}
		q.Positions = rankings.DefaultPositionQuestion()
		rows, refused := s.server.pages.OpenExport(q, nil)
		if refused != nil {
			t.Fatal(refused)
		}

		ours, theirs := net.Pipe()
		long := newLongWriter(&conn{Conn: ours}, s.findKey(s.key), time.Time{}, true)
		long.interrupt(errServerStops)
		e := &export{server: s.server, rows: rows, route: routePositionExport, held: true}
		if err := e.sendRows(s.server.packers.pack(long, pages.Identity)); err != errServerStops || e.sent != 0 {
			t.Fatalf("the export ended by %v, with %d rows; want %v without one", err, e.sent, errServerStops)
		}
		rows.Close()
		theirs.Close()
	}
}

// TestExportsOfAccounts checks that an account's exports keep one cut.
func TestExportsOfAccounts(t *testing.T) {
	n := newNode(t)
	g := n.begin(small(1))
	next := func() {
		g.advance()
		g.publish()
	}
	for range 30 {
		g.advance()
	}
	next()
	s := walkable(t, n, func(l *pages.Limits) {})
	opened, err := s.server.pages.OpenExport(&pages.Question{Route: accounts.RoutePositionExport, Account: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	next()

	f := func(account uint64, route accounts.Route, code int) {
		t.Helper()
		q := &pages.Question{Route: route, Account: account}
		q.Cut.Pin = true
		other, err := s.server.pages.OpenExport(q, nil)
		if err == nil {
			other.Close()
		}
		if got := errCode(err); got != code {
			t.Errorf("account %d: got %d; want %d", account, got, code)
		}
	}
	f(2, accounts.RoutePoolExport, 200) // a young cut is joined
	f(3, accounts.RoutePositionExport, 200)
	opened.Close()
	f(2, accounts.RoutePositionExport, 200)
}

// TestRefusedExportKeepsPin checks that an export of other generations, which is refused while
// an account has one under way, leaves the account's pin as it was.
func TestRefusedExportKeepsPin(t *testing.T) {
	n := newNode(t)
	g := n.begin(small(1))
	next := func() query.Generation {
		for range 5 {
			g.advance()
		}
		g.publish()
		return query.Generation{Chain: 1, Number: n.view(1).Generation}
	}
	first := next()
	s := walkable(t, n, func(l *pages.Limits) { l.Pins = 2 })
	export := func(account uint64, named query.Generation, code int) *pages.Export {
		t.Helper()
		q := &pages.Question{Route: accounts.RoutePositionExport, Account: account}
		q.Cut.Named = []query.Generation{named}
		e, err := s.server.pages.OpenExport(q, nil)
		if got := errCode(err); got != code {
			t.Fatalf("account %d, generation %d: got %d, %v; want %d", account, named.Number, got, err, code)
		}
		return e
	}

	opened := export(2, first, 200)
	export(2, next(), 503)
	opened.Close()
	export(3, next(), 200).Close() // in the place of the cut that is nobody's pin
	export(2, first, 200).Close()
}

func errCode(err *render.Error) int {
	if err == nil {
		return 200
	}
	return err.Code
}
