package edge

import (
	"fmt"
	"io"
	"log/slog"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// bench is a server without a network: the handler is called as fasthttp does.
func bench(b *testing.B, change func(*Config)) (ask func(path string) []byte) {
	b.Helper()
	f := &front{}
	cfg := config(f, sharedNode())
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
		ctx.Request.Header.Set(headerKey, key)
		ctx.Response.Reset()
		s.serve(&ctx)
		if code := ctx.Response.StatusCode(); code != 200 {
			b.Fatalf("%s: %d %s", path, code, ctx.Response.Body())
		}
		return ctx.Response.Body()
	}
}

func uncached(c *Config) { c.NoPageCache = true }

// cpu reports the process's CPU time an operation, which a busy machine
// changes less than the time that passes.
func cpu(b *testing.B) (report func()) {
	var from, to syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &from))
	return func() {
		must(syscall.Getrusage(syscall.RUSAGE_SELF, &to))
		spent := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
		b.ReportMetric(float64(spent)/1000/float64(b.N), "cpu-us/op")
	}
}

func BenchmarkHotPage(b *testing.B) {
	ask := bench(b, nil)
	b.SetBytes(int64(len(ask("/v1/positions"))))
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		ask("/v1/positions")
	}
}

// BenchmarkUncachedPage asks for another page or sort of 20 real rows each
// time, with the page cache off.
func BenchmarkUncachedPage(b *testing.B) {
	ask := bench(b, uncached)
	var paths []string
	for page := 1; page <= 5; page++ {
		for _, sort := range rankings.PositionSorts {
			paths = append(paths, fmt.Sprintf("/v1/positions?sort=%s&page=%d&includeRisky=1&minPoolTvl=0", sort, page))
		}
	}
	for _, path := range paths {
		b.SetBytes(int64(len(ask(path))))
	}
	b.ReportAllocs()
	b.ResetTimer()
	defer cpu(b)()
	for i := 0; b.Loop(); i++ {
		ask(paths[i%len(paths)])
	}
}

func BenchmarkDetail(b *testing.B) {
	ask := bench(b, uncached)
	path, entries := busiest()
	b.ReportAllocs()
	defer cpu(b)()
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
			defer cpu(b)()
			for b.Loop() {
				ask(path + "/charts?range=" + which)
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	ask := bench(b, uncached)
	path, _ := busiest()
	for b.Loop() {
		ask(path + "/explain")
	}
}
