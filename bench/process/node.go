package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tidemark "tidemark/edge/client/go"
)

// Node is a tidemark under measurement: a child of ours, or one that runs
// elsewhere, of which less is known.
type Node struct {
	*Child        // nil for one that is not ours
	API    string // host:port
	Ops    string // host:port; "" when not known
}

// LeastRefresh is the least refresh.every that a node takes.
const LeastRefresh = 10 * time.Millisecond

// Self is a command of our own executable, as nodes and limits are.
func Self(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	return cmd
}

// StartNode serves a data directory on spare ports. The arguments are the
// subcommand and its flags; the configuration and the log are files in dir.
func StartNode(
	ctx context.Context, on *Cores, args []string, data, config, dir string,
) (*Node, error) {
	file := filepath.Join(dir, "node.toml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return nil, fmt.Errorf("cannot write the node's configuration: %w", err)
	}
	ops, err := SparePort()
	if err != nil {
		return nil, err
	}

	cmd := Self(append(args, "--config", file, "--data", data, "--ops-listen", ops)...)
	// What is set for us is no setting of the node's.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "TIDEMARK_") })
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	c, err := Launch(ctx, on, cmd, filepath.Join(dir, "node.log"))
	if err != nil {
		return nil, err
	}
	return &Node{Child: c, API: c.Address, Ops: ops}, nil
}

// Answer is an answer outside of a load.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

var client = http.Client{
	Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: maxIdle},
}

// maxIdle is how many connections are kept for the next question.
const maxIdle = 128

// Ask asks a server once.
func Ask(address, path, key string) (*Answer, error) {
	return AskWithin(context.Background(), address, path, key)
}

// AskWithin is Ask that ends with ctx at the latest.
func AskWithin(ctx context.Context, address, path, key string) (*Answer, error) {
	q, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	if key != "" {
		q.Header.Set("KC-APIKey", key)
	}

	r, err := client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s: %w", path, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer to %s: %w", path, err)
	}
	return &Answer{r.StatusCode, r.Header, body}, nil
}

// AskPage is Ask for an answer that must be a 200.
func AskPage(address, path, key string) (*Answer, error) {
	a, err := Ask(address, path, key)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("it is a %d: %.200s", a.Status, a.Body)
	}
	return a, err
}

// longestProfile leaves the client's timeout time to send what was found.
const longestProfile = 25 * time.Second

// KeepProfile profiles the CPU of a node of which the operator's address is known, for so
// long or as long as it may, and keeps the profile in a file.
func (n *Node) KeepProfile(length time.Duration, path string) error {
	seconds := max(1, int(min(length, longestProfile).Seconds()))
	a, err := AskPage(n.Ops, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), "")
	if err == nil {
		err = KeepFile(path, a.Body)
	}
	return err
}

// KeepFile writes a file, and makes its directory.
func KeepFile(path string, content []byte) error {
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
	if err != nil {
		return fmt.Errorf("cannot keep %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Health asks the node how it is.
func (n *Node) Health() (h tidemark.Health, err error) {
	a, err := Ask(n.API, "/health", "")
	if err == nil {
		err = json.Unmarshal(a.Body, &h)
	}
	return h, err
}

// Serves reports whether a chain has caught up and has a generation to show.
func Serves(c *tidemark.HealthChain) bool { return c.Status == "ok" && c.Generation != nil }

// Sum sums a counter over its labels, if it has any.
func Sum(counters map[string]float64, name string) (sum float64) {
	for counter, value := range counters {
		if counter == name || strings.HasPrefix(counter, name+"{") {
			sum += value
		}
	}
	return sum
}

// Counters reads the node's metrics; nil when they cannot be had.
func (n *Node) Counters() map[string]float64 {
	a, err := Ask(n.Ops, "/metrics", "")
	if err != nil {
		return nil
	}

	values := map[string]float64{}
	for line := range strings.Lines(string(a.Body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = f
		}
	}
	return values
}
