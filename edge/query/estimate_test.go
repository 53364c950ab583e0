package query

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestReadEstimate(t *testing.T) {
	f := func(raw string, want Estimate) {
		t.Helper()
		if got, err := ReadEstimate([]byte(raw)); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
	}

	f("tickLower=-600&tickUpper=1200&valueUsd=1000", Estimate{-600, 1200, 1000, Range30d})
	f("valueUsd=1.5e%2B3&tickUpper=-1&tickLower=-887272", Estimate{-887272, -1, 1500, Range30d})
	f("tickLower=0&tickUpper=887272&valueUsd=1e-3&range=180d", Estimate{0, 887272, 0.001, Range180d})
	f("tickLower=0&tickUpper=1&valueUsd=1&range=", Estimate{0, 1, 1, Range30d})
	f("tickLower=0&tickUpper=1&valueUsd=1&range=7d", Estimate{0, 1, 1, Range30d})
	f("tickLower=0&tickUpper=1&valueUsd=1&range=all", Estimate{0, 1, 1, RangeAll})
	f("tickLower=0&tickUpper=1&valueUsd=1&range=all&range=60d", Estimate{0, 1, 1, Range30d})
}

func TestReadEstimateRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got, err := ReadEstimate([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want %q", raw, got, err, want)
		}
	}

	f("", "parameter tickLower is missing; tickLower, tickUpper and valueUsd are required")
	f("tickLower=0&valueUsd=1", "parameter tickUpper is missing")
	f("tickLower=0&tickUpper=1&range=30d", "parameter valueUsd is missing")
	f("tickLower=1&tickUpper=1&valueUsd=1", "tickLower 1 is not below tickUpper 1")
	f("tickLower=5&tickUpper=-5&valueUsd=1", "tickLower 5 is not below tickUpper -5")
	for _, tick := range []string{"-887273", "887273", "%2B5", "05", "-0", "-", "--5", "1.0", "1e1", "x", "99999999999999999999", "0x1"} {
		f("tickLower="+tick, "is not a tick; allowed are integers from -887272 to 887272")
		f("tickUpper="+tick, "is not a tick; allowed are integers from -887272 to 887272")
	}
	for _, usd := range []string{"0", "-1", "0.0", "NaN", "Infinity", "1e400", ".5", "5.", "%2B5", "0x1", "1_0", "x", "1e-400"} {
		f("valueUsd="+usd, "is not a finite number above 0; allowed are digits")
	}
	f("valueUsd=1e+3", "1000, 0.5, 1e3")
	f("valueUsd=", "parameter valueUsd has no value")
	f("tickLower=1&tickLower=1", "parameter tickLower is given more than once")
	f("interval=1h", `unknown parameter "interval"; allowed are tickLower, tickUpper, valueUsd, range`)
}

func TestCheckSpacing(t *testing.T) {
	q := Estimate{TickLower: -120, TickUpper: 180}
	if err := q.CheckSpacing(60); err != nil {
		t.Error(err)
	}
	for spacing, want := range map[int32]string{
		50:  "tickLower -120 is not allowed; allowed are multiples of the pool's tickSpacing 50",
		120: "tickUpper 180 is not allowed; allowed are multiples of the pool's tickSpacing 120",
	} {
		if err := q.CheckSpacing(spacing); err == nil || err.Error() != want {
			t.Errorf("spacing %d: %v; want %s", spacing, err, want)
		}
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add("tickLower=-600&tickUpper=1200&valueUsd=1.5e3&range=all")
	f.Add("valueUsd=%31&&range=&tickUpper=-0&tickLower=887272")

	f.Fuzz(func(t *testing.T, raw string) {
		q, err := ReadEstimate([]byte(raw))
		if err != nil {
			return
		}
		again, err := ReadEstimate(bytes.ReplaceAll(q.Append(nil), []byte("+"), []byte("%2B")))
		if err != nil || again != q || q.TickLower >= q.TickUpper || !(q.ValueUsd > 0) || math.IsInf(q.ValueUsd, 0) {
			t.Errorf("%q: %+v, then %+v, %v", raw, q, again, err)
		}
	})
}
