package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// opsServer serves what operators ask and clients must not: metrics and
// profiles, on a listener of its own.
//
//	/live   200 while the process answers
//	/ready  200 when the node should be sent requests, else 503 and why not
func opsServer(set *metrics.Set, ready func() error) *http.Server {
	metrics.ExposeMetadata(true)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		set.WritePrometheus(w)
		metrics.WriteProcessMetrics(w)
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
	return &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
}

// listen opens the node's listeners, or takes those that a service manager
// opened; on an error none stays open.
func (l *loaded) listen() (api, ops net.Listener, err error) {
	if api, ops, err = inherited(); err != nil {
		return nil, nil, err
	}

	if api == nil {
		if api, err = net.Listen("tcp", l.Listen); err != nil {
			return nil, nil, err
		}
	}
	if ops == nil {
		if ops, err = net.Listen("tcp", l.OpsListen); err != nil {
			api.Close()
			return nil, nil, err
		}
	}
	return api, ops, nil
}
