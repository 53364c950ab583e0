package balancer

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// checkEvery is how often the health of a node is checked. A node that is gone is
	// noticed sooner, by the first request that it does not answer.
	checkEvery = 250 * time.Millisecond
	// checkTimeout bounds the wait for the answer.
	checkTimeout = time.Second
	// dialTimeout is ample on one machine.
	dialTimeout = time.Second
	// answerTimeout is more than nodes take for any answer that is no long one.
	answerTimeout = 30 * time.Second
	// idleTimeout is less than what nodes allow an idle connection.
	idleTimeout = 5 * time.Second
	// maxConns of one node bounds only what a load may open.
	maxConns = 10_000
)

// node is a node behind the balancer.
type node struct {
	address string
	healthy atomic.Bool
	short   *fasthttp.HostClient // answers that are read whole
	long    *fasthttp.HostClient // streams and exports, which are passed on piece by piece
}

func newNode(address string) *node {
	client := func(timeout time.Duration, streams bool) *fasthttp.HostClient {
		return &fasthttp.HostClient{
			Addr: address, MaxConns: maxConns, ReadBufferSize: maxHead, ReadTimeout: timeout,
			WriteTimeout: answerTimeout, MaxIdleConnDuration: idleTimeout, StreamResponseBody: streams,
			NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
			Dial: func(a string) (net.Conn, error) { return fasthttp.DialTimeout(a, dialTimeout) },
		}
	}
	return &node{address: address, short: client(answerTimeout, false), long: client(0, true)}
}

// watch checks the node until ctx ends.
func (n *node) watch(ctx context.Context) {
	for tick := time.NewTicker(checkEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			n.checkHealth()
		}
	}
}

// checkHealth asks the node whether it is healthy.
func (n *node) checkHealth() {
	status, _, err := n.short.GetTimeout(nil, "http://"+n.address+"/health", checkTimeout)
	n.healthy.Store(err == nil && status == fasthttp.StatusOK)
}

// ask passes a request on. It reports whether the node answered.
func (n *node) ask(ctx *fasthttp.RequestCtx) bool {
	client := n.short
	if isLong(ctx.Path()) {
		client = n.long
	}
	ctx.Response.SkipBody = ctx.IsHead()
	if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
		n.healthy.Store(false)
		return false
	}

	ctx.Response.Header.ResetConnectionClose() // it was about the node's connection
	return true
}

// isLong reports whether the answer to a path is a stream or an export.
func isLong(path []byte) bool {
	return bytes.Equal(path, []byte("/v1/stream")) || bytes.HasSuffix(path, []byte("/export"))
}
