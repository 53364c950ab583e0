package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/VictoriaMetrics/metrics"
)

// Web pages of elsewhere get nothing from the operator's listener: neither by asking it, nor
// by a name of theirs that leads to this machine.
func TestOpsRefusesWebPages(t *testing.T) {
	ops := opsServer(metrics.NewSet(), func() error { return nil }, slog.New(slog.DiscardHandler))
	server := httptest.NewServer(ops.Handler)
	defer server.Close()

	f := func(want int, host string, headers ...string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, server.URL+"/debug/pprof/cmdline", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %s, %q: %s; want %d", host, headers, res.Status, want)
		}
	}

	for _, host := range []string{"127.0.0.1:8081", "localhost", "LOCALHOST:1", "[::1]:8081", "[::1]", "10.0.0.1", "machine:8081"} {
		f(http.StatusOK, host)
	}
	for _, host := range []string{"evil.example", "localhost.evil.example:8081", "127.0.0.1.evil.example"} {
		f(http.StatusForbidden, host)
	}
	const site, mode, dest = "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"
	f(http.StatusForbidden, "localhost", site, "cross-site", mode, "no-cors", dest, "image")
	f(http.StatusForbidden, "localhost", site, "same-site", mode, "cors", dest, "empty")
	f(http.StatusForbidden, "localhost", site, "cross-site", mode, "navigate", dest, "iframe")
	f(http.StatusForbidden, "localhost", site, "cross-site", mode, "navigate", dest, "document")
	f(http.StatusOK, "localhost", site, "cross-site", mode, "navigate", dest, "document", "Sec-Fetch-User", "?1")
	f(http.StatusOK, "localhost", site, "none", mode, "navigate", dest, "document")
	f(http.StatusOK, "localhost", site, "same-origin", mode, "cors", dest, "empty")
}
