package load

import (
	"bytes"
	"fmt"
	"net"

	"github.com/valyala/fasthttp"
)

// Constant serves the same body of size bytes to every request on l: what this
// stack can do at most. Its write buffer holds head and body, so that a
// response is one write; nothing else can be tuned. It returns when l is closed.
func Constant(l net.Listener, size int) error {
	const head = 1 << 10 // of a response, generously
	body := bytes.Repeat([]byte{'0'}, size)
	server := fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.Response.SetBodyRaw(body)
		},
		WriteBufferSize:       size + head,
		NoDefaultServerHeader: true,
	}

	if err := server.Serve(l); err != nil {
		return fmt.Errorf("cannot serve %d constant bytes on %s: %w", size, l.Addr(), err)
	}
	return nil
}
