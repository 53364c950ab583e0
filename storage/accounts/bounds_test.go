package accounts

import (
	"math"
	"strings"
	"testing"
)

// The first and the last value of each setting of a plan are allowed; the next one
// is refused by the setting's name, with what is allowed.
func TestPlanBounds(t *testing.T) {
	f := func(says string, change func(p *Plan)) {
		t.Helper()
		p := Plan{ID: "p", RequestsPerSecond: 1, Burst: 1, MaxAPIKeys: 1}
		change(&p)
		err := p.Validate()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("plan %+v: %v; want %q", p, err, says)
		}
	}

	f("", func(*Plan) {})
	for _, id := range []string{"", "a b", "a\tb", "a\nb", "a/b"} {
		f("bad plan id", func(p *Plan) { p.ID = id })
	}

	const units = "it is 0 (none) to 70368744177664"
	f("", func(p *Plan) { p.MonthlyUnits = 1 << 46 })
	f("monthly-units is -1; "+units, func(p *Plan) { p.MonthlyUnits = -1 })
	f("monthly-units is 70368744177665; "+units, func(p *Plan) { p.MonthlyUnits = 1<<46 + 1 })

	const rate = "it is 0 (none) to 1000000000"
	f("", func(p *Plan) { p.RequestsPerSecond = 1_000_000_000 })
	f("", func(p *Plan) { p.RequestsPerSecond, p.Burst = 0, 0 })
	f("", func(p *Plan) { p.RequestsPerSecond, p.Burst = 0, 1_000_001 })
	f("requests-per-second is -1; "+rate, func(p *Plan) { p.RequestsPerSecond = -1 })
	f("requests-per-second is 1000000001; "+rate, func(p *Plan) { p.RequestsPerSecond = 1_000_000_001 })

	const burst = "with requests-per-second it is 1 to 1000000"
	f("", func(p *Plan) { p.Burst = 1_000_000 })
	f("burst is 0; "+burst, func(p *Plan) { p.Burst = 0 })
	f("burst is 1000001; "+burst, func(p *Plan) { p.Burst = 1_000_001 })

	f("max-api-keys is 0; it is at least 1", func(p *Plan) { p.MaxAPIKeys = 0 })

	f("", func(p *Plan) { p.PriceUsdMonthly = 0.5 })
	for _, price := range []float64{-0.5, math.Inf(1), math.Inf(-1), math.NaN()} {
		f("price-usd-monthly", func(p *Plan) { p.PriceUsdMonthly = price })
	}
}

// Only a plan with neither a rate nor a quota has no limit, and no policy to show.
func TestLimited(t *testing.T) {
	f := func(p Plan, limited, paced bool, policy string) {
		t.Helper()
		terms := NewTerms(&p, false)
		if terms.Limited() != limited || terms.Paced() != paced || terms.Policy(30) != policy {
			t.Errorf("plan %+v: limited %t, paced %t, policy %q; want %t, %t, %q",
				p, terms.Limited(), terms.Paced(), terms.Policy(30), limited, paced, policy)
		}
	}

	f(Plan{}, false, false, "")
	f(Plan{MonthlyUnits: 1}, true, false, `"month";q=1;w=2592000`)
	f(Plan{RequestsPerSecond: 1, Burst: 3}, true, true, `"burst";q=3;w=3`)
	f(Plan{RequestsPerSecond: 1, Burst: 3, MonthlyUnits: 7}, true, true,
		`"burst";q=3;w=3, "month";q=7;w=2592000`)
}

// A single unit is billed, and given back, as any number is.
func TestOneUnit(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 10}, 10)
	now := testMonth.Start().UnixNano()
	f := func(units, charged, spent, billed int64) {
		t.Helper()
		ticket := b.Admit(k, now)
		if v := b.Reserve(&ticket, units); v != Granted {
			t.Fatalf("%d units: %d; want Granted", units, v)
		}
		b.Settle(&ticket, RoutePools, charged)
		tally, ok := k.Cell.Tally(testMonth)
		if !ok || tally.Lease != spent || tally.Billed() != billed || ticket.Quota().Left != 10-spent {
			t.Errorf("%d of %d units charged: %+v, %d left; want %d spent, %d billed",
				charged, units, tally, ticket.Quota().Left, spent, billed)
		}
	}

	f(1, 1, 1, 1)
	f(1, 0, 1, 1)
	f(2, 1, 2, 2)
	f(0, 0, 2, 2)
	if n := k.Cell.counts[testMonth&1][RoutePools].requests.Load(); n != 4 {
		t.Errorf("%d requests are counted; want 4", n)
	}
}
