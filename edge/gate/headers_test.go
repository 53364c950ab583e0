package gate

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// planTicket is a ticket of an account on a plan, on the clock at a time.
func planTicket(plan accounts.Plan, now time.Time) *Ticket {
	ns := now.UnixNano()
	span := accounts.SpanOf(accounts.MonthAt(ns))
	cell := accounts.NewCell(1, "acme", 0, accounts.NewTerms(&plan, false))
	cell.Begin(span.Month)
	return &Ticket{Key: &accounts.Key{Issued: accounts.Issued{Cell: cell}}, Terms: cell.Terms(), Span: &span, Now: ns}
}

// The headers of an answer say what is left of each limit that the account has, and
// nothing of a limit that it does not have.
func TestLimitHeaders(t *testing.T) {
	now := time.Date(2026, 11, 29, 23, 59, 58, 500_000_000, time.UTC)
	f := func(plan accounts.Plan, burst accounts.Burst, want ...string) {
		t.Helper()
		ticket := planTicket(plan, now)
		ticket.Burst = burst
		ctx := new(fasthttp.RequestCtx)
		SetMeter(ctx, ticket, 3)
		got := map[string]string{}
		for k, v := range ctx.Response.Header.All() {
			got[string(k)] = string(v)
		}

		want = append(want, "X-Units-Charged: 3", "Access-Control-Expose-Headers: "+exposedHeaders)
		for _, line := range want {
			name, value, _ := strings.Cut(line, ": ")
			if got[name] != value {
				t.Errorf("%+v: %s is %q; want %q", plan, name, got[name], value)
			}
			delete(got, name)
		}
		delete(got, "Content-Type")
		if len(got) > 0 {
			t.Errorf("%+v: there are other headers: %v", plan, got)
		}
	}

	const left = `;t=86402`
	paced := accounts.Plan{ID: "p", RequestsPerSecond: 5, Burst: 10}
	burst := accounts.Burst{Left: 7, FullNs: 1_200_000_000}
	f(accounts.Plan{ID: "open"}, burst)
	f(paced, burst, `RateLimit-Policy: "burst";q=10;w=2`, `RateLimit: "burst";r=7;t=2`)
	month := accounts.Plan{ID: "m", MonthlyUnits: 1}
	f(month, burst, `RateLimit-Policy: "month";q=1;w=2592000`, `RateLimit: "month";r=1`+left, "X-Quota-Limit: 1",
		"X-Quota-Remaining: 1", "X-Quota-Reset: 2026-12-01T00:00:00.000Z")
	paced.MonthlyUnits = 25_000
	f(paced, burst, `RateLimit-Policy: "burst";q=10;w=2, "month";q=25000;w=2592000`,
		`RateLimit: "burst";r=7;t=2, "month";r=25000`+left, "X-Quota-Limit: 25000",
		"X-Quota-Remaining: 25000", "X-Quota-Reset: 2026-12-01T00:00:00.000Z")
}

// Answers that need a key are not for caches, and depend on the origin.
func TestPrivateHeaders(t *testing.T) {
	ctx := new(fasthttp.RequestCtx)
	SetPrivate(ctx)
	AllowAnyOrigin(ctx)
	for name, want := range map[string]string{
		"Vary": "Origin", "Cache-Control": "private, no-store", "Access-Control-Allow-Origin": "*",
	} {
		if got := string(ctx.Response.Header.Peek(name)); got != want {
			t.Errorf("%s is %q; want %q", name, got, want)
		}
	}
}

// The 429s say which limit was reached, what is left of it and when to come back.
func TestLimitErrors(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 59, 30, 0, time.UTC)
	ticket := planTicket(accounts.Plan{ID: "p", MonthlyUnits: 100, RequestsPerSecond: 5, Burst: 10}, now)
	ticket.Burst.RetryNs = int64(1500 * time.Millisecond)
	f := func(err *render.Error, want string, quota bool, after time.Duration) {
		t.Helper()
		if err.Code != 429 || err.Message != want || err.Quota != quota || err.Retry != after {
			t.Errorf("%+v; want %s after %s", err, want, after)
		}
	}

	f(errBurst(ticket), "too many requests: plan p allows 5 per second and bursts of up to 10", false, 1500*time.Millisecond)
	left := func(n int) string {
		return "monthly quota exceeded: " + strconv.Itoa(n) + " of 100 units are left and this request costs more"
	}
	const resets = "; the quota resets at 2026-12-01T00:00:00.000Z"
	f(errQuota(ticket), left(100)+resets, true, 30*time.Second)
	tally := accounts.Tally{Month: ticket.Span.Month, Lease: 41}
	tally.Routes[0] = accounts.Count{Requests: 4, Units: 40}
	ticket.Key.Cell.Restore(&tally)
	f(errQuota(ticket), left(59)+"; 1 are reserved for requests that may have been answered before a crash"+resets,
		true, 30*time.Second)
}
