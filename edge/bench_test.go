package edge

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"tidemark/actors/feed/sim"
	"tidemark/edge/gate"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// bench returns a function that calls the server's handler directly, without a
// network.
func bench(b testing.TB, change func(*Config)) (ask func(path string) []byte) {
	b.Helper()
	return benchOn(b, sharedNode(), change)
}

func benchOn(b testing.TB, n *node, change func(*Config)) (ask func(path string) []byte) {
	b.Helper()
	f := &front{}
	cfg := config(f, n)
	cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if change != nil {
		change(&cfg)
	}

	s, err := New(cfg)
	must(err)
	key := f.issue("unlimited", accounts.Server)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	return func(path string) []byte {
		ctx.Request.Header.SetRequestURI(path)
		ctx.Request.Header.Set(gate.HeaderKey, key)
		ctx.Response.Reset()
		s.serve(&ctx)
		if code := ctx.Response.StatusCode(); code != 200 {
			b.Fatalf("%s: %d %s", path, code, ctx.Response.Body())
		}
		return ctx.Response.Body()
	}
}

func uncached(c *Config) { c.NoPageCache = true }

// measureCPU reports CPU time per operation, which depends less on other load of
// the machine than elapsed time.
func measureCPU(b *testing.B) (report func()) {
	var from, to syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &from))
	return func() {
		must(syscall.Getrusage(syscall.RUSAGE_SELF, &to))
		spent := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
		b.ReportMetric(float64(spent)/1000/float64(b.N), "cpu-us/op")
	}
}

// TestHotPageAllocations checks that a page of the cache, its key, burst, units and
// headers included, is served from what is kept.
func TestHotPageAllocations(t *testing.T) {
	ask := bench(t, nil)
	for _, path := range []string{"/v1/positions?sort=pnl&limit=20", "/v1/pools?sort=volume&search=e"} {
		for range 100 { // until the caches have it and every buffer has grown
			ask(path)
		}

		// What other goroutines of the process allocate is counted too, now and then.
		least := math.Inf(1)
		for range 5 {
			least = min(least, testing.AllocsPerRun(1000, func() { ask(path) }))
		}
		if least != 0 {
			t.Errorf("%s: %v allocations a request; want 0", path, least)
		}
	}
}

func BenchmarkHotPage(b *testing.B) {
	ask := bench(b, nil)
	b.SetBytes(int64(len(ask("/v1/positions"))))
	b.ReportAllocs()
	defer measureCPU(b)()
	for b.Loop() {
		ask("/v1/positions")
	}
}

// BenchmarkConnections requests the hot page over 64 connections in turn. It
// includes the work of the client.
func BenchmarkConnections(b *testing.B) {
	f := &front{}
	s, err := New(config(f, sharedNode()))
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() { must(s.Serve(l)) }()
	var conns [64]net.Conn
	for i := range conns {
		conns[i], err = net.Dial("tcp", l.Addr().String())
		must(err)
		defer conns[i].Close()
	}

	request := []byte("GET /v1/positions HTTP/1.1\r\nHost: x\r\n" +
		gate.HeaderKey + ": " + f.issue("unlimited", accounts.Server) + "\r\n\r\n")
	in := make([]byte, 1<<20)
	next := 0
	ask := func() (n int) {
		c := conns[next%len(conns)]
		next++
		_, err := c.Write(request)
		must(err)
		for n == 0 || !bytes.HasSuffix(in[:n], []byte("}}")) {
			more, err := c.Read(in[n:])
			must(err)
			n += more
		}
		return n
	}

	for range conns {
		b.SetBytes(int64(ask()))
	}

	b.ReportAllocs()
	b.ResetTimer()
	defer measureCPU(b)()

	for b.Loop() {
		ask()
	}
}

