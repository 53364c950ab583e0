package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/telemetry"
	"tidemark/storage"
)

// opsServer serves what operators ask and clients must not: metrics and
// profiles, on a listener of its own.
//
//	/live   200 while the process answers
//	/ready  200 when the node should be sent requests, else 503 and why not
func opsServer(set *metrics.Set, ready func() error, log *slog.Logger) *http.Server {
	metrics.ExposeMetadata(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		set.WritePrometheus(&text)
		metrics.WriteProcessMetrics(&text)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Write(telemetry.AppendHelp(nil, text.Bytes()))
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "live")
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})

	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &http.Server{
		Handler: opsHandler{mux}, ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// opsHandler refuses requests that a web page of another site makes a browser send:
// profiles cost time, and a page whose domain resolves to this machine (DNS rebinding)
// could read the answers. A link that a user clicks is allowed.
type opsHandler struct{ *http.ServeMux }

func (o opsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	clicked := h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document" &&
		h.Get("Sec-Fetch-User") == "?1" // a script that navigates does not send this
	switch site := h.Get("Sec-Fetch-Site"); {
	case (site == "cross-site" || site == "same-site") && !clicked:
		http.Error(w, "requests of other sites are refused", http.StatusForbidden)
	case reachesLoopback(r) && !isLocalName(r.Host):
		http.Error(w, "a request to the machine itself must name it without a domain, or by its address",
			http.StatusForbidden)
	default:
		o.ServeMux.ServeHTTP(w, r)
	}
}

// isLocalName reports whether a Host header is one that no page of another site can send: an
// address, or a name without a domain.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || !strings.Contains(host, ".")
}

// reachesLoopback reports whether a request came to a loopback address. Only these should
// have no domain: domains of other addresses are legitimate.
func reachesLoopback(r *http.Request) bool {
	to, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}

// nodeMetrics are those of the process as a whole.
type nodeMetrics struct{ reloaded, refused *metrics.Counter }

func newNodeMetrics(set *metrics.Set) nodeMetrics {
	build := fmt.Sprintf(`tidemark_build_info{version=%q,commit=%q,format="%d",go=%q}`,
		version, commit, storage.Format, runtime.Version())
	set.NewGauge(build, func() float64 { return 1 })
	return nodeMetrics{
		reloaded: set.NewCounter(`tidemark_config_reloads_total{result="ok"}`),
		refused:  set.NewCounter(`tidemark_config_reloads_total{result="refused"}`),
	}
}
