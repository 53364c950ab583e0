package gate

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// Headers of requests and answers that the server reads and writes too.
const (
	HeaderRequestID  = "X-Request-Id"
	HeaderGeneration = "X-Generation"
	HeaderLastEvent  = "Last-Event-ID"
)

// SetMeter sets the headers that every metered answer has once its key is known.
func SetMeter(ctx *fasthttp.RequestCtx, t *Ticket, billed int64) {
	var buf [meterBytes]byte
	SetLines(ctx, AppendMeter(buf[:0], t, billed))
}

// SetAccount sets those of them that say what the account has left, for a long answer, which
// is settled in parts as it is sent.
func SetAccount(ctx *fasthttp.RequestCtx, t *Ticket) {
	var buf [meterBytes]byte
	SetLines(ctx, appendAccount(buf[:0], t))
}

// meterBytes holds the lines of AppendMeter for all usual limits.
const meterBytes = 640

// AppendMeter appends the lines of SetMeter.
func AppendMeter(dst []byte, t *Ticket, billed int64) []byte {
	return appendAccount(appendNumber(dst, "X-Units-Charged", billed), t)
}

func appendAccount(dst []byte, t *Ticket) []byte {
	dst = appendLimits(dst, t)
	return AppendLine(dst, "Access-Control-Expose-Headers", exposedHeaders)
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

// SetPrivate sets the headers of every answer that needs a key: it must not be
// cached, and it depends on the origin.
func SetPrivate(ctx *fasthttp.RequestCtx) {
	var buf [privateBytes]byte
	SetLines(ctx, AppendPrivate(buf[:0], "Origin"))
}

// privateBytes holds the lines of AppendPrivate.
const privateBytes = 96

// AppendPrivate appends the lines of SetPrivate, of an answer that depends on what vary
// names.
func AppendPrivate(dst []byte, vary string) []byte {
	dst = AppendLine(dst, "Vary", vary)
	return AppendLine(dst, "Cache-Control", "private, no-store")
}

const crlf = "\r\n"

// AppendLine appends a header as a line of a response's head. Name and value must be well-formed.
func AppendLine[T string | []byte](dst []byte, name string, value T) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), crlf...)
}

func appendNumber(dst []byte, name string, n int64) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(strconv.AppendInt(dst, n, 10), crlf...)
}

// SetLines sets the headers that lines have, which AppendLine made.
func SetLines(ctx *fasthttp.RequestCtx, lines []byte) {
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte(crlf))
		name, value, _ := bytes.Cut(line, []byte(": "))
		ctx.Response.Header.SetCanonical(name, value)
		lines = rest
	}
}

// SetHeader sets a header. name must be in the canonical form that fasthttp
// would normalise it to.
func SetHeader(ctx *fasthttp.RequestCtx, name, value string) {
	ctx.Response.Header.SetCanonical([]byte(name), []byte(value))
}