// askInTurn measures requests for paths, one after the other, once each was asked for.
func askInTurn(b *testing.B, ask func(path string) []byte, paths []string) {
	for _, path := range paths {
		b.SetBytes(int64(len(ask(path))))
	}

	b.ReportAllocs()
	b.ResetTimer()
	defer measureCPU(b)()
	for i := 0; b.Loop(); i++ {
		ask(paths[i%len(paths)])
	}
}

// BenchmarkUncachedPage requests a different page or sort each time, with the page
// cache off.
func BenchmarkUncachedPage(b *testing.B) {
	ask := bench(b, uncached)
	var paths []string
	for page := 1; page <= 5; page++ {
		for _, sort := range rankings.PositionSorts {
			paths = append(paths, fmt.Sprintf("/v1/positions?sort=%s&page=%d&includeRisky=1&minPoolTvl=0", sort, page))
		}
	}

	askInTurn(b, ask, paths)
}

// BenchmarkLaterPage requests pages of a filter that was used before and has more
// rows than are counted, with the page cache off.
func BenchmarkLaterPage(b *testing.B) {
	ask := bench(b, func(c *Config) { c.NoPageCache, c.Limits.TotalCap = true, 110 })
	var paths []string
	for page := 5; page > 0; page-- {
		paths = append(paths, fmt.Sprintf("/v1/positions?minPoolTvl=0&includeRisky=1&range=in&page=%d", page))
	}

	askInTurn(b, ask, paths)
}

func BenchmarkDetail(b *testing.B) {
	ask := bench(b, uncached)
	path, entries := busiest()
	b.ReportAllocs()
	defer measureCPU(b)()
	for b.Loop() {
		ask(path)
	}
	b.ReportMetric(float64(entries), "entries")
}

func BenchmarkHealth(b *testing.B) {
	ask := bench(b, uncached)
	for b.Loop() {
		ask("/health")
	}
}

func BenchmarkCharts(b *testing.B) {
	for _, which := range []string{"30d", "all"} {
		b.Run(which, func(b *testing.B) {
			ask := bench(b, uncached)
			path, _ := busiest()
			b.ReportAllocs()
			defer measureCPU(b)()
			for b.Loop() {
				ask(path + "/charts?range=" + which)
			}
		})
	}
}

// BenchmarkLong uses a chain with 14 months of data. It requests the detail of the
// position with the longest history (a thousand transactions), its charts and the
// charts of its pool.
func BenchmarkLong(b *testing.B) {
	n := &node{dir: b.TempDir(), board: new(rankings.Board)}
	var err error
	n.store, err = storage.Open(n.dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	defer func() { must(n.store.Close()) }()

	n.grow(sim.Config{Chain: 1, Positions: 40, Pools: 5, Days: 430, Actions: 6500})
	c, _ := n.board.Load().Chain(1)
	st := c.View.State
	most := st.Positions.At(0)
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if days := (st.Now() - int64(p.MintedAt)) / market.Day; p.IsOpen() && days > 365 && p.Entries >= most.Entries {
			most = p
		}
	}

	f := func(name, path string) {
		b.Run(name, func(b *testing.B) {
			ask := benchOn(b, n, uncached)
			days := bytes.Count(ask(path), []byte(`"open":`))
			b.ReportAllocs()
			b.ResetTimer()
			report := measureCPU(b)
			for b.Loop() {
				ask(path)
			}
			report()
			b.ReportMetric(float64(days), "days")
			b.ReportMetric(float64(most.Entries), "entries")
		})
	}

	position := fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", most.ID)
	pool := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s", st.Pools.At(most.Pool).ID)
	f("detail", position)
	f("position 30d", position+"/charts")
	f("position all", position+"/charts?range=all")
	f("pool 30d", pool+"/charts")
	f("pool all", pool+"/charts?range=all")
}

func BenchmarkExplain(b *testing.B) {
	ask := bench(b, uncached)
	path, _ := busiest()
	for b.Loop() {
		ask(path + "/explain")
	}
}
