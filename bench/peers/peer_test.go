package main

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"tidemark/edge/query"
	"tidemark/rankings"
)

// made is a corpus of random rows with many ties, in a file.
func made(t *testing.T) (path string, c *columns) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var file []byte
	for _, chain := range []uint32{1, 42161, 43114} {
		for id := range 700 {
			w := row{chain: chain, tvl: r.Float64() * 60_000, value: math.Exp(r.Float64() * 12)}
			for i := range w.scores {
				w.scores[i] = float64(r.IntN(40)) // ties
			}
			if r.IntN(9) == 0 {
				w.scores[r.IntN(6)] = math.Inf(1)
			}
			if r.IntN(9) == 0 {
				w.tvl = math.NaN()
			}
			if r.IntN(9) == 0 {
				w.value = math.NaN()
			}
			for flag, likely := range map[flags]int{isOpen: 3, isInRange: 2, isSafe: 4} {
				if r.IntN(likely+1) > 0 {
					w.flags |= flag
				}
			}
			if w.flags.has(isOpen) && w.value > 0 {
				w.flags |= isValued
			}
			if w.flags.has(isSafe) && w.tvl >= rankings.DefaultMinPoolTVLUsd {
				w.flags |= isStandard
			}
			file = appendRow(file, &w, fmt.Appendf(nil, `,"chainId":%d,"positionId":"%d"}`, chain, id))
		}
	}
	path = filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := readColumns(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, c
}

// model answers a question by looking at every row.
func model(c *columns, q *rankings.PositionQuestion) (rows []int, total int) {
	for i := range c.rows {
		w := &c.rows[i]
		ok := q.Chain == 0 || uint32(q.Chain) == w.chain
		ok = ok && (q.Status == rankings.AnyStatus || w.flags.has(isOpen))
		ok = ok && (q.IncludeRisky || w.flags.has(isSafe))
		ok = ok && (q.MinPoolTVLUsd <= 0 || w.tvl >= q.MinPoolTVLUsd)
		ok = ok && (q.MinValueUsd <= 0 || w.value >= q.MinValueUsd)
		ok = ok && (q.Range == rankings.AnyRange || w.flags.has(isInRange) == (q.Range == rankings.InRange))
		ok = ok && (!leavesOut(q.Sort) || w.flags.has(isValued))
		if ok {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		return cmp.Compare(c.rows[a].scores[q.Sort], c.rows[b].scores[q.Sort])
	})
	total = len(rows)
	from := min(int(q.Offset()), total)
	return rows[from:min(from+int(q.Limit), total)], total
}

// The answers of SQLite, behind its front, are those of the model: every kind
// of question, and a few besides.
func TestSQLite(t *testing.T) {
	path, c := made(t)
	all, err := markAll(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "peer.sqlite")
	for range 2 { // made, and replaced
		if err := loadSQLite(at, path, c, all); err != nil {
			t.Fatal(err)
		}
	}
	p, err := openSQLite(context.Background(), at, c.chains)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	address := served(t, p, c.chains)
	s := siteOf(c)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range questions {
		q := &questions[i]
		for n := range uint64(150) {
			checkModel(t, c, address, q.peerPath(), string(q.ask(s, nil, n, r)))
		}
	}
	checkModel(t, c, address, listPath, "?page=100000")
	checkModel(t, c, address, listPath, "?limit=100&sort=age&page=3")
	checkModel(t, c, address, countedPath, "?limit=7&sort=nft_id_desc&chainId=42161&page=2")
	checkModel(t, c, address, listPath, "?sort=pnl&minValueUsd=1&minPoolTvl=0.5")
}

