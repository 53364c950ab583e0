package main

import (
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// opsServer serves what operators ask and clients must not: metrics and
// profiles, on a listener of its own.
func opsServer(set *metrics.Set) *http.Server {
	metrics.ExposeMetadata(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		set.WritePrometheus(w)
		metrics.WriteProcessMetrics(w)
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
}

// listen opens the node's listeners; on an error none stays open.
func (l *loaded) listen() (api, ops net.Listener, err error) {
	if api, err = net.Listen("tcp", l.Listen); err != nil {
		return nil, nil, err
	}
	if ops, err = net.Listen("tcp", l.OpsListen); err != nil {
		api.Close()
		return nil, nil, err
	}
	return api, ops, nil
}
