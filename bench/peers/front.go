package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/valyala/fasthttp"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// peer answers questions from a database.
type peer interface {
	answer(out *page, q *asked) error
	close()
}

// errCannot is a peer's answer to a question that it has no means for.
var errCannot = errors.New("cannot")

// pageRows is how many rows a page has when nobody says how many.
const pageRows = rankings.DefaultLimit

// Paths of a front: the node's own, and the same with the peer's count of now.
const (
	listPath    = "/v1/positions"
	countedPath = "/counted" + listPath
)

// serverOf is fasthttp as the node has it.
func serverOf(handler fasthttp.RequestHandler) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               handler,
		ReadBufferSize:        readBuffer,
		WriteBufferSize:       writeBuffer,
		NoDefaultServerHeader: true,
		SecureErrorLogMessage: true,
		CloseOnShutdown:       true,
		TCPKeepalive:          true,
	}
}

// front stands before a peer as edge stands before the rankings, but for keys,
// quotas and limits, of which it has none.
type front struct {
	peer   peer
	chains query.Chains
}

func newFront(p peer, chains []uint32) *front {
	f := &front{peer: p}
	for _, id := range chains {
		f.chains = append(f.chains, query.Chain{ID: market.ChainID(id), Enabled: true})
	}
	return f
}

func (f *front) handle(ctx *fasthttp.RequestCtx) {
	path, raw, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte{'?'})
	var q asked
	switch string(path) {
	case listPath:
	case countedPath:
		q.counted = true
	default:
		ctx.Error(`{"error":"no such route"}`, fasthttp.StatusNotFound)
		return
	}
	var err error
	if q.PositionQuestion, err = f.chains.Positions(raw); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	c := ctx.Conn().(*conn)
	c.page.begin(&q)
	if err := f.peer.answer(&c.page, &q); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	c.page.end(&q)
	c.send(ctx)
}

// serveFront serves a peer until its standard input ends or ctx does.
func serveFront(ctx context.Context, p peer, chains []uint32, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	server := serverOf(newFront(p, chains).handle)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener{l}) }()
	fmt.Fprintf(out, "%s%s/\n", addressMark, l.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = server.Shutdown()
	}
	if err != nil {
		return fmt.Errorf("cannot serve a front: %w", err)
	}
	return nil
}

// chainsText and parseChains carry the chains to a front.
func chainsText(chains []uint32) string { return strings.Trim(fmt.Sprint(chains), "[]") }

func parseChains(text string) (chains []uint32, err error) {
	for _, field := range strings.Fields(text) {
		var id uint32
		if _, err := fmt.Sscan(field, &id); err != nil {
			return nil, fmt.Errorf("cannot read the chain %q: %w", field, err)
		}
		chains = append(chains, id)
	}
	return chains, nil
}

// removeAll removes what was made, and says what could not be.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove %s: %w", dir, err)
	}
	return nil
}
