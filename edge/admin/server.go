package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/registry"
)

// Config is what a Server administers.
type Config struct {
	Registry *registry.Registry
	Control  Control
	Board    *rankings.Board
	Chains   []Chain // those that are enabled
	Ready    func() error
	// Health returns a chain's status and its reason, as /health tells them.
	Health func(market.ChainID) (status, reason string)
	// Membership returns what the node knows of a chain in its cluster; nil: it is in
	// none.
	Membership func(market.ChainID) (rankings.Membership, bool)
	// Sharing returns what the nodes of the cluster have of the accounts' limits; nil: it is
	// in none.
	Sharing func(context.Context) (*SharingView, error)
	Log     *slog.Logger
}

// Control is what the actors of a node do for an operator.
type Control interface {
	// SetOffline leaves a chain out of all answers, or includes it again.
	SetOffline(chain market.ChainID, offline bool) error
	// Rebuild deletes the data of a chain and builds it again from its archive.
	Rebuild(chain market.ChainID) error
	// Resync deletes the data and the archive of a chain and indexes it again from its
	// start.
	Resync(chain market.ChainID) error
	// Verify compares a chain's ledger with its contracts: sample pools and
	// positions, or everything when sample is 0.
	Verify(ctx context.Context, chain market.ChainID, sample int) (*rankings.Verification, error)
	// Backup writes a checkpoint of every store into an empty directory.
	Backup(dir string) error
}

// Server serves the administration of a node.
type Server struct {
	Config
	mux  *http.ServeMux
	http *http.Server
	path string // of the socket; empty before Listen
}

const (
	// maxBody bounds a request body. The largest is a key with 50 origins.
	maxBody = 64 << 10
	// timeout bounds the sending of headers, and how long an idle connection is
	// kept open.
	timeout = time.Minute
)

// New returns a server. It answers nothing until Listen is called.
func New(c Config) *Server {
	s := &Server{Config: c, mux: http.NewServeMux()}
	s.http = &http.Server{
		Handler: s.mux, ReadHeaderTimeout: timeout, IdleTimeout: timeout,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
	}
	s.handleAccounts()
	s.handleKeys()
	s.handleChains()
	s.handle("GET /cluster", func(*http.Request) (any, error) { return s.clusterViews() })
	s.handle("GET /cluster/accounts", s.sharing)
	s.handleBackup()
	s.handleReady()
	return s
}

// Listen creates the socket in a data directory and serves it. It replaces the
// socket of a node that was killed; the caller must hold the directory's lock.
func (s *Server) Listen(dir string) error {
	listener, err := listenPrivately(dir)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", filepath.Join(dir, SocketName), err)
	}
	s.path = filepath.Join(dir, SocketName)

	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.Log.Error("the admin socket stopped serving", "socket", s.path, "error", err)
		}
	}()
	return nil
}

// Stop waits for requests under way, stops the server and removes the socket.
func (s *Server) Stop(ctx context.Context) error {
	if s.path == "" {
		return nil
	}

	err := s.http.Shutdown(ctx)
	if gone := os.Remove(s.path); !errors.Is(gone, fs.ErrNotExist) { // somebody may have tidied up
		err = errors.Join(err, gone)
	}
	return err
}

// handle adds a route. The value that do returns is sent as JSON.
func (s *Server) handle(pattern string, do func(*http.Request) (any, error)) {
	if _, logged := acts[pattern]; !logged && !strings.HasPrefix(pattern, http.MethodGet) {
		panic("BUG: an administering request without a log line: " + pattern)
	}

	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status := http.StatusOK
		answer, err := callHandler(do, r)
		switch {
		case err != nil:
			status, answer = s.errorAnswer(pattern, err)
		case r.Method != http.MethodGet:
			s.logAct(pattern, r, answer)
		}

		body, err := json.Marshal(answer)
		if err != nil {
			panic(fmt.Sprintf("BUG: cannot encode the answer to %s: %v", pattern, err))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write(append(body, '\n'))
	})
}

// callHandler calls do and turns a panic into an error, so that the operator sees
// it and the node keeps running.
func callHandler(do func(*http.Request) (any, error), r *http.Request) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(r)
}

// statuses are the HTTP statuses of refusals.
var statuses = map[registry.Kind]int{
	registry.Invalid:  http.StatusBadRequest,
	registry.NotFound: http.StatusNotFound,
	registry.Conflict: http.StatusConflict,
}

// errorAnswer returns the status and body for an error. An error that the caller
// cannot correct is logged too.
func (s *Server) errorAnswer(pattern string, err error) (status int, answer any) {
	status = http.StatusInternalServerError
	var refusal *registry.Refusal
	if errors.As(err, &refusal) {
		status = statuses[refusal.Kind]
	} else {
		s.Log.Error("admin request failed", "request", pattern, "error", err)
	}
	return status, map[string]string{"error": err.Error()}
}

func refusal(kind registry.Kind, format string, args ...any) error {
	return &registry.Refusal{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func readJSON(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return refusal(registry.Invalid, "cannot read the request body: %v", err)
	}
	return nil
}
