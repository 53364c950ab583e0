package gate

import (
	"strconv"
	"time"

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

// appendLimits appends the lines that say how much of the burst and monthly limits is left.
// An account without limits has none.
func appendLimits(dst []byte, t *Ticket) []byte {
	if !t.Terms.Limited() {
		return dst
	}

	q := t.Quota()
	if q.Limit > 0 {
		dst = appendNumber(dst, "X-Quota-Limit", q.Limit)
		dst = appendNumber(dst, "X-Quota-Remaining", q.Left)
		dst = AppendLine(dst, "X-Quota-Reset", t.Span.Reset)
	}
	dst = AppendLine(dst, "RateLimit-Policy", t.Terms.Policy(t.Span.Days))
	return append(appendRateLimit(append(dst, "RateLimit: "...), t, &q), crlf...)
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
		if t.Terms.Paced() {
			dst = append(dst, `, `...)
		}
		dst = append(dst, `"month";r=`...)
		dst = strconv.AppendInt(dst, q.Left, 10)
		dst = append(dst, `;t=`...)
		dst = strconv.AppendInt(dst, accounts.Seconds(q.ResetInNs), 10)
	}

	return dst
}
