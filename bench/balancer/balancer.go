package balancer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// maxHead is as much as a node takes of a request's line and headers.
const maxHead = 64 << 10

// Balancer is a server in front of nodes.
type Balancer struct {
	nodes []*node
	turn  atomic.Uint64
	http  fasthttp.Server
	stop  context.CancelFunc
	watch sync.WaitGroup // the goroutines that watch nodes
}

// New returns a balancer of nodes, by their addresses. It checks their health at
// once, and then until Shutdown.
func New(addresses []string) *Balancer {
	ctx, stop := context.WithCancel(context.Background())
	b := &Balancer{stop: stop}
	for _, address := range addresses {
		n := newNode(address)
		n.checkHealth()
		b.nodes = append(b.nodes, n)
		b.watch.Go(func() { n.watch(ctx) })
	}

	b.http = fasthttp.Server{
		Handler: b.serve, ReadBufferSize: maxHead, NoDefaultServerHeader: true, NoDefaultDate: true,
		NoDefaultContentType: true, DisableHeaderNamesNormalizing: true, DisablePreParseMultipartForm: true,
		CloseOnShutdown: true,
	}
	return b
}

// Serve passes on what comes on l, until Shutdown.
func (b *Balancer) Serve(l net.Listener) error {
	if err := b.http.Serve(l); err != nil {
		return fmt.Errorf("cannot balance on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown waits for answers that are being passed on, and drops what is left of them,
// as streams are, when ctx ends.
func (b *Balancer) Shutdown(ctx context.Context) error {
	b.stop()
	b.watch.Wait()
	if err := b.http.ShutdownWithContext(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot stop the balancer: %w", err)
	}
	return nil
}

// noNode is the answer when no node is healthy.
const noNode = `{"error":"no node of the cluster is healthy; try again"}`

// serve asks the node whose turn it is, and then the others.
func (b *Balancer) serve(ctx *fasthttp.RequestCtx) {
	turn, all := b.turn.Add(1), uint64(len(b.nodes))
	for i := range all {
		n := b.nodes[(turn+i)%all]
		if n.healthy.Load() && n.ask(ctx) {
			return
		}
	}

	ctx.Response.Reset()
	ctx.Response.Header.SetContentType("application/json")
	ctx.Response.Header.Set("Retry-After", "1")
	ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
	ctx.Response.SetBodyString(noNode)
}
