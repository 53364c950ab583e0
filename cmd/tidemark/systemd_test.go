package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// A service manager is told when the node is ready, that it is alive, and that
// it stops.
func TestServiceManagerIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	dir := t.TempDir()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	node := exec.Command("tidemark", "serve", "--data", filepath.Join(dir, "data"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	node.Env = append(append(os.Environ(), smallMarket...),
		"NOTIFY_SOCKET="+filepath.Join(dir, "n"), "WATCHDOG_USEC=200000")
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	defer node.Process.Kill()

	expect := func(want string) {
		t.Helper()
		var buf [256]byte
		for {
			if err := socket.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
				t.Fatal(err)
			}
			n, err := socket.Read(buf[:])
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
	}
	expect("READY=1")
	expect("WATCHDOG=1")
	expect("WATCHDOG=1")

	if err := node.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect("STOPPING=1")
	expect("EXTEND_TIMEOUT_USEC=10000000")
	expect("EXTEND_TIMEOUT_USEC=20000000")
	if err := node.Wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
}

// A start that takes long asks the service manager for more time, again and again, and says
// what it waits for.
func TestLongStartIsExtended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)

	const times = 3
	synctest.Test(t, func(t *testing.T) {
		n := &node{log: slog.New(slog.DiscardHandler)}
		n.ready = readiness{
			board: new(rankings.Board), chains: []market.ChainID{1},
			health: func(market.ChainID) (status, reason string) { return "syncing", "catching up" },
			disk:   func() storage.Disk { return storage.Disk{} },
		}
		ctx, cancel := context.WithTimeout(t.Context(), times*extendEvery-readyPoll)
		defer cancel()
		n.notifyManager(ctx)
	})

	var buf [256]byte
	for i := range 2 * times {
		if err := socket.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		length, err := socket.Read(buf[:])
		want := [...]string{"EXTEND_TIMEOUT_USEC=60000000", "STATUS=chain 1: catching up"}[i%2]
		if string(buf[:length]) != want {
			t.Fatalf("the manager is told %q, %v; want %q", buf[:length], err, want)
		}
	}
}

func TestOpsServer(t *testing.T) {
	var ready error
	var log bytes.Buffer
	server := opsServer(metrics.NewSet(), func() error { return ready }, slog.New(slog.NewTextHandler(&log, nil)))
	f := func(path string, code int, text string) {
		t.Helper()
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != code || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s answered %d %s; want %d %s", path, w.Code, w.Body, code, text)
		}
	}

	f("/live", 200, "live")
	f("/ready", 200, "ready")
	f("/metrics", 200, "# TYPE process_cpu_seconds_total counter")
	f("/debug/pprof/cmdline", 200, "")
	mux := server.Handler.(opsHandler)
	for _, path := range []string{"", "cmdline", "profile", "symbol", "trace"} {
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/"+path, nil)
		if _, pattern := mux.Handler(r); pattern != "GET /debug/pprof/"+path {
			t.Errorf("%s is answered by %q", r.URL, pattern)
		}
	}

	ready = errors.New("chain 1: catching up with the chain head")
	f("/live", 200, "live")
	f("/ready", 503, "chain 1: catching up with the chain head")

	server.ErrorLog.Print("a handler panicked")
	if !strings.Contains(log.String(), `level=WARN msg="a handler panicked"`) {
		t.Errorf("what the server says is logged as %q", log.String())
	}
}
