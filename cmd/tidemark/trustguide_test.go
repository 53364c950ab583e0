package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The numbers of the guide on trust that are settings are the defaults.
func TestTrustGuide(t *testing.T) {
	text, err := os.ReadFile("../../edge/docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	f := func(format string, value any) {
		t.Helper()
		if want := fmt.Sprintf(format, value); !strings.Contains(string(text), want) {
			t.Errorf("the guide does not say %q", want)
		}
	}

	c := defaultConfig()
	f("older than %v seconds is flagged `stale`", c.Limits.Freshness.Seconds())
	f("%v minutes behind is unavailable", c.Limits.UnavailableAfter.Minutes())
	f("exact up to %s", thousands(c.Limits.TotalCap))
	f("the oldest %s", thousands(c.Limits.TransactionsMax))
	f("those of the last %v,", strings.Replace(c.Metering.Flush.String(), "ms", " ms", 1))
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
