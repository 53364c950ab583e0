package main

import (
	"cmp"
	"context"
	crypto "crypto/rand"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	stored "tidemark/bench/corpus"
	"tidemark/bench/process"
	tidemark "tidemark/edge/client/go"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// randomCorpus is a corpus of random rows with many ties.
func randomCorpus() *corpus {
	r := rand.New(rand.NewPCG(7, 7))
	c := &corpus{chains: []uint32{1, 42161, 43114}}
	for _, chain := range c.chains {
		for range 700 {
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

			w.open, w.inRange, w.safe = r.IntN(4) > 0, r.IntN(3) > 0, r.IntN(5) > 0
			w.valued = w.open && w.value > 0
			w.standard = w.safe && w.tvl >= rankings.DefaultMinPoolTVLUsd
			c.rows = append(c.rows, w)
		}
	}
	c.bodies = func(tell func([]byte) error) error {
		for i := range c.rows {
			if err := tell(fmt.Appendf(nil, `,"chainId":%d,"positionId":"%d"}`, c.rows[i].chain, i%700)); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// answerByScan answers a question by looking at every row.
func answerByScan(c *corpus, q *rankings.PositionQuestion) (rows []int, total int) {
	for i := range c.rows {
		w := &c.rows[i]
		ok := q.Chain == 0 || uint32(q.Chain) == w.chain
		ok = ok && (q.Status == rankings.AnyStatus || w.open)
		ok = ok && (q.IncludeRisky || w.safe)
		ok = ok && (q.MinPoolTVLUsd <= 0 || w.tvl >= q.MinPoolTVLUsd)
		ok = ok && (q.MinValueUsd <= 0 || w.value >= q.MinValueUsd)
		ok = ok && (q.Range == rankings.AnyRange || w.inRange == (q.Range == rankings.InRange))
		ok = ok && (!leavesOut(q.Sort) || w.valued)
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

// openPeer starts a database on a corpus, in a directory that others may enter.
func openPeer(t *testing.T, name string, rows *corpus) peer {
	t.Helper()
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p, err := databases[name](t.Context(), dir)
	if errors.Is(err, errNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})

	_, server := p.about()
	w := startClock(server)
	if err := p.load(t.Context(), rows, w); err != nil || w.spent() <= 0 {
		t.Fatalf("loading took %s: %v", w.spent(), err)
	}
	return p
}

// The answers of every database that is installed are those of the model.
func TestPeers(t *testing.T) {
	for name := range databases {
		t.Run(name, func(t *testing.T) {
			rows := randomCorpus()
			checkPeer(t, openPeer(t, name, rows), rows, name != "Redis")
		})
	}
}

// checkPeer asks, behind a front, in every order, on every chain, for deep pages,
// and with filters, unless the peer has none.
func checkPeer(t *testing.T, p peer, c *corpus, filters bool) {
	address := servePeer(t, p, c)
	f := func(path string) {
		t.Helper()
		checkModel(t, c, address, path)
	}

	for _, sort := range rankings.PositionSorts {
		for _, chain := range []string{"", "&chainId=1", "&chainId=43114"} {
			for page := 1; page < 40; page += 6 {
				f(fmt.Sprintf("%s?sort=%s&page=%d%s", listPath, sort, page, chain))
			}
			f(countedMark + listPath + "?sort=" + sort + chain)
		}
		f(listPath + "?status=all&minPoolTvl=0&includeRisky=true&page=99&sort=" + rankings.PositionSorts[rankings.ByPnl])
	}
	f(listPath + "?page=100000")
	f(listPath + "?limit=100&sort=age&page=3")
	f(countedMark + listPath + "?limit=7&sort=nft_id_desc&chainId=42161&page=2")
	f(keyedMark + countedMark + listPath)

	if filters {
		for n := range uint64(150) {
			f(listPath + string(stored.AppendFilter(nil, n+1)))
		}
		f(listPath + "?sort=pnl&minValueUsd=1&minPoolTvl=0.5")
	}
}

// SQLite answers every list, and every filter above the default floor, from an
// index alone, and seeks the mark from which a page begins.
func TestPlans(t *testing.T) {
	c := randomCorpus()
	p := openPeer(t, "SQLite", c).(*sqlPeer)
	conn := (<-p.idle).(*sqliteSession)
	defer conn.close()

	f := func(text string, args int, parts ...string) {
		t.Helper()
		plan := ""
		err := conn.each("EXPLAIN QUERY PLAN "+text, make([]any, args), func(v []driver.Value) {
			plan += v[3].(string) + "\n"
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(parts, "COVERING INDEX of_") {
			if !strings.Contains(plan, part) {
				t.Errorf("%s: no %q in the plan\n%s", text, part, plan)
			}
		}
	}
	for _, l := range listsOf(c.chains) {
		args := len(l.arguments(place{}, 0))
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

// testKey is one that every front of the tests knows.
var testKey, _ = accounts.NewKey(crypto.Reader, accounts.Server)

// servePeer serves a peer and returns the address.
func servePeer(t *testing.T, p peer, c *corpus) (address string) {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(testKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := readBook(keys)
	if err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := serverOf(&front{p, c.parser(), []byte("{}"), book})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return l.Addr().String()
}

func ask(t *testing.T, address, path, key string) *process.Answer {
	t.Helper()
	a, err := process.Ask(address, path, key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func checkModel(t *testing.T, c *corpus, address, path string) {
	t.Helper()
	_, raw, _ := strings.Cut(path, "?")
	q, err := c.parser().Positions([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var got tidemark.PositionList
	a := ask(t, address, path, testKey)
	if err := json.Unmarshal(a.Body, &got); err != nil {
		t.Fatalf("%s: %v: %.200s", path, err, a.Body)
	}

	rows, total := answerByScan(c, &q)
	var want, have []string
	for i, at := range rows {
		want = append(want, fmt.Sprintf("%d %d %d", q.Offset()+uint64(i)+1, c.rows[at].chain, at%700))
	}
	for _, p := range got.Positions {
		have = append(have, fmt.Sprintf("%d %d %s", p.Rank, p.ChainID, p.PositionID))
	}
	if !slices.Equal(have, want) {
		t.Errorf("%s has %v; want %v", path, have, want)
	}
	more := q.Offset()+uint64(len(rows)) < uint64(total)
	if got.Pagination.Total != int64(total) || got.Pagination.HasMore != more {
		t.Errorf("%s has %+v; want %d, %v", path, got.Pagination, total, more)
	}
}

// dumb answers every question with the same row.
type dumb struct{ row string }

func (d dumb) answer(out *page, q *asked) error {
	if q.MinValueUsd > 0 {
		return errCannot
	}
	out.add([]byte(d.row))
	out.total = 1
	return nil
}

func (dumb) about() (string, *process.Child)             { return "", nil }
func (dumb) load(context.Context, *corpus, *clock) error { return nil }
func (dumb) close() error                                { return nil }

// A body of any length arrives whole, one request after the other; what cannot
// be answered says so, and only a known key passes where keys are checked.
func TestFront(t *testing.T) {
	for _, size := range []int{0, 10, 4 << 10, 300 << 10} {
		rest := `,"x":"` + strings.Repeat("y", size) + `"}`
		address := servePeer(t, dumb{rest}, new(corpus))
		want := `{"positions":[` + rankMark + "1" + rest +
			`],"pagination":{"page":1,"limit":20,"total":1,"totalPages":1,"hasMore":false}}`
		for _, path := range []string{listPath, keyedMark + listPath, listPath} {
			if a := ask(t, address, path, testKey); string(a.Body) != want {
				t.Fatalf("%d bytes: %.100s; want %.100s", size, a.Body, want)
			}
		}

		f := func(path, key string, status int, body string) {
			t.Helper()
			if a := ask(t, address, path, key); a.Status != status || !strings.Contains(string(a.Body), body) {
				t.Errorf("%s is %d %.100s; want %d %s", path, a.Status, a.Body, status, body)
			}
		}
		f("/v1/pools", "", 404, "no such route")
		f(listPath+"?minValueUsd=5", "", 500, "cannot")
		f(keyedMark+listPath, testKey[:len(testKey)-1]+"_", 401, "no key")
		f(aboutPath, "", 200, "{}")
	}
}

// Totals are told as the node tells them.
func TestPageEnd(t *testing.T) {
	f := func(total, number, rows uint64, want string) {
		t.Helper()
		q := asked{PositionQuestion: rankings.DefaultPositionQuestion()}
		q.Page = number
		p := page{body: new(fasthttp.Response)}
		p.begin(&q)
		p.total, p.rows = total, rows
		p.end(&q)
		_, got, _ := strings.Cut(string(p.body.Body()), `"pagination":`)
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
