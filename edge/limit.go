package edge

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// errBurst is the 429 of a request that found no token.
func errBurst(t *ticket) *Error {
	p := &t.Terms.Plan
	return tooMany("too many requests: plan "+p.ID+" allows "+
		strconv.FormatInt(p.RequestsPerSecond, 10)+" a second and bursts of "+
		strconv.FormatInt(p.Burst, 10), time.Duration(t.Burst.RetryNs))
}

// errQuota is the 429 of a month with fewer units left than the request costs.
func errQuota(t *ticket) *Error {
	q := t.Quota()
	return overQuota("monthly quota: "+strconv.FormatInt(q.Left, 10)+" of "+
		strconv.FormatInt(q.Limit, 10)+" units are left, and this request costs more; "+
		"the quota resets at "+t.Span.Reset, time.Duration(q.ResetInNs))
}

// limits sets the headers that tell a caller where it stands; an account
// without limits gets none.
func limits(ctx *fasthttp.RequestCtx, t *ticket) {
	if !t.Terms.Limited() {
		return
	}
	h := &ctx.Response.Header
	q := t.Quota()
	var buf [96]byte
	if q.Limit > 0 {
		h.SetCanonical([]byte("X-Quota-Limit"), strconv.AppendInt(buf[:0], q.Limit, 10))
		h.SetCanonical([]byte("X-Quota-Remaining"), strconv.AppendInt(buf[:0], q.Left, 10))
		setHeader(ctx, "X-Quota-Reset", t.Span.Reset)
	}
	setHeader(ctx, "RateLimit-Policy", t.Terms.Policy(t.Span.Days))
	h.SetCanonical([]byte("RateLimit"), appendRateLimit(buf[:0], t, &q))
}

// appendRateLimit writes the RateLimit header: for each policy what remains
// and after how many seconds it is whole again.
func appendRateLimit(dst []byte, t *ticket, q *accounts.Quota) []byte {
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
