package accounts

import (
	"errors"
	"testing"
	"time"
)

func TestMonths(t *testing.T) {
	f := func(at, month string, days int, reset string) {
		t.Helper()
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		s := SpanOf(MonthAt(when.UnixNano()))
		if s.Month.String() != month || s.Days != days || s.Reset != reset {
			t.Errorf("%s is in %s of %d days until %s; want %s, %d, %s",
				at, s.Month, s.Days, s.Reset, month, days, reset)
		}
		if back, err := ParseMonth(month); err != nil || back != s.Month {
			t.Errorf("ParseMonth(%q) = %v, %v", month, back, err)
		}
	}

	f("2026-11-21T08:00:00Z", "2026-11", 30, "2026-12-01T00:00:00.000Z")
	f("2026-12-31T23:59:59.999999999Z", "2026-12", 31, "2027-01-01T00:00:00.000Z")
	f("2027-01-01T00:00:00Z", "2027-01", 31, "2027-02-01T00:00:00.000Z")
	f("2028-02-29T12:00:00Z", "2028-02", 29, "2028-03-01T00:00:00.000Z")
	f("2027-02-28T23:30:00-01:00", "2027-03", 31, "2027-04-01T00:00:00.000Z")
	for _, s := range []string{"1970-01", "2261-12"} {
		if m, err := ParseMonth(s); err != nil || m.String() != s {
			t.Errorf("ParseMonth(%q) = %s, %v", s, m, err)
		}
	}
	for _, s := range []string{"", "2026", "2026-13", "2026-1", "11-2026", "2026-11-01", "1969-12", "2262-01", "2611-06", "9999-12", "0001-01"} {
		if m, err := ParseMonth(s); err == nil {
			t.Errorf("ParseMonth(%q) = %s; want an error", s, m)
		}
	}
}

func TestDays(t *testing.T) {
	f := func(at string, m Month, want string) {
		t.Helper()
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := DayAt(when.UnixNano(), m).String(); got != want {
			t.Errorf("%s in %s is %s; want %s", at, m, got, want)
		}
	}

	f("2026-11-21T23:59:59Z", testMonth, "2026-11-21")
	f("2026-12-01T00:00:01Z", testMonth, "2026-11-30")
	f("2026-10-31T23:59:59Z", testMonth, "2026-11-01")
}

func TestTurner(t *testing.T) {
	at := func(s string) int64 {
		when, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return when.UnixNano()
	}

	turner := NewTurner(at("2026-11-30T23:00:00Z"), 0)

	f := func(now string, skew time.Duration, this, admitted string) {
		t.Helper()
		c := turner.Step(at(now), at(now)+int64(skew))
		if got := c.This.Month.String(); got != this {
			t.Errorf("%s, skew %s: the month is %s; want %s", now, skew, got, this)
		}
		if got := c.At(at(now)).Month.String(); got != admitted {
			t.Errorf("%s, skew %s: admitted to %s; want %s", now, skew, got, admitted)
		}
	}

	f("2026-11-30T23:59:00Z", 0, "2026-11", "2026-11")
	early := turner.Step(at("2026-11-30T23:59:59Z"), at("2026-11-30T23:59:59Z"))
	if got := early.At(at("2026-12-01T00:00:00Z")).Month.String(); got != "2026-12" {
		t.Errorf("between two steps, at midnight: %s; want 2026-12", got)
	}
	f("2026-12-01T00:00:00Z", 0, "2026-12", "2026-12")
	f("2026-12-31T23:59:00Z", -6*time.Minute, "2026-12", "2026-12")
	f("2027-01-01T00:00:00Z", 0, "2026-12", "2026-12") // agreed for a minute only
	f("2027-01-01T00:08:59Z", 0, "2026-12", "2026-12")
	f("2027-01-01T00:09:00Z", 0, "2027-01", "2027-01")
	// Two months missed are two turns, a minute apart.
	f("2027-03-05T00:00:00Z", 0, "2027-02", "2027-02")
	f("2027-03-05T00:00:30Z", 0, "2027-02", "2027-02")
	f("2027-03-05T00:01:00Z", 0, "2027-03", "2027-03")

	turner = NewTurner(at("2026-11-15T00:00:00Z"), testMonth+1)
	f("2026-11-15T00:00:00Z", 0, "2026-12", "2026-12") // charged to before: never back
	f("2026-12-15T00:00:00Z", 0, "2026-12", "2026-12")
	f("2027-01-01T00:00:00Z", 0, "2027-01", "2027-01")
}

func TestClock(t *testing.T) {
	start := time.Now()
	c := NewClock(start)
	if got := c.At(start.Add(time.Hour)); got != start.UnixNano()+int64(time.Hour) {
		t.Errorf("an hour on: %d", got-start.UnixNano())
	}
}

func TestPlans(t *testing.T) {
	for _, p := range DefaultPlans() {
		if err := errors.Join(p.Mistakes()...); err != nil {
			t.Error(err)
		}
	}

	f := func(id string, days int, policy string, headroom int64) {
		t.Helper()
		p, err := FindPlan(DefaultPlans(), id)
		if err != nil {
			t.Fatal(err)
		}
		terms := NewTerms(p, false)
		if got := terms.Policy(days); got != policy {
			t.Errorf("policy of %s = %s; want %s", id, got, policy)
		}
		if got := terms.Headroom(int64(100 * time.Millisecond)); got != headroom {
			t.Errorf("headroom of %s = %d; want %d", id, got, headroom)
		}
	}

	f("free", 31, `"burst";q=10;w=2, "month";q=25000;w=2678400`, 105)
	f("scale", 28, `"burst";q=1000;w=2, "month";q=20000000;w=2419200`, 10_500)
	unpaced := NewTerms(&Plan{ID: "p", MonthlyUnits: 30_000}, false)
	if got := unpaced.Headroom(1); got != 300 {
		t.Errorf("headroom of 30,000 units without a rate = %d; want 300", got)
	}

	bad := func(p Plan) {
		t.Helper()
		if err := errors.Join(p.Mistakes()...); err == nil {
			t.Errorf("plan %+v is valid", p)
		}
	}

	bad(Plan{})
	bad(Plan{ID: "a b", MaxAPIKeys: 1})
	bad(Plan{ID: "p"})
	bad(Plan{ID: "p", MaxAPIKeys: 1, RequestsPerSecond: 1})
	bad(Plan{ID: "p", MaxAPIKeys: 1, MonthlyUnits: -1})
	bad(Plan{ID: "p", MaxAPIKeys: 1, PriceUsdMonthly: -1})
	if _, err := FindPlan(DefaultPlans(), "gold"); err == nil {
		t.Error("plan gold was found")
	}
}
