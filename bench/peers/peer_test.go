package main

import (
	crypto "crypto/rand"
	"database/sql/driver"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// randomCorpus is a corpus of random rows.
func randomCorpus() *corpus {
	r := rand.New(rand.NewPCG(7, 7))
	c := &corpus{chains: []uint32{1, 42161, 43114}}
	for i := range 2100 {
		w := row{chain: c.chains[i%3], tvl: r.Float64() * 60_000, value: math.Exp(r.Float64() * 12)}
		w.open, w.inRange, w.safe = r.IntN(4) > 0, r.IntN(3) > 0, r.IntN(5) > 0
		w.valued, w.standard = w.open, w.safe && w.tvl >= rankings.DefaultMinPoolTVLUsd
		for sort := range w.scores {
			w.scores[sort] = float64(r.IntN(40)) // ties
		}
		c.rows = append(c.rows, w)
	}

	c.bodies = func(tell func([]byte) error) (err error) {
		for range c.rows {
			err = errors.Join(err, tell([]byte(`,"chainId":1}`)))
		}
		return err
	}
	return c
}

// Every database that is installed answers as a node does, to the byte: in every
// order, on every chain, on deep pages, with filters where it has any, and with
// the key check and without. It is what bench peers finds out before it times.
func TestAnswersAreTheNodes(t *testing.T) {
	dir, err := os.MkdirTemp("", "peers-test-") // which PostgreSQL's user may enter
	if err = errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := func(name string, args ...string) {
		t.Helper()
		if said, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, said)
		}
	}
	installed := "SQLite"
	if _, err := postgresProgram(); err == nil {
		installed += ",PostgreSQL"
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		installed += ",Redis"
	}

	node, front, data := filepath.Join(dir, "tidemark"), filepath.Join(dir, "peers"), filepath.Join(dir, "corpus")
	run("go", "build", "-C", "../..", "-o", node, "./cmd/tidemark")
	run("go", "build", "-o", front, ".")
	run(node, "bench", "corpus", "--positions", "12000", "--out", data)
	t.Log("compared with", installed)
	run(node, "bench", "peers", "--only", installed, "--corpus", data, "--command", front,
		"--rounds", "0", "--keys", "100")
	interruptWhenLoaded(t, exec.Command(node, "bench", "peers", "--only", "SQLite", "--corpus", data,
		"--command", front, "--length", "1m", "--keys", "100"))
}

// interruptWhenLoaded interrupts a comparison after its peer has loaded the corpus: it says and
// keeps what that took, and that it was cut short.
func interruptWhenLoaded(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "peers.ndjson")
	var said process.Output
	cmd.Args = append(cmd.Args, "--out", kept)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	for !strings.Contains(said.String(), "loaded with") {
		select {
		case err := <-ended:
			t.Fatalf("it ended with %v: %s", err, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	cmd.Process.Signal(os.Interrupt)
	if err := <-ended; err == nil {
		t.Error("it ended as if it had compared everything")
	}

	text, err := os.ReadFile(kept)
	if err != nil || !strings.Contains(string(text), `"cut":"interrupt signal received"`) ||
		!strings.Contains(string(text), `"name":"SQLite: refresh"`) {
		t.Errorf("it kept %s, %v", text, err)
	}
	if !strings.Contains(said.String(), "cut short, not everything was measured: interrupt signal received") {
		t.Errorf("it said %s", said.String())
	}
}

// SQLite answers every list, and every filter above the default floor, from an
// index alone, and seeks the mark from which a page begins.
func TestPlans(t *testing.T) {
	c := randomCorpus()
	opened, err := openSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, w := opened.(*sqlPeer), startClock(nil)
	if err := p.load(t.Context(), c, w); err != nil || w.spent() <= 0 {
		t.Fatalf("loading took %s: %v", w.spent(), err)
	}
	defer p.close()
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
		f(pageText(l, pageRows), args, l.sort.String()+",row)>(?,?)")
		f(countText(l), args-3)
	}
	for sort := range rankings.PositionSort(sortCount) {
		q := rankings.DefaultPositionQuestion()
		q.Sort, q.MinValueUsd, q.Range = sort, 5, rankings.OutOfRange
		page, count := filterTexts(&q)
		f(page, 3, "of_"+sort.String())
		f(count, 2, "of_value (value>?)")
	}
}

// Where keys are checked, only a known one passes.
func TestAdmit(t *testing.T) {
	key, err := accounts.NewKey(crypto.Reader, accounts.Server)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := readBook(path)
	if err != nil {
		t.Fatal(err)
	}

	f := func(key string, want bool) {
		t.Helper()
		if got := (&front{book: book}).admit([]byte(key), new(accounts.Ticket)); got != want {
			t.Errorf("%q passes: %v", key, got)
		}
	}
	f(key, true)
	f(key[:len(key)-1]+"_", false)
	f("", false)
}

// A server that does not start leaves nothing behind: neither a program that is none, nor
// one that has no directory.
func TestServerDoesNotStart(t *testing.T) {
	path, programs, scratch := os.Getenv("PATH"), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "redis-server"), []byte("none"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", scratch)
	f := func(name, inPath, dir string) {
		t.Helper()
		t.Setenv("PATH", inPath)
		if p, err := databases[name](t.Context(), dir); err == nil {
			t.Errorf("%s was opened", name)
			p.close()
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}

	f("Redis", programs, t.TempDir())
	f("Redis", path, filepath.Join(scratch, "none"))
	f("PostgreSQL", path, filepath.Join(scratch, "none"))
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