// SQLite answers every list, and every filter above the default floor, from an
// index alone, and seeks the mark from which a page begins.
func TestPlans(t *testing.T) {
	path, c := made(t)
	all, err := markAll(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "peer.sqlite")
	if err := loadSQLite(at, path, c, all); err != nil {
		t.Fatal(err)
	}
	db, err := openFile("file:" + at + "?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	conn := &sqliteConn{db: db, ready: map[string]*sqlite3.SQLiteStmt{}}
	defer conn.close()
	f := func(text string, args int, parts ...string) {
		t.Helper()
		plan := ""
		values := make([]driver.Value, args)
		err := conn.each("EXPLAIN QUERY PLAN "+text, func(v []driver.Value) { plan += v[3].(string) + "\n" }, values...)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(parts, "COVERING INDEX of_") {
			if !strings.Contains(plan, part) {
				t.Errorf("%s: no %q in the plan\n%s", text, part, plan)
			}
		}
	}
	for _, l := range lists(c.chains) {
		args := 3
		if l.chain != 0 {
			args = 4
		}
		f(pageText(l, pageRows), args, sortColumns[l.sort]+",row)>(?,?)")
		f(countText(l), args-3)
	}
	for sort := range rankings.PositionSort(sortCount) {
		q := rankings.DefaultPositionQuestion()
		q.Sort, q.MinValueUsd, q.Range = sort, 5, rankings.OutOfRange
		page, count := filterTexts(&q)
		f(page, 3, "of_"+sortColumns[sort])
		f(count, 2, "of_value (value>?)")
	}
}

func served(t *testing.T, p peer, chains []uint32) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := serverOf(newFront(p, chains).handle)
	go func() { _ = server.Serve(listener{l}) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return l.Addr().String()
}

func checkModel(t *testing.T, c *columns, address, path, raw string) {
	t.Helper()
	chains := query.Chains{{ID: 1, Enabled: true}, {ID: 42161, Enabled: true}, {ID: 43114, Enabled: true}}
	q, err := chains.Positions([]byte(strings.TrimPrefix(raw, "?")))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	body, err := ask(address, path+raw, "")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var got struct {
		Positions []struct {
			Rank       uint64
			ChainID    uint32
			PositionID string
		}
		Pagination struct {
			Total   int
			HasMore bool
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%s: %v: %.200s", raw, err, body)
	}
	rows, total := model(c, &q)
	want := make([]string, 0, len(rows))
	for i, at := range rows {
		want = append(want, fmt.Sprint(q.Offset()+uint64(i)+1, c.rows[at].chain, at%700))
	}
	var have []string
	for _, p := range got.Positions {
		have = append(have, fmt.Sprintf("%d %d %s", p.Rank, p.ChainID, p.PositionID))
	}
	if !slices.Equal(have, want) {
		t.Errorf("%s%s has %v; want %v", path, raw, have, want)
	}
	more := q.Offset()+uint64(len(rows)) < uint64(total)
	if got.Pagination.Total != total || got.Pagination.HasMore != more {
		t.Errorf("%s%s has %+v; want %d, %v", path, raw, got.Pagination, total, more)
	}
}

func siteOf(c *columns) *site {
	s := &site{chains: c.chains, rows: uint64(len(c.rows)), totals: map[list]uint64{}}
	for _, l := range lists(c.chains) {
		s.totals[l] = uint64(len(c.sorted(l)))
	}
	return s
}

// dumb answers every question with the same rows.
type dumb struct{ rows []string }

func (d dumb) answer(out *page, _ *asked) error {
	for _, r := range d.rows {
		out.add([]byte(r))
	}
	out.total = uint64(len(d.rows))
	return nil
}

func (d dumb) close() {}

// Answers that differ are noticed, and a peer that cannot is told from one
// that errs.
func TestCompare(t *testing.T) {
	node := served(t, dumb{[]string{`,"chainId":1,"positionId":"1"}`, `,"chainId":1,"positionId":"2"}`}}, []uint32{1})
	q := &questions[1]
	f := func(p peer, complaint string) {
		t.Helper()
		equal, err := q.compare(new(site), node, "", served(t, p, []uint32{1}))
		if complaint == "" {
			if err != nil || equal != comparisons {
				t.Errorf("%d answers are equal: %v", equal, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%v; want %q", err, complaint)
		}
	}
	f(dumb{[]string{`,"chainId":1,"positionId":"1"}`, `,"chainId":1,"positionId":"2"}`}}, "")
	f(dumb{[]string{`,"chainId":1,"positionId":"2"}`, `,"chainId":1,"positionId":"1"}`}}, "has the rows [1/1 1/2]")
	f(dumb{[]string{`,"chainId":1,"positionId":"1"}`, `,"positionId":"2","chainId":1}`}}, "same, but byte")
	f(unable{}, "cannot")
}

type unable struct{}

func (unable) answer(*page, *asked) error { return errCannot }
func (unable) close()                     {}

// A body of any length arrives whole, one request after the other.
func TestFront(t *testing.T) {
	for _, size := range []int{0, 10, writeBuffer, 100 << 10} {
		rest := `,"x":"` + strings.Repeat("y", size) + `"}`
		address := served(t, dumb{[]string{rest}}, []uint32{1})
		for range 3 {
			body, err := ask(address, listPath, "")
			want := bodyStart + rankMark + "1" + rest +
				`],"pagination":{"page":1,"limit":20,"total":1,"totalPages":1,"hasMore":false}}`
			if err != nil || string(body) != want {
				t.Fatalf("%d bytes: %.100s, %v; want %.100s", size, body, err, want)
			}
		}
		r, err := http.Get(addressMark + address + "/v1/pools")
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 404 || err != nil {
			t.Errorf("another route is %d %s %v", r.StatusCode, said, err)
		}
	}
}

// Totals are told as the node tells them.
func TestPageEnd(t *testing.T) {
	f := func(total, number, rows uint64, want string) {
		t.Helper()
		q := asked{PositionQuestion: rankings.DefaultPositionQuestion()}
		q.Page = number
		var p page
		p.begin(&q)
		p.total, p.rows = total, rows
		p.end(&q)
		_, got, _ := strings.Cut(string(p.body), `"pagination":`)
		if got != want+"}" {
			t.Errorf("total %d, page %d of %d rows: %s; want %s", total, number, rows, got, want)
		}
	}
	f(0, 1, 0, `{"page":1,"limit":20,"total":0,"totalPages":0,"hasMore":false}`)
	f(25_000, 1, 20, `{"page":1,"limit":20,"total":25000,"totalPages":1250,"hasMore":true}`)
	f(25_001, 1, 20, `{"page":1,"limit":20,"total":25000,"totalPages":1250,"hasMore":true,"totalCapped":true}`)
	f(90_000, 2000, 20, `{"page":2000,"limit":20,"total":40001,"totalPages":2001,"hasMore":true,"totalCapped":true}`)
	f(40_000, 2000, 20, `{"page":2000,"limit":20,"total":40000,"totalPages":2000,"hasMore":false,"totalCapped":true}`)
	f(90_000, 9000, 0, `{"page":9000,"limit":20,"total":25000,"totalPages":1250,"hasMore":false,"totalCapped":true}`)
}

func TestListOf(t *testing.T) {
	chains := query.Chains{{ID: 1, Enabled: true}}
	f := func(raw, want string) {
		t.Helper()
		q, err := chains.Positions([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		l, ok := listOf(&q)
		if got := l.name(); ok != (want != "") || ok && got != want {
			t.Errorf("listOf(%s) = %s, %v; want %s", raw, got, ok, want)
		}
	}
	f("", "default:0:apr")
	f("page=7&sort=age&chainId=1", "default:1:age")
	f("sort=pnl&status=all&minPoolTvl=0&includeRisky=true", "every:0:pnl")
	f("sort=apr&status=all&minPoolTvl=0&includeRisky=true", "")
	f("range=in", "")
	f("minValueUsd=0.1", "")
	f("minPoolTvl=999", "")
	f("status=inactive", "")
	if n := len(lists([]uint32{1, 42161})); n != 3*8+5 {
		t.Errorf("two chains have %d lists", n)
	}
}
