package edge

import (
	"bytes"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/pages"
)

// TestReplyBounds checks from which length a body is compressed, and from which age it is
// stale: its age when it is sent, after all that the request has waited for.
func TestReplyBounds(t *testing.T) {
	s := serve(t, nil).server
	freshness := s.cfg.Limits.Freshness.Milliseconds()
	f := func(length int, age int64, waited time.Duration, coding string, stale bool) {
		t.Helper()
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.Set("Accept-Encoding", "gzip")
		r := &request{ctx: &ctx, now: time.Now().Add(-waited)}
		r.Now = 1_800_000_000_000
		body := append(bytes.Repeat([]byte{' '}, length-2), '{', '}')
		s.sendReply(r, &pages.Reply{Page: &pages.Page{Body: body}, AsOf: r.Now - age})

		h := &ctx.Response.Header
		if got := string(h.Peek("Content-Encoding")); got != coding {
			t.Errorf("%d bytes: got coding %q; want %q", length, got, coding)
		}
		if got := bytes.Contains(unpacked(&ctx.Response), []byte(`"stale":true`)); got != stale {
			t.Errorf("%d ms old, after %s: stale is %t; want %t", age, waited, got, stale)
		}
	}

	f(packFrom, 0, 0, "", false)
	f(packFrom+1, 0, 0, "gzip", false)
	f(100, freshness-500, 0, "", false)
	f(100, freshness-500, time.Second, "", true)
	f(100, freshness-1500, time.Second, "", false)
	f(100, freshness+1, 0, "", true)
	f(packFrom+1, freshness+1, 0, "gzip", true)
}

// unpacked returns the body of a response without its content coding.
func unpacked(r *fasthttp.Response) []byte {
	if len(r.Header.Peek("Content-Encoding")) == 0 {
		return r.Body()
	}
	body, err := r.BodyGunzip()
	must(err)
	return body
}
