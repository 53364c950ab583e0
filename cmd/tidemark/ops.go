package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime"
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
		Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
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
