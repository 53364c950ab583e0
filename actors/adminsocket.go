package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

// AdminSocket serves administration on the unix socket admin.sock in the data
// directory, JSON over HTTP, to whoever may open it: its mode is 0600.
//
//	GET  /accounts                 POST /accounts             {name, plan}
//	GET  /accounts/{name}          POST /accounts/{name}/suspend, …/resume
//	POST /accounts/{name}/plan     {plan}
//	GET  /keys?account=            POST /keys                 KeyRequest
//	POST /keys/{id}/revoke         GET  /usage/{name}?month=
//
// Handle adds more. An error is {"error": message}.
type AdminSocket struct {
	mux    *http.ServeMux
	server *http.Server
	path   string
	log    *slog.Logger
}

const (
	socketName = "admin.sock"
	// maxSocketPath is what every system takes in a socket's address.
	maxSocketPath = 100
	// maxAdminBody bounds what an administrator sends: a key with 50 origins.
	maxAdminBody = 64 << 10
	adminTimeout = time.Minute
)

// NewAdminSocket makes the server of an Admin. It serves from Listen on.
func NewAdminSocket(a *Admin, log *slog.Logger) *AdminSocket {
	s := &AdminSocket{mux: http.NewServeMux(), log: log}
	s.server = &http.Server{
		Handler: s.mux, ReadHeaderTimeout: adminTimeout, IdleTimeout: adminTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	s.handleAccounts(a)
	s.handleKeys(a)
	return s
}

func (s *AdminSocket) handleAccounts(a *Admin) {
	s.Handle("GET /accounts", func(*http.Request) (any, error) { return a.AccountList(), nil })
	s.Handle("POST /accounts", func(r *http.Request) (any, error) {
		var q struct{ Name, Plan string }
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return a.CreateAccount(q.Name, q.Plan)
	})
	s.Handle("GET /accounts/{name}", func(r *http.Request) (any, error) {
		return a.Account(r.PathValue("name"))
	})
	s.Handle("POST /accounts/{name}/suspend", func(r *http.Request) (any, error) {
		return a.Suspend(r.PathValue("name"))
	})
	s.Handle("POST /accounts/{name}/resume", func(r *http.Request) (any, error) {
		return a.Resume(r.PathValue("name"))
	})
	s.Handle("POST /accounts/{name}/plan", func(r *http.Request) (any, error) {
		var q struct{ Plan string }
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return a.SetPlan(r.PathValue("name"), q.Plan)
	})
	s.Handle("GET /usage/{name}", func(r *http.Request) (any, error) {
		return a.Usage(r.PathValue("name"), r.URL.Query().Get("month"))
	})
}

func (s *AdminSocket) handleKeys(a *Admin) {
	s.Handle("GET /keys", func(r *http.Request) (any, error) {
		return a.KeyList(r.URL.Query().Get("account"))
	})
	s.Handle("POST /keys", func(r *http.Request) (any, error) {
		var q KeyRequest
		if err := readJSON(r, &q); err != nil {
			return nil, err
		}
		return a.IssueKey(q)
	})
	s.Handle("POST /keys/{id}/revoke", func(r *http.Request) (any, error) {
		return a.RevokeKey(r.PathValue("id"))
	})
}

// Handle adds a route; what do returns is sent as JSON. A Refusal has its own
// status, every other error is a 500 that is logged too.
func (s *AdminSocket) Handle(pattern string, do func(*http.Request) (any, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
		var answer any
		err := guarded(func() (err error) {
			answer, err = do(r)
			return err
		})
		status := http.StatusOK
		if err != nil {
			status, answer = s.failure(pattern, err)
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

func (s *AdminSocket) failure(pattern string, err error) (status int, answer any) {
	status = http.StatusInternalServerError
	var refusal *Refusal
	if errors.As(err, &refusal) {
		status = refusal.Status
	} else {
		s.log.Error("administration failed", "what", pattern, "error", err)
	}
	return status, map[string]string{"error": err.Error()}
}

func readJSON(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "cannot read the request: %v", err)
	}
	return nil
}

// Listen makes the socket in a data directory and serves it. One that a
// killed node left behind is replaced: the caller holds the directory's lock.
func (s *AdminSocket) Listen(dir string) error {
	listener, err := listenPrivately(dir)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", filepath.Join(dir, socketName), err)
	}
	s.path = filepath.Join(dir, socketName)
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("administration ended", "error", err, "stack", string(debug.Stack()))
		}
	}()
	return nil
}

// listenPrivately makes the socket in a directory that only we can enter,
// narrows its mode, and moves it to its place: nobody else can connect to it
// at any moment.
func listenPrivately(dir string) (net.Listener, error) {
	nest, err := os.MkdirTemp(dir, "admin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(nest)
	short, done, err := shortPath(nest)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // its name moves; Stop removes it
	made := filepath.Join(nest, "s")
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, socketName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Stop ends the server after what is under way, and removes the socket.
func (s *AdminSocket) Stop(ctx context.Context) error {
	if s.path == "" {
		return nil
	}
	return errors.Join(s.server.Shutdown(ctx), os.Remove(s.path))
}

// DialAdmin connects to the node on a data directory.
func DialAdmin(ctx context.Context, dir string) (net.Conn, error) {
	short, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(short, socketName))
}

// shortPath returns a name of a directory that is short enough for a socket's
// address, valid until done is called: itself, or the kernel's name for an
// open file.
func shortPath(dir string) (path string, done func(), err error) {
	if len(dir) <= maxSocketPath-len("/"+socketName) {
		return dir, func() {}, nil
	}
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { syscall.Close(fd) }, nil
}
