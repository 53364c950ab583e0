package edge

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed/sim"
	"tidemark/bench/process"
	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// node is three small simulated chains in a real store. All tests share one, which
// is published once.
type node struct {
	dir   string
	store *storage.Store
	board *rankings.Board
}

var (
	wrapped = market.Address{0x02}
	manager = market.Address{0xaa}
	genesis = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
)

var registered = []render.Chain{
	{ID: 1, Slug: "ethereum", Name: "Ethereum", ShortName: "ETH", ExplorerURL: "https://etherscan.io",
		NativeSymbol: "ETH", WrappedSymbol: "WETH", WrappedNative: wrapped, Enabled: true},
	{ID: 42161, Slug: "arbitrum", Name: "Arbitrum One", Enabled: true},
	{ID: 43114, Slug: "avalanche", Name: "Avalanche", Enabled: true},
	{ID: 10, Slug: "optimism", Name: "OP Mainnet"},
}

var sharedNode = sync.OnceValue(func() *node {
	dir, err := os.MkdirTemp("", "edge")
	must(err)
	n := &node{dir: dir, board: new(rankings.Board)}
	n.store, err = storage.Open(filepath.Join(dir, "market"), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	for i, id := range []market.ChainID{1, 42161, 43114} {
		n.grow(sim.Config{Chain: id, Positions: 300 / (i + 1), Pools: 20, Days: 40, Actions: 1800 / (i + 1)})
	}
	return n
})

func TestMain(m *testing.M) {
	code := m.Run()
	n := sharedNode()
	must(n.store.Close())
	must(os.RemoveAll(n.dir))
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// grow simulates a chain and publishes its first generation.
func (n *node) grow(size sim.Config) {
	g := n.begin(size)
	for !g.advance() {
	}
	g.publish()
}

// growing is a simulated chain that has not reached its head.
type growing struct {
	*chain.Chain
	source *sim.Feed
}

// begin opens an empty chain.
func (n *node) begin(size sim.Config) *growing {
	id := size.Chain
	size.Seed, size.Genesis, size.StartBlock, size.PositionManager = 7, genesis, 100, manager
	size.Stables, size.Wrapped, size.Frozen, size.SpanEvents = params(id).Stables, wrapped, true, 40
	source, err := sim.New(size)
	must(err)
	c, err := chain.Open(chain.Config{
		Ledger: ledger.Config{Chain: id, PositionManager: manager, Start: 100},
		Prices: *params(id), WantsState: true, UnavailableAfter: everPublished,
		Log: slog.New(slog.DiscardHandler), Metrics: chain.NewMetrics(metrics.NewSet(), id),
	}, n.store, n.board)
	must(err)
	return &growing{c, source}
}

// everPublished is how far a chain may be behind its head and still publish.
const everPublished = 10_000 * time.Hour

// advance applies one more span, and reports whether the chain is at its head.
func (g *growing) advance() (atHead bool) {
	step, err := g.source.Next(context.Background(), g.Cursor())
	must(err)
	must(g.Advance(step, time.Now()))
	return g.Status().LastIndexed.Number == step.Head.Number
}

// publish makes the chain's state its next generation.
func (g *growing) publish() { must(g.Refresh(time.Now, func() {})) }

// params returns the parameters of a chain's prices.
func params(id market.ChainID) *value.Params {
	p := value.DefaultParams()
	p.Stables = []market.Address{{0x01, byte(id)}, {0x02, byte(id)}, {0x03, byte(id)}}
	p.WrappedNative = wrapped
	return &p
}

// front is a running server over a node.
type front struct {
	t      *testing.T
	server *Server
	set    *metrics.Set
	log    *process.Output
	addr   string
	key    string // of an account without limits
	book   *accounts.Book

	accounts uint64 // issued
}

// serve starts a server on a loopback address.
func serve(t *testing.T, change func(*Config)) *front {
	t.Helper()
	f := &front{t: t}
	cfg := config(f, sharedNode())
	if change != nil {
		change(&cfg)
	}

	for _, c := range cfg.Board.Load().Chains { // as every refresh of a frozen market does
		if c.View != nil {
			c.View.Confirm(time.Now().UnixMilli())
		}
	}

	var err error
	f.server, err = New(cfg)
	must(err)
	f.key = f.issue("unlimited", accounts.Server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	f.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(l) }()
	f.sendRaw("GET /v1/plans HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") // it has begun to serve
	t.Cleanup(func() {
		must(f.server.Shutdown(context.Background()))
		must(<-served)
	})

	return f
}

// config returns the configuration of a server over a node, and sets the parts of
// f that the server uses.
func config(f *front, n *node) Config {
	now := time.Now()
	turner := accounts.NewTurner(now.UnixNano(), 0)
	f.set, f.log = metrics.NewSet(), new(process.Output)
	f.book = accounts.NewBook(turner.Step(now.UnixNano(), now.UnixNano()))
	f.book.SetAlive(now.Add(time.Hour).UnixNano())
	return Config{
		Config: pages.Config{
			Board: n.board, Store: n.store,
			Chains: registered, Plans: accounts.DefaultPlans(), Limits: pages.DefaultLimits(), Version: "test",
			Prices:    func(id market.ChainID) (*value.Params, []value.FeedPrice) { return params(id), nil },
			Metrics:   f.set,
			Disk:      func() storage.Disk { return storage.Disk{Status: storage.DiskOK, FreeBytes: 1 << 40} },
			WallClock: func() accounts.ClockState { return accounts.ClockState{} },
		},
		Preview: true,
		Book:    f.book, Clock: accounts.NewClock(now), Log: slog.New(slog.NewTextHandler(f.log, nil)),
		Connections: DefaultConnections(),
	}
}

// issue creates an account with one key.
func (f *front) issue(plan string, kind accounts.Kind, origins ...string) string {
	p, err := accounts.FindPlan(accounts.DefaultPlans(), plan)
	must(err)
	f.accounts++
	cell := accounts.NewCell(f.accounts, "someone", 0, accounts.NewTerms(p, false))
	month := f.book.Calendar().This.Month
	cell.Begin(month)
	cell.Open(month, 1_000_000)
	key, err := accounts.NewKey(rand.Reader, kind)
	must(err)
	f.book.Add(&accounts.Issued{
		Hash: accounts.HashKey([]byte(key)), Prefix: accounts.PrefixOf(key),
		Cell: cell, Kind: kind, Origins: origins,
	}, 0, 0)

	return key
}

// limit changes the limits of a server that runs.
func (f *front) limit(change func(*pages.Limits)) {
	l := *f.server.pages.Limits()
	change(&l)
	f.server.pages.SetLimits(l)
}

// answer is a response with its body read.
type answer struct {
	code    int
	header  http.Header
	body    string
	trailer http.Header
}

// get sends a GET with the front's key, unless headers has another. A header is
// "Name: value"; with an empty value it is left out.
func (f *front) get(path string, headers ...string) answer {
	f.t.Helper()
	return f.ask("GET", path, headers...)
}

func (f *front) ask(method, path string, headers ...string) answer {
	f.t.Helper()
	text := method + " " + path + " HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n"
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, gate.HeaderKey) }) {
		text += gate.HeaderKey + ": " + f.key + "\r\n"
	}
	for _, h := range headers {
		if !strings.HasSuffix(h, ": ") {
			text += h + "\r\n"
		}
	}

	a, _ := f.send(method, text+"\r\n")
	conform(f.t, method, path, a)
	return a
}

