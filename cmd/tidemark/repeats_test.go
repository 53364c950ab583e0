package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A warning that comes again is counted, and told again later with its count;
// what differs in more than its figures is another one.
func TestRepeatsCollapse(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	c := collapsing{slog.NewTextHandler(&out, nil), &repeats{
		now: func() time.Time { return now }, lines: map[string]*repeat{},
	}, ""}
	log := slog.New(c)
	f := func(want int) {
		t.Helper()
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%d lines; want %d:\n%s", got, want, out.String())
		}
	}

	for i := range 50 {
		log.Warn("slow request", "route", "pools", "account", "acme", "took", time.Duration(i)*time.Second)
	}
	f(1)
	if strings.Contains(out.String(), "repeated") {
		t.Errorf("the first line says that it is repeated:\n%s", out.String())
	}
	log.Warn("slow request", "route", "pools", "account", "other", "took", time.Second)
	f(2)
	log.With("chain", 1).Warn("feed failed")
	log.With("chain", 2).Warn("feed failed")
	f(4)
	for i := range 3 { // each is an event of its own
		log.Warn("the chain was reorganised; its blocks are replaced", "chain", 1, "from", i)
	}
	f(7)
	for range 3 {
		log.Info("key issued", "key", "key_1")
	}
	f(10)

	for range 2 { // the last line tells the present status
		log.Warn("disk status changed", "status", "full", "was", "ok", "freeBytes", 1)
		log.Warn("disk status changed", "status", "ok", "was", "full", "freeBytes", 2)
	}
	f(14)

	now = now.Add(repeatEvery)
	log.Warn("slow request", "route", "pools", "account", "acme", "took", time.Second)
	f(15)
	if !strings.Contains(out.String(), "repeated=49") {
		t.Errorf("the count is not told:\n%s", out.String())
	}
}
