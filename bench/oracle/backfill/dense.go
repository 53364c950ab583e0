package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/rpc"
	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// taken is how a node took a history.
type taken struct {
	first time.Duration // until its first blocks were there
	took  time.Duration // from then on
	cpu   time.Duration // of this process meanwhile
	calls int64         // that the provider answered
	state string        // digest of what it holds
}

func (t *taken) rate(events int) float64 { return float64(events) / t.took.Seconds() }

// withoutContracts hides that a feed can be asked for the contracts' storage, which
// the mock does not have.
type withoutContracts struct{ feed.Feed }

// take has a node with an empty store take a history from a feed.
func take(
	r *recording, source feed.Feed, limit time.Duration, calls func() int64,
) (*taken, error) {
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	quiet, set := slog.New(slog.DiscardHandler), metrics.NewSet()
	store, err := storage.Open(dir, storage.Options{Logger: quiet})
	if err != nil {
		return nil, err
	}
	defer store.Close()

	runtime.GC() // what was before is not this run's
	var board rankings.Board
	opened := time.Now()
	node, err := actors.Start([]actors.ChainSpec{spec(source, set, quiet)}, store, &board,
		2*time.Second, accounts.NewClock(time.Now()), set, quiet)
	if err != nil {
		return nil, err
	}
	defer stop(node)

	t := new(taken)
	begun := func(c *rankings.Chain) bool { return c.Status.LastIndexed.Number > 0 }
	if err := await(&board, limit, begun); err != nil {
		return nil, err
	}
	started, cpu := time.Now(), process.Own()
	t.first = started.Sub(opened)
	indexed := func(c *rankings.Chain) bool { return c.Status.LastIndexed.Number >= r.head.Number }
	if err := await(&board, limit, indexed); err != nil {
		return nil, err
	}
	t.took, t.cpu, t.calls = time.Since(started), process.Own()-cpu, calls()
	shown := func(c *rankings.Chain) bool {
		return c.View != nil && c.View.State.Head.Number >= r.head.Number
	}
	if err := await(&board, limit, shown); err != nil {
		return nil, err
	}
	c, _ := board.Load().Chain(1)
	t.state = digest(c.View.State)
	return t, nil
}

func spec(source feed.Feed, set *metrics.Set, log *slog.Logger) actors.ChainSpec {
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = stables, wrapped
	return actors.ChainSpec{Feed: source, Config: chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: positions, Start: 1},
		Prices: params, UnavailableAfter: 10 * time.Minute, Log: log,
		Metrics: chain.NewMetrics(set, 1),
	}}
}

func stop(node *actors.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := node.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cannot stop a node:", err)
	}
}

// await waits until the chain satisfies a condition.
func await(board *rankings.Board, limit time.Duration, ok func(*rankings.Chain) bool) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c, found := board.Load().Chain(1); found && ok(c) {
			return nil
		}
	}
	c, _ := board.Load().Chain(1)
	return fmt.Errorf("the chain is not where it should be after %s: %+v", limit, c.Status)
}

// digest identifies the pools, ticks and positions of a state.
func digest(s *market.State) string {
	h := fnv.New128a()
	for i := range s.Pools.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Pools.At(i))
	}
	for i := range s.Ticks.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Ticks.At(i))
	}
	for i := range s.Positions.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Positions.At(i))
	}
	return fmt.Sprintf("%x of %d pools, %d ticks, %d positions", h.Sum(nil)[:6], s.Pools.Len(),
		s.Ticks.Len(), s.Positions.Len())
}

// served is a provider with its address.
type served struct {
	*provider
	url    string
	server *http.Server
}

func serve(h http.Handler) (url string, s *http.Server, err error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s = &http.Server{Handler: h}
	go func() { _ = s.Serve(at) }()
	return "http://" + at.Addr().String(), s, nil
}

func serveProvider(c *mockChain, p plan) (*served, error) {
	s := &served{provider: newProvider(c, p)}
	var err error
	s.url, s.server, err = serve(s.provider)
	return s, err
}

func (s *served) close() { _ = s.server.Close() }

// newFeed makes a feed of a provider. It is told of the plan what its operator knows.
func newFeed(s *served, inFlight int, subscription string) (*rpc.Feed, error) {
	endpoints := []rpc.EndpointConfig{{Name: s.name, URL: s.url, RequestsPerSecond: s.perSecond}}
	if subscription != "" {
		endpoints = append(endpoints, rpc.EndpointConfig{
			Name: "heads", URL: "ws" + strings.TrimPrefix(subscription, "http"),
		})
	}
	return rpc.New(rpc.Config{
		Chain: s.id, Endpoints: endpoints, PoolManager: manager, PositionManager: positions,
		NativeSymbol: "ETH", NativeName: "Ether", RangesInFlight: inFlight,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// ahead is how many blocks the mock chain has after its history: those are followed
// one by one, which is not what is measured.
const ahead = 300

// recordedChain is a mock chain with a recorded history.
func recordedChain(r *recording) *mockChain {
	c := newChain(1, r.head.Number+ahead, timeOf)
	c.final = ahead
	c.addSpans(r.spans)
	return c
}

// backfill has a node take a history from a provider.
func backfill(
	r *recording, c *mockChain, p plan, limit time.Duration,
) (*taken, *served, error) {
	s, err := serveProvider(c, p)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()

	source, err := newFeed(s, 0, "")
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	t, err := take(r, withoutContracts{source}, limit, s.calls.Load)
	return t, s, err
}
