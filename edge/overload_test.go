package edge

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// call is one request to a server's handler, without a network.
type call struct {
	code   int
	units  string
	retry  string
	body   string
	lasted time.Duration
}

func (f *front) call(path, key string) call {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetRequestURI(path)
	ctx.Request.Header.SetHost("api.example.com")
	ctx.Request.Header.Set(gate.HeaderKey, key)
	from := time.Now()
	f.server.serve(&ctx)
	h := &ctx.Response.Header
	return call{
		ctx.Response.StatusCode(), string(h.Peek("X-Units-Charged")), string(h.Peek("Retry-After")),
		string(ctx.Response.Body()), time.Since(from),
	}
}

// flood sends requests with new filters, from so many clients of an account, until
// stop is closed, and returns the answers.
func (f *front) flood(key string, clients int, stop <-chan struct{}) (calls []call) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}

				c := f.call(fmt.Sprintf("%s&range=in&minValueUsd=%d.%d", everything, client+1, n), key)
				mu.Lock()
				calls = append(calls, c)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return calls
}

// TestOverload sends more new filters than can run, without a queue. What is
// refused is free and quick, cached pages and seeks are still answered, and
// afterwards everything is.
func TestOverload(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.Queue = 0 })
	flooder, other := s.issue("unlimited", accounts.Server), s.issue("unlimited", accounts.Server)
	s.cached("/v1/positions")

	stop, flooded := make(chan struct{}), make(chan []call, 1)
	go func() { flooded <- s.flood(flooder, 16, stop) }()
	for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
		for _, path := range []string{"/v1/positions", "/v1/positions?page=2", "/v1/pools/1/swapdex-v4/" +
			stateOf(1).Pools.At(0).ID.String(), "/v1/usage"} {
			if c := s.call(path, other); c.code != 200 {
				t.Fatalf("%s under overload: got %d %s", path, c.code, c.body)
			}
		}
	}
	close(stop)

	var answered int64
	var refusals []time.Duration
	for _, c := range <-flooded {
		switch c.code {
		case 200:
			answered++
		case 503:
			refusals = append(refusals, c.lasted)
			if c.units != "0" || c.retry != "1" || !strings.Contains(c.body, "busy") {
				t.Fatalf("a refusal: %s units, Retry-After %s, %s; want 0 and 1", c.units, c.retry, c.body)
			}
		default:
			t.Fatalf("got %d %s", c.code, c.body)
		}
	}
	slices.Sort(refusals)
	if answered == 0 || len(refusals) == 0 {
		t.Fatalf("%d answers and %d refusals; want some of both", answered, len(refusals))
	}
	if median := refusals[len(refusals)/2]; median > 2*time.Millisecond {
		t.Errorf("half of the refusals took more than %s; want at most 2 ms", median)
	}

	tally, _ := s.findKey(flooder).Cell.Tally(s.book.Calendar().This.Month)
	if tally.Billed() != answered {
		t.Errorf("%d units are billed for %d answers and %d refusals", tally.Billed(), answered, len(refusals))
	}
	if c := s.call(everything+"&range=out&minValueUsd=0.5", flooder); c.code != 200 {
		t.Errorf("a new filter afterwards: got %d %s", c.code, c.body)
	}
	if got := s.metric(`tidemark_edge_refused_total{reason="busy"}`); got != fmt.Sprint(len(refusals)) {
		t.Errorf("%s refusals are counted; want %d", got, len(refusals))
	}
}

// TestRefusalsTakeNoToken checks that a request whose work is refused costs neither
// units nor a burst token, and that any other failure takes its token.
func TestRefusalsTakeNoToken(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("free", accounts.Server)
	f := func(err *render.Error, left string) {
		t.Helper()
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.Set(gate.HeaderKey, key)
		r := &request{ctx: &ctx, now: time.Now(), admitted: true}
		r.route = routePositions

		var refused *render.Error
		if r.ticket, refused = s.server.gate.Admit(&ctx, r.now); refused != nil {
			t.Fatal(refused)
		}
		s.server.sendFailure(r, err)
		head := ctx.Response.Header.String()
		if !strings.Contains(head, `RateLimit: "burst";r=`+left+`;`) || !strings.Contains(head, "X-Units-Charged: 0\r\n") {
			t.Errorf("%v: got %s; want %s tokens left and 0 units", err, head, left)
		}
	}

	for range 30 { // the burst is 10
		f(render.Busy("busy", time.Second), "10")
	}
	f(render.Unavailable("unavailable", time.Second), "9")
	f(render.Busy("busy", time.Second), "9")
}

// TestAccountOfWork checks that the work of a request is attributed to the account
// of its key.
func TestAccountOfWork(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("unlimited", accounts.Server)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetRequestURI("/v1/positions")
	ctx.Request.Header.SetHost("api.example.com")
	ctx.Request.Header.Set(gate.HeaderKey, key)

	r := &request{ctx: &ctx, now: time.Now()}
	if err := s.server.answer(r); err != nil {
		t.Fatal(err)
	}
	if want := s.findKey(key).Cell.ID; r.Account != want || want == 0 {
		t.Errorf("the work is of account %d; want %d", r.Account, want)
	}
}
