package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"tidemark/bench/process"
)

// Server is a NATS server with JetStream, which may run or not. Its addresses and its
// data outlive its process.
type Server struct {
	Name       string
	Client     string   // where clients connect, as host:port
	Monitoring string   // of its HTTP monitoring
	Peers      string   // where the other servers connect
	Routes     []string // where it finds them: their Peers, or proxies in front

	binary, dir string
	on          *process.Cores
	child       *process.Child
}

// NewServers prepares n servers of one cluster, with their data in dir. None runs yet.
func NewServers(binary, dir string, n int, on *process.Cores) (all []*Server, err error) {
	for i := range n {
		s := &Server{Name: fmt.Sprintf("nats-%d", i+1), binary: binary, on: on}
		s.dir = filepath.Join(dir, s.Name)
		for _, address := range []*string{&s.Client, &s.Monitoring, &s.Peers} {
			if *address, err = process.SparePort(); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}

	for _, s := range all {
		for _, other := range all {
			if other != s {
				s.Routes = append(s.Routes, other.Peers)
			}
		}
	}
	return all, nil
}

// serverConfig is the configuration of a server. Neither clients nor servers are told
// of addresses that they were not given: a test that cuts those cuts all.
const serverConfig = `server_name: %s
listen: %q
http: %q
jetstream { store_dir: %q, sync_interval: always }
cluster {
  name: tidemark
  listen: %q
  no_advertise: true
  routes: [%s]
}
`

// Start starts the process.
func (s *Server) Start() error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the directory of %s: %w", s.Name, err)
	}
	var routes []string
	for _, address := range s.Routes {
		routes = append(routes, fmt.Sprintf("%q", "nats-route://"+address))
	}

	config := fmt.Sprintf(serverConfig, s.Name, s.Client, s.Monitoring, filepath.Join(s.dir, "store"), s.Peers,
		strings.Join(routes, ", "))
	path := s.configPath()
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration of %s: %w", s.Name, err)
	}

	var err error
	s.child, err = process.Start(s.on, exec.Command(s.binary, "-c", path), filepath.Join(s.dir, "log"))
	return err
}

func (s *Server) configPath() string { return filepath.Join(s.dir, "nats.conf") }

// Await waits until the server has what the others have.
func (s *Server) Await(ctx context.Context) error {
	return s.child.Await(ctx, process.PollEvery, func() error {
		r, err := http.Get("http://" + s.Monitoring + "/healthz")
		if err != nil {
			return err
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s says that it is not well: %s", s.Name, r.Status)
		}
		return nil
	})
}

// Stop ends the process in order. Stopping one that does not run does nothing.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

// Kill ends the process with -9.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(by syscall.Signal) error {
	if s.child == nil {
		return nil
	}
	s.child.StopBy = by
	err := s.child.Stop()
	s.child = nil

	// A server that was told to end in order says so with 1.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil
	}
	return err
}

// URLs returns where clients connect to servers.
func URLs(all []*Server) (urls []string) {
	for _, s := range all {
		urls = append(urls, "nats://"+s.Client)
	}
	return urls
}

// MonitoringURLs returns the addresses of the servers' monitoring.
func MonitoringURLs(all []*Server) (urls []string) {
	for _, s := range all {
		urls = append(urls, "http://"+s.Monitoring)
	}
	return urls
}

// StartAll starts servers and waits until all of them are well.
func StartAll(ctx context.Context, all []*Server) error {
	for _, s := range all {
		if err := s.Start(); err != nil {
			return err
		}
	}

	for _, s := range all {
		if err := s.Await(ctx); err != nil {
			return fmt.Errorf("cannot start %s: %w", s.Name, err)
		}
	}
	return nil
}

// StopAll stops servers in order.
func StopAll(all []*Server) (errs error) {
	for _, s := range all {
		errs = errors.Join(errs, s.Stop())
	}
	return errs
}
