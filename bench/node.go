package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// node is a tidemark under measurement: a child of ours, or one that was
// there before, of which less is known.
type node struct {
	*child         // nil for one that is not ours
	api     string // host:port
	ops     string // host:port; "" when not known
	scratch string
	units   *report.Units // what asking outside of the load costs
}

// launch is how a node is started.
type launch struct {
	exe     string
	data    string
	config  string         // the file's content
	engine  *corpus.Engine // nil: as any operator starts it
	scratch string         // directory for its configuration and its log
}

// startNode serves a data directory on spare ports.
func startNode(ctx context.Context, on *cores, l launch, units *report.Units) (*node, error) {
	config := filepath.Join(l.scratch, "node.toml")
	if err := os.WriteFile(config, []byte(l.config), 0o644); err != nil {
		return nil, fmt.Errorf("cannot write the node's configuration: %w", err)
	}
	ops, err := sparePort()
	if err != nil {
		return nil, err
	}
	args := []string{"serve"}
	if l.engine != nil {
		args = []string{"bench", "node", "--engine", l.engine.String()}
	}
	cmd := exec.Command(l.exe, append(args, "--config", config, "--data", l.data,
		"--listen", "127.0.0.1:0", "--ops-listen", ops)...)
	cmd.Env = withoutSettings(os.Environ())
	c, err := spawn(ctx, on, cmd, filepath.Join(l.scratch, "node.log"))
	if err != nil {
		return nil, err
	}
	return &node{child: c, api: c.Address, ops: ops, scratch: l.scratch, units: units}, nil
}

// withoutSettings drops what would change the node beside its configuration.
func withoutSettings(environ []string) (kept []string) {
	for _, e := range environ {
		if !strings.HasPrefix(e, "TIDEMARK_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// sparePort returns a loopback address that nobody listened on just now.
func sparePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a spare port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// health is what a node says of itself.
type health struct {
	Status string
	Chains []struct {
		ChainID          int64
		Status           string
		Generation       *uint64
		LastIndexedBlock *uint64
		ChainHeadBlock   *uint64
	}
}

// ready reports whether every chain serves and has caught up.
func (h *health) ready() bool {
	for _, c := range h.Chains {
		if c.Status != "ok" || c.Generation == nil {
			return false
		}
	}
	return len(h.Chains) > 0
}

// maxAnswer bounds what is read of an answer outside of the load.
const maxAnswer = 64 << 20

var client = http.Client{Timeout: 30 * time.Second}

// ask asks the node once, outside of the load.
func (n *node) ask(path, key string) (status int, header http.Header, body []byte, err error) {
	q, err := http.NewRequest("GET", "http://"+n.api+path, nil)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	if key != "" {
		q.Header.Set("KC-APIKey", key)
	}
	r, err := client.Do(q)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	defer r.Body.Close()
	body, err = io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if charged, bad := strconv.ParseInt(r.Header.Get("X-Units-Charged"), 10, 64); bad == nil {
		n.units.Answered += charged
		n.units.Expected += charged
	}
	return r.StatusCode, r.Header, body, err
}

// unitsUsed asks what the account of a key has used this month.
func (n *node) unitsUsed(key string) (int64, error) {
	var usage struct{ UnitsUsed int64 }
	status, _, body, err := n.ask("/v1/usage", key)
	if err == nil && status != 200 {
		err = fmt.Errorf("/v1/usage was answered %d: %.200s", status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &usage)
	}
	return usage.UnitsUsed, err
}

func (n *node) health() (h health, err error) {
	_, _, body, err := n.ask("/health", "")
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	return h, err
}

// pollEvery is how often a node is asked how it stands.
const pollEvery = 50 * time.Millisecond

// waitReady waits until the node has caught up, and tells each look.
func (n *node) waitReady(ctx context.Context, tell func(health)) error {
	for {
		h, err := n.health()
		if err == nil {
			if tell != nil {
				tell(h)
			}
			if h.ready() {
				return nil
			}
		}
		if n.child != nil && !n.Alive() {
			return fmt.Errorf("the node ended: %s", lastLine(filepath.Join(n.scratch, "node.log")))
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pollEvery):
		}
	}
}

// counters reads the node's metrics; nil when it has no ops listener for us.
func (n *node) counters() map[string]float64 {
	if n.ops == "" {
		return nil
	}
	r, err := client.Get("http://" + n.ops + "/metrics")
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		return nil
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		if i := strings.LastIndexByte(line, ' '); i >= 0 {
			var f float64
			if _, err := fmt.Sscan(line[i+1:], &f); err == nil {
				values[line[:i]] = f
			}
		}
	}
	return values
}
