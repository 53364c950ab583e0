package rpc

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/endpoint"
)

// A node that goes on failing is warned of once and then counted. Neither the log
// nor the metrics name its address, which can hold a key.
func TestOneWarningThenACount(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	set := metrics.NewSet()
	l := follow(t, func(c *Config) {
		c.Metrics = set
		c.Endpoints[0].Name = "bought"
	}, n)
	l.to(c, 10)

	n.status = 503
	from := l.clock.read()
	failures := 0
	for ; l.clock.read().Sub(from) < warnAgain-30*time.Second; failures++ {
		if err := l.next(); err == nil {
			t.Fatal("a node that is down was read")
		}
	}
	count := func(line string) int { return strings.Count(l.log.String(), line) }
	if got := count("a node failed"); got != 1 || failures < 10 {
		t.Errorf("%d warnings of %d failures; want one", got, failures)
	}

	for range 10 {
		_ = l.next()
	}
	if got := count("a node goes on failing"); got != 1 || count("a node failed") != 1 {
		t.Errorf("%d counts after %s; want one", got, l.clock.read().Sub(from))
	}
	n.status = 0
	c.mine(swapped(1))
	l.to(c, 40)
	l.clock.advance(warnAgain)
	c.mine(swapped(1))
	l.to(c, 40)
	if count("a node answers again") != 1 || count("failures=1\n") > 0 {
		t.Errorf("the end is not told of: %s", l.log.String())
	}

	var b bytes.Buffer
	set.WritePrometheus(&b)
	want := `tidemark_feed_errors_total{chain="1",endpoint="bought",kind="server_error"}`
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %s in\n%s", want, b.String())
	}
	for _, text := range []string{l.log.String(), b.String()} {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "127.0.0.1") {
			t.Errorf("names the address: %s", text)
		}
	}
}

// A failure that goes on is counted every five minutes, and over when nothing was said of it
// for as long. Failures of another kind are warned of on their own.
func TestWarningsInTime(t *testing.T) {
	l, now := still(t)
	var log strings.Builder
	l.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := l.sources[0]
	f := func(wait time.Duration, want string, do func()) {
		t.Helper()
		*now = now.Add(wait)
		log.Reset()
		if do(); want == "" && log.Len() > 0 || !strings.Contains(log.String(), want) {
			t.Errorf("%s later: %q; want %q", wait, log.String(), want)
		}
	}
	fails := func() { l.warnOfFailure(s, &endpoint.Error{Kind: endpoint.ServerError, Text: "gone"}, 7, time.Second) }
	answers := func() { l.noteRecovery(s) }

	f(0, `msg="a node failed" chain=1 endpoint=rpc-1 kind=server_error error=gone rest=1s`, fails)
	f(0, `kind=timeout`, func() { l.warnOfFailure(s, &endpoint.Error{Kind: endpoint.TimedOut}, 1, 0) })
	f(warnAgain-1, "", fails)
	f(1, `msg="a node goes on failing" chain=1 endpoint=rpc-1 kind=server_error error=gone failures=3 in_a_row=7`, fails)
	f(warnAgain-1, "", fails)
	f(0, `msg="a node answers again" chain=1 endpoint=rpc-1 kind=timeout failures=1`, answers)
	if len(s.health.warned) != 1 {
		t.Errorf("warned of %v; want the one that goes on", s.health.warned)
	}
	f(1, "failures=4", answers)
	f(0, "", answers)
	f(0, `msg="a node failed"`, fails)
}