// sendRaw sends bytes and reads one answer. It also returns whether the server then
// closed the connection.
func (f *front) sendRaw(request string) (a answer, closed bool) {
	f.t.Helper()
	return f.send("GET", request)
}

func (f *front) send(method, request string) (a answer, closed bool) {
	f.t.Helper()
	c := f.dial(request, 10*time.Second)
	defer c.Close()
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		f.t.Fatalf("%.80q: %v", request, err)
	}

	body, err := io.ReadAll(res.Body)
	must(err)
	must(c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)))
	_, err = in.ReadByte()
	var network net.Error
	return answer{res.StatusCode, res.Header, string(body), res.Trailer}, !(errors.As(err, &network) && network.Timeout())
}

// sendAndRead sends a request, and returns all that comes until the connection is closed.
func (f *front) sendAndRead(request string) string {
	f.t.Helper()
	c := f.dial(request, 10*time.Second)
	defer c.Close()
	all, err := io.ReadAll(c)
	must(err)
	return string(all)
}

// dial opens a connection that lasts so long, and sends a request.
func (f *front) dial(request string, lasts time.Duration) net.Conn {
	f.t.Helper()
	c, err := net.Dial("tcp", f.addr)
	must(err)
	must(c.SetDeadline(time.Now().Add(lasts)))
	_, err = io.WriteString(c, request)
	must(err)
	return c
}

// decoded reads a body as JSON.
func (a answer) decoded(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("body is not an object: %v: %.300s", err, a.body)
	}
	return m
}

// metric returns the value of a metric.
func (f *front) metric(name string) string {
	var b strings.Builder
	f.set.WritePrometheus(&b)
	for line := range strings.SplitSeq(b.String(), "\n") {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return rest
		}
	}
	return fmt.Sprintf("no metric %s", name)
}
