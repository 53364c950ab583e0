package gate

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// errBurst is the 429 for a request that exceeds the burst limit.
func errBurst(t *Ticket) *render.Error {
	p := &t.Terms.Plan
	among := ""
	if n := t.Nodes(); n > 1 {
		among = ", shared by " + strconv.FormatInt(n, 10) + " nodes"
	}
	return render.TooMany("too many requests: plan "+p.ID+" allows "+
		strconv.FormatInt(p.RequestsPerSecond, 10)+" per second and bursts of up to "+
		strconv.FormatInt(p.Burst, 10)+among, time.Duration(t.Burst.RetryNs))
}

// setLimitHeaders reports how much of the burst and monthly limits is left. An
// account without limits gets no such headers.
func setLimitHeaders(ctx *fasthttp.RequestCtx, t *Ticket) {
	if !t.Terms.Limited() {
		return
	}
	h := &ctx.Response.Header
	q := t.Quota()
	var buf [96]byte // both limits fit; longer values would allocate

	if q.Limit > 0 {
		h.SetCanonical([]byte("X-Quota-Limit"), strconv.AppendInt(buf[:0], q.Limit, 10))
		h.SetCanonical([]byte("X-Quota-Remaining"), strconv.AppendInt(buf[:0], q.Left, 10))
		SetHeader(ctx, "X-Quota-Reset", t.Span.Reset)
	}
	SetHeader(ctx, "RateLimit-Policy", t.Terms.Policy(t.Span.Days))
	h.SetCanonical([]byte("RateLimit"), appendRateLimit(buf[:0], t, &q))
}

// appendRateLimit appends the value of the RateLimit header: for each policy,
// what remains and in how many seconds it is fully restored.
func appendRateLimit(dst []byte, t *Ticket, q *accounts.Quota) []byte {
	if t.Terms.Paced() {
		dst = append(dst, `"burst";r=`...)
		dst = strconv.AppendInt(dst, t.Burst.Left, 10)
		dst = append(dst, `;t=`...)
		dst = strconv.AppendInt(dst, accounts.Seconds(t.Burst.FullNs), 10)
	}

	if q.Limit > 0 {
		if len(dst) > 0 {
			dst = append(dst, `, `...)
		}
		dst = append(dst, `"month";r=`...)
		dst = strconv.AppendInt(dst, q.Left, 10)
		dst = append(dst, `;t=`...)
		dst = strconv.AppendInt(dst, accounts.Seconds(q.ResetInNs), 10)
	}

	return dst
}
