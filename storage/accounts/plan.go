package accounts

import (
	"fmt"
	"math"
	"strings"
)

// Plan is the limits of an account. Zero units or requests mean no limit.
type Plan struct {
	ID                string  `about:"a word without spaces or slashes"`
	Name              string  `about:"name for people"`
	PriceUsdMonthly   float64 `about:"price of a month"`
	MonthlyUnits      int64   `about:"units of a month; 0: no limit"`
	RequestsPerSecond int64   `about:"requests a second; 0: no limit"`
	Burst             int64   `about:"requests that may come at once; with requests-per-second at least 1"`
	MaxAPIKeys        int64   `about:"active keys of an account"`
	BrowserKeys       bool    `about:"keys for browsers, with their origins, may be issued"`
	Public            bool    `about:"listed at /v1/plans"`
}

// DefaultPlans are the plans of a node whose configuration names none.
func DefaultPlans() []Plan {
	return []Plan{
		{"free", "Free", 0, 25_000, 5, 10, 2, false, true},
		{"starter", "Starter", 49, 500_000, 25, 50, 5, true, true},
		{"growth", "Growth", 199, 3_000_000, 100, 200, 20, true, true},
		{"scale", "Scale", 799, 20_000_000, 500, 1_000, 100, true, true},
		{"unlimited", "Unlimited", 0, 0, 0, 0, 1_000, true, false},
	}
}

// The most that a plan may have. Units must fit into a slot's word with some margin, and the
// interval of a token must be at least 1 ns.
const (
	MaxPlanUnits = 1 << 46
	MaxPlanRate  = 1_000_000_000
	MaxPlanBurst = 1_000_000
)

// Mistakes returns everything that is wrong with a configured plan. Each begins with the
// plan and the key.
func (p *Plan) Mistakes() (wrong []error) {
	if p.ID == "" || strings.ContainsAny(p.ID, " \t\n/") {
		return []error{fmt.Errorf("bad plan id %q; it is a word without spaces or slashes", p.ID)}
	}
	refuse := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf("plan %s: "+format, append([]any{p.ID}, args...)...))
		}
	}

	refuse(p.MonthlyUnits < 0 || p.MonthlyUnits > MaxPlanUnits,
		"monthly-units is %d; it is 0 (none) to %d", p.MonthlyUnits, int64(MaxPlanUnits))
	refuse(p.RequestsPerSecond < 0 || p.RequestsPerSecond > MaxPlanRate,
		"requests-per-second is %d; it is 0 (none) to %d", p.RequestsPerSecond, MaxPlanRate)
	refuse(p.RequestsPerSecond > 0 && (p.Burst < 1 || p.Burst > MaxPlanBurst),
		"burst is %d; with requests-per-second it is 1 to %d", p.Burst, MaxPlanBurst)
	refuse(p.MaxAPIKeys < 1, "max-api-keys is %d; it is at least 1", p.MaxAPIKeys)
	refuse(p.PriceUsdMonthly < 0 || math.IsInf(p.PriceUsdMonthly, 0) || math.IsNaN(p.PriceUsdMonthly),
		"price-usd-monthly is %v; it is at least 0", p.PriceUsdMonthly)
	return wrong
}

// FindPlan returns the plan with an id. The error lists the existing ids.
func FindPlan(plans []Plan, id string) (*Plan, error) {
	names := make([]string, len(plans))
	for i := range plans {
		if plans[i].ID == id {
			return &plans[i], nil
		}
		names[i] = plans[i].ID
	}
	return nil, fmt.Errorf("unknown plan %q; plans are %s", id, strings.Join(names, ", "))
}

// Terms are a plan and the account's status, as the request path reads them. They
// are immutable and replaced as a whole.
type Terms struct {
	Plan      Plan
	Suspended bool

	interval  int64 // ns per token; 0: no burst limit
	tolerance int64 // ns that a full bucket of tokens is worth
	policy    [4]string
}

// NewTerms returns the terms of an account on a plan.
func NewTerms(p *Plan, suspended bool) *Terms {
	t := &Terms{Plan: *p, Suspended: suspended}
	if p.RequestsPerSecond > 0 {
		t.interval = 1_000_000_000 / p.RequestsPerSecond
		t.tolerance = t.interval * p.Burst
	}
	for i := range t.policy {
		t.policy[i] = t.formatPolicy(int64(28 + i))
	}
	return t
}

// Limited reports whether the account has a burst limit or a quota.
func (t *Terms) Limited() bool { return t.interval > 0 || t.Plan.MonthlyUnits > 0 }

// Paced reports whether the account has a burst limit.
func (t *Terms) Paced() bool { return t.interval > 0 }

// Policy returns the RateLimit-Policy header for a month of that many days, empty
// for an account without limits.
func (t *Terms) Policy(days int) string { return t.policy[days-28] }

func (t *Terms) formatPolicy(days int64) string {
	var parts []string
	if t.interval > 0 {
		parts = append(parts, fmt.Sprintf(`"burst";q=%d;w=%d`, t.Plan.Burst,
			ceilDiv(t.Plan.Burst, t.Plan.RequestsPerSecond)))
	}
	if t.Plan.MonthlyUnits > 0 {
		parts = append(parts, fmt.Sprintf(`"month";q=%d;w=%d`, t.Plan.MonthlyUnits, days*86_400))
	}
	return strings.Join(parts, ", ")
}

// A plan with a quota and no rate does not limit how fast units are spent. Its lease
// is a hundredth of the quota, within these bounds: a crash costs little, and an
// account that spends its lease between two flushes waits (Book.Reserve).
const (
	minUnpacedLease = 100
	maxUnpacedLease = 2000
)

// Headroom returns how far a lease is ahead of the units spent. For an account with
// a burst limit it is the most that can be admitted between two flushes, if every
// request costs MaxUnits. Exactly that much counts as used after a crash.
func (t *Terms) Headroom(flushNs int64) int64 {
	p := &t.Plan
	if t.interval == 0 {
		return min(max(p.MonthlyUnits/100, minUnpacedLease), maxUnpacedLease)
	}
	perFlush := math.Ceil(float64(flushNs) / 1e9 * float64(p.RequestsPerSecond) * MaxUnits)
	return p.Burst*MaxUnits + int64(perFlush)
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
